//! Grok's hooks: every field twice, in Claude Code's spelling and in Grok's.
//!
//! Only answers to tool calls reach the model. `Stop` comes twice: at the end of a turn and when
//! the program ends.

use memory::Flavor;

use crate::flavor::claude;
use crate::hook::{Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier};

#[derive(Debug)]
pub(crate) struct GrokHooks;

impl Dialect for GrokHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Grok
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.hook_event_name_camel.text().is_some()
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        claude::hook::kind(name, wire)
    }

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(kind, HookKind::ToolBefore | HookKind::ToolAfter)
    }

    fn render_context(&self, event: &HookEvent, context: &str, _: Option<&str>) -> String {
        claude::hook::context_answer(&event.name, context, None)
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::ToolResult
    }
}
