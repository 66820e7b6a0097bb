//! Cursor: the editor and its agent.
//!
//! The editor keeps conversations in `state.vscdb`, one for each workspace and one for all, which
//! [`database`] reads; [`transcript`] reads what the agent writes beside it. [`bubble`] reduces what
//! [`wire`] mirrors, and [`discover`] knows the places.
//!
//! Deliberately unread: every key of `state.vscdb` but those of conversations, the copies of prompts
//! in `aiService.prompts`, transcripts as plain text, and the CLI's `store.db`, whose messages are in
//! an undocumented binary form.

mod bubble;
mod database;
mod discover;
pub(crate) mod hook;
#[cfg(test)]
mod tests;
mod transcript;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;
use store::foreign::ForeignDatabase;

use crate::{Adapter, AgentEnv, LogReader, ParseOutput, Source, SourceFormat};

#[derive(Debug)]
pub struct Cursor;

impl Adapter for Cursor {
    fn flavor(&self) -> Flavor {
        Flavor::Cursor
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::claim(&root.join(relative))
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        let place = discover::CursorLocation::of(&source.path);
        Box::new(transcript::CursorTranscriptReader::new(place, state))
    }

    fn read_rows(
        &self,
        source: &Source,
        database: &ForeignDatabase,
        state: Option<&str>,
        out: &mut ParseOutput,
    ) -> store::Result<String> {
        database::read_rows(&source.path, database, state, out)
    }
}
