//! A plain store becomes an encrypted one and back, or changes its key.
//!
//! All three are one thing: every table is copied into a new file under the other key, the copy is
//! read back and compared, and takes the place of the store as [`crate::backup::swap`] says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::{
    ENCRYPTION_BUILT, EncryptionError, EncryptionKey, KeyId, KeyLocation, Keychain, StoreFileKind,
    find_store_key, key_locations,
};
use crate::Store;
use crate::backup::swap::{self, OldFile, OnStep, SwapStep};
use crate::error::{Error, Result};
use crate::files;
use crate::lifecycle::forget::{FileRole, managed_files};
use crate::open::connection;
use crate::open::lock::{self, StoreLock};
use crate::salvage::verify;

/// How long another program's hold on the file is waited for.
const STRANGER_WAIT: Duration = Duration::from_secs(1);

/// What a conversion came to.
#[derive(Clone, Debug)]
pub enum Conversion {
    Done(ConversionReport),
    NoStore,
    AlreadyEncrypted,
    NotEncrypted,
}

#[derive(Clone, Debug)]
pub struct ConversionReport {
    pub records: u64,
    /// The key it had, which backups may need.
    pub old_key: Option<(KeyId, KeyLocation)>,
    pub new_key: Option<(KeyId, KeyLocation)>,
    /// Copies in the store's folder that are still not encrypted.
    pub plain_copies: Vec<PathBuf>,
}

/// Encrypts a plain store.
pub fn encrypt(
    folder: &Path,
    location: &KeyLocation,
    keychain: &dyn Keychain,
    on_step: OnStep<'_>,
) -> Result<Conversion> {
    let (form, _alone) = begin(folder)?;
    match form {
        StoreFileKind::Absent => return Ok(Conversion::NoStore),
        StoreFileKind::Encrypted(_) => return Ok(Conversion::AlreadyEncrypted),
        // A file that is not a store is rejected when it is read.
        StoreFileKind::Plain | StoreFileKind::Foreign => {}
    }
    open_check(folder, None)?;
    let key = key_locations::create_key(folder, location, keychain)?;
    on_step(SwapStep::KeyStored)?;
    let new_key = Some((key.id(), location.clone()));
    let records = convert(folder, None, Some(&key), OldFile::Overwrite, on_step)?;
    done(folder, records, None, new_key)
}

/// Makes an encrypted store a plain one.
pub fn decrypt(folder: &Path, keychain: &dyn Keychain, on_step: OnStep<'_>) -> Result<Conversion> {
    if let Some(conversion) = nothing_to_decrypt(folder)? {
        return Ok(conversion);
    }
    let (form, _alone) = begin(folder)?;
    let Some((key, location)) = find_store_key(folder, keychain)? else {
        return Ok(undone(form));
    };
    let records = convert(folder, Some(&key), None, OldFile::Drop, on_step)?;
    done(folder, records, Some((key.id(), location)), None)
}

/// Encrypts an encrypted store with another key.
pub fn rekey(
    folder: &Path,
    location: &KeyLocation,
    keychain: &dyn Keychain,
    on_step: OnStep<'_>,
) -> Result<Conversion> {
    if let Some(conversion) = nothing_to_decrypt(folder)? {
        return Ok(conversion);
    }
    let (form, _alone) = begin(folder)?;
    let Some((old, old_place)) = find_store_key(folder, keychain)? else {
        return Ok(undone(form));
    };
    open_check(folder, Some(&old))?;
    let new = key_locations::create_key(folder, location, keychain)?;
    if new.id() == old.id() {
        let why = "it holds the key that the store has already; name a new file";
        return Err(match location {
            KeyLocation::File(path) => EncryptionError::KeyFile {
                path: path.clone(),
                why: why.to_owned(),
            },
            KeyLocation::Keychain => EncryptionError::Keychain(why.to_owned()),
        }
        .into());
    }
    on_step(SwapStep::KeyStored)?;
    let new_key = Some((new.id(), location.clone()));
    let records = convert(folder, Some(&old), Some(&new), OldFile::Overwrite, on_step)?;
    done(folder, records, Some((old.id(), old_place)), new_key)
}

fn begin(folder: &Path) -> Result<(StoreFileKind, StoreLock)> {
    let path = Store::database_path(folder);
    if !ENCRYPTION_BUILT {
        return Err(EncryptionError::NotBuilt { path }.into());
    }
    if !path.exists() && !folder.is_dir() {
        files::create_private_dir(folder)?;
    }
    let guard = lock::lock_exclusive(folder)?;
    swap::recover_swap(folder)?;
    Ok((StoreFileKind::of(&path)?, guard))
}

/// Returns the answer of a build without encryption to a request to decrypt a plain store.
fn nothing_to_decrypt(folder: &Path) -> Result<Option<Conversion>> {
    if ENCRYPTION_BUILT {
        return Ok(None);
    }
    let form = StoreFileKind::of(&Store::database_path(folder))?;
    Ok(match form {
        StoreFileKind::Absent | StoreFileKind::Plain => Some(undone(form)),
        StoreFileKind::Encrypted(_) | StoreFileKind::Foreign => None,
    })
}

