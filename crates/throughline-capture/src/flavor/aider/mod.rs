//! Aider.
//!
//! One Markdown file per repository, `.aider.chat.history.md`, holds all its conversations as a
//! sequence of runs; each run becomes a session. [`line_kind`] decides who wrote a line, [`log`]
//! joins lines to messages, [`run`] reads the header of a run, [`prompt`] tells a person's words
//! from what Aider writes in their place, [`output`] reads what Aider printed, and [`edits`] the
//! changes that the model proposed.
//!
//! Deliberately unread: `.aider.input.history` (the prompts again) and `.aider.llm.history` (every
//! request in full).

mod edits;
mod line_kind;
mod log;
mod output;
mod prompt;
mod run;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, SourceFormat};

/// The name of a history.
pub const HISTORY: &str = ".aider.chat.history.md";

pub(crate) const AIDER: Adapter = Adapter {
    flavor: Flavor::Aider,
    roots,
    claim,
    recognises: |head| {
        head.lines()
            .any(|line| line_kind::run_start(line).is_some())
    },
    identify: None,
    open_reader: |source, state| Box::new(log::AiderLogReader::new(source, state)),
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

/// Aider writes a history into each repository, which only the user can name. Known without that
/// are the one in the home folder and the one that Aider's own variable names.
fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let mut roots = vec![env.home.join(HISTORY)];
    roots.extend(env.folder_variable("AIDER_CHAT_HISTORY_FILE"));
    roots
}

fn claim(_root: &Path, relative: &Path) -> Option<SourceFormat> {
    let name = relative.file_name()?.to_str()?;
    // Collections of logs flatten the folders into the name, so the name may only end like this.
    name.ends_with(&HISTORY[1..]).then_some(SourceFormat::Lines)
}
