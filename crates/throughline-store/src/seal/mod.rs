//! Encryption at rest: SQLCipher under the same tables.
//!
//! A [`Key`] is 32 random bytes and lies at a [`KeyPlace`]. An encrypted file begins with the name
//! of its key ([`form`]), so that nothing else has to say whether a store is encrypted, and no
//! moment lies between the two being true. [`places`] finds keys; [`convert`] makes an encrypted
//! store of a plain one and back.
//!
//! Without the feature `encryption` all of this is there but SQLCipher: such a build says what an
//! encrypted store needs.

mod convert;
mod error;
mod form;
mod key;
pub(crate) mod places;

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

pub use self::convert::{Conversion, Converted, decrypt, encrypt, rekey};
pub use self::error::SealError;
pub use self::form::Form;
pub use self::key::{Key, KeyId};
pub use self::places::{KeyPlace, Keychain, NoKeychain};

use crate::Store;
use crate::error::Result;

/// Whether this build can open encrypted stores.
pub const BUILT: bool = cfg!(feature = "encryption");

/// How a store is encrypted.
#[derive(Clone, Debug, Serialize)]
pub struct Seal {
    pub key: String,
    pub place: KeyPlace,
}

/// Returns how the store in a folder is encrypted, if it is, without opening it.
pub fn seal(folder: &Path, keychain: &dyn Keychain) -> Result<Option<Seal>> {
    Ok(key_of_store(folder, keychain)?.map(|(key, place)| Seal {
        key: key.id().to_string(),
        place,
    }))
}

/// Writes the key of an encrypted store to a file, to be kept elsewhere.
pub fn copy_key(folder: &Path, keychain: &dyn Keychain, to: &Path) -> Result<Option<KeyId>> {
    let Some((key, _)) = key_of_store(folder, keychain)? else {
        return Ok(None);
    };
    places::outside(folder, to)?;
    key.write_file(to)?;
    Ok(Some(key.id()))
}

/// Notes that the key of the encrypted store in a folder lies in a file.
pub fn use_key_file(folder: &Path, file: &Path) -> Result<()> {
    let path = Store::path_in(folder);
    let key = Key::from_file(file)?;
    if let Form::Sealed(id) = form::of_store(&path)? {
        places::named(key, id, &path, file)?;
        places::remember(folder, id, &KeyPlace::File(file.to_owned()))?;
    }
    Ok(())
}

/// Finds the key of the store in a folder; a plain one has none.
pub(crate) fn key_of_store(
    folder: &Path,
    keychain: &dyn Keychain,
) -> Result<Option<(Key, KeyPlace)>> {
    let path = Store::path_in(folder);
    match form::of_store(&path)? {
        Form::Sealed(_) if !BUILT => Err(SealError::NotBuilt { path }.into()),
        Form::Sealed(id) => places::find(folder, &path, id, keychain).map(Some),
        Form::Absent | Form::Plain | Form::Foreign => Ok(None),
    }
}

/// Gives a connection its key, before anything is read.
#[cfg(feature = "encryption")]
pub(crate) fn unlock(connection: &Connection, path: &Path, key: Option<&Key>) -> Result<()> {
    let Some(key) = key else { return Ok(()) };
    // What SQLCipher would print is what we report.
    connection.pragma_update(None, "cipher_log_level", "NONE")?;
    // The statement holds the key, and so would its error.
    connection
        .pragma_update(None, "key", key.raw().as_str())
        .map_err(|_| SealError::NoKey {
            path: path.to_owned(),
            id: key.id(),
        })?;
    Ok(())
}

#[cfg(not(feature = "encryption"))]
pub(crate) fn unlock(_: &Connection, path: &Path, key: Option<&Key>) -> Result<()> {
    match key {
        None => Ok(()),
        Some(_) => Err(SealError::NotBuilt {
            path: path.to_owned(),
        }
        .into()),
    }
}
