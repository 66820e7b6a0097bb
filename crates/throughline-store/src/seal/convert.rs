//! A plain store becomes an encrypted one and back, or changes its key.
//!
//! All three are one thing: every table is copied into a new file under the other key, the copy is
//! read back and compared, and takes the place of the store as [`crate::swap`] says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::{BUILT, Form, Key, KeyId, KeyPlace, Keychain, SealError, key_of_store, places};
use crate::error::{Error, Result};
use crate::forget::{Role, managed_files};
use crate::lock::{self, Guard};
use crate::swap::{self, Old, OnStep, SwapStep};
use crate::verify;
use crate::{Store, open};

/// How long another program's hold on the file is waited for.
const STRANGER_WAIT: Duration = Duration::from_secs(1);

/// What a conversion came to.
#[derive(Clone, Debug)]
pub enum Conversion {
    Done(Converted),
    NoStore,
    AlreadyEncrypted,
    NotEncrypted,
}

#[derive(Clone, Debug)]
pub struct Converted {
    pub records: u64,
    /// The key it had, which backups may need.
    pub old_key: Option<(KeyId, KeyPlace)>,
    pub new_key: Option<(KeyId, KeyPlace)>,
    /// Copies in the store's folder that are still not encrypted.
    pub plain_copies: Vec<PathBuf>,
}

/// Encrypts a plain store.
pub fn encrypt(
    folder: &Path,
    place: &KeyPlace,
    keychain: &dyn Keychain,
    on_step: OnStep<'_>,
) -> Result<Conversion> {
    let (form, _alone) = begin(folder)?;
    match form {
        Form::Absent => return Ok(Conversion::NoStore),
        Form::Sealed(_) => return Ok(Conversion::AlreadyEncrypted),
        // What is no store is refused when it is read.
        Form::Plain | Form::Foreign => {}
    }
    open_check(folder, None)?;
    let key = places::make(folder, place, keychain)?;
    on_step(SwapStep::KeyKept)?;
    let new_key = Some((key.id(), place.clone()));
    let records = convert(folder, None, Some(&key), Old::Overwrite, on_step)?;
    done(folder, records, None, new_key)
}

/// Makes an encrypted store a plain one.
pub fn decrypt(folder: &Path, keychain: &dyn Keychain, on_step: OnStep<'_>) -> Result<Conversion> {
    let (form, _alone) = begin(folder)?;
    let Some((key, place)) = key_of_store(folder, keychain)? else {
        return Ok(undone(form));
    };
    let records = convert(folder, Some(&key), None, Old::Drop, on_step)?;
    done(folder, records, Some((key.id(), place)), None)
}

/// Encrypts an encrypted store with another key.
pub fn rekey(
    folder: &Path,
    place: &KeyPlace,
    keychain: &dyn Keychain,
    on_step: OnStep<'_>,
) -> Result<Conversion> {
    let (form, _alone) = begin(folder)?;
    let Some((old, old_place)) = key_of_store(folder, keychain)? else {
        return Ok(undone(form));
    };
    open_check(folder, Some(&old))?;
    let new = places::make(folder, place, keychain)?;
    if new.id() == old.id() {
        let why = "it holds the key that the store has already; name a new file";
        return Err(match place {
            KeyPlace::File(path) => SealError::KeyFile {
                path: path.clone(),
                why: why.to_owned(),
            },
            KeyPlace::Keychain => SealError::Keychain(why.to_owned()),
        }
        .into());
    }
    on_step(SwapStep::KeyKept)?;
    let new_key = Some((new.id(), place.clone()));
    let records = convert(folder, Some(&old), Some(&new), Old::Overwrite, on_step)?;
    done(folder, records, Some((old.id(), old_place)), new_key)
}

fn begin(folder: &Path) -> Result<(Form, Guard)> {
    let path = Store::path_in(folder);
    if !BUILT {
        return Err(SealError::NotBuilt { path }.into());
    }
    if !path.exists() && !folder.is_dir() {
        open::private_dir(folder)?;
    }
    let guard = lock::alone(folder)?;
    swap::recover(folder)?;
    Ok((Form::of(&path)?, guard))
}

fn undone(form: Form) -> Conversion {
    if form == Form::Absent {
        Conversion::NoStore
    } else {
        Conversion::NotEncrypted
    }
}

/// Opens the store once as usual, so that it is migrated, and no key is made for what is no store.
fn open_check(folder: &Path, key: Option<&Key>) -> Result<()> {
    open::writer(&Store::path_in(folder), key).map(drop)
}

fn done(
    folder: &Path,
    records: u64,
    old_key: Option<(KeyId, KeyPlace)>,
    new_key: Option<(KeyId, KeyPlace)>,
) -> Result<Conversion> {
    let mut plain_copies = Vec::new();
    for file in managed_files(folder)? {
        if file.role == Role::Copy && Form::of(&file.path)? == Form::Plain {
            plain_copies.push(file.path);
        }
    }
    Ok(Conversion::Done(Converted {
        records,
        old_key,
        new_key,
        plain_copies,
    }))
}

/// Copies the store under another key, compares, and exchanges the two. The caller is alone.
fn convert(
    folder: &Path,
    from: Option<&Key>,
    to: Option<&Key>,
    old: Old,
    on_step: OnStep<'_>,
) -> Result<u64> {
    let converted = exchange(folder, from, to, old, on_step);
    if converted.is_err() {
        swap::recover(folder)?;
    }
    converted
}

fn exchange(
    folder: &Path,
    from: Option<&Key>,
    to: Option<&Key>,
    old: Old,
    on_step: OnStep<'_>,
) -> Result<u64> {
    let path = Store::path_in(folder);
    let aside = swap::aside(folder);
    let connection = undisturbed(&path, folder, from)?;
    open::private_file(&aside)?;
    export(&connection, &aside, to)?;
    on_step(SwapStep::Written)?;
    let copy = open::plainly(&aside, to)?;
    let records = verify::sound(&copy, &aside)?;
    if verify::content(&copy)? != verify::content(&connection)? {
        return Err(Error::Unsound {
            path: aside,
            why: "the copy differs from the store".to_owned(),
        });
    }
    drop(copy);
    on_step(SwapStep::Checked)?;
    // The old file stays locked until it is not the store any more.
    swap::commit(folder, None, old, on_step)?;
    drop(connection);
    Ok(records)
}

/// Opens the store with everything in the one file, and nobody else in it: other programs than ours
/// do not know our lock.
fn undisturbed(path: &Path, folder: &Path, key: Option<&Key>) -> Result<Connection> {
    let connection = open::plainly(path, key)?;
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
fn export(connection: &Connection, aside: &Path, to: Option<&Key>) -> Result<()> {
    let raw = to.map(Key::raw);
    let raw = raw.as_ref().map_or("", |raw| raw.as_str());
    let unwritten = |error: &rusqlite::Error| Error::Unsound {
        path: aside.to_owned(),
        why: format!("it cannot be written: {error}"),
    };
    let name = aside
        .to_str()
        .ok_or_else(|| Error::io(aside)(std::io::Error::other("the path is not Unicode")))?;
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
fn export(_: &Connection, aside: &Path, _: Option<&Key>) -> Result<()> {
    Err(SealError::NotBuilt {
        path: aside.to_owned(),
    }
    .into())
}
