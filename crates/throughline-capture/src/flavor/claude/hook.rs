//! Claude Code's hook protocol, which several agents have adopted.

use memory::Flavor;
use serde_json::json;

use crate::hook::{Dialect, HookEvent, HookHints, HookKind, HookPayload, StartReason};

#[derive(Debug)]
pub(crate) struct ClaudeHooks;

/// Sources of prompts that no person sent.
const AUTOMATIC: &[&str] = &["system", "loop_wakeup", "schedule_wakeup", "poll_event"];

impl Dialect for ClaudeHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Claude
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.hook_event_name.text().is_some()
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        kind(name, wire)
    }

    /// Context is never given at a stop, where it would make the agent continue, nor before a
    /// compaction, where Claude Code prints it on the user's screen and keeps it in the
    /// conversation.
    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. }
                | HookKind::Prompt { .. }
                | HookKind::ToolBefore
                | HookKind::ToolAfter
                | HookKind::SubagentStart
        )
    }

    fn render_context(&self, event: &HookEvent, context: &str, notice: Option<&str>) -> String {
        context_answer(&event.name, context, notice)
    }
}

/// Maps an event name of Claude Code.
pub(crate) fn kind(name: &str, wire: &mut HookPayload) -> HookKind {
    match name {
        "SessionStart" => HookKind::SessionStart {
            source: StartReason::from_name(wire.source.text()),
        },
        "UserPromptSubmit" => HookKind::Prompt {
            automatic: wire
                .source
                .text()
                .is_some_and(|source| AUTOMATIC.contains(&source)),
            text: wire.take_prompt(),
        },
        "PreToolUse" => HookKind::ToolBefore,
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => HookKind::ToolAfter,
        "PreCompact" => HookKind::PreCompact,
        "PostCompact" => HookKind::PostCompact,
        "Stop" | "StopFailure" | "StopCancelled" => HookKind::Stop,
        "SessionEnd" => HookKind::SessionEnd,
        "SubagentStart" => HookKind::SubagentStart,
        "SubagentStop" => HookKind::SubagentStop,
        _ => HookKind::Other,
    }
}

/// Returns the answer that adds a context to the conversation and shows a notice to the user.
pub(crate) fn context_answer(event: &str, context: &str, notice: Option<&str>) -> String {
    let mut answer = json!({
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": context}
    });
    if let Some(notice) = notice {
        answer["systemMessage"] = notice.into();
    }
    answer.to_string()
}
