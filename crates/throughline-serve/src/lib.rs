//! Answers the outside, and decides when what is due is done.
//!
//! [`prompt`] is what memory has for a prompt, whoever brings it. [`hook`] is what an agent's hook gets, and
//! [`client`] asks a daemon for it. [`Settings`] is what the user
//! configured, as far as answering depends on it: only the binary reads files and the environment.

pub mod client;
pub mod hook;
pub mod prompt;
mod settings;

pub use crate::settings::{Injection, Settings};
