//! Continue.
//!
//! A session is one document, `sessions/<id>.json`, that is rewritten after each turn. [`reader`]
//! reads it and [`wire`] mirrors its JSON. The start of the session is in `sessions.json` beside
//! it.
//!
//! Deliberately unread: `promptLogs` except for the model's name, because they repeat whole prompts
//! with the configuration and its keys; attached files, which are not the conversation; and the
//! editor's state, which repeats the prompt.

mod reader;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::flavor::names::{file_name, is_uuid};
use crate::{Adapter, AgentEnv, SourceFormat};

pub(crate) const CONTINUE: Adapter = Adapter {
    flavor: Flavor::Continue,
    roots,
    claim,
    recognises,
    identify: Some(|head| recognises(head).then_some(SourceFormat::Document)),
    open_reader: |source, _| Box::new(reader::ContinueReader::new(source)),
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_or_home("CONTINUE_GLOBAL_DIR", ".continue");
    vec![home.join("sessions")]
}

fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    let stem = file_name(&path).strip_suffix(".json")?;
    let is_session = path.parent().map(file_name) == Some("sessions") && is_uuid(stem);
    is_session.then_some(SourceFormat::Document)
}

fn recognises(head: &str) -> bool {
    let has = |key: &str| head.contains(key);
    has("\"sessionId\"") && has("\"history\"") && has("\"workspaceDirectory\"")
}
