//! Records each update of a summary, each one that was due but failed, and each turn after which
//! too little had happened for one.

use jiff::Timestamp;
use memory::SessionId;
use serde_json::{Value, json};
use store::{EventName, Store};

use super::job::SummaryJob;
use super::schedule::{SessionProgress, SummaryThresholds};
use super::update::{SummaryError, WrittenSummary};

/// Records whether enough has happened for a new summary, with the size and its threshold.
pub(super) fn record_due(
    store: &Store,
    session: &SessionId,
    progress: &SessionProgress,
    thresholds: &SummaryThresholds,
    now: Timestamp,
) {
    let (tokens, threshold) = match progress.last_summary {
        None => (progress.tokens.0, thresholds.first_tokens),
        Some(written) => (
            progress.tokens.0.saturating_sub(written.tokens.0),
            thresholds.new_tokens,
        ),
    };
    let figures = json!({"of": "extraction", "tokens": tokens, "threshold": threshold});
    let name = if tokens < threshold.0 {
        EventName::ExtractionDeclinedThreshold
    } else {
        EventName::ThresholdExceeded
    };
    record(store, session, name, figures, now);
}

/// Records the result of an update.
pub(super) fn record_extraction(
    store: &Store,
    job: &SummaryJob,
    thresholds: &SummaryThresholds,
    written: &Result<WrittenSummary, SummaryError>,
    now: Timestamp,
) {
    let mut figures = json!({
        "tokens": job.builder.tokens,
        "tool_calls": job.builder.tool_calls,
        "first_tokens": thresholds.first_tokens,
        "new_tokens": thresholds.new_tokens,
        "new_calls": thresholds.new_calls,
    });
    let name = match written {
        Ok(done) => {
            figures["version"] = json!(done.version);
            figures["method"] = json!(done.method);
            figures["duration_ms"] = json!(done.duration_ms);
            figures["edits"] = json!(done.edits);
            figures["input"] = json!(done.usage.input);
            figures["output"] = json!(done.usage.output);
            figures["cache_read"] = json!(done.usage.cache_read);
            figures["cache_write"] = json!(done.usage.cache_write);
            EventName::ExtractionFinished
        }
        Err(SummaryError::Busy { .. } | SummaryError::Compacting | SummaryError::LeaseLost) => {
            EventName::ExtractionDeclinedBusy
        }
        Err(_) => EventName::ExtractionFailed,
    };
    record(store, &job.session, name, figures, now);
}

fn record(store: &Store, session: &SessionId, name: EventName, figures: Value, now: Timestamp) {
    let Value::Object(figures) = figures else {
        return;
    };
    if let Err(error) = store.record_event(now, name, Some(session), figures) {
        tracing::warn!(%session, %error, event = name.as_str(), "cannot record an event");
    }
}
