//! Keys, their ids, and the files that can hold them.

use std::fmt;
use std::fs;
use std::path::Path;

use zeroize::{Zeroize, Zeroizing};

use super::EncryptionError;
use crate::error::{Error, Result};
use crate::files;
use crate::hex;

const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
/// A key file is a line and a comment; what is larger is something else.
const KEY_FILE_BYTES_MAX: u64 = 4096;

/// The key of an encrypted store. Wiped from memory when it is dropped, never shown.
pub struct EncryptionKey([u8; KEY_BYTES]);

/// The name of a key: a hash of it, which says nothing about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(super) [u8; ID_BYTES]);

impl EncryptionKey {
    pub fn random() -> Result<Self> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| EncryptionError::NoRandomness(error.to_string()))?;
        Ok(Self(bytes))
    }

    pub fn id(&self) -> KeyId {
        let mut hash = blake3::derive_key("throughline 2026 name of a store's key", &self.0);
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&hash[..ID_BYTES]);
        hash.zeroize();
        KeyId(id)
    }

    /// Returns the key in the form in which keychains and key files hold it.
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(&self.0))
    }

    /// Parses the output of [`EncryptionKey::to_text`]; lines that start with `#` are comments.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let line = lines.next().filter(|_| lines.next().is_none())?;
        let mut key = Self([0; KEY_BYTES]);
        hex::decode_into(line, &mut key.0)?;
        Some(key)
    }

    /// Reads a key file. One that others can read is refused.
    pub fn from_file(path: &Path) -> Result<Self> {
        let file = fs::metadata(path).map_err(Error::io(path))?;
        let unfit = |why: &str| EncryptionError::KeyFile {
            path: path.to_owned(),
            why: why.to_owned(),
        };
        if !file.is_file() || file.len() > KEY_FILE_BYTES_MAX {
            return Err(unfit("it is not a key file").into());
        }
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o077 != 0 {
            return Err(unfit("others can read it; `chmod 600` it").into());
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(Error::io(path))?);
        Ok(Self::from_text(&text).ok_or_else(|| unfit("it holds no key"))?)
    }

    /// Writes a key file that only its owner can read. One that is there is left alone.
    pub fn write_file(&self, path: &Path) -> Result<()> {
        if path.exists() {
            return Err(Error::AlreadyExists {
                path: path.to_owned(),
            });
        }
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            files::create_private_dir(parent)?;
        }
        let text = Zeroizing::new(format!(
            "# Key {} of a Throughline store, which cannot be read without it. \
             Keep a copy elsewhere.\n{}\n",
            self.id(),
            *self.to_text()
        ));
        files::write_private_file(path, text.as_bytes())
    }

    /// Returns the key as SQLCipher takes it: raw, so that no time goes into deriving another from
    /// it, and with the salt that the file begins with.
    #[cfg(feature = "encryption")]
    pub(crate) fn sqlcipher_key(&self) -> Zeroizing<String> {
        let salt = hex::encode(&super::file_kind::salt(self.id()));
        Zeroizing::new(format!("x'{}{salt}'", *self.to_text()))
    }
}

impl Drop for EncryptionKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_reads_back_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys/a.key");
        let key = EncryptionKey::random().unwrap();
        key.write_file(&path).unwrap();
        assert_eq!(EncryptionKey::from_file(&path).unwrap().id(), key.id());
        assert!(matches!(
            key.write_file(&path),
            Err(Error::AlreadyExists { .. })
        ));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let error = EncryptionKey::from_file(&path).unwrap_err().to_string();
            assert!(error.contains("others can read it"), "{error}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let good = "0f".repeat(32);
        assert!(EncryptionKey::from_text(&format!("# mine\n\n {good} \n")).is_some());
        for bad in ["", "# only words", &good[2..], &format!("{good}\n{good}")] {
            assert!(EncryptionKey::from_text(bad).is_none(), "{bad}");
        }
        assert!(EncryptionKey::from_text(&good.replace('f', "g")).is_none());
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = EncryptionKey::from_text(&"0f".repeat(32)).unwrap();
        let shown = format!("{key:?}");
        assert_eq!(shown, format!("Key({})", key.id()));
        assert!(!shown.contains("0f0f0f"));
    }
}
