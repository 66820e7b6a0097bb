//! Other people's formats in, one schema out.
//!
//! [`adapter`] is the seam: a flavor says where its logs lie, which files are logs, and how a line
//! becomes [`memory::Entry`]s. Each flavor lives in its own folder under [`flavor`] with its wire
//! types; nothing of them is seen outside. Parsing never fails: it returns what it understood,
//! what it skipped, and why. [`hook`] is the other way in: what agents tell while they run, and what
//! may be answered.

pub mod adapter;
pub mod calls;
pub mod conversation;
pub mod discovery;
pub mod flavor;
pub mod git;
pub mod hook;
pub mod json;
pub mod lines;
pub mod rows;
pub mod scope;
pub mod sources;
pub mod sweep;
pub mod tail;
#[cfg(test)]
mod test_support;
pub mod time;
pub mod tools;
pub mod unread;
pub mod watch;

pub use adapter::{
    Adapter, AgentEnv, InputLine, LogReader, ParseOutput, ResumePoint, SkipReason, SkippedLine,
    Source, SourceFormat,
};
pub use discovery::{Discovery, Root, SourceError, discover};
pub use scope::CaptureScope;
pub use sources::Sources;
pub use sweep::{
    SweepControl, SweepProgress, SweepReport, dry_run, sweep, sweep_discovered, sweep_paths,
};
pub use watch::{WatchOptions, watch};
