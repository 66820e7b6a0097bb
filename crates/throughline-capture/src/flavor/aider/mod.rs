//! Aider.
//!
//! One Markdown file per repository, `.aider.chat.history.md`, holds all that was ever said there:
//! many runs, each a session of its own. [`mark`] tells whose a line is, [`log`] joins lines to
//! messages, [`run`] reads how a run began, [`prompt`] tells a person's words from what Aider says
//! in their place, [`printed`] reads its output and [`edits`] the changes that the model proposed.
//!
//! Deliberately unread: `.aider.input.history` (the prompts again) and `.aider.llm.history` (all
//! that was sent, over and over).

mod edits;
mod log;
mod mark;
mod printed;
mod prompt;
mod run;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Aider;

const HISTORY: &str = ".aider.chat.history.md";

impl Adapter for Aider {
    fn flavor(&self) -> Flavor {
        Flavor::Aider
    }

    /// The histories lie in the repositories, which only the user can name; those that Aider itself
    /// has another place for are known.
    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        let mut roots = vec![places.home.join(HISTORY)];
        roots.extend(places.folder_variable("AIDER_CHAT_HISTORY_FILE"));
        roots
    }

    fn claim(&self, _root: &Path, relative: &Path) -> Option<SourceFormat> {
        let name = relative.file_name()?.to_str()?;
        // Collections of logs flatten the folders into the name, so it may only end like this.
        name.ends_with(&HISTORY[1..]).then_some(SourceFormat::Lines)
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(|line| mark::run_start(line).is_some())
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::AiderLogReader::new(source, state))
    }
}
