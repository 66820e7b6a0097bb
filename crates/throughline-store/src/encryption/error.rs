//! Errors of keys and of encrypted files.

use std::path::PathBuf;

use super::KeyId;

#[derive(Clone, Debug, thiserror::Error)]
pub enum EncryptionError {
    #[error("{} needs encryption, which this build of Throughline does not have", path.display())]
    NotBuilt { path: PathBuf },
    #[error("{} is encrypted with key {id}, which was not found", path.display())]
    NoKey { path: PathBuf, id: KeyId },
    #[error(
        "{} is encrypted with key {wanted}; the key in {} is {found}",
        path.display(),
        key_file.display()
    )]
    WrongKey {
        path: PathBuf,
        key_file: PathBuf,
        wanted: KeyId,
        found: KeyId,
    },
    #[error("the key file {} cannot be used: {why}", path.display())]
    KeyFile { path: PathBuf, why: String },
    #[error("the system's keychain cannot be used: {0}")]
    Keychain(String),
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(String),
}
