//! Answers requests about memory from outside, and runs the daemon.
//!
//! [`requests`] holds every operation that a front end offers, as functions from plain values to
//! plain values; [`http`], [`mcp`], [`hook`] and the command line translate to and from them.
//! Requests are answered from a [`ServeContext`]: the store, the settings and the clock.
//!
//! [`prompt`] recalls memory for one prompt. [`client`] sends a hook's payload or a [`command`] to
//! the daemon.
//! [`daemon`] is the background process; [`stages`] is the work that it schedules, and [`models`]
//! gives that work access to the configured model.
//!
//! [`live`] keeps the memory layers of live sessions.
//!
//! [`ServeSettings`] is the part of the user's configuration that answers depend on. Only the
//! binary reads files and the environment.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

pub mod changes;
pub mod client;
pub mod command;
mod config_file;
mod context;
pub mod daemon;
pub mod hook;
pub mod http;
mod kinds;
pub mod live;
pub mod mcp;
pub mod models;
mod percent;
pub mod prompt;
pub mod requests;
mod settings;
pub mod stages;

pub use crate::config_file::{ConfigEdit, ConfigFile, ConfigSetting, ConfigSwitch};
pub use crate::context::{ClockFn, ServeContext};
pub use crate::kinds::HitType;
pub use crate::settings::{
    CompactionSettings, InjectionSettings, McpPermission, McpSettings, ServeSettings,
};
