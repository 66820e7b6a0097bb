//! Qwen Code: `projects/<project>/chats/<session>.jsonl`, and the logs of its subagents.
//!
//! It grew from Gemini CLI and speaks in the same parts, but its log is its own: every line is a
//! record with a name, a parent and its working directory. [`discover`] knows where logs lie,
//! [`wire`] mirrors the records, [`log`] goes through them; [`session`] keeps what they must know of
//! each other, and [`record_context`] makes the entries.
//!
//! Deliberately unread: `ui_telemetry`, which counts again what the answers count, and the
//! snapshots that let the program resume.

mod discover;
mod log;
mod record_context;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub const QWEN: Adapter = Adapter {
    flavor: Flavor::Qwen,
    roots: discover::roots,
    claim: |root, relative| discover::is_log(&root.join(relative)).then_some(SourceFormat::Lines),
    recognises: discover::recognises,
    identify: Some(|head| discover::recognises(head).then_some(SourceFormat::Lines)),
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    let session = discover::session_of(&source.path);
    Box::new(log::QwenLogReader::new(session, state))
}
