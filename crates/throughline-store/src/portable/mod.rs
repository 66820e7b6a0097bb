//! Export and import of a whole store as JSON Lines.
//!
//! [`mod@line`] is the format, [`export`](crate::Store::export) writes it in an order that depends
//! on nothing but what is stored, and [`import`](crate::Store::import) redacts it like every other
//! text. An export of a store that imported an export is equal to it, if both stores have the same
//! key: [`signature`] says which store wrote a line.

mod derived;
mod export;
mod import;
mod line;
mod rows;
mod scope;
mod signature;
mod write;

pub use export::{ExportFilter, ExportReport};
pub use import::{ImportReport, ImportTrust};
pub use line::EXPORT_FORMAT;
pub use scope::{ImportScope, LogPieceFilter};
