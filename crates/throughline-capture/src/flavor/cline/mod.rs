//! Cline, as an extension of editors and as a CLI.
//!
//! A task of the extension is a folder with a few JSON documents; the newer store has a folder for
//! each session. [`document`] reads the files: [`conversation`] what was said, for which [`markup`]
//! knows the tags in the text, and [`shown`] what the program showed of it. [`wire`] mirrors their
//! JSON, [`discover`] knows the places. Roo began as a copy of Cline, and is read with this.
//!
//! Deliberately unread: checkpoints, settings, secrets, and the system prompt beside the messages.

mod conversation;
mod discover;
mod document;
mod markup;
mod shown;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

pub use discover::{claim, extension_folders, is_roo_path, recognises};

/// Returns a reader of a file of Cline or of one of its kin.
pub fn reader(source: &Source) -> Box<dyn LogReader> {
    Box::new(document::ClineDocumentReader::new(
        source.flavor,
        &source.path,
    ))
}

#[derive(Debug)]
pub struct Cline;

impl Adapter for Cline {
    fn flavor(&self) -> Flavor {
        Flavor::Cline
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        let data = places
            .folder_variable("CLINE_DATA_DIR")
            .unwrap_or_else(|| places.home.join(".cline/data"));
        let mut roots = extension_folders(places, "saoudrizwan.claude-dev");
        roots.push(data);
        roots
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        let path = root.join(relative);
        claim(&path).filter(|_| !is_roo_path(&path))
    }

    fn recognises(&self, head: &str) -> bool {
        recognises(head)
    }

    fn open_reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
        reader(source)
    }
}
