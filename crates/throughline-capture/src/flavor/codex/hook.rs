//! Codex's hooks: Claude Code's form, read strictly; and its older `notify`, whose payload is an argument.

use memory::{Flavor, Tokens};

use crate::flavor::claude;
use crate::hook::{Dialect, Hints, HookEvent, HookKind, Limit, Wire};

#[derive(Debug)]
pub struct Hooks;

impl Dialect for Hooks {
    fn flavor(&self) -> Flavor {
        Flavor::Codex
    }

    fn recognises(&self, wire: &Wire, _: &Hints) -> bool {
        let rollout = || {
            let path = wire.transcript(false).unwrap_or_default();
            let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
            file.starts_with("rollout-")
        };
        wire.thread_id.text().is_some()
            || wire.hook_event_name.text().is_some() && (wire.turn_id.text().is_some() || rollout())
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        match name {
            "agent-turn-complete" => HookKind::Stop,
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

    fn write(&self, event: &HookEvent, context: &str) -> String {
        claude::hook::answer(&event.name, context)
    }

    /// Codex puts more than 2,500 tokens into a file and shows the beginning of it.
    fn limit(&self) -> Limit {
        Limit {
            tokens: Tokens(2_400),
            ..Limit::default()
        }
    }
}
