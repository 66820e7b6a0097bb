//! Kimi Code's hooks: Claude Code's events with a payload of its own. Only answers to prompts reach
//! the model.

use memory::Flavor;
use serde_json::json;

use crate::flavor::claude;
use crate::hook::{Dialect, HookEvent, HookHints, HookKind, HookPayload, NotesCarrier};

#[derive(Debug)]
pub(crate) struct KimiHooks;

impl Dialect for KimiHooks {
    fn flavor(&self) -> Flavor {
        Flavor::Kimi
    }

    fn recognises(&self, wire: &HookPayload, _: &HookHints) -> bool {
        let client = wire.client_type.text();
        client.is_some_and(|client| client.starts_with("kimi"))
    }

    fn event_kind(&self, name: &str, wire: &mut HookPayload) -> HookKind {
        claude::hook::kind(name, wire)
    }

    fn accepts_context(&self, kind: &HookKind) -> bool {
        matches!(kind, HookKind::Prompt { .. })
    }

    /// Kimi Code shows the answer itself to the user, so there is no notice.
    fn render_context(&self, _: &HookEvent, context: &str, _: Option<&str>) -> String {
        json!({ "message": context }).to_string()
    }

    fn notes_carrier(&self) -> NotesCarrier {
        NotesCarrier::Prompt
    }
}
