//! Copilot CLI's hooks: its own protocol, which does not name the event, or Claude Code's where it
//! was installed as a plugin of that kind.

use memory::Flavor;
use serde_json::json;

use crate::flavor::claude;
use crate::flavor::claude::hook::ClaudeHooks;
use crate::hook::{
    Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier, StartReason,
};

#[derive(Debug)]
pub(crate) struct CopilotHooks;

impl Dialect for CopilotHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Copilot
    }

    fn recognises(&self, wire: &HookPayload, hints: &HookHints) -> bool {
        let is_native = wire.session_id_camel.text().is_some()
            && wire.hook_event_name.text().is_none()
            && wire.hook_event_name_camel.text().is_none();
        let is_others = wire.is_transcript_under(".claude") || wire.is_transcript_under(".gemini");
        // Gemini sends a timestamp too, but always together with the path of the log.
        let is_timed = wire.timestamp.text().is_some() && wire.transcript(false).is_none();
        let is_copilots = wire.is_transcript_under(".copilot")
            || !is_others && (is_timed || hints.environment_agent == Some(Flavor::Copilot));
        is_native || wire.hook_event_name.text().is_some() && is_copilots
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match name {
            "sessionStart" => HookKind::SessionStart {
                source: StartReason::from_name(wire.source.text()),
            },
            "userPromptSubmitted" => HookKind::Prompt {
                text: wire.take_prompt(),
                automatic: false,
            },
            "preToolUse" => HookKind::ToolBefore,
            "postToolUse" | "postToolUseFailure" => HookKind::ToolAfter,
            "preCompact" => HookKind::PreCompact,
            "agentStop" => HookKind::Stop,
            "sessionEnd" => HookKind::SessionEnd,
            "subagentStart" => HookKind::SubagentStart,
            "subagentStop" => HookKind::SubagentStop,
            name => claude::hook::kind(name, wire),
        }
    }

    /// Accepts context with the events of Claude Code, except at the start of a subagent.
    fn accepts_context(&self, kind: &HookKind) -> bool {
        *kind != HookKind::SubagentStart && ClaudeHooks.accepts_context(kind)
    }

    /// Even where the payload has Claude Code's form, Copilot only accepts answers in its own.
    fn render_context(&self, _: &HookEvent, context: &str, _: Option<&str>) -> String {
        json!({ "additionalContext": context }).to_string()
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}
