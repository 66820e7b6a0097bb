//! One folder for each agent. Registering a flavor is one line in [`ADAPTERS`].

mod aider;
mod amp;
mod antigravity;
#[cfg(test)]
mod check;
pub(crate) mod claude;
mod cline;
pub(crate) mod codex;
mod r#continue;
pub(crate) mod copilot;
pub(crate) mod cursor;
pub(crate) mod gemini;
mod goose;
pub(crate) mod grok;
mod history;
mod kimi;
pub(crate) mod opencode;
mod parts;
mod pi;
mod qwen;
mod roo;
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
    &opencode::Opencode,
    &copilot::Copilot,
    &pi::Pi,
    &cursor::Cursor,
    &cline::Cline,
    &roo::Roo,
    &goose::Goose,
    &aider::Aider,
    &r#continue::Continue,
    &amp::Amp,
    &qwen::Qwen,
    &kimi::Kimi,
    &antigravity::Antigravity,
];

/// Returns the adapter of a flavor.
pub fn adapter_for(flavor: Flavor) -> Option<&'static dyn Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}
