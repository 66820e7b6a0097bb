//! Restoring a backup. The files of the previous store are kept in a folder that can be opened as a
//! store itself.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::backup::swap::{self, OldFile, OnStep, SwapStep};
use crate::backup::{self, CopyProgress};
use crate::encryption::{
    self, EncryptionError, EncryptionKey, KeyId, KeyLocation, Keychain, StoreFileKind,
    key_locations,
};
use crate::error::{Error, Result};
use crate::files;
use crate::lifecycle::tombstones::{self, CarriedTombstones};
use crate::open::migrations;
use crate::open::{connection, lock, schema};
use crate::salvage::verify;
use crate::{DATABASE_FILE, REDACTION_KEY_FILE, Store, installation_key};
use redact::Redactor;

/// The prefix of the folders that keep previous stores.
pub(crate) const PREVIOUS_STORE_PREFIX: &str = "before-restore-";
/// How many previous stores are kept; the oldest is deleted.
const PREVIOUS_STORES_MAX: usize = 3;

/// The backup to restore.
#[expect(
    missing_debug_implementations,
    reason = "a keychain need not show itself"
)]
pub struct RestoreSource<'a> {
    pub file: &'a Path,
    /// The key file, for an encrypted backup from another machine.
    pub key_file: Option<&'a Path>,
    pub keychain: &'a dyn Keychain,
}

#[derive(Clone, Debug)]
pub struct RestoreResult {
    pub records: u64,
    pub key: Option<(KeyId, KeyLocation)>,
    /// The folder that keeps the previous store.
    pub safety_copy: Option<PathBuf>,
    /// Older previous stores that were deleted.
    pub removed_copies: Vec<PathBuf>,
    pub redaction_key: RedactionKey,
    /// What the tombstones of the previous store removed from the restored one.
    pub tombstones: CarriedTombstones,
}

/// Which redaction key the restored store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedactionKey {
    /// The key that its redaction marks were made with.
    Restored,
    /// Another key, because the backup had none.
    Other,
}

/// Replaces the store in a folder by a backup.
pub fn restore(
    folder: &Path,
    from: &RestoreSource<'_>,
    now: Timestamp,
    progress: &mut dyn FnMut(CopyProgress),
    on_step: OnStep<'_>,
) -> Result<RestoreResult> {
    files::check_folder(folder)?;
    files::create_private_dir(folder)?;
    check_backup_file(from.file)?;
    if swap::is_store_file(from.file, &Store::database_path(folder)) {
        return Err(Error::InvalidFile {
            path: from.file.to_owned(),
            why: "it is the store itself, not a copy".to_owned(),
        });
    }
    let key = backup_key(folder, from)?;
    let source = open_backup(from.file, key.as_ref().map(|(key, _)| key))?;
    let _alone = lock::lock_exclusive(folder)?;
    swap::recover_swap(folder)?;
    let job = RestoreJob {
        folder,
        from,
        source: &source,
        now,
    };
    let restored = job.replace_store(key, progress, on_step);
    if restored.is_err() {
        swap::recover_swap(folder)?;
    }
    restored
}

/// A restore whose backup is open and whose store is locked.
struct RestoreJob<'a> {
    folder: &'a Path,
    from: &'a RestoreSource<'a>,
    source: &'a Connection,
    now: Timestamp,
}

impl RestoreJob<'_> {
    fn replace_store(
        &self,
        key: Option<(EncryptionKey, KeyLocation)>,
        progress: &mut dyn FnMut(CopyProgress),
        on_step: OnStep<'_>,
    ) -> Result<RestoreResult> {
        let Self {
            folder,
            from,
            source,
            now,
        } = *self;
        let (key, place) = key.unzip();
        let new_database = swap::new_database_path(folder);
        let expected = verify::count_records(source)?;
        files::create_private_file(&new_database)?;
        backup::copy_database(source, &new_database, key.as_ref(), progress)?;
        let mut copy = connection::connect(&new_database, key.as_ref())?;
        schema::check_schema(&copy, from.file)?;
        let carried = backup::detach_redaction_key(&copy)?;
        migrations::migrate(&mut copy, from.file, migrations::current_format())?;
        on_step(SwapStep::Written)?;
        let records = verify::check_thoroughly(&copy, from.file)?;
        if records != expected {
            return Err(Error::InvalidFile {
                path: from.file.to_owned(),
                why: format!("it has {expected} records, but {records} were restored"),
            });
        }
        let redaction_key = carried.or_else(|| redaction_key_beside(from.file));
        let tombstones = carry_tombstones(folder, from, redaction_key.as_deref(), &mut copy, now)?;
        let records = verify::count_records(&copy)?;
        drop(copy);
        on_step(SwapStep::Checked)?;
        let key = key.as_ref().map(EncryptionKey::id).zip(place);
        if let Some((id, place)) = &key {
            key_locations::remember(folder, *id, place)?;
            on_step(SwapStep::KeyStored)?;
        }
        let safety_copy = keep_previous_store(folder, now)?;
        swap::commit_swap(folder, redaction_key.as_deref(), OldFile::Drop, on_step)?;
        Ok(RestoreResult {
            records,
            key,
            safety_copy,
            removed_copies: delete_oldest_copies(folder)?,
            redaction_key: match redaction_key {
                Some(_) => RedactionKey::Restored,
                None => RedactionKey::Other,
            },
            tombstones,
        })
    }
}

