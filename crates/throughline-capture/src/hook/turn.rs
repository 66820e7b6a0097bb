//! What a hook's payload says about a session, for sessions whose log cannot be read.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use jiff::Timestamp;
use memory::{
    Block, CallId, Flavor, Message, MessageId, Origin, Role, SessionId, ToolResult, ToolUse, fence,
};

use super::{HookEvent, HookKind};
use crate::Sources;
use crate::calls::OpenCalls;

/// One step of a session, as a hook reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookTurn {
    pub flavor: Flavor,
    pub session: SessionId,
    pub cwd: Option<String>,
    /// The log of the session, if the agent names one.
    pub log: Option<PathBuf>,
    /// The id of the prompt that the step belongs to.
    pub prompt_id: Option<String>,
    pub step: HookStep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookStep {
    Prompt(String),
    Call(HookToolCall),
    /// The model's last message of a turn.
    Answer(String),
}

/// A tool call with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookToolCall {
    pub id: Option<String>,
    pub tool: String,
    pub input: String,
    pub result: String,
    pub is_error: bool,
}

impl HookTurn {
    /// Returns what an event says about its session. Subagents and automatic prompts are left out.
    pub fn from_event(event: &HookEvent) -> Option<Self> {
        if event.subagent.is_some() {
            return None;
        }
        let step = match &event.kind {
            HookKind::Prompt {
                text,
                automatic: false,
            } => {
                let text = fence::strip(text).trim().to_owned();
                (!text.is_empty()).then_some(HookStep::Prompt(text))
            }
            HookKind::ToolAfter => event.call.clone().map(HookStep::Call),
            HookKind::Stop => event.last_message.clone().map(HookStep::Answer),
            _ => None,
        };
        Some(Self {
            flavor: event.flavor,
            session: event.session.clone()?,
            cwd: event.cwd.as_ref().map(|cwd| cwd.display().to_string()),
            log: event.transcript.clone(),
            prompt_id: event.prompt_id.clone(),
            step: step?,
        })
    }

    /// Returns whether the session's log can be read, now or soon. Then the log is authoritative.
    pub fn has_readable_log(&self, sources: &Sources) -> bool {
        let has_root = || {
            let mut roots = sources.roots.iter();
            roots.any(|root| root.flavor == Some(self.flavor) && fs::read_dir(&root.path).is_ok())
        };
        match &self.log {
            Some(log) => match File::open(log) {
                Ok(_) => true,
                // An agent may create its log after the first prompt, but not after a tool result.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    matches!(self.step, HookStep::Prompt(_)) && has_root()
                }
                Err(_) => false,
            },
            None => has_root(),
        }
    }

    /// Returns the messages of the step.
    pub(crate) fn messages(&self, now: Timestamp) -> Vec<Message> {
        let millis = now.as_millisecond();
        let message = |name: &str, role, origin, block| Message {
            at: Some(now),
            blocks: vec![block],
            cwd: self.cwd.clone(),
            line: u64::try_from(millis).unwrap_or_default(),
            ..Message::new(
                MessageId::new(format!("hook-{name}")),
                self.session.clone(),
                role,
                origin,
            )
        };
        let turn = self.prompt_id.clone().unwrap_or_else(|| millis.to_string());
        match &self.step {
            HookStep::Prompt(text) => vec![message(
                &format!("prompt-{turn}"),
                Role::User,
                Origin::Human,
                Block::Text(text.clone()),
            )],
            HookStep::Answer(text) => vec![message(
                &format!("answer-{turn}"),
                Role::Assistant,
                Origin::Model,
                Block::Text(text.clone()),
            )],
            HookStep::Call(reported) => {
                let id = reported.id.clone().unwrap_or_else(|| millis.to_string());
                let (call, result) = reported.blocks(&id);
                vec![
                    message(
                        &format!("call-{id}"),
                        Role::Assistant,
                        Origin::Model,
                        Block::ToolUse(call),
                    ),
                    message(
                        &format!("result-{id}"),
                        Role::User,
                        Origin::Tool,
                        Block::ToolResult(result),
                    ),
                ]
            }
        }
    }
}

impl HookToolCall {
    fn blocks(&self, id: &str) -> (ToolUse, ToolResult) {
        let mut call = ToolUse {
            call: CallId::new(id),
            tool: self.tool.clone(),
            input: self.input.clone(),
            path: None,
        };
        let mut result = ToolResult {
            call: Some(call.call.clone()),
            content: self.result.clone(),
            is_error: self.is_error,
            ..ToolResult::default()
        };
        let mut open = OpenCalls::default();
        open.open(&mut call);
        open.close(&mut result);
        (call, result)
    }
}
