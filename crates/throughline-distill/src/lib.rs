//! Condenses single sessions: digests, facts, running summaries and compaction.
//!
//! - [`digest`]: the permanent account of a finished session, without a model.
//! - [`signals`]: what happened in a session that may recur in others, stored with its digest.
//! - [`facts`]: facts that rules find in a session. [`model_facts`]: facts that a model states.
//! - [`summary`]: the running notes of a live session, by the embedded extractor or by a model.
//! - [`compact`]: replaces the beginning of a conversation by its summary. It is pure;
//!   [`model_summary`] is its fallback if the session has no summary and a model is configured.
//! - [`checkpoint`]: where a session stood, again and again. [`snapshot`]: that as a text of a
//!   given size. [`rollup`]: the digests of a workspace in one text.
//! - [`model`]: clients for language models, with budget, retries and a ledger.
//! - [`transcript`]: the text that models read.
//!
//! Every stage is a function of the store and `now`. It reads its pending work from the store,
//! lets pure functions decide, and writes the result back. Stages never call each other.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

pub mod checkpoint;
pub mod compact;
pub mod digest;
pub mod facts;
pub mod model;
pub mod model_facts;
pub mod model_summary;
pub mod record_view;
pub mod rollup;
pub mod signals;
pub mod snapshot;
pub mod summary;
#[cfg(test)]
mod test_support;
pub mod transcript;