fn undone(form: StoreFileKind) -> Conversion {
    if form == StoreFileKind::Absent {
        Conversion::NoStore
    } else {
        Conversion::NotEncrypted
    }
}

/// Opens the store once as usual, so that it is migrated, and so that no key is created for a file
/// that is not a store.
fn open_check(folder: &Path, key: Option<&EncryptionKey>) -> Result<()> {
    connection::open_writer(&Store::database_path(folder), key).map(drop)
}

fn done(
    folder: &Path,
    records: u64,
    old_key: Option<(KeyId, KeyLocation)>,
    new_key: Option<(KeyId, KeyLocation)>,
) -> Result<Conversion> {
    let mut plain_copies = Vec::new();
    for file in managed_files(folder)? {
        if file.role == FileRole::Copy && StoreFileKind::of(&file.path)? == StoreFileKind::Plain {
            plain_copies.push(file.path);
        }
    }
    Ok(Conversion::Done(ConversionReport {
        records,
        old_key,
        new_key,
        plain_copies,
    }))
}

/// Copies the store under another key, compares, and exchanges the two. The caller is alone.
fn convert(
    folder: &Path,
    from: Option<&EncryptionKey>,
    to: Option<&EncryptionKey>,
    old: OldFile,
    on_step: OnStep<'_>,
) -> Result<u64> {
    let converted = exchange(folder, from, to, old, on_step);
    if converted.is_err() {
        swap::recover_swap(folder)?;
    }
    converted
}

fn exchange(
    folder: &Path,
    from: Option<&EncryptionKey>,
    to: Option<&EncryptionKey>,
    old: OldFile,
    on_step: OnStep<'_>,
) -> Result<u64> {
    let path = Store::database_path(folder);
    let new_database = swap::new_database_path(folder);
    let connection = undisturbed(&path, folder, from)?;
    files::create_private_file(&new_database)?;
    export(&connection, &new_database, to)?;
    on_step(SwapStep::Written)?;
    let copy = connection::connect(&new_database, to)?;
    let records = verify::check_integrity(&copy, &new_database)?;
    if verify::hash_tables(&copy)? != verify::hash_tables(&connection)? {
        return Err(Error::InvalidFile {
            path: new_database,
            why: "the copy differs from the store".to_owned(),
        });
    }
    drop(copy);
    on_step(SwapStep::Checked)?;
    // The old file stays locked until it is not the store any more.
    swap::commit_swap(folder, None, old, on_step)?;
    drop(connection);
    Ok(records)
}

/// Opens the store with everything in the one file and locks it, because other programs do not know
/// Throughline's own lock.
fn undisturbed(path: &Path, folder: &Path, key: Option<&EncryptionKey>) -> Result<Connection> {
    let connection = connection::connect(path, key)?;
    connection.busy_timeout(STRANGER_WAIT)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let in_use = || Error::InUse {
        path: folder.to_owned(),
    };
    let mode: String = connection
        .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
        .map_err(|_| in_use())?;
    if mode != "delete" {
        return Err(in_use());
    }
    connection
        .execute_batch("BEGIN EXCLUSIVE; COMMIT")
        .map_err(|_| in_use())?;
    Ok(connection)
}

#[cfg(feature = "encryption")]
fn export(connection: &Connection, new_database: &Path, to: Option<&EncryptionKey>) -> Result<()> {
    let raw = to.map(EncryptionKey::sqlcipher_key);
    let raw = raw.as_ref().map_or("", |raw| raw.as_str());
    let unwritten = |error: &rusqlite::Error| Error::InvalidFile {
        path: new_database.to_owned(),
        why: format!("it cannot be written: {error}"),
    };
    let name = new_database
        .to_str()
        .ok_or_else(|| Error::io(new_database)(std::io::Error::other("the path is not Unicode")))?;
    // Bound, so that neither shows in an error.
    connection
        .execute("ATTACH DATABASE ?1 AS aside KEY ?2", [name, raw])
        .map_err(|error| unwritten(&error))?;
    connection.query_row("SELECT sqlcipher_export('aside')", [], |_| Ok(()))?;
    for pragma in ["user_version", "application_id"] {
        let value: i64 =
            connection.query_row(&format!("PRAGMA main.{pragma}"), [], |row| row.get(0))?;
        connection.execute_batch(&format!("PRAGMA aside.{pragma} = {value}"))?;
    }
    connection.execute_batch("DETACH DATABASE aside")?;
    Ok(())
}

#[cfg(not(feature = "encryption"))]
fn export(_: &Connection, new_database: &Path, _: Option<&EncryptionKey>) -> Result<()> {
    Err(EncryptionError::NotBuilt {
        path: new_database.to_owned(),
    }
    .into())
}
