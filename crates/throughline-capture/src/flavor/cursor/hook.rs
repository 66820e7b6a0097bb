//! Cursor's hooks, written from its documentation and not tested with Cursor itself.

use memory::Flavor;
use serde_json::json;

use crate::hook::{
    Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier, StartReason,
};

#[derive(Debug)]
pub(crate) struct CursorHooks;

impl Dialect for CursorHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Cursor
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.conversation_id.text().is_some()
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match name {
            "sessionStart" => HookKind::SessionStart {
                source: StartReason::New,
            },
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

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(kind, HookKind::SessionStart { .. } | HookKind::ToolAfter)
    }

    fn render_context(&self, event: &HookEvent, context: &str, _: Option<&str>) -> String {
        // The older events after a tool call accept no context.
        if event.kind == HookKind::ToolAfter && event.name != "postToolUse" {
            return self.empty_answer().to_owned();
        }
        json!({ "additional_context": context }).to_string()
    }

    fn empty_answer(&self) -> &'static str {
        "{}"
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::ToolResult
    }
}
