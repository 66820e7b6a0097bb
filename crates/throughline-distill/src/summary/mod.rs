//! The running summary: the notes of a live session, stored as `summary.md`.
//!
//! - [`schedule`] decides when a summary is updated, from the progress of the session.
//! - [`job`] loads the progress of one session, [`update`] writes its summary under a lease.
//! - [`embedded`] builds a summary from records by rules, without a model.
//! - [`model_edit`] lets a model edit a summary with the tool in [`edit_tool`].
//! - [`refresh`] brings a summary up to the last message, [`state`] describes the state of the
//!   work at that message.
//! - [`events`] records each update with its figures.
//! - [`running`] is the view that a compaction has of a summary.

mod edit_tool;
pub mod embedded;
mod events;
mod job;
mod model_edit;
mod refresh;
mod running;
mod schedule;
mod state;
mod update;

pub use self::edit_tool::EDIT_TOOL;
pub use self::model_edit::DEFAULT_INSTRUCTIONS;
pub use self::refresh::{current_notes, refresh_summary};
pub use self::running::{RunningSummary, extraction_status, load_running_summary};
pub use self::schedule::SummaryThresholds;
pub use self::state::{SensitiveText, UnstoredTail, latest_state};
pub use self::update::{
    EXTRACTION_TIME_MAX, LIVE_WINDOW, SummaryAuthor, SummaryError, SummaryReport, SummarySettings,
    WrittenSummary, draft_summary, update_pending_summaries, write_summary,
};

/// The section that describes the state of the work.
const CURRENT_STATE: &str = "Current state";
