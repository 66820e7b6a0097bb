//! The operations that memory offers to the outside, whichever front end calls them.
//!
//! Each file is one subject, with functions from plain values to plain values. An [`AccessScope`]
//! says which workspaces a client may see; what lies outside it does not exist for that client. The
//! command line, HTTP and MCP only translate arguments and answers.

pub mod compact;
pub mod context;
pub mod facts;
pub mod find;
pub mod submitted;
mod access_scope;
pub mod search;

pub use self::access_scope::AccessScope;

use thiserror::Error;

/// Why a request failed.
#[derive(Debug, Error)]
pub enum RequestError {
    #[error("{what}")]
    NotFound { what: String, hint: &'static str },
    #[error("{what}")]
    Invalid { what: String, hint: &'static str },
    #[error("{what}")]
    NotAllowed { what: String, hint: &'static str },
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl RequestError {
    pub fn not_found(what: impl Into<String>, hint: &'static str) -> Self {
        let what = what.into();
        Self::NotFound { what, hint }
    }

    pub fn invalid(what: impl Into<String>, hint: &'static str) -> Self {
        let what = what.into();
        Self::Invalid { what, hint }
    }

    pub fn not_allowed(what: impl Into<String>, hint: &'static str) -> Self {
        let what = what.into();
        Self::NotAllowed { what, hint }
    }

    /// Returns what the user can do about it, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
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
