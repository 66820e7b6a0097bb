//! The state of a session while its events are read, and how it makes entries.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use memory::{
    Block, Flavor, IdChain, LogEntry, Message, MessageId, Origin, Role, SessionId, SessionKind,
    SessionPatch, Title, TitleRank,
};
use serde::{Deserialize, Serialize};

use super::wire::{Context, Event, Start};
use crate::ParseOutput;
use crate::calls::OpenCalls;
use crate::title::first_line_title;

/// How many calls, permissions and subagents are remembered; the oldest are dropped beyond this.
const REMEMBERED_MAX: usize = 256;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CopilotReaderState {
    pub session: String,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
    titled: bool,
    chain: IdChain,
    pub calls: OpenCalls,
    /// Calls that have been emitted, with the message that requested them or at their start.
    pub told: VecDeque<String>,
    /// The requests that wait for a person's permission.
    pub asked: VecDeque<(String, String)>,
    /// The subagents whose sessions have been emitted.
    agents: VecDeque<KnownSubagent>,
    /// Each response has a usage record, so the totals at the end are not needed.
    pub counted: bool,
    /// Output tokens that messages reported, by model; the totals include them.
    pub outputs: BTreeMap<String, u64>,
    /// The fingerprint of the last reasoning event, which the next message may repeat.
    pub thought: Option<[u8; 16]>,
}

/// The line, time and session of an event.
#[derive(Debug)]
pub(crate) struct CopilotPosition {
    pub id: Option<String>,
    pub at: Option<Timestamp>,
    pub line: u64,
    /// The tool call that started the subagent in which it happened.
    pub agent: Option<String>,
}

/// A subagent: sessions are named by the call that started it, events may use another id.
#[derive(Debug, Serialize, Deserialize)]
struct KnownSubagent {
    call: String,
    id: Option<String>,
}

impl CopilotReaderState {
    pub(crate) fn new(session: String) -> Self {
        Self {
            session,
            ..Self::default()
        }
    }

    pub(crate) fn read_start(&mut self, start: Start, out: &mut ParseOutput) {
        if let Some(session) = start.session_id {
            self.session = session;
        }
        let patch = SessionPatch {
            version: start.copilot_version,
            started: start.start_time.0,
            ..self.patch()
        };
        self.update_context(start.context, start.selected_model, patch, out);
    }

    /// Updates the folder, branch and model of the session.
    pub(crate) fn update_context(
        &mut self,
        context: Context,
        model: Option<String>,
        patch: SessionPatch,
        out: &mut ParseOutput,
    ) {
        let is_github = context
            .host_type
            .as_deref()
            .is_none_or(|host| host == "github");
        let repository = context
            .repository
            .filter(|name| is_github && name.contains('/'));
        self.cwd = context.cwd.or(self.cwd.take());
        self.branch = context.branch.or(self.branch.take());
        self.model = model.or(self.model.take());
        let patch = SessionPatch {
            cwd: self.cwd.clone(),
            remote: repository.map(|name| format!("https://github.com/{name}")),
            branch: self.branch.clone(),
            model: self.model.clone(),
            ..patch
        };
        if patch != self.patch() {
            out.push(patch);
        }
    }

    pub(crate) fn update_model(&mut self, model: Option<String>, out: &mut ParseOutput) {
        if model.is_some() && model != self.model {
            self.model = model;
            let patch = self.patch().with_model(self.model.clone());
            out.push(patch);
        }
    }

    pub(crate) fn emit_title(&mut self, text: &str, rank: TitleRank, out: &mut ParseOutput) {
        let has_title = rank == TitleRank::FirstPrompt && self.titled;
        let Some(text) = first_line_title(text).filter(|_| !has_title) else {
            return;
        };
        self.titled = true;
        out.push(self.patch().with_title(text, rank));
    }

