//! Export and import of a whole store as JSON Lines.
//!
//! [`mod@line`] is the format, [`export`](crate::Store::export) writes it in an order that depends
//! on nothing but what is stored, [`import`](crate::Store::import) reads it through the same door
//! as every other text. What came out of a store and went into an empty one comes out the same,
//! given that both have the same key: [`signature`] says whose word a line is.

mod derived;
mod export;
mod import;
mod line;
mod scope;
mod signature;
mod write;

pub use export::{ExportFilter, ExportReport};
pub use import::{ImportReport, ImportTrust};
pub use line::EXPORT_FORMAT;
pub use scope::{ImportScope, LogPieceFilter};
