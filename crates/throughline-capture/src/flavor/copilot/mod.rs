//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, before 1.0.11 `session-state/<id>.jsonl`.
//!
//! [`discover`] finds the sessions and [`wire`] mirrors the JSON. [`log`] reads the events:
//! [`speech`] those with messages, [`tool`] those of tools, [`usage`] those with token counts;
//! [`session`] is the state that they share. [`workspace`] reads the title from the file beside the
//! events.
//!
//! Deliberately unread: `hook.start` and `hook.end`, half of all lines, which repeat prompts and
//! tool results; the vendor's system prompt; checkpoints and plans, which tool calls wrote.

mod discover;
pub(crate) mod hook;
mod log;
mod session;
mod speech;
#[cfg(test)]
mod tests;
mod tool;
mod usage;
mod wire;
mod workspace;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const COPILOT: Adapter = Adapter {
    flavor: Flavor::Copilot,
    roots: discover::roots,
    claim: |root, relative| discover::claim(&root.join(relative)),
    recognises: discover::recognises,
    identify: Some(|head| discover::recognises(head).then_some(SourceFormat::Lines)),
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    let session = discover::session_of(&source.path);
    if source.format == SourceFormat::Document {
        return Box::new(workspace::WorkspaceFileReader::new(session));
    }
    Box::new(log::CopilotLogReader::new(session, state))
}
