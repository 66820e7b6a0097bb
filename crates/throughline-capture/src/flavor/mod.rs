//! One folder for each agent. Registering a flavor is one line in [`ADAPTERS`].

mod aider;
mod amp;
mod claude;
mod codex;
mod r#continue;
mod grok;
mod history;
mod kimi;
mod pi;
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
    &pi::Pi,
    &aider::Aider,
    &r#continue::Continue,
    &amp::Amp,
    &kimi::Kimi,
];

/// Returns the adapter of a flavor.
pub fn adapter(flavor: Flavor) -> Option<&'static dyn Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}
