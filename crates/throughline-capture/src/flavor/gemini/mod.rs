//! Gemini CLI: `tmp/<project>/chats/session-*.json` to 0.39, `.jsonl` since.
//!
//! [`discover`] knows where sessions lie and what their places say. [`wire`] mirrors the JSON.
//! [`states`] gathers the messages of either format, each in its last state; [`log`] turns them
//! into entries with the help of [`prompt`] and [`tool`].
//!
//! Both formats are read whole each time. A `.jsonl` is appended to, but what is appended changes
//! what stood before: a message is written again whenever something of it becomes known. Read
//! whole, every message is given once and as it is now, and the store drops what it was.
//!
//! Deliberately unread: `logs.json` (prompts again), `tool-outputs/`, saved chats and git
//! checkpoints, which are copies.

mod discover;
pub(crate) mod hook;
mod log;
mod prompt;
mod states;
#[cfg(test)]
mod tests;
mod tool;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Gemini;

impl Adapter for Gemini {
    fn flavor(&self) -> Flavor {
        Flavor::Gemini
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::is_session(&root.join(relative)).then_some(SourceFormat::Document)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.recognises(head).then_some(SourceFormat::Document)
    }

    fn open_reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::GeminiReader::new(discover::GeminiLocation::of(
            &source.path,
        )))
    }
}
