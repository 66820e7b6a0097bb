//! Kimi Code, and the Kimi CLI before it.
//!
//! A session is a directory, `sessions/<workspace>/<session>/`, with a log for each of its agents:
//! `agents/<agent>/wire.jsonl`. [`discover`] finds it, [`log`] reads its lines, [`prompt`] finds
//! the author of a prompt, [`session_file`] reads `state.json`, and [`wire`] mirrors the JSON.
//! [`legacy`] reads the lines of the older program.
//!
//! Deliberately unread: requests and tool tables, which repeat what was sent; injected reminders;
//! and the copies of prompts in `context.append_message`.

mod discover;
pub(crate) mod hook;
mod legacy;
mod log;
mod prompt;
mod session_file;
#[cfg(test)]
mod tests;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const KIMI: Adapter = Adapter {
    flavor: Flavor::Kimi,
    roots: discover::roots,
    claim: discover::claim,
    recognises,
    identify: Some(|head| is_log(head).then_some(SourceFormat::Lines)),
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    match source.format {
        SourceFormat::Document => Box::new(session_file::KimiSessionFileReader::new(source)),
        _ => Box::new(log::KimiLogReader::new(source, state)),
    }
}

fn recognises(head: &str) -> bool {
    let is_session_file = head.contains("\"workDir\"") && head.contains("\"agents\"");
    is_log(head) || is_session_file
}

fn is_log(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.contains("\"metadata\"") && first.contains("\"protocol_version\"")
}
