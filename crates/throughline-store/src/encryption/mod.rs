//! Encryption at rest: SQLCipher under the same tables.
//!
//! An [`EncryptionKey`] is 32 random bytes, stored at a [`KeyLocation`]. An encrypted file begins
//! with the name of its key ([`file_kind`]), so that nothing else has to say whether a store is
//! encrypted, and no moment lies between the two being true. [`key_locations`] finds keys;
//! [`convert`] makes an encrypted store of a plain one and back.
//!
//! Without the feature `encryption` all of this is there but SQLCipher: such a build says what an
//! encrypted store needs.

mod convert;
mod error;
mod file_kind;
mod key;
pub(crate) mod key_locations;

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

pub use self::convert::{Conversion, ConversionReport, decrypt, encrypt, rekey};
pub use self::error::EncryptionError;
pub use self::file_kind::StoreFileKind;
pub use self::key::{EncryptionKey, KeyId};
pub use self::key_locations::{KeyLocation, Keychain, NoKeychain};

use crate::Store;
use crate::error::Result;

/// Whether this build can open encrypted stores.
pub const ENCRYPTION_BUILT: bool = cfg!(feature = "encryption");

/// How a store is encrypted.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptionInfo {
    pub key: String,
    pub place: KeyLocation,
}

/// Returns how the store in a folder is encrypted, if it is, without opening it.
pub fn encryption_info(folder: &Path, keychain: &dyn Keychain) -> Result<Option<EncryptionInfo>> {
    Ok(
        find_store_key(folder, keychain)?.map(|(key, place)| EncryptionInfo {
            key: key.id().to_string(),
            place,
        }),
    )
}

/// Writes the key of an encrypted store to a file, to be kept elsewhere.
pub fn copy_key(folder: &Path, keychain: &dyn Keychain, to: &Path) -> Result<Option<KeyId>> {
    let Some((key, _)) = find_store_key(folder, keychain)? else {
        return Ok(None);
    };
    key_locations::require_outside_folder(folder, to)?;
    key.write_file(to)?;
    Ok(Some(key.id()))
}

/// Notes that the key of the encrypted store in a folder is in a file.
pub fn use_key_file(folder: &Path, file: &Path) -> Result<()> {
    let path = Store::database_path(folder);
    let key = EncryptionKey::from_file(file)?;
    if let StoreFileKind::Encrypted(id) = file_kind::kind_of_open_store(&path)? {
        key_locations::check_key_id(key, id, &path, file)?;
        key_locations::remember(folder, id, &KeyLocation::File(file.to_owned()))?;
    }
    Ok(())
}

/// Finds the key of the store in a folder; a plain one has none.
pub(crate) fn find_store_key(
    folder: &Path,
    keychain: &dyn Keychain,
) -> Result<Option<(EncryptionKey, KeyLocation)>> {
    let path = Store::database_path(folder);
    match file_kind::kind_of_open_store(&path)? {
        StoreFileKind::Encrypted(_) if !ENCRYPTION_BUILT => {
            Err(EncryptionError::NotBuilt { path }.into())
        }
        StoreFileKind::Encrypted(id) => {
            key_locations::find_key(folder, &path, id, keychain).map(Some)
        }
        StoreFileKind::Absent | StoreFileKind::Plain | StoreFileKind::Foreign => Ok(None),
    }
}

/// Gives a connection its key, before anything is read.
#[cfg(feature = "encryption")]
pub(crate) fn unlock(
    connection: &Connection,
    path: &Path,
    key: Option<&EncryptionKey>,
) -> Result<()> {
    let Some(key) = key else { return Ok(()) };
    // What SQLCipher would print is what we report.
    connection.pragma_update(None, "cipher_log_level", "NONE")?;
    // The statement holds the key, and so would its error.
    connection
        .pragma_update(None, "key", key.sqlcipher_key().as_str())
        .map_err(|_| EncryptionError::NoKey {
            path: path.to_owned(),
            id: key.id(),
        })?;
    Ok(())
}

#[cfg(not(feature = "encryption"))]
pub(crate) fn unlock(_: &Connection, path: &Path, key: Option<&EncryptionKey>) -> Result<()> {
    match key {
        None => Ok(()),
        Some(_) => Err(EncryptionError::NotBuilt {
            path: path.to_owned(),
        }
        .into()),
    }
}
