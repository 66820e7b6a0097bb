//! Claude Code, versions 1.0.24 to 2.1.325.
//!
//! [`discover`] finds the logs and [`wire`] mirrors their records. [`log`] reads them line by line:
//! [`conversation`] turns user and assistant records into messages with the help of [`prompt`] (who
//! wrote a text), [`result`] (what a tool did) and [`usage`]; [`session_records`] reads the records
//! around them: titles, errors, compactions and the prompt [`queue`]. [`session_tracker`] remembers
//! what was emitted about a session, [`pinned_lines`] which lines the next sweep must read again.
//! [`subagent_meta`] reads the small document beside a subagent's log, and [`history`] recovers
//! prompts of sessions whose logs are gone.

mod conversation;
mod discover;
mod history;
pub(crate) mod hook;
mod log;
mod pinned_lines;
mod prompt;
mod queue;
mod result;
mod session_records;
mod session_tracker;
mod subagent_meta;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use memory::Flavor;

use crate::flavor::history::HistoryReader;
use crate::{Adapter, LogReader, Source, SourceFormat};

pub(crate) const CLAUDE: Adapter = Adapter {
    flavor: Flavor::Claude,
    roots: discover::roots,
    claim: discover::claim,
    recognises: discover::recognises,
    identify: Some(|head| discover::is_conversation(head).then_some(SourceFormat::Lines)),
    open_reader,
    is_shared: Some(|source| discover::is_history(&source.path)),
    session_folder: None,
    read_rows: None,
};

fn open_reader(source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
    if discover::is_history(&source.path) {
        let format = history::ClaudeHistory::new(source);
        return Box::new(HistoryReader::new(source, format));
    }
    let owner = discover::log_owner(&source.path);
    if source.format == SourceFormat::Document {
        Box::new(subagent_meta::SubagentMetaReader(owner))
    } else {
        Box::new(log::ClaudeLogReader::new(owner, state))
    }
}
