//! What recurs across sessions, and what to do about it.
//!
//! - [`detect`]: clusters the signals of all sessions into candidates with their evidence.
//! - [`curate`]: the user's decisions, and the catalog of promoted patterns that a repository
//!   commits.
//! - [`distribute`]: renders patterns into the instruction files of each agent, as diffs to review.
//! - [`measure`]: compares the sessions before and after a pattern became active.
//! - [`similarity`]: compares short texts by their word triples.
//!
//! Signals are collected per session, with the digest; this crate only reads them. It decides
//! without a model, and changes no file that it was not told to change.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

pub mod curate;
pub mod detect;
pub mod distribute;
pub mod measure;
mod settings;
pub mod similarity;

pub use crate::settings::LearnSettings;
