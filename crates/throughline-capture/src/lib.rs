//! Reads agents' logs and turns them into one schema.
//!
//! [`adapter`] is the interface: an adapter says where an agent's logs are, which files are logs,
//! and how a line becomes [`memory::LogEntry`]s. Each agent has a folder under [`flavor`] with its
//! wire types, which are not visible outside. [`json`], [`lines`], [`time`] and [`rows`] read
//! foreign data tolerantly; [`calls`] and [`tools`] interpret tool calls. Parsing never fails: it
//! returns what it understood, what it skipped, and why.
//!
//! [`discovery`] finds files, [`tail`] reads what is new in them, [`mod@sweep`] and [`mod@watch`]
//! store it, and [`scope`] decides what may be kept. [`hook`] reads what agents report while they
//! run, and formats the answers.

#![cfg_attr(not(test), warn(unreachable_pub, let_underscore_drop))]
#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::await_holding_lock
    )
)]

pub mod adapter;
pub mod calls;
pub mod conversation;
pub mod discovery;
pub mod flavor;
pub mod git;
pub mod hook;
pub mod json;
pub mod lines;
pub mod request;
pub mod rows;
pub mod scope;
pub mod sources;
pub mod sweep;
pub mod tail;
#[cfg(test)]
mod test_support;
pub mod time;
mod title;
pub mod tools;
pub mod unstored;
pub mod watch;

pub use adapter::{
    Adapter, AgentEnv, InputLine, LogReader, ParseOutput, ResumePoint, SkipReason, SkippedLine,
    Source, SourceFormat,
};
pub use discovery::{Discovery, Root, SourceError, discover};
pub use scope::{CaptureScope, FilePatterns};
pub use sources::Sources;
pub use sweep::{
    SweepControl, SweepProgress, SweepReport, dry_run, store_hook_turn, sweep, sweep_discovered,
    sweep_paths,
};
pub use watch::{WatchOptions, watch};
