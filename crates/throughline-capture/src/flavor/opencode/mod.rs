//! opencode.
//!
//! Since 1.2 all sessions are in one SQLite file, which [`database`] reads; [`document`] reads the
//! files of earlier releases and what `opencode export` prints. All of them contain the same
//! sessions, messages and parts: [`wire`] mirrors them, [`session`] and [`part`] turn them into
//! entries. [`discover`] finds the files.
//!
//! Deliberately unread: `event` (the history of the other tables' rows), `todo` (tool calls contain
//! it), snapshots, and every table with credentials.

mod database;
mod discover;
mod document;
pub(crate) mod hook;
mod part;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use std::path::Path;

use memory::Flavor;

use crate::{Adapter, SourceFormat};

pub(crate) const OPENCODE: Adapter = Adapter {
    flavor: Flavor::Opencode,
    roots: discover::roots,
    claim,
    recognises: discover::recognises,
    identify: Some(|head| discover::is_export(head).then_some(SourceFormat::Document)),
    open_reader: |source, _| Box::new(document::OpencodeDocumentReader::new(&source.path)),
    is_shared: None,
    session_folder: Some(|source, session| discover::session_folder(&source.path, session)),
    read_rows: Some(|_, database, state, out| database::read_rows(database, state, out)),
};

fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    let format = discover::OpencodeFile::at(&path)?.format();
    let is_replaced = format == SourceFormat::Document && discover::is_migrated(&path);
    (!is_replaced).then_some(format)
}
