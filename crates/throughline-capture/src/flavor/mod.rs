//! The agents' log formats, one folder each. An agent is registered with one line in [`ADAPTERS`].
//!
//! Formats that several agents share have modules of their own: [`anthropic`] and
//! [`gemini_content`] for the content of model APIs, [`history`] for histories of prompts,
//! [`vscode`] for editor extensions. [`names`] and [`database_cache`] serve discovery.

mod aider;
mod amp;
mod anthropic;
mod antigravity;
pub(crate) mod claude;
mod cline;
pub(crate) mod codex;
mod r#continue;
pub(crate) mod copilot;
pub(crate) mod cursor;
mod database_cache;
pub(crate) mod gemini;
mod gemini_content;
mod goose;
pub(crate) mod grok;
mod history;
pub(crate) mod kimi;
mod names;
pub(crate) mod opencode;
pub(crate) mod pi;
pub(crate) mod qwen;
mod roo;
mod vscode;

use memory::{Block, Flavor};

use crate::Adapter;

pub use aider::HISTORY as AIDER_HISTORY;

/// The adapters of all supported agents.
pub const ADAPTERS: &[&Adapter] = &[
    &claude::CLAUDE,
    &codex::CODEX,
    &grok::GROK,
    &gemini::GEMINI,
    &opencode::OPENCODE,
    &copilot::COPILOT,
    &pi::PI,
    &cursor::CURSOR,
    &cline::CLINE,
    &roo::ROO,
    &goose::GOOSE,
    &aider::AIDER,
    &r#continue::CONTINUE,
    &amp::AMP,
    &qwen::QWEN,
    &kimi::KIMI,
    &antigravity::ANTIGRAVITY,
];

/// Returns the adapter of a flavor.
pub fn adapter_for(flavor: Flavor) -> Option<&'static Adapter> {
    ADAPTERS
        .iter()
        .copied()
        .find(|adapter| adapter.flavor() == flavor)
}

/// Returns a text as a block unless it is blank.
fn text_block(text: String) -> Option<Block> {
    (!text.trim().is_empty()).then_some(Block::Text(text))
}
