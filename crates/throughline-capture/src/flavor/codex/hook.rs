//! Codex's hooks: Claude Code's protocol, and the older `notify`, whose payload is an argument.

use memory::{Flavor, Tokens};

use crate::flavor::claude;
use crate::flavor::claude::hook::ClaudeHooks;
use crate::hook::{ContextLimit, Dialect, HookEvent, HookHints, HookKind, HookPayload};

#[derive(Debug)]
pub(crate) struct CodexHooks;

impl Dialect for CodexHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Codex
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        let rollout = || {
            let path = wire.transcript(false).unwrap_or_default();
            let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
            file.starts_with("rollout-")
        };
        wire.thread_id.text().is_some()
            || wire.hook_event_name.text().is_some() && (wire.turn_id.text().is_some() || rollout())
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match name {
            "agent-turn-complete" => HookKind::Stop,
            name => claude::hook::kind(name, wire),
        }
    }

    /// Accepts context with the events of Claude Code, except at the start of a subagent.
    fn accepts_context(&self, kind: &HookKind) -> bool {
        *kind != HookKind::SubagentStart && ClaudeHooks.accepts_context(kind)
    }

    fn render_context(&self, event: &HookEvent, context: &str, notice: Option<&str>) -> String {
        claude::hook::context_answer(&event.name, context, notice)
    }

    /// Codex moves more than 2,500 tokens into a file and shows the model only the beginning.
    fn context_limit(&self) -> ContextLimit {
        ContextLimit {
            tokens: Tokens(2_400),
            ..ContextLimit::default()
        }
    }
}
