//! opencode has no hooks but plugins. Ours is a shim that speaks a small protocol of our own; see
//! `docs/HOOKS.md`.

use memory::Flavor;
use serde_json::json;

use crate::hook::{Dialect, Hints, HookEvent, HookKind, Start, Wire};

#[derive(Debug)]
pub struct Shim;

impl Dialect for Shim {
    fn flavor(&self) -> Flavor {
        Flavor::Opencode
    }

    fn recognises(&self, wire: &Wire, _: &Hints) -> bool {
        wire.agent.is(Flavor::Opencode.name())
    }

    fn kind(&self, name: &str, wire: &mut Wire) -> HookKind {
        match (name, wire.kind.text()) {
            ("system.transform", _) => HookKind::SessionStart {
                source: Start::named(wire.source.text()),
            },
            ("chat.message", _) => HookKind::Prompt {
                text: wire.take_prompt(),
                automatic: false,
            },
            ("tool.execute.before", _) => HookKind::ToolBefore,
            ("tool.execute.after", _) => HookKind::ToolAfter,
            ("session.compacting", _) => HookKind::PreCompact,
            ("event", Some("session.idle")) => HookKind::Stop,
            ("event", Some("session.compacted")) => HookKind::PostCompact { summary: None },
            ("event", Some("session.deleted" | "server.instance.disposed")) => HookKind::SessionEnd,
            _ => HookKind::Other,
        }
    }

    fn takes_context(&self, kind: &HookKind) -> bool {
        matches!(
            kind,
            HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::PreCompact
        )
    }

    fn write(&self, _: &HookEvent, context: &str) -> String {
        json!({ "context": context }).to_string()
    }

    fn silence(&self) -> &'static str {
        r#"{"context":null}"#
    }
}
