//! The payloads that agents send to hooks, and the answers they accept.
//!
//! [`parse_payload`] turns a payload into a [`HookEvent`]: [`wire`] mirrors the fields of all
//! agents at once, and the [`Dialect`] that recognises the payload decides what its event means.
//! [`HookAnswer::render`] turns an answer into that agent's format. Each agent's dialect is one
//! file, `flavor/<agent>/hook.rs`, and one line in [`DIALECTS`]. What the answer says is not
//! decided here. [`turn`] is what a payload says about a session whose log cannot be read.

pub mod turn;
pub mod wire;

use std::fmt;
use std::path::PathBuf;

use memory::{Flavor, SessionId, Tokens, tokens};
use thiserror::Error;

pub use self::turn::{HookStep, HookToolCall, HookTurn};
pub use self::wire::HookPayload;
use crate::flavor::{claude, codex, copilot, cursor, gemini, grok, kimi, opencode, pi, qwen};

/// All supported hook formats. The first dialect that recognises a payload parses it. Claude Code
/// comes last, because other agents imitate its payloads.
pub const DIALECTS: &[&dyn Dialect] = &[
    &opencode::hook::OpencodeHooks,
    &pi::hook::PiHooks,
    &qwen::hook::QwenHooks,
    &kimi::hook::KimiHooks,
    &grok::hook::GrokHooks,
    &cursor::hook::CursorHooks,
    &codex::hook::CodexHooks,
    &copilot::hook::CopilotHooks,
    &gemini::hook::GeminiHooks,
    &claude::hook::ClaudeHooks,
];

/// The hook format of one agent.
pub trait Dialect: Sync + fmt::Debug {
    fn flavor(&self) -> Flavor;

    /// Says whether this agent, and no other, sends such a payload.
    fn recognises(&self, wire: &HookPayload, hints: &HookHints) -> bool;

    /// Returns what an event with this name means.
    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind;

    /// Says whether the agent passes the answer to such an event on to its model.
    fn accepts_context(&self, kind: &HookKind) -> bool;

    /// Returns an answer that carries a context, and a notice for the user if the agent can show
    /// one.
    fn render_context(&self, event: &HookEvent, context: &str, notice: Option<&str>) -> String;

    /// Returns an answer that carries nothing; most agents accept no output at all.
    fn empty_answer(&self) -> &'static str {
        ""
    }

    /// Returns the event whose answer gives the notes of a compacted conversation back.
    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::SessionStart
    }

    /// Returns how much text the agent accepts before it truncates it.
    fn context_limit(&self) -> ContextLimit {
        ContextLimit::default()
    }
}

/// The first event after a compaction whose answer reaches the agent's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesCarrier {
    /// The agent starts the session again, with compaction as the reason.
    SessionStart,
    /// No event comes before the next prompt.
    Prompt,
    /// Answers to prompts do not reach the model, but answers to tool results do.
    ToolResult,
}

/// An event in an agent.
#[derive(Clone, Debug)]
pub struct HookEvent {
    pub flavor: Flavor,
    pub dialect: &'static dyn Dialect,
    /// The name that the agent gives to the event.
    pub name: String,
    pub kind: HookKind,
    pub session: Option<SessionId>,
    /// The log of the session, or of the subagent that has just ended.
    pub transcript: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    /// The id of the subagent, if the event did not happen in the session itself.
    pub subagent: Option<String>,
    /// The id of the prompt that the event belongs to.
    pub prompt_id: Option<String>,
    /// The id of the tool call that the event belongs to.
    pub call_id: Option<String>,
    /// The last prompt, if another event than a prompt carries it.
    pub last_prompt: Option<String>,
    /// The tool call that has just ended.
    pub call: Option<HookToolCall>,
    /// The model's last message.
    pub last_message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookKind {
    SessionStart {
        source: StartReason,
    },
    Prompt {
        text: String,
        /// The agent says that no person sent the prompt.
        automatic: bool,
    },
    ToolBefore,
    ToolAfter,
    PreCompact,
    PostCompact,
    Stop,
    SessionEnd,
    SubagentStart,
    SubagentStop,
    Other,
}

impl HookKind {
    /// Returns a short name for the log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "session-start",
            Self::Prompt { .. } => "prompt",
            Self::ToolBefore => "tool-before",
            Self::ToolAfter => "tool-after",
            Self::PreCompact => "pre-compact",
            Self::PostCompact => "post-compact",
            Self::Stop => "stop",
            Self::SessionEnd => "session-end",
            Self::SubagentStart => "subagent-start",
            Self::SubagentStop => "subagent-stop",
            Self::Other => "other",
        }
    }
}

