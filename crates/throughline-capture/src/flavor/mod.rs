//! One folder for each agent. Registering a flavor is one line in [`ADAPTERS`].

mod aider;
mod amp;
mod antigravity;
#[cfg(test)]
mod check;
mod claude;
mod codex;
mod r#continue;
mod copilot;
mod gemini;
mod grok;
mod history;
mod kimi;
mod parts;
mod pi;
mod qwen;
#[cfg(test)]
mod trial;
mod uri;

use memory::Flavor;

use crate::Adapter;

/// Every agent we can read.
pub const ADAPTERS: &[&dyn Adapter] = &[
    &claude::Claude,
    &codex::Codex,
    &grok::Grok,
    &gemini::Gemini,
    &copilot::Copilot,
    &pi::Pi,
    &aider::Aider,
    &r#continue::Continue,
    &amp::Amp,
    &qwen::Qwen,
    &kimi::Kimi,
    &antigravity::Antigravity,
];

/// Returns the adapter of a flavor.
pub fn adapter(flavor: Flavor) -> Option<&'static dyn Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}
