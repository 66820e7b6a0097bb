//! Pi has extensions instead of hooks. Our extension uses the same small protocol as our plugin of
//! opencode; see `docs/HOOKS.md`.

use memory::Flavor;

use crate::flavor::opencode;
use crate::hook::{
    Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier, StartReason,
};

#[derive(Debug)]
pub(crate) struct PiHooks;

impl Dialect for PiHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Pi
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.agent.is(Flavor::Pi.name())
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match name {
            "session_start" => HookKind::SessionStart {
                source: StartReason::from_name(wire.source.text()),
            },
            "before_agent_start" => HookKind::Prompt {
                text: wire.take_prompt(),
                automatic: false,
            },
            "session_compact" => HookKind::PostCompact,
            "agent_end" => HookKind::Stop,
            "session_shutdown" => HookKind::SessionEnd,
            _ => HookKind::Other,
        }
    }

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. } | HookKind::Prompt { .. }
        )
    }

    fn render_context(&self, _: &HookEvent, context: &str, notice: Option<&str>) -> String {
        opencode::hook::shim_answer(context, notice)
    }

    fn empty_answer(&self) -> &'static str {
        opencode::hook::EMPTY_ANSWER
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}
