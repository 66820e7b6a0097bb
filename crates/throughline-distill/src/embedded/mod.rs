//! The extractor that needs no model: records in, the sections of a summary out.
//!
//! A [`Fold`] takes in one [`Step`] after the other and forgets in an order that keeps what is missed most
//! after a compaction: the last request and the rules in the user's words, files and commands with
//! their exact names, what failed. [`render()`] writes it down within the limits. Both are the same every
//! time, and folding a session in pieces is folding it at once.

mod fold;
mod render;
mod step;
mod words;

pub use self::fold::SummaryBuilder;
pub use self::render::{current_state, render_summary};
pub use self::step::RecordView;

#[cfg(test)]
mod tests;
