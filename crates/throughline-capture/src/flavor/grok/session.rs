//! The state of a session while its log is read, and how it makes entries.

use std::collections::VecDeque;

use memory::{
    Block, CallId, Flavor, IdChain, Message, MessageId, Origin, Role, SessionId, SessionPatch,
};
use serde::{Deserialize, Serialize};

use super::discover::GrokLocation;
use super::pending_message::{GrokPosition, GrokSpeaker, PendingMessage};
use super::prompt;
use crate::ParseOutput;
use crate::calls::OpenCalls;

#[derive(Debug)]
pub(crate) struct GrokSession {
    pub location: GrokLocation,
    pub state: GrokReaderState,
}

/// The state that the next reader of the log needs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GrokReaderState {
    /// The session whose folder has been emitted.
    introduced: Option<String>,
    model: Option<String>,
    chain: IdChain,
    pub calls: OpenCalls,
    pub announced: VecDeque<AnnouncedCall>,
    /// Calls whose result has been read; later updates repeat it.
    pub finished: VecDeque<CallId>,
    pub compaction: CompactionProgress,
}

/// A call whose arguments have not come yet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AnnouncedCall {
    pub call: CallId,
    pub tool: String,
    pub path: Option<String>,
}

/// The progress of a compaction, whose start, checkpoint and end are separate lines.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CompactionProgress {
    pub tokens_before: Option<u64>,
    /// The compaction was started because the context was full.
    pub full: bool,
    /// The boundary has been emitted.
    pub told: bool,
}

impl GrokSession {
    /// Emits a complete message.
    pub(crate) fn emit_pending(&mut self, mut pending: PendingMessage, out: &mut ParseOutput) {
        let (role, origin) = match pending.speaker {
            // The model that started the subagent wrote the prompt.
            GrokSpeaker::User if self.location.is_subagent => (Role::User, Origin::Harness),
            GrokSpeaker::User => {
                let reason = pending.synthetic_reason.as_deref();
                (
                    Role::User,
                    prompt::unwrap_prompt(&mut pending.blocks, reason),
                )
            }
            GrokSpeaker::Assistant | GrokSpeaker::Thought => (Role::Assistant, Origin::Model),
        };
        if pending.blocks.is_empty() {
            return;
        }
        self.emit_session_changes(&pending.position, pending.model, out);
        self.emit_message(&pending.position, "", (role, origin), pending.blocks, out);
    }

    /// Emits a message of one block. `part` distinguishes the messages of one line.
    pub(crate) fn emit_block(
        &mut self,
        position: &GrokPosition,
        part: &str,
        (role, origin): (Role, Origin),
        block: Block,
        out: &mut ParseOutput,
    ) {
        self.emit_session_changes(position, None, out);
        self.emit_message(position, part, (role, origin), vec![block], out);
    }

    fn emit_message(
        &mut self,
        position: &GrokPosition,
        part: &str,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        let id = self.message_id(position, part, &blocks);
        out.push(Message {
            api_id: position.api_id.clone().filter(|_| origin == Origin::Model),
            at: position.at,
            blocks,
            model: self.state.model.clone(),
            cwd: self.location.cwd.clone(),
            line: position.line,
            ..Message::new(id, session_id(position), role, origin)
        });
    }

    fn message_id(&mut self, position: &GrokPosition, part: &str, blocks: &[Block]) -> MessageId {
        match &position.id {
            Some(id) => MessageId::new(format!("{id}{part}")),
            None => {
                let keys = blocks.iter().map(block_key);
                let parts: Vec<&str> = std::iter::once(part).chain(keys).collect();
                self.state.chain.link(&parts)
            }
        }
    }

    /// Emits the session's folder and model if they are new.
    pub(crate) fn emit_session_changes(
        &mut self,
        position: &GrokPosition,
        model: Option<String>,
        out: &mut ParseOutput,
    ) {
        let is_new = self.state.introduced.as_ref() != Some(&position.session);
        let changed = model.filter(|model| self.state.model.as_ref() != Some(model));
        if !is_new && changed.is_none() {
            return;
        }
        if is_new {
            self.state.introduced = Some(position.session.clone());
        }
        if changed.is_some() {
            self.state.model.clone_from(&changed);
        }
        out.push(SessionPatch {
            cwd: self.location.cwd.clone().filter(|_| is_new),
            model: changed,
            ..SessionPatch::new(session_id(position), Flavor::Grok)
        });
    }
}

pub(crate) fn session_id(position: &GrokPosition) -> SessionId {
    SessionId::of(Flavor::Grok, &position.session)
}

/// Returns the text that a block contributes to an id where the log has none.
pub(crate) fn block_key(block: &Block) -> &str {
    match block {
        Block::Text(text) | Block::Thinking(text) | Block::Summary(text) | Block::Error(text) => {
            text
        }
        Block::ToolUse(call) => call.call.as_str(),
        Block::ToolResult(result) => result.call.as_ref().map_or("", CallId::as_str),
        Block::Image { media_type, .. } => media_type,
        _ => "",
    }
}
