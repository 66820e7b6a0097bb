//! opencode has plugins instead of hooks. Our plugin is a shim that uses a small protocol of its
//! own; see `docs/HOOKS.md`.

use memory::Flavor;
use serde_json::json;

use crate::hook::{Dialect, HookEvent, HookHints, HookKind, HookPayload, StartReason};

#[derive(Debug)]
pub(crate) struct OpencodeHooks;

impl Dialect for OpencodeHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Opencode
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        wire.agent.is(Flavor::Opencode.name())
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        match (name, wire.kind.text()) {
            ("system.transform", _) => HookKind::SessionStart {
                source: StartReason::from_name(wire.source.text()),
            },
            ("chat.message", _) => HookKind::Prompt {
                text: wire.take_prompt(),
                automatic: false,
            },
            ("tool.execute.before", _) => HookKind::ToolBefore,
            ("tool.execute.after", _) => HookKind::ToolAfter,
            ("session.compacting", _) => HookKind::PreCompact,
            ("event", Some("session.idle")) => HookKind::Stop,
            ("event", Some("session.compacted")) => HookKind::PostCompact,
            ("event", Some("session.deleted" | "server.instance.disposed")) => HookKind::SessionEnd,
            _ => HookKind::Other,
        }
    }

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::PreCompact
        )
    }

    fn render_context(&self, _: &HookEvent, context: &str, notice: Option<&str>) -> String {
        shim_answer(context, notice)
    }

    fn empty_answer(&self) -> &'static str {
        EMPTY_ANSWER
    }
}

/// The answer to our own plugins that carries nothing.
pub(crate) const EMPTY_ANSWER: &str = r#"{"context":null}"#;

/// Returns the answer to our own plugins.
pub(crate) fn shim_answer(context: &str, notice: Option<&str>) -> String {
    let mut answer = json!({ "context": context });
    if let Some(notice) = notice {
        answer["notice"] = notice.into();
    }
    answer.to_string()
}
