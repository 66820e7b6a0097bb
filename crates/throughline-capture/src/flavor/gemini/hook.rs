//! Gemini CLI's hooks: Claude Code's protocol with other names; standard output must be JSON.

use memory::{Flavor, fence};

use crate::flavor::claude;
use crate::hook::{
    Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier, StartReason,
};

#[derive(Debug)]
pub(crate) struct GeminiHooks;

const NAMES: &[&str] = &[
    "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool",
    "AfterTool", "PreCompress",
];

impl Dialect for GeminiHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Gemini
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        let Some(name) = wire.hook_event_name.text() else {
            return false;
        };
        NAMES.contains(&name) || wire.timestamp.text().is_some()
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match name {
            "SessionStart" => HookKind::SessionStart {
                source: StartReason::from_name(wire.source.text()),
            },
            "BeforeAgent" => HookKind::Prompt {
                // The context that was given at the session's start precedes the first prompt.
                text: typed_prompt(&wire.take_prompt()),
                automatic: false,
            },
            "BeforeTool" => HookKind::ToolBefore,
            "AfterTool" => HookKind::ToolAfter,
            "AfterAgent" => HookKind::Stop,
            "SessionEnd" => HookKind::SessionEnd,
            // Without this trigger the event comes before every request, compressed or not.
            "PreCompress" if wire.trigger.text() == Some("manual") => HookKind::PreCompact,
            _ => HookKind::Other,
        }
    }

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::ToolAfter
        )
    }

    fn render_context(&self, event: &HookEvent, context: &str, notice: Option<&str>) -> String {
        claude::hook::context_answer(&event.name, context, notice)
    }

    fn empty_answer(&self) -> &'static str {
        "{}"
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}

/// Returns a prompt without the context that hooks put before it.
fn typed_prompt(prompt: &str) -> String {
    let text = fence::strip(prompt);
    let text = text.trim_start();
    let text = match text.strip_prefix("<hook_context>") {
        Some(rest) => rest
            .split_once("</hook_context>")
            .map_or("", |(_, rest)| rest),
        None => text,
    };
    text.trim().to_owned()
}
