//! The files in the store's folder, and which of them can hold captured text.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::backup::restore;
use crate::encryption::key_locations;
use crate::error::{Error, Result};

/// Folders with copies that Throughline makes and can do without. Proposals are made again from the
/// catalog.
const COPIES: &[&str] = &[
    "safety", "quarantine", "quarantine.new", "repair", "proposals",
];

/// Backups of the agents' configuration from before the installation.
const ORIGINALS: &str = "originals";
/// The list of changes to the agents' configuration.
const INSTALLED: &str = "installed.json";
/// Where patterns are placed: ids, versions and paths of files.
const ACTIVE_PATTERNS: &str = "active_patterns.json";

/// Files of hooks and of the daemon: marks, logs, a socket, a token. None holds captured text.
const RUNTIME: &[&str] = &[
    "daemon.json", "daemon.log", "daemon.sock", "daemon.token", "daemon.tries", "hook.log",
    "hook.log.old", "hook.seen",
];

/// A file in the folder of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManagedFile {
    pub path: PathBuf,
    pub role: FileRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The database, its write-ahead log and its shared memory.
    Store,
    /// A safety copy of the store. It is deleted when something is forgotten.
    Copy,
    /// The key, the configuration, a lock: no captured text.
    Settings,
    /// An unknown file, perhaps a backup that the user put here.
    Foreign,
}

/// Lists the files in the folder of a store.
pub fn managed_files(folder: &Path) -> Result<Vec<ManagedFile>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let role = if COPIES.contains(&name.as_str())
                || name.starts_with(restore::PREVIOUS_STORE_PREFIX)
            {
                FileRole::Copy
            } else if name == ORIGINALS {
                FileRole::Settings
            } else {
                FileRole::Foreign
            };
            // A lock file for making copies holds no text.
            let inside = entries(&path)?.into_iter();
            let inside = inside.filter(|path| path.is_file() && !path.ends_with("lock"));
            files.extend(inside.map(|path| ManagedFile { path, role }));
        } else {
            files.push(ManagedFile {
                role: file_role(&name),
                path,
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Deletes the copies that may hold forgotten text, and returns them.
pub(super) fn remove_copies(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for file in managed_files(folder)? {
        if file.role == FileRole::Copy {
            std::fs::remove_file(&file.path).map_err(Error::io(&file.path))?;
            // A folder is deleted with its last file.
            let _not_empty = file.path.parent().map(std::fs::remove_dir);
            removed.push(file.path);
        }
    }
    Ok(removed)
}

fn file_role(name: &str) -> FileRole {
    let side = name.strip_prefix(crate::DATABASE_FILE);
    if let Some("" | "-wal" | "-shm" | "-journal") = side {
        return FileRole::Store;
    }
    let is_ours = name.starts_with(crate::REDACTION_KEY_FILE)
        || name.ends_with(".lock")
        || name.ends_with(".sock")
        || [
            key_locations::KEY_LIST_FILE,
            "config.toml",
            INSTALLED,
            ACTIVE_PATTERNS,
        ]
        .contains(&name)
        || RUNTIME.contains(&name);
    if is_ours {
        FileRole::Settings
    } else {
        FileRole::Foreign
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder)(error)),
    };
    listed
        .map(|entry| Ok(entry.map_err(Error::io(folder))?.path()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_files_are_not_taken_for_others() {
        for name in RUNTIME {
            assert_eq!(file_role(name), FileRole::Settings, "{name}");
        }
        for name in ["notes.txt", "daemon.log.mine", "memory.backup"] {
            assert_eq!(file_role(name), FileRole::Foreign, "{name}");
        }
    }
}
