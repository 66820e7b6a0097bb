//! Who may have the store open: many at once, or one who puts another file in its place.
//!
//! SQLite's own locks lie on the database. A process that holds that file while another takes its
//! place goes on writing into a file without a name. So whoever opens the store holds a share of a
//! lock beside it for as long, and whoever exchanges or repairs the database needs it alone. The
//! system gives a lock back when its holder ends, however that happens.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::files;

/// The name of the lock in the store's folder. It is always empty.
const LOCK_FILE: &str = "throughline.lock";
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// How often a store that is being exchanged is asked for again: half a minute, as for a write.
const SHARED_ATTEMPTS: u32 = 1500;
/// How often the store is asked for alone: long enough for a command that is just ending.
const EXCLUSIVE_ATTEMPTS: u32 = 100;

/// A hold on a store's lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: Option<File>,
}

/// Joins those who use the store; waits while somebody exchanges the database.
pub(crate) fn lock_shared(folder: &Path) -> Result<StoreLock> {
    acquire(folder, SHARED_ATTEMPTS, File::try_lock_shared).or_else(|error| {
        if !can_skip_lock(&error) {
            return Err(error);
        }
        tracing::debug!(%error, "the store is used without a lock");
        Ok(StoreLock { _file: None })
    })
}

/// Keeps everybody else out; waits a moment for them to close the store.
pub(crate) fn lock_exclusive(folder: &Path) -> Result<StoreLock> {
    acquire(folder, EXCLUSIVE_ATTEMPTS, File::try_lock)
}

/// Where files cannot be locked or made, nobody can exchange the database either.
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
    // Some systems lock only what may be written; on others whoever may only read joins too.
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
