//! What agents tell a hook, and what may be answered.
//!
//! [`read`] turns a payload into a [`HookEvent`]: [`wire`] mirrors the fields of all agents at once, and
//! the [`Dialect`] that recognises the payload says what its event means. [`HookAnswer::write`] turns an
//! answer into that agent's words. Each agent's dialect is one file, `flavor/<agent>/hook.rs`, and one
//! line in [`DIALECTS`].

pub mod wire;

use std::fmt;
use std::path::PathBuf;

use memory::{Flavor, SessionId, Tokens, tokens};
use thiserror::Error;

pub use self::wire::HookPayload;
use crate::flavor::{claude, codex, copilot, cursor, gemini, grok, opencode};

/// Every agent whose hooks we understand. The first that recognises a payload reads it; Claude Code,
/// whose payloads others imitate, comes last.
pub const DIALECTS: &[&dyn Dialect] = &[
    &opencode::hook::OpencodeHooks,
    &grok::hook::GrokHooks,
    &cursor::hook::CursorHooks,
    &codex::hook::CodexHooks,
    &copilot::hook::CopilotHooks,
    &gemini::hook::GeminiHooks,
    &claude::hook::ClaudeHooks,
];

/// How one agent speaks to its hooks.
pub trait Dialect: Sync + fmt::Debug {
    fn flavor(&self) -> Flavor;

    /// Says whether a payload cannot be another agent's.
    fn recognises(&self, wire: &HookPayload, hints: &HookHints) -> bool;

    /// Returns what an event of this name is.
    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind;

    /// Says whether the agent puts what is answered to an event before its model.
    fn accepts_context(&self, kind: &HookKind) -> bool;

    /// Returns the answer that carries a context.
    fn render_context(&self, event: &HookEvent, context: &str) -> String;

    /// Returns the answer that carries none; most agents take silence.
    fn empty_answer(&self) -> &'static str {
        ""
    }

    /// Returns the event with which the notes of a compacted conversation are given back.
    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::SessionStart
    }

    /// Returns how much text the agent takes before it cuts it off.
    fn context_limit(&self) -> ContextLimit {
        ContextLimit::default()
    }
}

/// The first event after a compaction whose answer reaches the agent's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotesCarrier {
    /// The agent starts the session anew, and says why.
    SessionStart,
    /// Nothing is heard until the next prompt.
    Prompt,
    /// Prompts carry nothing, but the result of a tool does.
    ToolResult,
}

/// What happened in an agent.
#[derive(Clone, Debug)]
pub struct HookEvent {
    pub flavor: Flavor,
    pub dialect: &'static dyn Dialect,
    /// As the agent calls it.
    pub name: String,
    pub kind: HookKind,
    pub session: Option<SessionId>,
    /// The log of the session, or of the subagent that has just ended.
    pub transcript: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    /// Set when it happened in a subagent, and not in the session itself.
    pub subagent: Option<String>,
    /// Names the prompt that it belongs to.
    pub prompt_id: Option<String>,
    /// Names the tool call that it belongs to.
    pub call_id: Option<String>,
    /// The last prompt, where an event that is no prompt names it.
    pub last_prompt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookKind {
    SessionStart {
        source: StartReason,
    },
    Prompt {
        text: String,
        /// The agent itself says that no person sent it.
        automatic: bool,
    },
    ToolBefore,
    ToolAfter,
    PreCompact,
    PostCompact {
        /// What the agent's model wrote.
        summary: Option<String>,
    },
    Stop,
    SessionEnd,
    SubagentStart,
    SubagentStop,
    Other,
}

impl HookKind {
    /// Returns one word for the log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "session-start",
            Self::Prompt { .. } => "prompt",
            Self::ToolBefore => "tool-before",
            Self::ToolAfter => "tool-after",
            Self::PreCompact => "pre-compact",
            Self::PostCompact { .. } => "post-compact",
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
    /// The conversation before it was put away.
    Cleared,
    /// The conversation was made shorter.
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

/// How much text an agent takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimit {
    pub chars: usize,
    pub tokens: Tokens,
}

impl Default for ContextLimit {
    /// Claude Code takes 10,000 characters; agents that name no limit get no more.
    fn default() -> Self {
        Self {
            chars: 9_000,
            tokens: Tokens(u64::MAX),
        }
    }
}

impl ContextLimit {
    pub fn fits(&self, text: &str) -> bool {
        // Agents that count tokens guess at four bytes each.
        let guessed = Tokens(text.len() as u64 / 4);
        text.chars().count() <= self.chars
            && guessed <= self.tokens
            && tokens::estimate(text) <= self.tokens
    }
}

/// What is known of a payload besides itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookHints {
    /// What the command line says.
    pub agent: Option<Flavor>,
    pub event: Option<String>,
    /// What the environment says.
    pub environment_agent: Option<Flavor>,
    /// Where the hook was started.
    pub cwd: Option<PathBuf>,
}

/// Why a payload is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HookParseError {
    #[error("the payload is not a JSON object: {0}")]
    NotJson(String),
    #[error("no agent that we know sends such a payload")]
    UnknownAgent,
    #[error("the payload of {} does not say which event it is of", .0.name())]
    MissingEvent(Flavor),
}

/// Reads what an agent handed to a hook.
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
        // The text of a prompt has been taken out already.
        last_prompt: wire.prompt.0.take(),
        name,
        kind,
    })
}

/// What the payload tells counts more than what we were told: Grok runs Claude Code's hooks too.
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

/// What a hook says to its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub context: Option<String>,
}

impl HookAnswer {
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Returns what is printed. Context that the agent does not take, or that is too long for it, is
    /// left out.
    pub fn render(&self, event: &HookEvent) -> String {
        let dialect = event.dialect;
        match &self.context {
            Some(context)
                if dialect.accepts_context(&event.kind)
                    && dialect.context_limit().fits(context) =>
            {
                dialect.render_context(event, context)
            }
            _ => dialect.empty_answer().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
