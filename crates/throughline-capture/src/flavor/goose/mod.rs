//! Goose.
//!
//! All sessions are in one SQLite file, which [`database`] reads; [`legacy`] reads the files of
//! older releases, which Goose migrates once and leaves behind. [`conversation`] turns the messages
//! that [`wire`] mirrors into entries.
//!
//! Deliberately unread: recipes, the data of extensions, and backups of the database.

mod conversation;
mod database;
mod legacy;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, SourceFormat};

pub(crate) const GOOSE: Adapter = Adapter {
    flavor: Flavor::Goose,
    roots,
    claim,
    recognises,
    identify: None,
    open_reader: |source, state| Box::new(legacy::GooseLegacyReader::new(source, state)),
    is_shared: None,
    session_folder: None,
    read_rows: Some(|_, database, state, out| database::read_rows(database, state, out)),
};

fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    if let Some(root) = env.folder_variable("GOOSE_PATH_ROOT") {
        return vec![root.join("data/sessions")];
    }
    let data = env.folder_or_home("XDG_DATA_HOME", ".local/share");
    let windows = env
        .folder_variable("APPDATA")
        .map(|data| data.join("Block/goose/data/sessions"));
    std::iter::once(data.join("goose/sessions"))
        .chain(windows)
        .collect()
}

fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    let folder = path.parent()?;
    if !folder.ends_with("sessions") {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let is_ours = || folder.iter().any(|name| name == "goose") || is_dated(name);
    match name {
        "sessions.db" => Some(SourceFormat::Database),
        name if name.ends_with(".jsonl") && is_ours() => Some(SourceFormat::Lines),
        _ => None,
    }
}

fn recognises(head: &str) -> bool {
    let has = |key: &str| head.contains(key);
    let log = has("\"working_dir\"") || (has("\"role\"") && has("\"created\""));
    head.starts_with("SQLite format 3") || log
}

/// Says whether a file has the name that Goose gives it: its date. Users can name sessions too.
fn is_dated(name: &str) -> bool {
    name.len() > 9
        && name.bytes().take(8).all(|byte| byte.is_ascii_digit())
        && name.as_bytes().get(8) == Some(&b'_')
}
