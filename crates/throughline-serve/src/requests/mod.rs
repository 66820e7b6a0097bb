//! What can be asked of memory from outside, whatever it is asked through.
//!
//! Each file is one kind of request, from plain values to plain values. [`Reach`] says whose memory
//! the asker may see; what lies beyond it does not exist for them. HTTP and MCP only translate.

pub mod compact;
pub mod context;
pub mod facts;
pub mod find;
pub mod given;
pub mod reach;
pub mod search;

pub use self::reach::AccessScope;

use thiserror::Error;

/// Why a request was not answered.
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

    /// Returns the way out, where we know one.
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
