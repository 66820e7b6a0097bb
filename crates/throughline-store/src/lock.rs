//! Who uses a store. Everybody who opens one holds a share of its lock; what replaces the file
//! itself needs it alone, so that nobody writes into a file that is no longer the store.
//!
//! The system gives a lock back when its holder ends, however that happens.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::{Error, Result};
use crate::open;

/// The name of the lock in the store's folder. It is always empty.
const LOCK: &str = "throughline.lock";

/// A hold on a store's lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    _file: File,
}

/// Joins those who use the store.
pub(crate) fn share(folder: &Path) -> Result<Option<Held>> {
    hold(folder, File::try_lock_shared)
}

/// Keeps everybody else out.
pub(crate) fn alone(folder: &Path) -> Result<Option<Held>> {
    hold(folder, File::try_lock)
}

/// `None` where the file system knows no locks, or nothing can be written anyway.
fn hold(
    folder: &Path,
    lock: impl FnOnce(&File) -> Result<(), TryLockError>,
) -> Result<Option<Held>> {
    let path = folder.join(LOCK);
    if let Err(error) = open::private_file(&path)
        && !error.is_read_only()
    {
        return Err(error);
    }
    // A lock needs no right to write.
    let Ok(file) = File::open(&path) else {
        return Ok(None);
    };
    match lock(&file) {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(TryLockError::WouldBlock) => Err(Error::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "the store's folder has no locks");
            Ok(None)
        }
    }
}
