//! Cursor's hooks, after its documentation; no Cursor was run.

use memory::Flavor;
use serde_json::json;

use crate::hook::{Dialect, Hints, HookEvent, HookKind, NotesCarrier, Start, Wire};

#[derive(Debug)]
pub struct Hooks;

impl Dialect for Hooks {
    fn flavor(&self) -> Flavor {
        Flavor::Cursor
    }

    fn recognises(&self, wire: &Wire, _: &Hints) -> bool {
        wire.conversation_id.text().is_some()
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        match name {
            "sessionStart" => HookKind::SessionStart { source: Start::New },
            "beforeSubmitPrompt" => HookKind::Prompt {
                text: wire.take_prompt(),
                automatic: false,
            },
            "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" => HookKind::ToolBefore,
            "postToolUse" | "afterFileEdit" | "afterShellExecution" | "afterMCPExecution" => {
                HookKind::ToolAfter
            }
            "preCompact" => HookKind::PreCompact,
            "stop" => HookKind::Stop,
            "sessionEnd" => HookKind::SessionEnd,
            "subagentStart" => HookKind::SubagentStart,
            "subagentStop" => HookKind::SubagentStop,
            _ => HookKind::Other,
        }
    }

    fn takes_context(&self, kind: &HookKind) -> bool {
        matches!(kind, HookKind::SessionStart { .. } | HookKind::ToolAfter)
    }

    fn write(&self, event: &HookEvent, context: &str) -> String {
        // Its older events after a tool know nothing of a context.
        if event.kind == HookKind::ToolAfter && event.name != "postToolUse" {
            return self.silence().to_owned();
        }
        json!({ "additional_context": context }).to_string()
    }

    fn silence(&self) -> &'static str {
        "{}"
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::ToolResult
    }
}
