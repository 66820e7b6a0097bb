//! Detectors that need neither a format rule nor an assignment, one per kind of text.
//!
//! Each declares the `LITERALS` that lead the scanner to it and a `find` that looks around one of
//! them. `may_find`, where it exists, answers cheaply on text that is still escaped.

pub(crate) mod auth_header;
pub(crate) mod bare_format;
pub(crate) mod cookie;
pub(crate) mod encoded;
pub(crate) mod graphql;
pub(crate) mod key_block;
pub(crate) mod kubernetes;
pub(crate) mod private_tag;
pub(crate) mod prose;
pub(crate) mod service_name;
pub(crate) mod sql_insert;
pub(crate) mod table;
pub(crate) mod terraform;
pub(crate) mod url;
