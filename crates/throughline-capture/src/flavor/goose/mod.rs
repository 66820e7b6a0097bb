//! Goose.
//!
//! All sessions are in one SQLite file, which [`database`] reads; [`legacy`] reads the files that
//! were before it, which Goose takes over once and leaves behind. [`talk`] reduces the messages
//! that [`wire`] mirrors.
//!
//! Deliberately unread: recipes and the data of extensions, and backups of the database.

mod database;
mod legacy;
mod talk;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;
use store::foreign::ForeignDatabase;

use crate::{Adapter, AgentEnv, LogReader, ParseOutput, Source, SourceFormat};

#[derive(Debug)]
pub struct Goose;

impl Adapter for Goose {
    fn flavor(&self) -> Flavor {
        Flavor::Goose
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        if let Some(root) = places.folder_variable("GOOSE_PATH_ROOT") {
            return vec![root.join("data/sessions")];
        }
        let data = places
            .folder_variable("XDG_DATA_HOME")
            .unwrap_or_else(|| places.home.join(".local/share"));
        let windows = places
            .folder_variable("APPDATA")
            .map(|data| data.join("Block/goose/data/sessions"));
        std::iter::once(data.join("goose/sessions"))
            .chain(windows)
            .collect()
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        let path = root.join(relative);
        let folder = path.parent()?;
        if !folder.ends_with("sessions") {
            return None;
        }
        let name = path.file_name()?.to_str()?;
        let is_ours = || folder.iter().any(|name| name == "goose") || is_dated(name);
        match name {
            "sessions.db" => Some(SourceFormat::Database),
            name if name.ends_with(".jsonl") && is_ours() => Some(SourceFormat::Lines),
            _ => None,
        }
    }

    fn recognises(&self, head: &str) -> bool {
        let has = |key: &str| head.contains(key);
        let log = has("\"working_dir\"") || (has("\"role\"") && has("\"created\""));
        head.starts_with("SQLite format 3") || log
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(legacy::GooseLegacyReader::new(source, state))
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

/// Files are named by their date, unless the user named them.
fn is_dated(name: &str) -> bool {
    name.len() > 9
        && name.bytes().take(8).all(|byte| byte.is_ascii_digit())
        && name.as_bytes().get(8) == Some(&b'_')
}
