//! The lock of a store: many processes may have it open, or one that replaces the database.
//!
//! SQLite locks the database file itself. A process that has the old file open while another
//! replaces it would go on writing to a deleted file. So every process that opens the store holds a
//! shared lock on a file beside it, and a process that swaps or repairs the database holds it
//! exclusively. The operating system releases the lock when its process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::files;

/// The name of the lock file in the store's folder. The file is always empty.
const LOCK_FILE: &str = "throughline.lock";
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// How often the shared lock is tried while the database is replaced: half a minute, as for a
/// write.
const SHARED_ATTEMPTS: u32 = 1500;
/// How often the exclusive lock is tried: two seconds, so that a command can end.
const EXCLUSIVE_ATTEMPTS: u32 = 100;

/// A lock of a store, held until it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: Option<File>,
}

/// Takes the shared lock, and waits while another process replaces the database.
pub(crate) fn lock_shared(folder: &Path) -> Result<StoreLock> {
    acquire(folder, SHARED_ATTEMPTS, File::try_lock_shared).or_else(|error| {
        if !can_skip_lock(&error) {
            return Err(error);
        }
        tracing::debug!(%error, "cannot lock the store; using it without a lock");
        Ok(StoreLock { _file: None })
    })
}

/// Takes the exclusive lock, and waits a moment for others to close the store.
pub(crate) fn lock_exclusive(folder: &Path) -> Result<StoreLock> {
    acquire(folder, EXCLUSIVE_ATTEMPTS, File::try_lock)
}

/// Where a lock file cannot be created or locked, no process can replace the database either.
fn can_skip_lock(error: &Error) -> bool {
    let cannot = match error {
        Error::Io { error, .. } => {
            matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::NotFound)
        }
        _ => false,
    };
    cannot || error.is_read_only()
}

fn acquire(
    folder: &Path,
    tries: u32,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<StoreLock> {
    let path = folder.join(LOCK_FILE);
    let file = lock_file(&path)?;
    for _ in 0..tries {
        match lock(&file) {
            Ok(()) => return Ok(StoreLock { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
        }
    }
    Err(Error::InUse {
        path: folder.to_owned(),
    })
}

fn lock_file(path: &Path) -> Result<File> {
    let made = files::create_private_file(path);
    // Some systems only lock writable files; others also lock files that are open for reading.
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .or_else(|_| File::open(path))
        .map_err(|error| made.err().unwrap_or_else(|| Error::io(path)(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_or_many_together() {
        let dir = tempfile::tempdir().unwrap();
        let first = lock_shared(dir.path()).unwrap();
        let second = lock_shared(dir.path()).unwrap();
        let try_alone = || acquire(dir.path(), 1, File::try_lock);
        assert!(matches!(try_alone(), Err(Error::InUse { .. })));
        drop((first, second));
        let only = try_alone().unwrap();
        let try_shared = || acquire(dir.path(), 1, File::try_lock_shared);
        assert!(matches!(try_shared(), Err(Error::InUse { .. })));
        drop(only);
        try_shared().unwrap();
    }
}
