//! opencode.
//!
//! Since 1.2 all sessions are in one SQLite file, which [`database`] reads; [`document`] reads the
//! files of the releases before it, and what `opencode export` prints. All of them hold the same
//! sessions, messages and parts: [`wire`] mirrors them, [`session`] and [`part`] reduce them.
//! [`discover`] knows the places.
//!
//! Deliberately unread: `event` (the history of the other tables' rows), `todo` (a tool's calls
//! tell it), snapshots, and every table with credentials.

mod database;
mod discover;
mod document;
pub(crate) mod hook;
mod part;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;
use store::foreign::ForeignDatabase;

use crate::{Adapter, AgentEnv, LogReader, ParseOutput, Source, SourceFormat};

#[derive(Debug)]
pub struct Opencode;

impl Adapter for Opencode {
    fn flavor(&self) -> Flavor {
        Flavor::Opencode
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        let path = root.join(relative);
        let file = discover::OpencodeFile::at(&path)?;
        let left_behind = file.format() == SourceFormat::Document && discover::is_migrated(&path);
        (!left_behind).then(|| file.format())
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        discover::is_export(head).then_some(SourceFormat::Document)
    }

    fn session_folder(&self, source: &Source, session: &str) -> Option<String> {
        discover::session_folder(&source.path, session)
    }

    fn open_reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(document::OpencodeDocumentReader::new(&source.path))
    }

    fn read_rows(
        &self,
        _source: &Source,
        database: &ForeignDatabase,
        state: Option<&str>,
        out: &mut ParseOutput,
    ) -> store::Result<String> {
        database::read_rows(database, state, out)
    }
}
