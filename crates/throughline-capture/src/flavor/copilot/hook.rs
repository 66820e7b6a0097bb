//! Copilot CLI's hooks: its own form, which does not name the event; or Claude Code's, where it was
//! installed as a plugin of that form.

use memory::Flavor;
use serde_json::json;

use crate::flavor::claude;
use crate::hook::{Dialect, Hints, HookEvent, HookKind, NotesCarrier, Start, Wire};

#[derive(Debug)]
pub struct Hooks;

impl Dialect for Hooks {
    fn flavor(&self) -> Flavor {
        Flavor::Copilot
    }

    fn recognises(&self, wire: &Wire, hints: &Hints) -> bool {
        let is_native = wire.session_id_camel.text().is_some()
            && wire.hook_event_name.text().is_none()
            && wire.hook_event_name_camel.text().is_none();
        let is_others = wire.lies_in(".claude") || wire.lies_in(".gemini");
        // Gemini tells the time too, but always where the log lies.
        let is_timed = wire.timestamp.text().is_some() && wire.transcript(false).is_none();
        let is_copilots = wire.lies_in(".copilot")
            || !is_others && (is_timed || hints.inside == Some(Flavor::Copilot));
        is_native || wire.hook_event_name.text().is_some() && is_copilots
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        match name {
            "sessionStart" => HookKind::SessionStart {
                source: Start::named(wire.source.text()),
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

    fn takes_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. }
                | HookKind::Prompt { .. }
                | HookKind::ToolBefore
                | HookKind::ToolAfter
        )
    }

    /// From a plugin of Claude Code's form its payloads are Claude Code's, but of the answer it takes its own form alone.
    fn write(&self, _: &HookEvent, context: &str) -> String {
        json!({ "additionalContext": context }).to_string()
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}
