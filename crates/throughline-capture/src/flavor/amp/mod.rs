//! Amp.
//!
//! A thread is one document, `threads/T-<id>.json`, that is rewritten as it grows. [`thread`] reads
//! it, [`result`] reads the results of its tools, and [`wire`] mirrors its JSON. Threads live on
//! Amp's server; the local files hold what this machine has seen of them.
//!
//! Deliberately unread: traces except for the end of the last one, and `history.jsonl`, which
//! repeats the prompts.

mod result;
#[cfg(test)]
mod tests;
mod thread;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::flavor::vscode::EDITORS;
use crate::{Adapter, AgentEnv, SourceFormat};

pub(crate) const AMP: Adapter = Adapter {
    flavor: Flavor::Amp,
    roots,
    claim,
    recognises,
    identify: None,
    open_reader: |source, _| Box::new(thread::AmpThreadReader::new(source)),
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let data = env.folder_or_home("XDG_DATA_HOME", ".local/share");
    let mut roots = vec![data.join("amp/threads")];
    // The editor extension kept its threads here before it shared the CLI's folder.
    for config in env.config_folders() {
        for editor in EDITORS {
            let storage = config.join(editor).join("User/globalStorage");
            roots.push(storage.join("sourcegraph.amp/threads3"));
        }
    }
    roots
}

fn claim(_root: &Path, relative: &Path) -> Option<SourceFormat> {
    let stem = relative.file_name()?.to_str()?.strip_suffix(".json")?;
    let id = stem.strip_prefix("T-")?;
    let is_id = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_id.then_some(SourceFormat::Document)
}

fn recognises(head: &str) -> bool {
    head.contains("\"T-") && head.contains("\"messages\"") && head.contains("\"created\"")
}
