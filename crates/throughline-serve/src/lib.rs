//! Answers the outside, and decides when what is due is done.
//!
//! [`prompt`] is what memory has for a prompt, whoever brings it; [`hook`] is what an agent's hook gets, and
//! [`client`] asks a daemon for it; [`requests`] is everything else that can be asked, as plain values in
//! and out, answered from a [`Desk`]. [`mcp`] offers it to agents, [`http`] to programs.
//! [`models`] lends the configured model to both; [`stages`] is what is done to memory in the background, [`daemon`] the process that does it when it is due.
//! [`Settings`] is what the user configured, as far as answering depends on it: only the binary reads
//! files and the environment.

pub mod changes;
pub mod client;
pub mod daemon;
mod desk;
pub mod hook;
pub mod http;
mod kinds;
pub mod mcp;
pub mod models;
pub mod prompt;
pub mod requests;
mod settings;
pub mod stages;

pub use crate::desk::{ClockFn, ServeContext};
pub use crate::settings::{InjectionSettings, McpPermission, McpSettings, ServeSettings};
