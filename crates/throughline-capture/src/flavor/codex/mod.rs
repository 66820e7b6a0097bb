//! Codex CLI: rollouts, from the bare items of 2025 to the paginated history since 0.149.
//!
//! [`discover`] finds the rollouts, [`wire`] mirrors the JSON, and [`log`] reads the lines. A line
//! describes the session ([`session_meta`]), or is a response item ([`item`], [`call`]), which is
//! content, or an event ([`event`], [`patch`]), which repeats content and adds what only Codex
//! knows: token counts, exit codes, applied patches. An event replaces an item only where the item
//! was never written ([`spoken_events`]). [`prompt`], [`output`] and [`usage`] parse one thing
//! each; [`state`] is what a reader keeps between sweeps. [`history`] recovers prompts of sessions
//! whose rollouts are gone.

mod call;
mod discover;
mod event;
mod history;
pub(crate) mod hook;
mod index;
mod item;
mod log;
mod output;
mod patch;
mod prompt;
mod session_meta;
mod spoken_events;
mod state;
#[cfg(test)]
mod tests;
mod usage;
mod wire;

use memory::Flavor;

use crate::flavor::history::HistoryReader;
use crate::{Adapter, LogReader, Source};

/// Reads the logs of Codex CLI and of the programs that share its folder.
pub(crate) const CODEX: Adapter = Adapter {
    flavor: Flavor::Codex,
    roots: discover::roots,
    claim: discover::claim,
    recognises: discover::recognises,
    identify: Some(discover::identify),
    open_reader,
    is_shared: Some(|source| {
        discover::is_index(&source.path) || discover::is_history(&source.path)
    }),
    session_folder: Some(history::session_folder),
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    if discover::is_index(&source.path) {
        return Box::new(index::CodexIndexReader);
    }
    if discover::is_history(&source.path) {
        let format = history::CodexHistory::new(source);
        return Box::new(HistoryReader::new(source, format));
    }
    Box::new(log::CodexLogReader::new(source, state))
}
