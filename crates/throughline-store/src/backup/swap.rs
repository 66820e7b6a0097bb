//! Swapping the database for another file so that a crash at any point leaves a complete one.
//!
//! The new file is written *aside*. Once it is complete, checked and on disk, it is renamed to
//! *ready*. Before that moment the next process to open the store deletes the new file; after it,
//! the next process puts it into place. All of this happens under the exclusive lock
//! ([`crate::open::lock`]).
//!
//! | file that exists | what recovery does |
//! | --- | --- |
//! | `throughline.db-aside` | deletes it: it may be incomplete |
//! | `throughline.db-ready` | renames it to `throughline.db` |
//! | `redaction.key-ready`, no `-aside` | renames it to `redaction.key` |
//! | `throughline.db-old` | overwrites and deletes it: it was replaced |

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::encryption::StoreFileKind;
use crate::error::{Error, Result};
use crate::files;
use crate::open::lock::{self, StoreLock};
use crate::salvage::repair;
use crate::{REDACTION_KEY_FILE, Store};

/// A step of a swap. After each of them a crash leaves other files behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapStep {
    /// The new key is in its place.
    KeyStored,
    /// The new file is written.
    Written,
    /// The new file is verified.
    Checked,
    /// The old file has a second name.
    OldLinked,
    /// From here on the new file will become the store.
    Ready,
    /// The write-ahead log of the old file is gone.
    WalRemoved,
    /// The new file is the store.
    Swapped,
    /// The redaction key of the new file is in place.
    RedactionKeySwapped,
    /// The old file is overwritten.
    OldOverwritten,
    Done,
}

impl SwapStep {
    pub const ALL: &'static [Self] = &[
        Self::KeyStored,
        Self::Written,
        Self::Checked,
        Self::OldLinked,
        Self::Ready,
        Self::WalRemoved,
        Self::Swapped,
        Self::RedactionKeySwapped,
        Self::OldOverwritten,
        Self::Done,
    ];
}

/// Called after every step; an error stops the swap as a crash would.
pub type OnStep<'a> = &'a mut dyn FnMut(SwapStep) -> Result<()>;

/// What recovery did with a swap that a crash had interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapRecovery {
    Finished,
    RolledBack,
}

/// What happens to the file that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldFile {
    /// Its bytes are overwritten, because it holds what must no longer be readable.
    Overwrite,
    Drop,
}

/// Takes the shared lock, after recovering what a crash has left.
pub(crate) fn lock_shared_and_recover(folder: &Path) -> Result<(StoreLock, Option<SwapRecovery>)> {
    let mut recovered = None;
    loop {
        let guard = lock::lock_shared(folder)?;
        // Such files are only created under the exclusive lock, so none can appear while we hold
        // the shared one.
        if !is_interrupted(folder) && !repair::is_unfinished(folder) {
            return Ok((guard, recovered));
        }
        drop(guard);
        let _alone = lock::lock_exclusive(folder)?;
        recovered = recover_swap(folder)?.or(recovered);
    }
}

/// Finishes or rolls back what a crash has left. The caller holds the exclusive lock.
pub(crate) fn recover_swap(folder: &Path) -> Result<Option<SwapRecovery>> {
    let is_repaired = repair::is_unfinished(folder);
    repair::finish(folder)?;
    if !is_interrupted(folder) {
        return Ok(is_repaired.then_some(SwapRecovery::Finished));
    }
    let paths = SwapPaths::in_folder(folder);
    if paths.aside.exists() {
        // The order matters: without the file aside, a remaining key would count as ready.
        files::remove_if_exists(&paths.key_ready)?;
        files::remove_if_exists(&paths.old)?;
        for suffix in ["-journal", "-wal", "-shm", ""] {
            overwrite_plain(&files::with_suffix(&paths.aside, suffix))?;
            files::remove_if_exists(&files::with_suffix(&paths.aside, suffix))?;
        }
        files::sync_folder(folder)?;
        return Ok(Some(SwapRecovery::RolledBack));
    }
    finish_swap(folder, &mut |_| Ok(()))?;
    Ok(Some(SwapRecovery::Finished))
}

