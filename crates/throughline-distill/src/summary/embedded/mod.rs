//! The embedded extractor: turns records into a summary without a model.
//!
//! A [`SummaryBuilder`] takes one [`ExtractorRecord`](crate::record_view::ExtractorRecord) after
//! another. It is bounded, and it drops first what is needed least after a compaction: it keeps the
//! last request and the user's rules verbatim, files and commands with their exact names, and
//! failures. [`render_summary`] writes the sections within the limits. Both are deterministic, and
//! processing a session in several batches gives the same result as processing it at once.

mod builder;
mod phrases;
mod render;

pub use self::builder::SummaryBuilder;
pub use self::render::{current_state, render_summary};

#[cfg(test)]
mod tests;
