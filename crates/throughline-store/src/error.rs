//! What can go wrong with the local database.

use std::path::PathBuf;
use std::sync::Arc;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Cloneable, because one failed commit fails every write that shared it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("the store failed: {0}")]
    Sqlite(#[source] Arc<rusqlite::Error>),
    #[error("cannot use {}: {error}", path.display())]
    Io {
        path: PathBuf,
        error: Arc<std::io::Error>,
    },
    #[error("{} was written by a newer Throughline (format {found}, this one knows {known})", path.display())]
    TooNew {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{} is not a Throughline store", path.display())]
    NotAStore { path: PathBuf },
    #[error("SQLite {0} has known faults with concurrent writers; 3.51.3 or later is needed")]
    OldSqlite(String),
    #[error("the writer stopped")]
    WriterStopped,
    #[error("record {0} does not match its checksum")]
    Damaged(memory::RecordId),
    #[error("the stored text {0} is missing or unreadable")]
    LostBody(String),
    #[error(transparent)]
    Seal(#[from] crate::seal::SealError),
    #[error("another process uses the store in {}", folder.display())]
    InUse { folder: PathBuf },
    #[error("{} is not sound: {why}", path.display())]
    Unsound { path: PathBuf, why: String },
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io {
            path,
            error: Arc::new(error),
        }
    }

    /// Says whether the disk is full, so that a sweep can stop and go on later.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Io { error, .. } => error.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}
