//! Grok CLI (xAI's Grok Build).
//!
//! A session is a directory: `sessions/<encoded cwd>/<session id>/`. [`discover`] finds it,
//! [`updates`] reads its log `updates.jsonl`: [`pending`] joins the chunks of a message, [`calls`]
//! the lines of a tool call, [`news`] reads the small updates, and [`session`] keeps what they must
//! know of each other. [`chat`] reads `chat_history.jsonl` where there is no log, [`summary`] what
//! the other files say of the session. [`prompt`], [`tool`] and [`usage`] reduce what [`wire`]
//! mirrors of their JSON.
//!
//! Deliberately unread: `events.jsonl`, `signals.json` and `usage.json` (timings and sums of what
//! the log says), checkpoints and segments (copies), and `grok.db`, which is another program's.

mod calls;
mod chat;
mod discover;
pub(crate) mod hook;
mod news;
mod pending;
mod prompt;
mod session;
mod summary;
#[cfg(test)]
mod tests;
mod tool;
mod updates;
mod usage;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Grok;

impl Adapter for Grok {
    fn flavor(&self) -> Flavor {
        Flavor::Grok
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::GrokFile::at(&root.join(relative)).map(discover::GrokFile::format)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        let place = discover::GrokLocation::of(&source.path);
        match discover::GrokFile::named(&source.path, source.format) {
            discover::GrokFile::Updates => Box::new(updates::GrokLogReader::new(place, state)),
            discover::GrokFile::Chat => Box::new(chat::GrokChatReader::new(place)),
            discover::GrokFile::Summary => Box::new(summary::GrokSummaryReader::new(place)),
            discover::GrokFile::Subagent => Box::new(summary::GrokSubagentReader),
        }
    }
}
