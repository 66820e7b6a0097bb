//! Lines of a rollout to entries.

use jiff::Timestamp;
use memory::{
    Block, Boundary, CallId, Change, Entry, Flavor, Message, MessageId, Origin, Role, SessionId,
    SessionPatch,
};

use super::discover;
use super::speech::Spoken;
use super::state::State;
use super::wire::{self, lenient};
use crate::{Format, Line, Parsed, Reader, Resume, Source, lines};

/// Reads one rollout.
pub struct Log {
    /// The session that the file's name speaks of, for logs that do not tell.
    named: String,
    document: bool,
    pub(super) state: State,
    /// Changes that were applied by calls whose results are still to come.
    pub(super) applied: Vec<(CallId, Vec<Change>)>,
    /// Messages whose items are still to come.
    pub(super) speech: Vec<Spoken>,
    marks: Vec<Mark>,
    /// Something of the current line was already read.
    glued: bool,
}

/// A line to come back to: what it says of changes is text, which the state does not keep.
struct Mark {
    call: CallId,
    line: u64,
    offset: u64,
    /// As it was before the line.
    state: State,
}

/// A call that is open for longer than this was abandoned; the log is not read again for it.
const MARK_LINES_MAX: u64 = 256;

/// Where and when something was said.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub line: Line<'a>,
    pub time: Option<Timestamp>,
    /// Said to the parent, and only repeated in a subagent's log.
    pub inherited: bool,
}

impl Log {
    pub fn new(source: &Source, state: Option<&str>) -> Self {
        Self {
            named: discover::session_in_name(&source.path),
            document: source.format == Format::Document,
            // A state that we cannot read is one of another version: the names stay the same.
            state: state
                .and_then(|state| serde_json::from_str(state).ok())
                .unwrap_or_default(),
            applied: Vec::new(),
            speech: Vec::new(),
            marks: Vec::new(),
            glued: false,
        }
    }

    fn object(&mut self, line: Line<'_>, object: &str, out: &mut Parsed) -> serde_json::Result<()> {
        let read: wire::Line<'_> = serde_json::from_str(object)?;
        let metadata = lenient::<wire::ItemMetadata>(read.metadata).unwrap_or_default();
        let ordinal = lenient::<u64>(read.ordinal);
        let at = At {
            line,
            time: read.timestamp.0,
            inherited: metadata.inherited_user_message
                || ordinal.is_some_and(|ordinal| ordinal < self.state.own_from),
        };
        let Some(payload) = read.payload else {
            return self.bare(at, &read, object, out);
        };
        let json = payload.get();
        match read.kind.as_str() {
            "response_item" => {
                // The summary comes again, as such, in the `compacted` line that follows.
                if !metadata.compaction_output {
                    self.item(at, &serde_json::from_str(json)?, out);
                }
            }
            "event_msg" => self.event(at, &serde_json::from_str(json)?, out),
            "session_meta" => self.meta(&serde_json::from_str(json)?, out),
            "turn_context" => self.turn(&serde_json::from_str(json)?, out),
            "compacted" => self.compacted(at, &serde_json::from_str(json)?, out),
            "inter_agent_communication" => {
                self.between_agents(at, &serde_json::from_str(json)?, "communication", out);
            }
            "world_state"
            | "token_usage_record"
            | "inter_agent_communication_metadata"
            | "security_risk_score" => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    /// Reads a line of the form before envelopes, where the object is the item itself.
    fn bare(
        &mut self,
        at: At<'_>,
        read: &wire::Line<'_>,
        object: &str,
        out: &mut Parsed,
    ) -> serde_json::Result<()> {
        match (read.kind.some(), read.record_type.some()) {
            (Some(_), _) => self.item(at, &serde_json::from_str(object)?, out),
            (None, Some("state")) => {}
            (None, Some(other)) => out.unknown(other),
            (None, None) => {
                let meta: wire::SessionMeta<'_> = serde_json::from_str(object)?;
                if meta.id.some().is_some() {
                    self.meta(&meta, out);
                } else {
                    out.unknown("untyped");
                }
            }
        }
        Ok(())
    }

    fn compacted(&mut self, at: At<'_>, compacted: &wire::Compacted<'_>, out: &mut Parsed) {
        let boundary = Boundary {
            trigger: None,
            tokens_before: self.state.context.take(),
            ..Boundary::default()
        };
        let mut blocks = vec![Block::Boundary(boundary)];
        let summary = summary(compacted.message.as_str());
        if !summary.is_empty() {
            blocks.push(Block::Summary(summary.to_owned()));
        }
        self.state.response = None;
        let id = self.state.link_beside(&["compacted", summary]);
        let message = Message {
            blocks,
            ..self.message(at, id, Role::System, Origin::Harness)
        };
        out.push(Entry::Message(message));
    }

    pub(super) fn message(&self, at: At<'_>, id: MessageId, role: Role, origin: Origin) -> Message {
        let model = (origin == Origin::Model)
            .then(|| self.state.model.clone())
            .flatten();
        Message {
            at: at.time,
            model,
            cwd: self.state.cwd.clone(),
            branch: self.state.branch.clone(),
            line: at.line.number,
            ..Message::new(id, self.session(), role, origin)
        }
    }

    pub(super) fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session(), Flavor::Codex)
    }

