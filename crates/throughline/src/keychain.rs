//! The keychain of the operating system: Keychain on macOS, Credential Manager on Windows, the
//! Secret Service elsewhere. Each key lies there under its name.

use store::seal::{EncryptionError, EncryptionKey, KeyId, Keychain};

/// The name under which our keys are filed.
#[cfg(feature = "keychain")]
const SERVICE: &str = "throughline";

#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemKeychain;

#[cfg(feature = "keychain")]
impl Keychain for SystemKeychain {
    fn get(&self, id: KeyId) -> Result<Option<EncryptionKey>, EncryptionError> {
        read(&entry(id)?)
    }

    fn put(&self, key: &EncryptionKey) -> Result<(), EncryptionError> {
        write(&entry(key.id())?, key)
    }
}

#[cfg(not(feature = "keychain"))]
impl Keychain for SystemKeychain {
    fn get(&self, _: KeyId) -> Result<Option<EncryptionKey>, EncryptionError> {
        Ok(None)
    }

    fn put(&self, _: &EncryptionKey) -> Result<(), EncryptionError> {
        Err(EncryptionError::Keychain("this build knows none".into()))
    }
}

#[cfg(feature = "keychain")]
fn entry(id: KeyId) -> Result<keyring::Entry, EncryptionError> {
    if let Err(error) = keyring::Entry::store_status() {
        return Err(EncryptionError::Keychain(error.to_string()));
    }
    keyring::Entry::new(SERVICE, &id.to_string()).map_err(unusable)
}

#[cfg(feature = "keychain")]
fn read(entry: &keyring::Entry) -> Result<Option<EncryptionKey>, EncryptionError> {
    match entry.get_password() {
        Ok(text) => Ok(EncryptionKey::from_text(&zeroize::Zeroizing::new(text))),
        Err(keyring::Error::NoEntry) => Ok(None),
        Err(error) => Err(unusable(error)),
    }
}

#[cfg(feature = "keychain")]
fn write(entry: &keyring::Entry, key: &EncryptionKey) -> Result<(), EncryptionError> {
    entry.set_password(&key.to_text()).map_err(unusable)
}

#[cfg(feature = "keychain")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn unusable(error: keyring::Error) -> EncryptionError {
    EncryptionError::Keychain(error.to_string())
}

#[cfg(all(test, feature = "keychain"))]
mod tests {
    use super::*;

    /// An entry of the keychain that the library has for tests.
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on should fail")]
    fn mock(id: KeyId) -> keyring::Entry {
        let inner = keyring_core::Entry::new(SERVICE, &id.to_string()).unwrap();
        keyring::Entry { inner }
    }

    #[test]
    fn a_key_comes_back_from_the_keychain() {
        keyring_core::set_default_store(keyring_core::mock::Store::new().unwrap());
        let key = EncryptionKey::random().unwrap();
        let entry = mock(key.id());
        assert!(read(&entry).unwrap().is_none());
        write(&entry, &key).unwrap();
        assert_eq!(read(&mock(key.id())).unwrap().unwrap().id(), key.id());
        let other = EncryptionKey::random().unwrap();
        assert!(read(&mock(other.id())).unwrap().is_none());
    }
}