/// Why a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartReason {
    New,
    Resumed,
    /// The user cleared the conversation before it.
    Cleared,
    /// The conversation was compacted.
    Compacted,
}

impl StartReason {
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("resume" | "load" | "fork") => Self::Resumed,
            Some("clear") => Self::Cleared,
            Some("compact") => Self::Compacted,
            _ => Self::New,
        }
    }
}

/// How much text an agent accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimit {
    pub chars: usize,
    pub tokens: Tokens,
}

impl Default for ContextLimit {
    /// Claude Code accepts 10,000 characters. Agents that document no limit get no more than that.
    fn default() -> Self {
        Self {
            chars: 9_000,
            tokens: Tokens(u64::MAX),
        }
    }
}

impl ContextLimit {
    pub fn fits(&self, text: &str) -> bool {
        // Agents that limit tokens estimate them at four bytes each.
        let agents_estimate = Tokens(text.len() as u64 / 4);
        text.chars().count() <= self.chars
            && agents_estimate <= self.tokens
            && tokens::estimate(text) <= self.tokens
    }
}

/// Facts about a payload from the command line and the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookHints {
    /// The agent and the event that the hook's command line names.
    pub agent: Option<Flavor>,
    pub event: Option<String>,
    /// The agent that the environment variables point to.
    pub environment_agent: Option<Flavor>,
    /// The working directory of the hook.
    pub cwd: Option<PathBuf>,
}

/// Why a payload cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HookParseError {
    #[error("the payload is not a JSON object: {0}")]
    NotJson(String),
    #[error("unknown payload: no supported agent sends this format")]
    UnknownAgent,
    #[error("the payload of {} names no event", .0.name())]
    MissingEvent(Flavor),
}

/// Parses what an agent passed to a hook.
pub fn parse_payload(payload: &[u8], hints: &HookHints) -> Result<HookEvent, HookParseError> {
    let text = String::from_utf8_lossy(payload);
    let mut wire: HookPayload = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| HookParseError::NotJson(error.to_string()))?;
    let dialect = find_dialect(&wire, hints).ok_or(HookParseError::UnknownAgent)?;
    let flavor = dialect.flavor();
    let name = wire.event_name().map(str::to_owned);
    let name = name
        .or_else(|| hints.event.clone())
        .ok_or(HookParseError::MissingEvent(flavor))?;
    let kind = dialect.event_kind(&name, &mut wire);
    let session = wire.session().map(|id| SessionId::of(flavor, id));
    let is_subagents = matches!(kind, HookKind::SubagentStart | HookKind::SubagentStop);
    Ok(HookEvent {
        flavor,
        dialect,
        session,
        transcript: wire.transcript(is_subagents).map(PathBuf::from),
        cwd: wire.cwd().map(PathBuf::from).or_else(|| hints.cwd.clone()),
        subagent: wire.subagent().map(str::to_owned),
        prompt_id: wire.prompt_id().map(str::to_owned),
        call_id: wire.call_id().map(str::to_owned),
        call: match kind {
            HookKind::ToolAfter => wire.tool_call(),
            _ => None,
        },
        last_message: wire.last_message().map(str::to_owned),
        // For a prompt, `event_kind` has taken the text out already.
        last_prompt: Some(wire.take_prompt()).filter(|prompt| !prompt.is_empty()),
        name,
        kind,
    })
}

/// Finds the dialect of a payload. The payload itself outweighs the hints: Grok also runs the hooks
/// that were installed for Claude Code.
fn find_dialect(wire: &HookPayload, hints: &HookHints) -> Option<&'static dyn Dialect> {
    let all = || DIALECTS.iter().copied();
    let hinted = |flavor: Flavor| all().find(|dialect| dialect.flavor() == flavor);
    let is_sure = |dialect: &&dyn Dialect| dialect.flavor() != Flavor::Claude;
    all()
        .filter(is_sure)
        .find(|dialect| dialect.recognises(wire, hints))
        .or_else(|| hints.agent.and_then(hinted))
        .or_else(|| all().find(|dialect| dialect.recognises(wire, hints)))
}

/// The answer of a hook to its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub context: Option<String>,
    /// Tells the user what the context is.
    pub notice: Option<String>,
}

impl HookAnswer {
    /// Returns the output of the hook. A context is left out if the agent does not accept one for
    /// this event, or if it is too long for the agent.
    pub fn render(&self, event: &HookEvent) -> String {
        let dialect = event.dialect;
        match &self.context {
            Some(context)
                if dialect.accepts_context(&event.kind)
                    && dialect.context_limit().fits(context) =>
            {
                dialect.render_context(event, context, self.notice.as_deref())
            }
            _ => dialect.empty_answer().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
