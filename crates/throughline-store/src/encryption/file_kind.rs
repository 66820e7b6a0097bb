//! Whether a file is encrypted, and with which key, told from its first bytes.
//!
//! SQLCipher begins a file with sixteen bytes of salt. Ours are a word and the name of the key: a
//! random key needs no random salt, and so a store and each of its backups says which key opens it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::KeyId;
use crate::error::{Error, Result};

const PLAIN: &[u8; 16] = b"SQLite format 3\0";
const SEALED: &[u8; 8] = b"thrlseal";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFileKind {
    /// Not there, or nothing in it.
    Absent,
    Plain,
    Encrypted(KeyId),
    /// Not a store of Throughline.
    Foreign,
}

impl StoreFileKind {
    /// Looks at a file that this process has not open as a database.
    pub fn of(path: &Path) -> Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read(file).map_err(Error::io(path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) => Err(Error::io(path)(error)),
        }
    }

    fn read(mut file: impl Read) -> std::io::Result<Self> {
        let mut header = Vec::with_capacity(16);
        file.by_ref().take(16).read_to_end(&mut header)?;
        let Ok(header) = <[u8; 16]>::try_from(header.as_slice()) else {
            return Ok(if header.is_empty() {
                Self::Absent
            } else {
                Self::Foreign
            });
        };
        if &header == PLAIN {
            return Ok(Self::Plain);
        }
        let Some(id) = header.strip_prefix(SEALED.as_slice()) else {
            return Ok(Self::Foreign);
        };
        Ok(<[u8; 8]>::try_from(id).map_or(Self::Foreign, |id| Self::Encrypted(KeyId(id))))
    }
}

/// Looks at the database of a store that may be open in this process already.
///
/// When a process closes a descriptor of a file it loses its locks on that file, those of the
/// database's own descriptor too. So the ones made here stay open, one for each file.
#[cfg(unix)]
pub(crate) fn kind_of_open_store(path: &Path) -> Result<StoreFileKind> {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::sync::{Mutex, PoisonError};
    static KEPT: Mutex<BTreeMap<(u64, u64), File>> = Mutex::new(BTreeMap::new());
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(StoreFileKind::Absent);
        }
        Err(error) => return Err(Error::io(path)(error)),
    };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match kept.entry((metadata.dev(), metadata.ino())) {
        std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
        std::collections::btree_map::Entry::Vacant(free) => {
            free.insert(File::open(path).map_err(Error::io(path))?)
        }
    };
    let mut header = [0; 16];
    let length = file.read_at(&mut header, 0).map_err(Error::io(path))?;
    StoreFileKind::read(&header[..length]).map_err(Error::io(path))
}

#[cfg(not(unix))]
pub(crate) fn of_store(path: &Path) -> Result<StoreFileKind> {
    StoreFileKind::of(path)
}

/// Returns the bytes that a file encrypted with this key begins with.
#[cfg(feature = "encryption")]
pub(super) fn salt(id: KeyId) -> [u8; 16] {
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(SEALED);
    salt[8..].copy_from_slice(&id.0);
    salt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let check = |bytes: &[u8], form: StoreFileKind| {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(StoreFileKind::of(&path).unwrap(), form);
            assert_eq!(kind_of_open_store(&path).unwrap(), form);
        };
        check(b"", StoreFileKind::Absent);
        check(b"SQLite format 3\0 and more", StoreFileKind::Plain);
        check(
            b"thrlseal12345678...",
            StoreFileKind::Encrypted(KeyId(*b"12345678")),
        );
        check(b"just some notes of mine", StoreFileKind::Foreign);
        check(b"short", StoreFileKind::Foreign);
        assert_eq!(
            StoreFileKind::of(&dir.path().join("g")).unwrap(),
            StoreFileKind::Absent
        );
    }
}
