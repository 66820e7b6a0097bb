//! Turns the lines of a rollout into entries.

use jiff::Timestamp;
use memory::{
    Block, Boundary, CallId, FileModification, Flavor, Message, MessageId, Origin, Role, SessionId,
    SessionPatch,
};

use super::discover;
use super::spoken_events::SpokenEvent;
use super::state::CodexReaderState;
use super::wire;
use crate::adapter::{load_state, save_state};
use crate::json;
use crate::{InputLine, LogReader, ParseOutput, ResumePoint, Source, SourceFormat, lines};

/// Reads one rollout.
pub(crate) struct CodexLogReader {
    /// The session in the file's name, for rollouts that do not name one.
    session_in_name: String,
    is_document: bool,
    pub(super) state: CodexReaderState,
    /// Changes that were applied by calls without a result yet.
    pub(super) applied: Vec<(CallId, Vec<FileModification>)>,
    /// Messages of which only the event has been read.
    pub(super) unwritten: Vec<SpokenEvent>,
    marks: Vec<RereadMark>,
    /// An object of the current line has been read.
    line_started: bool,
}

/// A line that the next sweep must read again: its text is needed with a later line, and the stored
/// state must not contain it.
struct RereadMark {
    call: CallId,
    line: u64,
    offset: u64,
    /// The state before the line.
    state: CodexReaderState,
}

/// A call that is open for more lines than this was abandoned.
const MARK_LINES_MAX: u64 = 256;

/// The line and the time of an entry.
#[derive(Clone, Copy)]
pub(crate) struct CodexPosition<'a> {
    pub line: InputLine<'a>,
    pub time: Option<Timestamp>,
    /// The entry belongs to the parent and is only repeated in a subagent's rollout.
    pub inherited: bool,
}

impl CodexLogReader {
    pub(crate) fn new(source: &Source, state: Option<&str>) -> Self {
        Self {
            session_in_name: discover::session_in_name(&source.path),
            is_document: source.format == SourceFormat::Document,
            // Reading starts over if the state cannot be parsed; ids stay the same.
            state: load_state(state),
            applied: Vec::new(),
            unwritten: Vec::new(),
            marks: Vec::new(),
            line_started: false,
        }
    }

    fn read_object(
        &mut self,
        line: InputLine<'_>,
        object: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let read: wire::Line<'_> = serde_json::from_str(object)?;
        let metadata = json::parse::<wire::ItemMetadata>(read.metadata).unwrap_or_default();
        let ordinal = json::parse::<u64>(read.ordinal);
        let at = CodexPosition {
            line,
            time: read.timestamp.0,
            inherited: metadata.inherited_user_message
                || ordinal.is_some_and(|ordinal| ordinal < self.state.own_from),
        };
        let Some(payload) = read.payload else {
            return self.read_bare_item(at, &read, object, out);
        };
        let json = payload.get();
        match read.kind.as_str() {
            "response_item" => {
                // The `compacted` line that follows contains the summary again.
                if !metadata.compaction_output {
                    self.read_item(at, &serde_json::from_str(json)?, out);
                }
            }
            "event_msg" => self.read_event(at, &serde_json::from_str(json)?, out),
            "session_meta" => self.read_session_meta(&serde_json::from_str(json)?, out),
            "turn_context" => self.read_turn_context(&serde_json::from_str(json)?, out),
            "compacted" => self.emit_compaction(at, &serde_json::from_str(json)?, out),
            "inter_agent_communication" => {
                self.emit_agent_message(at, &serde_json::from_str(json)?, "communication", out);
            }
            "world_state"
            | "token_usage_record"
            | "inter_agent_communication_metadata"
            | "security_risk_score" => {}
            other => out.count_unknown(other),
        }
        Ok(())
    }

