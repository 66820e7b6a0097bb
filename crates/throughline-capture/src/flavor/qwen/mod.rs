//! Qwen Code: `projects/<project>/chats/<session>.jsonl`, and the logs of its subagents.
//!
//! It is derived from Gemini CLI and uses the same parts, but has a log format of its own: every
//! line is a record with an id, a parent and a working directory. [`discover`] finds the logs,
//! [`wire`] mirrors the records, and [`log`] reads them; [`session`] is the state that they share,
//! and [`record_context`] makes the entries.
//!
//! Deliberately unread: `ui_telemetry`, which repeats the counts of the answers, and the snapshots
//! with which the program resumes.

mod discover;
pub(crate) mod hook;
mod log;
mod record_context;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const QWEN: Adapter = Adapter {
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
