//! Cursor: the editor and its agent.
//!
//! The editor keeps conversations in `state.vscdb` files, one per workspace and a global one, which
//! [`database`] reads; [`transcript`] reads what the agent's CLI writes. [`bubble`] turns what
//! [`wire`] mirrors into entries, and [`discover`] finds the files.
//!
//! Deliberately unread: every key of `state.vscdb` except those of conversations, the copies of
//! prompts in `aiService.prompts`, transcripts as plain text, and the CLI's `store.db`, whose
//! messages are in an undocumented binary format.

mod bubble;
mod database;
mod discover;
pub(crate) mod hook;
#[cfg(test)]
mod tests;
mod transcript;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source};

pub(crate) const CURSOR: Adapter = Adapter {
    flavor: Flavor::Cursor,
    roots: discover::roots,
    claim: |root, relative| discover::claim(&root.join(relative)),
    recognises: discover::recognises,
    identify: None,
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: Some(database::read_rows),
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    let location = discover::CursorLocation::of(&source.path);
    Box::new(transcript::CursorTranscriptReader::new(location, state))
}
