//! One folder for each agent. Registering a flavor is one line in [`ADAPTERS`].

mod antigravity;
#[cfg(test)]
mod check;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod grok;
mod parts;
mod qwen;

use memory::Flavor;

use crate::Adapter;

/// Every agent we can read.
pub const ADAPTERS: &[&dyn Adapter] = &[
    &claude::Claude,
    &codex::Codex,
    &grok::Grok,
    &gemini::Gemini,
    &copilot::Copilot,
    &qwen::Qwen,
    &antigravity::Antigravity,
];

/// Returns the adapter of a flavor.
pub fn adapter(flavor: Flavor) -> Option<&'static dyn Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}
