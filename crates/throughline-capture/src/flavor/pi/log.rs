//! Turns the lines of a session into entries.

use jiff::Timestamp;
use memory::{
    Block, Boundary, Flavor, IdChain, Message, MessageId, Origin, Role, SessionId, SessionPatch,
    TitleRank,
};
use serde::{Deserialize, Serialize};

use super::{discover, messages, wire};
use crate::adapter::{load_state, save_state};
use crate::calls::OpenCalls;
use crate::{InputLine, LogReader, ParseOutput, Source, lines};

/// Reads one session.
#[derive(Debug)]
pub(crate) struct PiLogReader {
    /// The session in the file's name, in case the header is missing.
    named: String,
    pub(super) state: PiReaderState,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PiReaderState {
    session: Option<String>,
    cwd: Option<String>,
    /// Derives the ids of version 1, which has none.
    chain: IdChain,
    pub calls: OpenCalls,
    titled: bool,
    /// When the session was forked off another one, whose entries come first.
    forked: Option<Timestamp>,
    /// A prompt of the other session has become the title, until an own one comes.
    titled_by_parent: bool,
}

impl PiLogReader {
    pub(crate) fn new(source: &Source, state: Option<&str>) -> Self {
        let path = source.path.to_string_lossy();
        Self {
            named: discover::session_in_name(&path).to_owned(),
            // Reading starts over if the state cannot be parsed; ids stay the same.
            state: load_state(state),
        }
    }

    fn read_object(
        &mut self,
        number: u64,
        object: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let line: wire::Line<'_> = serde_json::from_str(object)?;
        match line.kind.as_str() {
            "session" => self.read_header(&line, out),
            "message" => {
                if let Some(message) = line.message {
                    let message = serde_json::from_str(message.get())?;
                    self.read_message(number, &line, &message, out);
                }
            }
            "compaction" => {
                let tokens_before = line
                    .tokens_before
                    .and_then(|tokens| serde_json::from_str(tokens.get()).ok());
                self.emit_compaction(number, &line, line.summary.as_str(), tokens_before, out);
            }
            "branch_summary" => self.emit_branch_summary(number, &line, line.summary.as_str(), out),
            "custom_message" => {
                let blocks = messages::content_blocks(line.content, out);
                let message = self.new_message(number, &line, Role::User, Origin::Harness, &blocks);
                push_message(message, blocks, out);
            }
            "model_change" => {
                let model = line.model_id.to_text();
                out.push(self.patch().with_model(model));
            }
            "session_info" => {
                if let Some(name) = line.name.get() {
                    self.emit_title(name, TitleRank::Custom, out);
                }
            }
            "thinking_level_change" | "custom" | "label" => {}
            other => out.count_unknown(other),
        }
        Ok(())
    }

    fn read_header(&mut self, header: &wire::Line<'_>, out: &mut ParseOutput) {
        self.state.session = header.id.to_text();
        self.state.cwd = header.cwd.to_text();
        let parent = header.parent_session.get().map(discover::session_in_name);
        self.state.forked = header.timestamp.0.filter(|_| parent.is_some());
        out.push(SessionPatch {
            cwd: header.cwd.to_text(),
            model: header.model_id.to_text(),
            parent: parent.map(|parent| SessionId::of(Flavor::Pi, parent)),
            started: header.timestamp.0,
            ..self.patch()
        });
    }

    pub(super) fn emit_compaction(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        summary: &str,
        tokens_before: Option<u64>,
        out: &mut ParseOutput,
    ) {
        let boundary = Boundary {
            trigger: None,
            tokens_before,
            ..Boundary::default()
        };
        let mut blocks = vec![Block::Boundary(boundary)];
        blocks.extend(some_summary(summary));
        let message = self.new_message(number, line, Role::System, Origin::Harness, &blocks);
        push_message(message, blocks, out);
    }

    /// Emits the summary of a branch that was left.
    pub(super) fn emit_branch_summary(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        summary: &str,
        out: &mut ParseOutput,
    ) {
        let blocks: Vec<_> = some_summary(summary).into_iter().collect();
        let message = self.new_message(number, line, Role::System, Origin::Harness, &blocks);
        push_message(message, blocks, out);
    }

    /// Emits the first prompt as the session's title. A fork begins with the entries of its parent,
    /// of which the first is the title only while the fork has no prompt of its own.
    pub(super) fn emit_first_title(
        &mut self,
        prompt: &str,
        at: Option<Timestamp>,
        out: &mut ParseOutput,
    ) {
        let is_parents = match (at, self.state.forked) {
            (Some(at), Some(forked)) => at < forked,
            _ => false,
        };
        let titled = match is_parents {
            true => &mut self.state.titled_by_parent,
            false => &mut self.state.titled,
        };
        if std::mem::replace(titled, true) {
            return;
        }
        let rank = match is_parents {
            true => TitleRank::SmallTalk,
            false => TitleRank::FirstPrompt,
        };
        self.emit_title(prompt, rank, out);
    }

    fn emit_title(&self, text: &str, rank: TitleRank, out: &mut ParseOutput) {
        let text = text.to_owned();
        out.push(self.patch().with_title(text, rank));
    }

    /// Returns a message without blocks. It must be called once per entry, because it advances the
    /// chain of ids.
    pub(super) fn new_message(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        role: Role,
        origin: Origin,
        blocks: &[Block],
    ) -> Message {
        let id = match line.id.get() {
            Some(id) => MessageId::new(id),
            None => {
                // A branch copies entries with their times, while unrelated sessions may begin with
                // the same words.
                let time = line.timestamp.0.map(|at| at.as_millisecond().to_string());
                let mut parts = vec![line.kind.as_str(), time.as_deref().unwrap_or_default()];
                parts.extend(blocks.iter().map(messages::block_key));
                self.state.chain.link(&parts)
            }
        };
        Message {
            at: line.timestamp.0,
            cwd: self.state.cwd.clone(),
            line: number,
            ..Message::new(id, self.session(), role, origin)
        }
    }

    fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session(), Flavor::Pi)
    }

    pub(super) fn session(&self) -> SessionId {
        SessionId::of(
            Flavor::Pi,
            self.state.session.as_ref().unwrap_or(&self.named),
        )
    }
}

/// Emits a message unless it is empty.
pub(crate) fn push_message(message: Message, blocks: Vec<Block>, out: &mut ParseOutput) {
    if !blocks.is_empty() {
        out.push(Message { blocks, ..message });
    }
}

fn some_summary(summary: &str) -> Option<Block> {
    (!summary.trim().is_empty()).then(|| Block::Summary(summary.to_owned()))
}

impl LogReader for PiLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |object, out| {
            self.read_object(line.number, object, out)
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}
