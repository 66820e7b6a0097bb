//! Opening the store: who may have it open, which connections it has, which format it is in.
//!
//! [`Store::open_with`] is the one entry. Under it, [`lock`] says which processes may have the
//! store open, [`connection`] opens SQLite with the settings of a writer or a reader,
//! [`migrations`] brings a database to the current format after [`safety_copy`] has copied it, and
//! [`readers`] keeps reading connections for the next caller. [`schema`] checks that a file from
//! outside has the tables that the migrations make.

pub(crate) mod connection;
pub(crate) mod lock;
pub(crate) mod migrations;
pub(crate) mod readers;
pub(crate) mod safety_copy;
pub(crate) mod schema;

use std::path::Path;
use std::sync::Arc;

use redact::Redactor;

use self::connection::FileAccess;
use self::readers::ReaderPool;
use crate::backup::swap;
use crate::encryption::{EncryptionKey, Keychain, NoKeychain, find_store_key, key_locations};
use crate::error::{Error, Result};
use crate::files::{self, check_folder};
use crate::ingest::writer::Writer;
use crate::{REDACTION_KEY_FILE, Store, hex};

/// How a store is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// Creates and migrates the store as needed, and starts its writer.
    #[default]
    ReadWrite,
    /// Opens an existing store for reading at once; the writer starts with the first write, because
    /// most commands that ask never write. A store that needs work first (a key, a migration, the
    /// end of an interrupted deletion) is opened as [`OpenMode::ReadWrite`].
    LazyWrite,
    /// Opens an existing store without changing any file; writes fail with [`Error::ReadOnly`].
    ReadOnly,
}

impl Store {
    /// Opens the store in a folder to read and write, creating both as needed. The key of an
    /// encrypted store must be in a key file.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_with(folder, OpenMode::ReadWrite, &NoKeychain)
    }

    /// Opens the store in a folder. The key of an encrypted store may be in the keychain.
    pub fn open_with(folder: &Path, mode: OpenMode, keychain: &dyn Keychain) -> Result<Self> {
        match mode {
            OpenMode::ReadWrite => open_read_write(folder, keychain),
            OpenMode::LazyWrite => match open_lazy(folder)? {
                Some(store) => Ok(store),
                None => open_read_write(folder, keychain),
            },
            OpenMode::ReadOnly => open_read_only(folder, keychain),
        }
    }
}

fn open_read_write(folder: &Path, keychain: &dyn Keychain) -> Result<Store> {
    check_folder(folder)?;
    files::create_private_dir(folder)?;
    let (lock, recovered) = swap::lock_shared_and_recover(folder)?;
    let path = Store::database_path(folder);
    let mut key = if key_locations::has_key_list(folder) {
        find_key(folder, keychain)?
    } else {
        None
    };
    let writer = match Writer::start(&path, key.as_ref()) {
        // An encrypted store may have been copied here without its list of keys.
        Err(Error::NotAStore { .. }) if key.is_none() => {
            key = find_key(folder, keychain)?;
            Writer::start(&path, key.as_ref())?
        }
        started => started?,
    };
    Ok(Store {
        path,
        redactor: redactor_of(folder)?,
        writer,
        readers: ReaderPool::default(),
        key,
        recovered,
        _lock: lock,
    })
}

/// Returns `None` for a store that needs work before it can be read.
fn open_lazy(folder: &Path) -> Result<Option<Store>> {
    check_folder(folder)?;
    let (lock, recovered) = swap::lock_shared_and_recover(folder)?;
    let path = Store::database_path(folder);
    if recovered.is_some() || key_locations::has_key_list(folder) {
        return Ok(None);
    }
    let Some(reader) = connection::open_current_reader(&path)? else {
        return Ok(None);
    };
    Ok(Some(Store {
        redactor: redactor_of(folder)?,
        writer: Writer::lazy(&path),
        readers: ReaderPool::with_connection(reader),
        path,
        key: None,
        recovered: None,
        _lock: lock,
    }))
}

fn open_read_only(folder: &Path, keychain: &dyn Keychain) -> Result<Store> {
    check_folder(folder)?;
    let lock = lock::lock_shared(folder)?;
    let path = Store::database_path(folder);
    let key = find_key(folder, keychain)?;
    let reader = connection::open_reader(&path, key.as_ref(), FileAccess::Mapped)?;
    Ok(Store {
        redactor: redactor_of(folder)?,
        writer: Writer::read_only(&path),
        readers: ReaderPool::with_connection(reader),
        path,
        key,
        recovered: None,
        _lock: lock,
    })
}

fn find_key(folder: &Path, keychain: &dyn Keychain) -> Result<Option<EncryptionKey>> {
    Ok(find_store_key(folder, keychain)?.map(|(key, _)| key))
}

fn redactor_of(folder: &Path) -> Result<Arc<Redactor>> {
    Ok(Arc::new(Redactor::new(installation_key(folder)?)))
}

/// Returns the key that redaction marks and keyed hashes are made with, creating it on first use.
pub fn installation_key(folder: &Path) -> Result<[u8; 32]> {
    files::create_private_dir(folder)?;
    let path = &folder.join(REDACTION_KEY_FILE);
    if let Ok(bytes) = std::fs::read(path)
        && let Ok(key) = <[u8; 32]>::try_from(bytes.as_slice())
    {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| Error::io(path)(std::io::Error::other(error.to_string())))?;
    // The key is written to a file of its own and hard-linked into place, so that two processes
    // that start at the same time end up with the same key.
    let temporary = folder.join(format!("{REDACTION_KEY_FILE}.{}", hex::encode(&key[..6])));
    files::write_private_file(&temporary, &key)?;
    let linked = std::fs::hard_link(&temporary, path);
    std::fs::remove_file(&temporary).map_err(Error::io(&temporary))?;
    match linked {
        Ok(()) => Ok(key),
        Err(_) => {
            let bytes = std::fs::read(path).map_err(Error::io(path))?;
            <[u8; 32]>::try_from(bytes.as_slice())
                .map_err(|_| Error::io(path)(std::io::Error::other("not a key of 32 bytes")))
        }
    }
}
