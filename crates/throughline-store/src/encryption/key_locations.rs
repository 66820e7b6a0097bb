//! Where keys lie: in the system's keychain by their name, or in files. `seal.json` lists them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{EncryptionError, EncryptionKey, KeyId};
use crate::error::{Error, Result};
use crate::files;

/// The name of the list in a store's folder.
pub(crate) const KEY_LIST_FILE: &str = "seal.json";

/// Where a key lies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyLocation {
    Keychain,
    File(PathBuf),
}

/// The keychain of the operating system, which the program hands in.
pub trait Keychain {
    fn get(&self, id: KeyId) -> Result<Option<EncryptionKey>, EncryptionError>;
    fn put(&self, key: &EncryptionKey) -> Result<(), EncryptionError>;
}

/// Used where there is no keychain: keys are in files only.
#[derive(Clone, Copy, Debug)]
pub struct NoKeychain;

impl Keychain for NoKeychain {
    fn get(&self, _: KeyId) -> Result<Option<EncryptionKey>, EncryptionError> {
        Ok(None)
    }

    fn put(&self, _: &EncryptionKey) -> Result<(), EncryptionError> {
        Err(EncryptionError::Keychain("there is none".to_owned()))
    }
}

#[derive(Default, Deserialize, Serialize)]
struct KeyList {
    /// Names of keys, and where they lie. Those of the past stay: backups may need them.
    keys: BTreeMap<String, KeyLocation>,
}

/// Says whether a store in this folder has ever been encrypted.
pub(crate) fn has_key_list(folder: &Path) -> bool {
    folder.join(KEY_LIST_FILE).exists()
}

/// Finds the key that a file asks for.
pub(crate) fn find_key(
    folder: &Path,
    path: &Path,
    id: KeyId,
    keychain: &dyn Keychain,
) -> Result<(EncryptionKey, KeyLocation)> {
    if let Some(KeyLocation::File(file)) = read(folder)?.keys.remove(&id.to_string()) {
        let key = EncryptionKey::from_file(&file)?;
        return Ok((check_key_id(key, id, path, &file)?, KeyLocation::File(file)));
    }
    // Not only what is listed: a backup may come from another store of the same user.
    match keychain.get(id)? {
        Some(key) if key.id() == id => Ok((key, KeyLocation::Keychain)),
        _ => Err(EncryptionError::NoKey {
            path: path.to_owned(),
            id,
        }
        .into()),
    }
}

/// Returns the key if it is the one that a file asks for.
pub(crate) fn check_key_id(
    key: EncryptionKey,
    id: KeyId,
    path: &Path,
    key_file: &Path,
) -> Result<EncryptionKey> {
    if key.id() == id {
        return Ok(key);
    }
    Err(EncryptionError::WrongKey {
        path: path.to_owned(),
        key_file: key_file.to_owned(),
        wanted: id,
        found: key.id(),
    }
    .into())
}

/// Makes a key and puts it where it shall lie, before anything needs it. A key file that is there
/// already is used.
pub(super) fn create_key(
    folder: &Path,
    location: &KeyLocation,
    keychain: &dyn Keychain,
) -> Result<EncryptionKey> {
    let key = match location {
        KeyLocation::Keychain => put(EncryptionKey::random()?, keychain)?,
        KeyLocation::File(path) if path.exists() => EncryptionKey::from_file(path)?,
        KeyLocation::File(path) => {
            require_outside_folder(folder, path)?;
            let key = EncryptionKey::random()?;
            key.write_file(path)?;
            key
        }
    };
    remember(folder, key.id(), location)?;
    Ok(key)
}

fn put(key: EncryptionKey, keychain: &dyn Keychain) -> Result<EncryptionKey> {
    keychain.put(&key)?;
    let kept = keychain.get(key.id())?;
    if kept.is_none_or(|kept| kept.id() != key.id()) {
        let why = "it does not return what was put into it";
        return Err(EncryptionError::Keychain(why.to_owned()).into());
    }
    Ok(key)
}

/// Notes where a key lies.
pub(crate) fn remember(folder: &Path, id: KeyId, location: &KeyLocation) -> Result<()> {
    let location = match location {
        KeyLocation::Keychain => KeyLocation::Keychain,
        KeyLocation::File(path) => {
            require_outside_folder(folder, path)?;
            KeyLocation::File(std::path::absolute(path).map_err(Error::io(path))?)
        }
    };
    let mut list = read(folder)?;
    list.keys.insert(id.to_string(), location);
    let text = serde_json::to_string_pretty(&list).unwrap_or_default();
    files::replace_private_file(&folder.join(KEY_LIST_FILE), text.as_bytes())
}

/// A key beside what it opens protects nothing: a copy of the folder has both.
pub(super) fn require_outside_folder(folder: &Path, path: &Path) -> Result<()> {
    let real = |path: &Path| {
        let mut missing = Vec::new();
        let mut at = std::path::absolute(path).ok()?;
        loop {
            if let Ok(real) = at.canonicalize() {
                return Some(
                    missing
                        .iter()
                        .rev()
                        .fold(real, |path, name| path.join(name)),
                );
            }
            missing.push(at.file_name()?.to_owned());
            at = at.parent()?.to_owned();
        }
    };
    match (real(folder), real(path)) {
        (Some(folder), Some(real)) if !real.starts_with(&folder) => Ok(()),
        _ => Err(EncryptionError::KeyFile {
            path: path.to_owned(),
            why: "it lies in the folder of the store".to_owned(),
        }
        .into()),
    }
}

fn read(folder: &Path) -> Result<KeyList> {
    let path = folder.join(KEY_LIST_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(KeyList::default()),
        Err(error) => return Err(Error::io(path)(error)),
    };
    serde_json::from_str(&text).map_err(|error| Error::io(path)(error.into()))
}
