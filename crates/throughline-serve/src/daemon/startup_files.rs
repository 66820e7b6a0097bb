//! The program and configuration files that a daemon was started from.
//!
//! A daemon whose files have changed would answer with outdated code or settings, so it stops
//! answering hooks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The files and their identities at startup.
#[derive(Debug, Default)]
pub struct StartupFiles {
    files: Mutex<Vec<(PathBuf, Option<ExecutableIdentity>)>>,
}

/// Inode, size and modification time; `None` for a missing file.
type ExecutableIdentity = (u64, u64, Option<SystemTime>);

impl StartupFiles {
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamped = |path: PathBuf| {
            let stamp = file_identity(&path);
            (path, stamp)
        };
        Self {
            files: Mutex::new(paths.into_iter().map(stamped).collect()),
        }
    }

    pub fn has_changed(&self) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().any(|(path, was)| file_identity(path) != *was)
    }

    /// Takes a file as it is now. The daemon itself has changed it and uses the new content.
    pub fn accept_change(&self, changed: &Path) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, identity) in files.iter_mut().filter(|(path, _)| path == changed) {
            *identity = file_identity(path);
        }
    }
}

fn file_identity(path: &Path) -> Option<ExecutableIdentity> {
    let file = fs::metadata(path).ok()?;
    Some((file.ino(), file.len(), file.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_come_change_are_replaced_or_go_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let origin = || StartupFiles::of([path.clone()]);
        let without = origin();
        assert!(!without.has_changed());
        fs::write(&path, "a").unwrap();
        assert!(without.has_changed());
        let with = origin();
        assert!(!with.has_changed());
        fs::write(&path, "ab").unwrap();
        assert!(with.has_changed());
        let longer = origin();
        let other = dir.path().join("other");
        fs::write(&other, "cd").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(longer.has_changed());
        let last = origin();
        fs::remove_file(&path).unwrap();
        assert!(last.has_changed());
    }
}
