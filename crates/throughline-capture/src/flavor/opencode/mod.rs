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
use store::foreign::Database;

use crate::{Adapter, Format, Parsed, Places, Reader, Source};

#[derive(Debug)]
pub struct Opencode;

impl Adapter for Opencode {
    fn flavor(&self) -> Flavor {
        Flavor::Opencode
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<Format> {
        let path = root.join(relative);
        let file = discover::File::at(&path)?;
        let left_behind = file.format() == Format::Document && discover::is_taken_over(&path);
        (!left_behind).then(|| file.format())
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<Format> {
        discover::is_export(head).then_some(Format::Document)
    }

    fn session_folder(&self, source: &Source, session: &str) -> Option<String> {
        discover::session_folder(&source.path, session)
    }

    fn reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn Reader> {
        Box::new(document::Document::new(&source.path))
    }

    fn rows(
        &self,
        _source: &Source,
        database: &Database,
        state: Option<&str>,
        out: &mut Parsed,
    ) -> store::Result<String> {
        database::rows(database, state, out)
    }
}
