//! One folder for each agent. Registering a flavor is one line in [`ADAPTERS`].

mod claude;
mod cline;
mod codex;
mod cursor;
mod goose;
mod grok;
mod opencode;
mod roo;

use memory::Flavor;

use crate::Adapter;

/// Every agent we can read.
pub const ADAPTERS: &[&dyn Adapter] = &[
    &claude::Claude,
    &codex::Codex,
    &grok::Grok,
    &opencode::Opencode,
    &cursor::Cursor,
    &cline::Cline,
    &roo::Roo,
    &goose::Goose,
];

/// Returns the adapter of a flavor.
pub fn adapter(flavor: Flavor) -> Option<&'static dyn Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}
