//! Qwen Code's hooks: Claude Code's protocol. It sends a prompt event without a text when it
//! continues after a tool call, and no start or end of a session that runs without a person.

use memory::Flavor;

use crate::flavor::claude;
use crate::flavor::claude::hook::ClaudeHooks;
use crate::hook::{Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier};

#[derive(Debug)]
pub(crate) struct QwenHooks;

impl Dialect for QwenHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Qwen
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.hook_event_name.text().is_some() && wire.is_transcript_under(".qwen")
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        claude::hook::kind(name, wire)
    }

    /// Accepts context with the events of Claude Code, except at the start of a subagent.
    fn accepts_context(&self, kind: &HookKind) -> bool {
        *kind != HookKind::SubagentStart && ClaudeHooks.accepts_context(kind)
    }

    fn render_context(&self, event: &HookEvent, context: &str, notice: Option<&str>) -> String {
        claude::hook::context_answer(&event.name, context, notice)
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}
