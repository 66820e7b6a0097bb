//! Codex CLI: rollout logs, from the bare items of 2025 to the paginated history of 0.149 and on.
//!
//! [`discover`] knows where rollouts lie and what their names say, [`wire`] mirrors the JSON,
//! [`log`] goes through the lines. A line speaks of the session ([`head`]), or is a response item
//! ([`item`], [`call`]), which is content, or an event ([`event`], [`patch`]), which repeats content
//! and adds what only the program knows: token counts, exit codes, applied patches. Only where an
//! item was never written does an event stand for it ([`speech`]). [`prompt`], [`output`] and
//! [`usage`] read one thing each; [`state`] is what a reader remembers between sweeps. [`history`]
//! is what is left of sessions whose rollouts are gone.

mod call;
mod discover;
mod event;
mod head;
mod history;
pub(crate) mod hook;
mod index;
mod item;
mod log;
mod output;
mod patch;
mod prompt;
mod speech;
mod state;
#[cfg(test)]
mod tests;
pub(super) mod text;
mod usage;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

/// Reads the logs of Codex CLI and of the programs that share its folder.
#[derive(Debug)]
pub struct Codex;

impl Adapter for Codex {
    fn flavor(&self) -> Flavor {
        Flavor::Codex
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::claim(root, relative)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        discover::identify(head)
    }

    fn is_shared(&self, source: &Source) -> bool {
        discover::is_index(&source.path) || discover::is_history(&source.path)
    }

    fn session_folder(&self, source: &Source, session: &str) -> Option<String> {
        history::session_folder(source, session)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        if discover::is_index(&source.path) {
            return Box::new(index::CodexIndexReader);
        }
        if discover::is_history(&source.path) {
            let prompts = history::CodexHistory::new(source);
            return Box::new(crate::flavor::history::HistoryReader::new(source, prompts));
        }
        Box::new(log::CodexLogReader::new(source, state))
    }
}
