//! The operations that memory offers to the outside, whichever front end calls them.
//!
//! Each file is one subject, with functions from plain values to plain values. An [`AccessScope`]
//! says which workspaces a client may see; what lies outside it does not exist for that client. The
//! command line, HTTP and MCP only translate arguments and answers.

mod access_scope;
pub mod capsules;
pub mod compact;
pub mod context;
pub mod facts;
pub mod find;
pub mod layers;
pub mod markdown;
pub mod search;
pub mod sessions;
pub mod snapshot;
pub mod submitted;
pub mod summarize;
pub mod transcript;
pub mod usage;

use std::borrow::Cow;
use std::path::Path;

use thiserror::Error;

pub use self::access_scope::AccessScope;

/// What the user can do about an error.
type Hint = Cow<'static, str>;

/// Why a request failed.
#[derive(Debug, Error)]
pub enum RequestError {
    #[error("{message}")]
    NotFound { message: String, hint: Hint },
    #[error("{message}")]
    Invalid { message: String, hint: Hint },
    #[error("{message}")]
    NotAllowed { message: String, hint: Hint },
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl RequestError {
    pub fn not_found(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self::NotFound { message, hint }
    }

    pub fn invalid(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self::Invalid { message, hint }
    }

    pub fn not_allowed(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self::NotAllowed { message, hint }
    }

    /// Returns what the user can do about it, if that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotFound { hint, .. }
            | Self::Invalid { hint, .. }
            | Self::NotAllowed { hint, .. } => Some(hint),
            Self::Store(error) if error.is_disk_full() => {
                Some("nothing is lost: free some space and try again")
            }
            Self::Store(error) if error.is_corrupt() => {
                Some("`throughline doctor --repair` salvages what can be read")
            }
            Self::Store(_) => None,
        }
    }
}

/// Rejects a relative folder: a request has no current folder that it could be relative to.
pub(crate) fn require_absolute(folder: &str) -> Result<&Path, RequestError> {
    let path = Path::new(folder);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(RequestError::invalid(
        format!("folder must be an absolute path: {folder:?}"),
        "for example /home/me/project",
    ))
}