    /// Emits the session of a subagent.
    pub(crate) fn introduce_subagent(
        &mut self,
        call: &str,
        id: Option<&str>,
        name: Option<String>,
        out: &mut ParseOutput,
    ) {
        if self.agents.iter().any(|known| known.call == call) {
            return;
        }
        let agent = KnownSubagent {
            call: call.to_owned(),
            id: id.map(str::to_owned),
        };
        remember(&mut self.agents, agent);
        let name = name.filter(|name| !name.trim().is_empty());
        out.push(SessionPatch {
            kind: Some(SessionKind::Subagent),
            title: name.map(|text| Title::new(text, TitleRank::Generated)),
            parent: Some(self.session_id(None)),
            cwd: self.cwd.clone(),
            ..SessionPatch::new(self.session_id(Some(call)), Flavor::Copilot)
        });
    }

    /// Returns the position of an event; `call` is the call that started its subagent.
    pub(crate) fn position_of(
        &self,
        event: &Event<'_>,
        line: u64,
        call: Option<String>,
    ) -> CopilotPosition {
        let id = event.id.as_deref().filter(|id| !id.is_empty());
        let by_id = event.agent.as_deref().map(|id| {
            let known = self
                .agents
                .iter()
                .find(|agent| agent.id.as_deref() == Some(id));
            known.map_or(id, |agent| &agent.call).to_owned()
        });
        CopilotPosition {
            id: id.map(str::to_owned),
            at: event.timestamp.0,
            line,
            agent: call.or(by_id),
        }
    }

    pub(crate) fn emit_message<'out>(
        &mut self,
        position: &CopilotPosition,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        out: &'out mut ParseOutput,
    ) -> Option<&'out mut Message> {
        if blocks.is_empty() {
            return None;
        }
        if let Some(call) = &position.agent {
            self.introduce_subagent(call, None, None, out);
        }
        let id = match &position.id {
            Some(id) => MessageId::new(id.as_str()),
            None => self.chain.link(&[&content_key(&blocks)]),
        };
        let session = self.session_id(position.agent.as_deref());
        out.push(Message {
            at: position.at,
            blocks,
            model: self.model.clone().filter(|_| origin == Origin::Model),
            cwd: self.cwd.clone(),
            branch: self.branch.clone(),
            line: position.line,
            ..Message::new(id, session, role, origin)
        });
        match out.entries.last_mut() {
            Some(LogEntry::Message(message)) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn session_id(&self, agent: Option<&str>) -> SessionId {
        match agent {
            Some(call) => SessionId::of(Flavor::Copilot, &format!("{}/{call}", self.session)),
            None => SessionId::of(Flavor::Copilot, &self.session),
        }
    }

    pub(crate) fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session_id(None), Flavor::Copilot)
    }
}

/// Returns the text from which the id of an event without one is derived. It is the debug output of
/// the blocks, with the type names of the first release: the ids in existing stores depend on it.
fn content_key(blocks: &[Block]) -> String {
    format!("{blocks:?}").replace("FileModification {", "Change {")
}

pub(crate) fn remember<T>(known: &mut VecDeque<T>, new: T) {
    if known.len() == REMEMBERED_MAX {
        known.pop_front();
    }
    known.push_back(new);
}

#[cfg(test)]
mod tests {
    use memory::command::CallFiles;
    use memory::{CallId, FileModification, ToolResult};

    use super::*;

    #[test]
    fn the_content_key_does_not_follow_the_names_of_types() {
        let change = FileModification {
            path: "a".into(),
            diff: "+b".into(),
        };
        let result = ToolResult {
            call: Some(CallId::new("c")),
            changes: vec![change],
            files: CallFiles::default(),
            ..ToolResult::default()
        };
        let key = content_key(&[Block::ToolResult(result), Block::Text("x".into())]);
        assert!(key.starts_with(r#"[ToolResult(ToolResult { call: Some(CallId("c")), tool: None"#));
        assert!(
            key.contains(r#"changes: [Change { path: "a", diff: "+b" }]"#),
            "{key}"
        );
        assert!(key.ends_with(r#"Text("x")]"#), "{key}");
    }
}