/// The first bytes of an export.
const EXPORT_HEAD: &[u8] = b"{\"memory\":";

/// Fails unless a path is a regular file that may be a database; opening a pipe would block.
fn check_backup_file(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    if !metadata.is_file() {
        return Err(Error::NotAFile {
            path: path.to_owned(),
        });
    }
    let mut head = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(EXPORT_HEAD.len() as u64).read_to_end(&mut head))
        .map_err(Error::io(path))?;
    if head == EXPORT_HEAD {
        return Err(Error::IsAnExport {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Deletes from the backup what was forgotten in the store that it replaces.
fn carry_tombstones(
    folder: &Path,
    from: &RestoreSource<'_>,
    restored_key: Option<&[u8]>,
    copy: &mut Connection,
    now: Timestamp,
) -> Result<CarriedTombstones> {
    if !Store::database_path(folder).exists() {
        return Ok(CarriedTombstones::default());
    }
    let present = encryption::find_store_key(folder, from.keychain).and_then(|key| {
        let key = key.as_ref().map(|(key, _)| key);
        connection::open_reader(
            &Store::database_path(folder),
            key,
            connection::FileAccess::Cached,
        )
    });
    let present = match present {
        Ok(present) => present,
        // A damaged store is why people restore backups, so it must not stop the restore.
        Err(error) => {
            tracing::warn!(%error, "cannot read the tombstones of the present store");
            return Ok(CarriedTombstones::unreadable());
        }
    };
    let own = Redactor::new(installation_key(folder)?);
    let restored = match restored_key.map(<[u8; 32]>::try_from) {
        Some(Ok(key)) => Redactor::new(key),
        _ => Redactor::new(installation_key(folder)?),
    };
    match tombstones::carry_over(&present, &own, copy, &restored, now) {
        Err(error) if error.is_corrupt() => {
            tracing::warn!(%error, "cannot read the tombstones of the present store");
            Ok(CarriedTombstones::unreadable())
        }
        carried => carried,
    }
}

fn backup_key(
    folder: &Path,
    from: &RestoreSource<'_>,
) -> Result<Option<(EncryptionKey, KeyLocation)>> {
    let path = from.file;
    match StoreFileKind::of(path)? {
        StoreFileKind::Plain => Ok(None),
        StoreFileKind::Encrypted(_) if !encryption::ENCRYPTION_BUILT => {
            Err(EncryptionError::NotBuilt {
                path: path.to_owned(),
            }
            .into())
        }
        StoreFileKind::Encrypted(id) => match from.key_file {
            Some(file) => {
                let key =
                    key_locations::check_key_id(EncryptionKey::from_file(file)?, id, path, file)?;
                Ok(Some((key, KeyLocation::File(file.to_owned()))))
            }
            None => key_locations::find_key(folder, path, id, from.keychain).map(Some),
        },
        StoreFileKind::Absent | StoreFileKind::Foreign => {
            fs::metadata(path).map_err(Error::io(path))?;
            Err(Error::NotAStore {
                path: path.to_owned(),
            })
        }
    }
}

/// Opens a backup without changing it: it may be on a read-only medium.
fn open_backup(path: &Path, key: Option<&EncryptionKey>) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    encryption::unlock(&connection, path, key)?;
    migrations::check_application_id(&connection, path)?;
    Ok(connection)
}

/// Returns the redaction key beside a database that is named like a store.
fn redaction_key_beside(file: &Path) -> Option<Vec<u8>> {
    if file.file_name()? != DATABASE_FILE {
        return None;
    }
    let key = fs::read(file.with_file_name(REDACTION_KEY_FILE)).ok()?;
    (key.len() == 32).then_some(key)
}

/// Links or copies the files of the present store to another folder. The store may be damaged.
fn keep_previous_store(folder: &Path, now: Timestamp) -> Result<Option<PathBuf>> {
    let database = Store::database_path(folder);
    if !database.exists() {
        return Ok(None);
    }
    let name = format!("{PREVIOUS_STORE_PREFIX}{}", now.strftime("%Y%m%dT%H%M%SZ"));
    let mut copy = folder.join(&name);
    let mut number = 2;
    while copy.exists() {
        copy = folder.join(format!("{name}-{number}"));
        number += 1;
    }
    files::create_private_dir(&copy)?;
    let to = Store::database_path(&copy);
    fs::hard_link(&database, &to)
        .or_else(|_| fs::copy(&database, &to).map(drop))
        .map_err(Error::io(&to))?;
    let log = files::with_suffix(&database, "-wal");
    for file in [
        log,
        folder.join(REDACTION_KEY_FILE),
        folder.join(key_locations::KEY_LIST_FILE),
    ] {
        if let Some(name) = file.file_name()
            && file.exists()
        {
            fs::copy(&file, copy.join(name)).map_err(Error::io(&file))?;
        }
    }
    files::sync_folder(&copy)?;
    Ok(Some(copy))
}

/// Returns the folders of previous stores, the oldest first.
pub(crate) fn previous_stores(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(PREVIOUS_STORE_PREFIX)
        {
            copies.push(entry.path());
        }
    }
    copies.sort();
    Ok(copies)
}

fn delete_oldest_copies(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut copies = previous_stores(folder)?;
    copies.truncate(copies.len().saturating_sub(PREVIOUS_STORES_MAX));
    for copy in &copies {
        fs::remove_dir_all(copy).map_err(Error::io(copy))?;
    }
    Ok(copies)
}
