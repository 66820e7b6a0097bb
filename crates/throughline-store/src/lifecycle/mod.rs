//! How stored data shrinks, changes and goes away.
//!
//! [`maintenance`] runs periodic work, [`retention`] evicts raw text above the configured caps.
//! [`forget`] deletes what the user names, and [`tombstones`] keep it from being captured again.
//! [`rescan`] applies today's redaction rules to stored text, [`archive_scope`] today's capture
//! scope to archived logs.

pub(crate) mod archive_scope;
pub mod forget;
pub mod maintenance;
pub(crate) mod rescan;
pub mod retention;
pub(crate) mod tombstones;
