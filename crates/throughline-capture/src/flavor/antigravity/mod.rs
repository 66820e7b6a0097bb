//! Google Antigravity, the successor of Gemini CLI, in the editor and on the command line.
//!
//! `~/.gemini/<program>/brain/<conversation>/.system_generated/logs/` holds a transcript of steps
//! in which long texts are cut and, in most versions, a second one in which they are whole.
//! [`discover`] finds the better of the two, [`wire`] mirrors the steps, and [`log`] reads them.
//!
//! The format is known from public descriptions and sanitised samples only. Deliberately unread:
//! the plans and reports in `brain/`, which tool calls wrote, and the databases in
//! `conversations/`.

mod discover;
mod log;
#[cfg(test)]
mod tests;
mod wire;

use memory::Flavor;

use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const ANTIGRAVITY: Adapter = Adapter {
    flavor: Flavor::Antigravity,
    roots: discover::roots,
    claim: |root, relative| {
        discover::is_transcript(&root.join(relative)).then_some(SourceFormat::Lines)
    },
    recognises: discover::recognises,
    identify: Some(|head| discover::recognises(head).then_some(SourceFormat::Lines)),
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    let location = discover::AntigravityLocation::of(&source.path);
    Box::new(log::AntigravityLogReader::new(location, state))
}
