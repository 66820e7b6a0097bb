//! Cline, as an editor extension and as a CLI.
//!
//! A task of the extension is a folder with a few JSON documents; the newer store has a folder for
//! each session. [`document`] reads the files: [`conversation`] reads the messages, for which
//! [`markup`] parses the tags in their text, and [`ui_messages`] reads what the program showed.
//! [`wire`] mirrors the JSON and [`discover`] recognises the files. Roo began as a copy of Cline
//! and uses the same readers.
//!
//! Deliberately unread: checkpoints, settings, secrets, and the system prompt beside the messages.

mod conversation;
mod discover;
mod document;
mod markup;
#[cfg(test)]
mod tests;
mod ui_messages;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::flavor::vscode::extension_folders;
use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

pub(crate) use discover::{claim_path, is_roo_path, recognises};

pub(crate) const CLINE: Adapter = Adapter {
    flavor: Flavor::Cline,
    roots,
    claim,
    recognises,
    identify: None,
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

/// Opens a reader for a file of Cline or of a program that descends from it.
pub(crate) fn open_reader(source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
    let reader = document::ClineDocumentReader::new(source.flavor, &source.path);
    Box::new(reader)
}

fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let mut roots = extension_folders(env, "saoudrizwan.claude-dev");
    roots.push(env.folder_or_home("CLINE_DATA_DIR", ".cline/data"));
    roots
}

fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    claim_path(&path).filter(|_| !is_roo_path(&path))
}