    /// Reads a line of the oldest format, in which the object is the item itself.
    fn read_bare_item(
        &mut self,
        at: CodexPosition<'_>,
        read: &wire::Line<'_>,
        object: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        match (read.kind.get(), read.record_type.get()) {
            (Some(_), _) => self.read_item(at, &serde_json::from_str(object)?, out),
            (None, Some("state")) => {}
            (None, Some(other)) => out.count_unknown(other),
            (None, None) => {
                let meta: wire::SessionMeta<'_> = serde_json::from_str(object)?;
                if meta.id.get().is_some() {
                    self.read_session_meta(&meta, out);
                } else {
                    out.count_unknown("untyped");
                }
            }
        }
        Ok(())
    }

    fn emit_compaction(
        &mut self,
        at: CodexPosition<'_>,
        compacted: &wire::Compacted<'_>,
        out: &mut ParseOutput,
    ) {
        let boundary = Boundary {
            trigger: None,
            tokens_before: self.state.context.take(),
            ..Boundary::default()
        };
        let mut blocks = vec![Block::Boundary(boundary)];
        let summary = strip_summary_intro(compacted.message.as_str());
        if !summary.is_empty() {
            blocks.push(Block::Summary(summary.to_owned()));
        }
        self.state.response = None;
        let id = self.state.side_id(&["compacted", summary]);
        let message = Message {
            blocks,
            ..self.new_message(at, id, Role::System, Origin::Harness)
        };
        out.push(message);
    }

    pub(super) fn new_message(
        &self,
        at: CodexPosition<'_>,
        id: MessageId,
        role: Role,
        origin: Origin,
    ) -> Message {
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
            self.state.session.as_ref().unwrap_or(&self.session_in_name),
        )
    }

    /// Makes the next sweep read this line again unless the call's result is read first.
    pub(super) fn mark_for_reread(
        &mut self,
        at: CodexPosition<'_>,
        call: &CallId,
        before: CodexReaderState,
    ) {
        // After another object on the same line, the state is not the one before the line.
        if self.is_document || self.line_started || self.marks.iter().any(|mark| mark.call == *call)
        {
            return;
        }
        let InputLine {
            number: line,
            offset,
            ..
        } = at.line;
        self.marks.push(RereadMark {
            call: call.clone(),
            line,
            offset,
            state: before,
        });
    }

    /// Releases the line of a call and returns the changes it applied.
    pub(super) fn take_applied(&mut self, call: &CallId) -> Vec<FileModification> {
        self.marks.retain(|mark| mark.call != *call);
        match self.applied.iter().position(|(applied, _)| applied == call) {
            Some(at) => self.applied.swap_remove(at).1,
            None => Vec::new(),
        }
    }

    fn read_document(
        &mut self,
        line: InputLine<'_>,
        object: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let document: wire::Document<'_> = serde_json::from_str(object)?;
        self.read_session_meta(&serde_json::from_str(document.session.get())?, out);
        for (number, item) in (2..).zip(&document.items) {
            let line = InputLine { number, ..line };
            if self.read_object(line, item.get(), out).is_err() {
                out.skip_line(line, crate::SkipReason::Malformed);
            }
        }
        Ok(())
    }
}

impl LogReader for CodexLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        self.line_started = false;
        self.marks
            .retain(|mark| line.number.saturating_sub(mark.line) < MARK_LINES_MAX);
        lines::for_each_object(line, out, |object, out| {
            if self.is_document {
                return self.read_document(line, object, out);
            }
            self.read_object(line, object, out)?;
            self.line_started = true;
            Ok(())
        });
    }

    fn finish(&mut self, settled: bool, _out: &mut ParseOutput) {
        if settled {
            self.marks.clear();
        }
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        self.marks.first().map(|mark| ResumePoint {
            line: mark.line,
            offset: mark.offset,
            state: save_state(&mark.state),
        })
    }
}

/// Returns a summary without the sentence that introduces it to the model.
fn strip_summary_intro(message: &str) -> &str {
    let message = message.trim();
    if message.starts_with("Another language model started to solve this problem") {
        return message
            .split_once('\n')
            .map_or("", |(_, summary)| summary.trim());
    }
    message
}
