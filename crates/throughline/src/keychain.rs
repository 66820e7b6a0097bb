//! The keychain of the operating system: Keychain on macOS, Credential Manager on Windows, the
//! Secret Service elsewhere. It stores the encryption keys of stores under their ids.

use store::encryption::{EncryptionError, EncryptionKey, KeyId, Keychain};

/// The service name of our entries.
#[cfg(feature = "keychain")]
const SERVICE: &str = "throughline";

#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemKeychain;

#[cfg(feature = "keychain")]
impl Keychain for SystemKeychain {
    fn get(&self, id: KeyId) -> Result<Option<EncryptionKey>, EncryptionError> {
        read_key(&keychain_entry(id)?)
    }

    fn put(&self, key: &EncryptionKey) -> Result<(), EncryptionError> {
        write_key(&keychain_entry(key.id())?, key)
    }
}

#[cfg(not(feature = "keychain"))]
impl Keychain for SystemKeychain {
    fn get(&self, _: KeyId) -> Result<Option<EncryptionKey>, EncryptionError> {
        Ok(None)
    }

    fn put(&self, _: &EncryptionKey) -> Result<(), EncryptionError> {
        Err(EncryptionError::Keychain(
            "this build has no keychain support".into(),
        ))
    }
}

#[cfg(feature = "keychain")]
fn keychain_entry(id: KeyId) -> Result<keyring::Entry, EncryptionError> {
    if let Err(error) = keyring::Entry::store_status() {
        return Err(EncryptionError::Keychain(error.to_string()));
    }
    keyring::Entry::new(SERVICE, &id.to_string()).map_err(keychain_error)
}

#[cfg(feature = "keychain")]
fn read_key(entry: &keyring::Entry) -> Result<Option<EncryptionKey>, EncryptionError> {
    match entry.get_password() {
        Ok(text) => Ok(EncryptionKey::from_text(&zeroize::Zeroizing::new(text))),
        Err(keyring::Error::NoEntry) => Ok(None),
        Err(error) => Err(keychain_error(error)),
    }
}

#[cfg(feature = "keychain")]
fn write_key(entry: &keyring::Entry, key: &EncryptionKey) -> Result<(), EncryptionError> {
    entry.set_password(&key.to_text()).map_err(keychain_error)
}

#[cfg(feature = "keychain")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes the error by value"
)]
fn keychain_error(error: keyring::Error) -> EncryptionError {
    EncryptionError::Keychain(error.to_string())
}

#[cfg(all(test, feature = "keychain"))]
mod tests {
    use super::*;

    /// Returns an entry of the mock keychain of the library.
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on should fail")]
    fn mock(id: KeyId) -> keyring::Entry {
        let inner = keyring_core::Entry::new(SERVICE, &id.to_string()).unwrap();
        keyring::Entry { inner }
    }

    #[test]
    fn a_stored_key_is_read_back() {
        keyring_core::set_default_store(keyring_core::mock::Store::new().unwrap());
        let key = EncryptionKey::random().unwrap();
        let entry = mock(key.id());
        assert!(read_key(&entry).unwrap().is_none());
        write_key(&entry, &key).unwrap();
        assert_eq!(read_key(&mock(key.id())).unwrap().unwrap().id(), key.id());
        let other = EncryptionKey::random().unwrap();
        assert!(read_key(&mock(other.id())).unwrap().is_none());
    }
}
