//! Grok CLI (xAI's Grok Build).
//!
//! A session is a directory: `sessions/<encoded cwd>/<session id>/`. [`discover`] finds it and
//! [`updates`] reads its log `updates.jsonl`: [`pending_message`] joins the chunks of a message,
//! [`calls`] the lines of a tool call, [`notices`] reads the small updates, and [`session`] is the
//! state that they share. [`chat`] reads `chat_history.jsonl` where there is no log, and
//! [`summary`] what the other files say about the session. [`prompt`], [`tool`] and [`usage`] parse
//! what [`wire`] mirrors.
//!
//! Deliberately unread: `events.jsonl`, `signals.json` and `usage.json` (timings and totals of what
//! the log contains), checkpoints and segments (copies), and `grok.db`, which belongs to another
//! program.

mod calls;
mod chat;
mod discover;
pub(crate) mod hook;
mod notices;
mod pending_message;
mod prompt;
mod session;
mod summary;
#[cfg(test)]
mod tests;
mod tool;
mod updates;
mod usage;
mod wire;

use memory::Flavor;

use self::discover::{GrokFile, GrokLocation};
use crate::{Adapter, LogReader, Source};

pub(crate) const GROK: Adapter = Adapter {
    flavor: Flavor::Grok,
    roots: discover::roots,
    claim: |root, relative| GrokFile::at(&root.join(relative)).map(GrokFile::format),
    recognises: discover::recognises,
    identify: None,
    open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    let location = GrokLocation::of(&source.path);
    match GrokFile::named(&source.path, source.format) {
        GrokFile::Updates => Box::new(updates::GrokLogReader::new(location, state)),
        GrokFile::Chat => Box::new(chat::GrokChatReader::new(location)),
        GrokFile::Summary => Box::new(summary::GrokSummaryReader::new(location)),
        GrokFile::Subagent => Box::new(summary::GrokSubagentReader),
    }
}
