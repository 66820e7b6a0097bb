//! Grok's hooks: every field twice, in Claude Code's spelling and in its own.
//!
//! What is answered reaches its model at tool calls only. `Stop` comes twice: at the end of a turn, and
//! when the program ends.

use memory::Flavor;

use crate::flavor::claude;
use crate::hook::{Dialect, Hints, HookEvent, HookKind, NotesCarrier, Wire};

#[derive(Debug)]
pub struct Hooks;

impl Dialect for Hooks {
    fn flavor(&self) -> Flavor {
        Flavor::Grok
    }

    fn recognises(&self, wire: &Wire, _: &Hints) -> bool {
        wire.hook_event_name_camel.text().is_some()
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        claude::hook::kind(name, wire)
    }

    fn takes_context(&self, kind: &HookKind) -> bool {
        matches!(kind, HookKind::ToolBefore | HookKind::ToolAfter)
    }

    fn write(&self, event: &HookEvent, context: &str) -> String {
        claude::hook::answer(&event.name, context)
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::ToolResult
    }
}
