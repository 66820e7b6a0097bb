//! Claude Code, 1.0.24 to 2.1.325.
//!
//! [`discover`] finds the logs. [`wire`] mirrors their records, [`scalar`] their fields. [`log`]
//! reads them line by line: [`conversation`] turns user and assistant records into messages with
//! [`prompt`] (who typed it), [`result`] (what a tool did) and [`usage`]; [`about`] reads the
//! records around them: titles, errors, compaction, the prompt [`queue`]. [`facts`] keeps
//! what was told of a session, [`pins`] where a half-told thing must be read again. [`meta`] is
//! the small document beside a subagent's log, [`history`] what is left of sessions whose logs are
//! gone.

mod about;
mod conversation;
mod discover;
mod facts;
mod history;
pub(crate) mod hook;
mod log;
mod meta;
mod pins;
mod prompt;
mod queue;
mod result;
mod scalar;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Claude;

impl Adapter for Claude {
    fn flavor(&self) -> Flavor {
        Flavor::Claude
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::claim(root, relative)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        discover::is_conversation(head).then_some(SourceFormat::Lines)
    }

    fn is_shared(&self, source: &Source) -> bool {
        discover::is_history(&source.path)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        if discover::is_history(&source.path) {
            let prompts = history::ClaudeHistory::new(source);
            return Box::new(crate::flavor::history::HistoryReader::new(source, prompts));
        }
        let whose = discover::log_owner(&source.path);
        if source.format == SourceFormat::Document {
            Box::new(meta::SubagentMetaReader(whose))
        } else {
            Box::new(log::ClaudeLogReader::new(whose, state))
        }
    }
}
