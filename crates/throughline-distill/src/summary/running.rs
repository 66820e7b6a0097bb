//! The running summary of a session, as a compaction uses it.

use jiff::Timestamp;
use memory::{MessageId, SessionId, Summary};
use store::{LeaseKind, Store};

use crate::compact::wait::ExtractionStatus;

/// A summary with its file and the part of the conversation that it covers.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningSummary {
    pub summary: Summary,
    /// The path of `summary.md`.
    pub file: String,
    /// The last message that it covers; `None` in a resumed session.
    pub last: Option<MessageId>,
}

/// Loads the running summary of a session.
pub fn load_running_summary(
    store: &Store,
    session: &SessionId,
) -> store::Result<Option<RunningSummary>> {
    let stored = store.summary(session)?;
    Ok(stored.map(|stored| RunningSummary {
        summary: Summary::parse(&stored.text),
        file: stored.path.display().to_string(),
        last: stored.info.last,
    }))
}

/// Says whether a process is writing the summary of the session right now.
pub fn extraction_status(store: &Store, session: &SessionId, now: Timestamp) -> ExtractionStatus {
    match store.active_lease(session, LeaseKind::Extraction, now) {
        Ok(Some(since)) => ExtractionStatus::Running { since },
        Ok(None) => ExtractionStatus::Idle,
        Err(error) => {
            tracing::warn!(%session, %error, "cannot check for a running summary update");
            ExtractionStatus::Idle
        }
    }
}
