//! Gemini CLI: `tmp/<project>/chats/session-*.json` to 0.39, `.jsonl` since.
//!
//! [`discover`] knows where sessions lie and what their places say. [`wire`] mirrors the JSON.
//! [`conversation`] gathers the messages of either format, each in its last state; [`reader`] turns them
//! into entries with the help of [`prompt`] and [`tool`].
//!
//! Both formats are read whole each time. A `.jsonl` is appended to, but what is appended changes
//! what stood before: a message is written again whenever something of it becomes known. Read
//! whole, every message is given once and as it is now, and the store drops what it was.
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

pub const GEMINI: Adapter = Adapter {
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
