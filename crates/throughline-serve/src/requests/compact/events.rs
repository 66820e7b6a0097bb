//! Records what a compaction did, and every reason for which something was not done.

use distill::compact::{CompactionOutcome, Declined};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use store::{EventName, Store};

use super::CompactOptions;
use super::answer::{declined_event, event_name};
use super::conversation::ConversationLog;

/// Records the events of a compaction: the switch, each declined way, and the outcome.
pub(super) fn record_outcome(
    store: &Store,
    log: &ConversationLog,
    options: &CompactOptions<'_>,
    outcome: &CompactionOutcome,
    now: Timestamp,
) {
    let record = |name: EventName, figures: Value| {
        let figures = match figures {
            Value::Object(figures) => figures,
            _ => Map::new(),
        };
        let session = log.session.as_ref();
        if let Err(error) = store.record_event(now, name, session, figures) {
            tracing::warn!(%error, event = name.as_str(), "cannot record an event");
        }
    };
    let settings = &options.settings;
    let switch = json!({"switch": "compaction", "on": settings.uses_summary});
    record(EventName::SwitchChecked, switch);
    if options.trigger == distill::compact::Trigger::Auto
        && let Some(threshold) = settings.auto_tokens
        && log.tokens() >= threshold
    {
        let sizes = json!({"of": "conversation", "tokens": log.tokens(), "threshold": threshold});
        record(EventName::ThresholdExceeded, sizes);
    }
    for declined in outcome.fell_through.iter().chain(&outcome.model_declined) {
        record(declined_event(declined), declined_figures(declined));
        record_threshold(declined, &record);
    }
    match &outcome.result {
        Ok(compacted) => {
            let mut figures = json!(compacted.figures);
            figures["trigger"] = json!(options.trigger);
            figures["repairs"] = json!(compacted.repairs.len());
            record(event_name(outcome), figures);
        }
        Err(declined) if outcome.fell_through.as_ref() != Some(declined) => {
            record(declined_event(declined), declined_figures(declined));
            record_threshold(declined, &record);
        }
        Err(_) => {}
    }
}

/// Records that a summary covers no known message, so that the conversation counts as resumed.
pub(super) fn record_resumed(store: &Store, log: &ConversationLog, now: Timestamp) {
    let figures = Map::from_iter([("tokens".to_owned(), json!(log.tokens()))]);
    let session = log.session.as_ref();
    if let Err(error) = store.record_event(now, EventName::SessionResumed, session, figures) {
        tracing::warn!(%error, "cannot record an event");
    }
}

fn record_threshold(declined: &Declined, record: &dyn Fn(EventName, Value)) {
    if let Declined::StillTooLarge { after, threshold } = declined {
        let sizes = json!({"of": "result", "tokens": after, "threshold": threshold});
        record(EventName::ThresholdExceeded, sizes);
    }
}

/// Returns the figures behind a decision.
fn declined_figures(declined: &Declined) -> Value {
    match declined {
        Declined::NotDue { tokens, threshold } => json!({"tokens": tokens, "threshold": threshold}),
        Declined::TooShort {
            tokens,
            messages,
            min_tokens,
            min_messages,
        } => json!({
            "tokens": tokens, "messages": messages, "min_tokens": min_tokens,
            "min_messages": min_messages,
        }),
        Declined::StillTooLarge { after, threshold } => {
            json!({"tokens_after": after, "threshold": threshold})
        }
        Declined::NoProgress { before, after } => {
            json!({"tokens_before": before, "tokens_after": after})
        }
        Declined::CoverageLost { id } => json!({"last_summarized_id": id}),
        Declined::Disabled
        | Declined::Empty
        | Declined::NoSummary
        | Declined::BareTemplate
        | Declined::NothingToSummarize
        | Declined::ModelFailed { .. }
        | Declined::Failed { .. } => json!({}),
    }
}
