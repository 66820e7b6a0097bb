//! Who may have the store open: many at once, or one who puts another file in its place.
//!
//! SQLite's own locks lie on the database. A process that holds that file while another takes its
//! place goes on writing into a file without a name. So whoever opens the store holds a lock on a
//! file beside it for as long, and whoever exchanges the database needs that lock alone. The system
//! drops it when a process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::open;

const LOCK: &str = "throughline.lock";
const STEP: Duration = Duration::from_millis(20);
/// How often a store that is being exchanged is asked for again: half a minute, as for a write.
const OPEN_TRIES: u32 = 1500;
/// How often the store is asked for alone: long enough for a command that is just ending.
const ALONE_TRIES: u32 = 100;

/// Held while the store is open.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: Option<File>,
}

/// Waits while somebody exchanges the database.
pub(crate) fn shared(folder: &Path) -> Result<Guard> {
    hold(folder, OPEN_TRIES, File::try_lock_shared).or_else(|error| match error {
        // Where files cannot be locked, nobody can exchange the database either.
        Error::Io { error, .. } if error.kind() == std::io::ErrorKind::Unsupported => {
            tracing::debug!(%error, "files cannot be locked here");
            Ok(Guard { _file: None })
        }
        error => Err(error),
    })
}

/// Waits a moment for the others to close the store.
pub(crate) fn alone(folder: &Path) -> Result<Guard> {
    hold(folder, ALONE_TRIES, File::try_lock)
}

fn hold(
    folder: &Path,
    tries: u32,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Guard> {
    let path = folder.join(LOCK);
    let file = lock_file(&path)?;
    for _ in 0..tries {
        match lock(&file) {
            Ok(()) => return Ok(Guard { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
    }
    Err(Error::InUse {
        folder: PathBuf::from(folder),
    })
}

fn lock_file(path: &Path) -> Result<File> {
    open::private_file(path)?;
    // Some systems lock only what may be written.
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(Error::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_or_many_together() {
        let dir = tempfile::tempdir().unwrap();
        let first = shared(dir.path()).unwrap();
        let second = shared(dir.path()).unwrap();
        let try_alone = || hold(dir.path(), 1, File::try_lock);
        assert!(matches!(try_alone(), Err(Error::InUse { .. })));
        drop((first, second));
        let only = try_alone().unwrap();
        let try_shared = || hold(dir.path(), 1, File::try_lock_shared);
        assert!(matches!(try_shared(), Err(Error::InUse { .. })));
        drop(only);
        try_shared().unwrap();
    }
}
