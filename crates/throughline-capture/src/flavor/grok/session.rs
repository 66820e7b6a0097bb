//! A session while its log is read: what the next reader must know, and how entries are named.

use std::collections::VecDeque;

use memory::{
    Block, CallId, Chain, Entry, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch,
};
use serde::{Deserialize, Serialize};

use super::discover::Place;
use super::pending::{Mark, Pending, Speaker};
use super::prompt;
use crate::Parsed;
use crate::calls::OpenCalls;

#[derive(Debug)]
pub struct Session {
    pub place: Place,
    pub state: State,
}

/// What the next reader must know.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The session whose directory has been told.
    introduced: Option<String>,
    model: Option<String>,
    chain: Chain,
    pub calls: OpenCalls,
    pub announced: VecDeque<Announced>,
    /// Calls whose result was read; later news of them repeats it.
    pub finished: VecDeque<CallId>,
    pub compaction: Compaction,
}

/// A call seen without its arguments, and what its first line said of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Announced {
    pub call: CallId,
    pub tool: String,
    pub path: Option<String>,
}

/// How far a compaction has come: its start, its checkpoint and its end are separate lines.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction {
    pub tokens_before: Option<u64>,
    /// It was started because the context was full.
    pub full: bool,
    /// Its boundary has been told.
    pub told: bool,
}

impl Session {
    /// Emits a message that is whole.
    pub fn tell(&mut self, mut pending: Pending, out: &mut Parsed) {
        let (role, origin) = match pending.speaker {
            // It was written by the model whose tool call started the session.
            Speaker::User if self.place.is_subagent => (Role::User, Origin::Harness),
            Speaker::User => {
                let reason = pending.synthetic_reason.as_deref();
                (Role::User, prompt::unwrap(&mut pending.blocks, reason))
            }
            Speaker::Assistant | Speaker::Thought => (Role::Assistant, Origin::Model),
        };
        if pending.blocks.is_empty() {
            return;
        }
        self.introduce(&pending.mark, pending.model, out);
        self.message(&pending.mark, "", role, origin, pending.blocks, out);
    }

    /// Emits a message of one block. `part` tells the messages of one line apart.
    pub fn say(
        &mut self,
        mark: &Mark,
        part: &str,
        (role, origin): (Role, Origin),
        block: Block,
        out: &mut Parsed,
    ) {
        self.introduce(mark, None, out);
        self.message(mark, part, role, origin, vec![block], out);
    }

    fn message(
        &mut self,
        mark: &Mark,
        part: &str,
        role: Role,
        origin: Origin,
        blocks: Vec<Block>,
        out: &mut Parsed,
    ) {
        let id = self.name(mark, part, &blocks);
        out.push(Entry::Message(Message {
            api_id: mark.api_id.clone().filter(|_| origin == Origin::Model),
            at: mark.at,
            blocks,
            model: self.state.model.clone(),
            cwd: self.place.cwd.clone(),
            line: mark.line,
            ..Message::new(id, id_of(mark), role, origin)
        }));
    }

    fn name(&mut self, mark: &Mark, part: &str, blocks: &[Block]) -> MessageId {
        match &mark.id {
            Some(id) => MessageId::new(format!("{id}{part}")),
            None => {
                let keys = blocks.iter().map(key);
                let parts: Vec<&str> = std::iter::once(part).chain(keys).collect();
                self.state.chain.link(&parts)
            }
        }
    }

    /// Says of the session what is new: where it works, and with which model.
    pub fn introduce(&mut self, mark: &Mark, model: Option<String>, out: &mut Parsed) {
        let is_new = self.state.introduced.as_ref() != Some(&mark.session);
        let changed = model.filter(|model| self.state.model.as_ref() != Some(model));
        if !is_new && changed.is_none() {
            return;
        }
        if is_new {
            self.state.introduced = Some(mark.session.clone());
        }
        if changed.is_some() {
            self.state.model.clone_from(&changed);
        }
        out.push(Entry::Session(SessionPatch {
            cwd: self.place.cwd.clone().filter(|_| is_new),
            model: changed,
            ..SessionPatch::new(id_of(mark), Flavor::Grok)
        }));
    }
}

pub fn id_of(mark: &Mark) -> SessionId {
    SessionId::of(Flavor::Grok, &mark.session)
}

/// Returns what names a block where the log gives no ids.
pub fn key(block: &Block) -> &str {
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