    pub(super) fn session(&self) -> SessionId {
        SessionId::of(
            Flavor::Codex,
            self.state.session.as_ref().unwrap_or(&self.named),
        )
    }

    /// Makes the next reader come back to this line, unless the call's result is read first.
    pub(super) fn come_back(&mut self, at: At<'_>, call: &CallId, before: State) {
        // Behind another object of the same line the state is not the one before the line.
        if self.document || self.glued || self.marks.iter().any(|mark| mark.call == *call) {
            return;
        }
        let Line {
            number: line,
            offset,
            ..
        } = at.line;
        self.marks.push(Mark {
            call: call.clone(),
            line,
            offset,
            state: before,
        });
    }

    /// Drops what was kept for a call's result.
    pub(super) fn settle(&mut self, call: &CallId) -> Vec<Change> {
        self.marks.retain(|mark| mark.call != *call);
        match self.applied.iter().position(|(applied, _)| applied == call) {
            Some(at) => self.applied.swap_remove(at).1,
            None => Vec::new(),
        }
    }

    fn read_document(
        &mut self,
        line: Line<'_>,
        object: &str,
        out: &mut Parsed,
    ) -> serde_json::Result<()> {
        let document: wire::Document<'_> = serde_json::from_str(object)?;
        self.meta(&serde_json::from_str(document.session.get())?, out);
        for (number, item) in (2..).zip(&document.items) {
            let line = Line { number, ..line };
            if self.object(line, item.get(), out).is_err() {
                out.skip(line, crate::Why::Malformed);
            }
        }
        Ok(())
    }
}

impl Reader for Log {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        self.glued = false;
        self.marks
            .retain(|mark| line.number.saturating_sub(mark.line) < MARK_LINES_MAX);
        lines::objects(line, out, |object, out| {
            if self.document {
                return self.read_document(line, object, out);
            }
            self.object(line, object, out)?;
            self.glued = true;
            Ok(())
        });
    }

    fn end(&mut self, settled: bool, _out: &mut Parsed) {
        if settled {
            self.marks.clear();
        }
    }

    fn state(&self) -> String {
        to_json(&self.state)
    }

    fn resume(&self) -> Option<Resume> {
        self.marks.first().map(|mark| Resume {
            line: mark.line,
            offset: mark.offset,
            state: to_json(&mark.state),
        })
    }
}

fn to_json(state: &State) -> String {
    serde_json::to_string(state).unwrap_or_default()
}

/// Returns a summary without the sentence that introduces it to the next model.
fn summary(message: &str) -> &str {
    let message = message.trim();
    if message.starts_with("Another language model started to solve this problem") {
        return message
            .split_once('\n')
            .map_or("", |(_, summary)| summary.trim());
    }
    message
}
