//! The local database.
pub mod redact;
