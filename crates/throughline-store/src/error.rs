//! Errors of the local database.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::ErrorCode;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error is `Clone`, because one failed commit fails every write that shared it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("the store failed: {0}")]
    Sqlite(#[source] Arc<rusqlite::Error>),
    #[error("cannot use {}: {error}", path.display())]
    Io {
        path: PathBuf,
        error: Arc<std::io::Error>,
    },
    #[error(
        "{} was written by a newer Throughline (format {found}; this version reads up to {known})",
        path.display()
    )]
    TooNew {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{} is not a Throughline store", path.display())]
    NotAStore { path: PathBuf },
    #[error(
        "SQLite {0} has known bugs with concurrent writers; version 3.51.3 or later is required"
    )]
    UnsupportedSqlite(String),
    #[error("cannot write the export: {0}")]
    Export(#[source] Arc<std::io::Error>),
    #[error("cannot read the import: {0}")]
    Import(#[source] Arc<std::io::Error>),
    #[error("not a Throughline export: {0}")]
    NotAnExport(String),
    #[error("the store in {} is in use by another process", path.display())]
    InUse { path: PathBuf },
    #[error("{} is missing, but its write-ahead log exists", path.display())]
    WalWithoutDatabase { path: PathBuf },
    #[error("no data of a Throughline store can be recovered from {}", path.display())]
    NothingRecoverable { path: PathBuf },
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the thread that writes to the store has stopped")]
    WriterStopped,
    #[error("record {0} does not match its checksum")]
    ChecksumMismatch(memory::RecordId),
    #[error("the stored text {0} is missing or unreadable")]
    MissingText(String),
    #[error(transparent)]
    Encryption(#[from] crate::encryption::EncryptionError),
    #[error("{} failed verification: {why}", path.display())]
    InvalidFile { path: PathBuf, why: String },
    #[error("refusing to use the folder {}: {why}", path.display())]
    UnsafeFolder {
        path: PathBuf,
        why: String,
        /// The command that fixes it.
        fix: String,
    },
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is an export, not a backup", path.display())]
    IsAnExport { path: PathBuf },
    #[error("{} does not have the schema of a Throughline store: {what}", path.display())]
    ForeignSchema { path: PathBuf, what: String },
    #[error("{} already exists", path.display())]
    AlreadyExists { path: PathBuf },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io {
            path,
            error: Arc::new(error),
        }
    }

    /// Says whether the store cannot be written.
    pub fn is_read_only(&self) -> bool {
        use std::io::ErrorKind as Io;
        match self {
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
            ),
            Self::Io { error, .. } => {
                matches!(error.kind(), Io::PermissionDenied | Io::ReadOnlyFilesystem)
            }
            Self::ReadOnly { .. } => true,
            _ => false,
        }
    }

    /// Says whether the file is damaged, so that a repair may help.
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                let code = error.sqlite_error_code();
                let is_broken = matches!(
                    code,
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                );
                is_broken || is_type_mismatch(error)
            }
            Self::NotAStore { .. } | Self::WalWithoutDatabase { .. } => true,
            Self::ChecksumMismatch(_) | Self::MissingText(_) => true,
            _ => false,
        }
    }

    /// Says whether the disk failed. After that, the state that a connection has cached of the file
    /// cannot be trusted.
    pub fn is_disk_failure(&self) -> bool {
        let code = match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        };
        code == Some(ErrorCode::SystemIoFailure)
    }

    /// Says whether a failed write says nothing about its content, because every other write would
    /// fail as well.
    pub fn affects_all_writes(&self) -> bool {
        if self.is_disk_full() || self.is_disk_failure() || self.is_read_only() {
            return true;
        }
        match self {
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::OutOfMemory
                        | ErrorCode::NotADatabase
                )
            ),
            Self::WriterStopped | Self::Io { .. } | Self::Encryption(_) => true,
            _ => false,
        }
    }

    /// Says whether the disk is full, so that a sweep can stop and continue later.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::Io { error, .. } | Self::Export(error) => {
                error.kind() == std::io::ErrorKind::StorageFull
            }
            _ => false,
        }
    }
}

/// Says whether a column has a value of an unexpected type.
fn is_type_mismatch(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..) | E::IntegralValueOutOfRange(..) | E::InvalidColumnType(..)
    )
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}
