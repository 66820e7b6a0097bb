//! Gemini CLI: `tmp/<project>/chats/session-*.json` up to 0.39, `.jsonl` since.
//!
//! [`discover`] finds the sessions and [`wire`] mirrors the JSON. [`conversation`] collects the
//! messages of either format, each in its last state; [`reader`] turns them into entries with the
//! help of [`prompt`] and [`tool`].
//!
//! Both formats are read as a whole each time. Lines are appended to a `.jsonl`, but they change
//! earlier ones: a message is written again whenever more of it is known. Read as a whole, every
//! message is emitted once in its current state, and the store replaces the previous one.
//!
//! Deliberately unread: `logs.json` (prompts again), `tool-outputs/`, saved chats and git
//! checkpoints, which are copies.

mod conversation;
mod discover;
pub(crate) mod hook;
mod prompt;
mod reader;
#[cfg(test)]
mod tests;
mod tool;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const GEMINI: Adapter = Adapter {
    flavor: Flavor::Gemini,
    roots: discover::roots,
    claim: |root, relative| {
        discover::is_session(&root.join(relative)).then_some(SourceFormat::Document)
    },
    recognises: discover::recognises,
    identify: Some(|head| discover::recognises(head).then_some(SourceFormat::Document)),
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
    let location = discover::GeminiLocation::of(&source.path);
    Box::new(reader::GeminiReader::new(location))
}