/// Makes the file aside the store, with its redaction key if it has one.
pub(crate) fn commit_swap(
    folder: &Path,
    redaction_key: Option<&[u8]>,
    old: OldFile,
    on_step: OnStep<'_>,
) -> Result<()> {
    let paths = SwapPaths::in_folder(folder);
    files::sync_file(&paths.aside)?;
    if let Some(key) = redaction_key {
        files::replace_private_file(&paths.key_ready, key)?;
    }
    if old == OldFile::Overwrite {
        // The second name lets recovery overwrite the old file after a crash. On a file system
        // without hard links the old file is removed as it is.
        if let Err(error) = fs::hard_link(&paths.database, &paths.old) {
            tracing::warn!(%error, "cannot link the old file; it will not be overwritten");
        }
    }
    on_step(SwapStep::OldLinked)?;
    files::sync_folder(folder)?;
    fs::rename(&paths.aside, &paths.ready).map_err(Error::io(&paths.ready))?;
    files::sync_folder(folder)?;
    on_step(SwapStep::Ready)?;
    finish_swap(folder, on_step)
}

/// Puts the ready files into place. It can be repeated after a crash.
fn finish_swap(folder: &Path, on_step: OnStep<'_>) -> Result<()> {
    let paths = SwapPaths::in_folder(folder);
    if paths.ready.exists() {
        // SQLite would apply the pages of the old write-ahead log to the new file.
        for suffix in ["-wal", "-shm", "-journal"] {
            let side = files::with_suffix(&paths.database, suffix);
            overwrite_plain(&side)?;
            files::remove_if_exists(&side)?;
        }
        files::sync_folder(folder)?;
        on_step(SwapStep::WalRemoved)?;
        fs::rename(&paths.ready, &paths.database).map_err(Error::io(&paths.database))?;
        files::sync_folder(folder)?;
    }
    on_step(SwapStep::Swapped)?;
    if paths.key_ready.exists() {
        let key = folder.join(REDACTION_KEY_FILE);
        fs::rename(&paths.key_ready, &key).map_err(Error::io(&key))?;
        files::sync_folder(folder)?;
    }
    on_step(SwapStep::RedactionKeySwapped)?;
    overwrite(&paths.old)?;
    on_step(SwapStep::OldOverwritten)?;
    files::remove_if_exists(&paths.old)?;
    files::sync_folder(folder)?;
    on_step(SwapStep::Done)
}

/// Returns the path at which a new database is written.
pub(crate) fn new_database_path(folder: &Path) -> PathBuf {
    SwapPaths::in_folder(folder).aside
}

struct SwapPaths {
    database: PathBuf,
    aside: PathBuf,
    ready: PathBuf,
    old: PathBuf,
    key_ready: PathBuf,
}

impl SwapPaths {
    fn in_folder(folder: &Path) -> Self {
        let database = Store::database_path(folder);
        Self {
            aside: files::with_suffix(&database, "-aside"),
            ready: files::with_suffix(&database, "-ready"),
            old: files::with_suffix(&database, "-old"),
            key_ready: folder.join(format!("{REDACTION_KEY_FILE}-ready")),
            database,
        }
    }
}

fn is_interrupted(folder: &Path) -> bool {
    let paths = SwapPaths::in_folder(folder);
    [paths.aside, paths.ready, paths.old, paths.key_ready]
        .iter()
        .any(|path| path.exists())
}

/// Says whether a path is the database, or one of the names beside it that the store uses.
pub(crate) fn is_store_file(path: &Path, database: &Path) -> bool {
    let real = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent()?.canonicalize().ok()?;
        Some((folder, path.file_name()?.to_string_lossy().into_owned()))
    };
    match (real(path), real(database)) {
        (Some((folder, name)), Some((home, ours))) => folder == home && name.starts_with(&ours),
        _ => false,
    }
}

/// Overwrites a file unless it is encrypted.
fn overwrite_plain(path: &Path) -> Result<()> {
    match StoreFileKind::of(path)? {
        StoreFileKind::Absent | StoreFileKind::Encrypted(_) => Ok(()),
        StoreFileKind::Plain | StoreFileKind::Foreign => overwrite(path),
    }
}

/// Overwrites a file with zeros, unless it has another name. On copy-on-write file systems and on
/// flash memory the old bytes may survive.
fn overwrite(path: &Path) -> Result<()> {
    const ZEROS: &[u8] = &[0; 1 << 16];
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(path)(error)),
    };
    // A file with a second name may still be the store, or a copy that the user made.
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
        return Ok(());
    }
    let mut file = OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(Error::io(path))?;
    let mut left = metadata.len();
    while left > 0 {
        let part = left.min(ZEROS.len() as u64);
        let zeros = usize::try_from(part).map_or(ZEROS, |part| &ZEROS[..part]);
        file.write_all(zeros).map_err(Error::io(path))?;
        left -= part;
    }
    file.sync_all().map_err(Error::io(path))
}
