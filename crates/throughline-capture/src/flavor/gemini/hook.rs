//! Gemini CLI's hooks: Claude Code's form with other names, and nothing but JSON on standard output.

use memory::{Flavor, fence};

use crate::flavor::claude;
use crate::hook::{Dialect, Hints, HookEvent, HookKind, NotesCarrier, Start, Wire};

#[derive(Debug)]
pub struct Hooks;

const NAMES: &[&str] = &[
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
];

impl Dialect for Hooks {
    fn flavor(&self) -> Flavor {
        Flavor::Gemini
    }

    fn recognises(&self, wire: &Wire, _: &Hints) -> bool {
        let Some(name) = wire.hook_event_name.text() else {
            return false;
        };
        NAMES.contains(&name) || wire.timestamp.text().is_some()
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        match name {
            "SessionStart" => HookKind::SessionStart {
                source: Start::named(wire.source.text()),
            },
            "BeforeAgent" => HookKind::Prompt {
                // What we said at the session's start stands before the first prompt.
                text: typed(&wire.take_prompt()),
                automatic: false,
            },
            "BeforeTool" => HookKind::ToolBefore,
            "AfterTool" => HookKind::ToolAfter,
            "AfterAgent" => HookKind::Stop,
            "SessionEnd" => HookKind::SessionEnd,
            // By itself it comes before every request, whether anything is compressed or not.
            "PreCompress" if wire.trigger.text() == Some("manual") => HookKind::PreCompact,
            _ => HookKind::Other,
        }
    }

    fn takes_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::ToolAfter
        )
    }

    fn write(&self, event: &HookEvent, context: &str) -> String {
        claude::hook::answer(&event.name, context)
    }

    fn silence(&self) -> &'static str {
        "{}"
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}

/// Returns a prompt without what hooks put before it.
fn typed(prompt: &str) -> String {
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
