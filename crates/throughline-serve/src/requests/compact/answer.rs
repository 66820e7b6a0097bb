//! The result of a compaction as JSON.

use distill::compact::{CompactedConversation, CompactionOutcome, Declined, SummarySource};
use memory::{Block, Message};
use serde_json::{Value, json};
use store::EventName;

use super::conversation::ConversationLog;

/// Returns the outcome as JSON: the event, its figures, the parts of the result, and the whole
/// request, ready to be sent.
pub fn outcome_json(outcome: &CompactionOutcome, log: &ConversationLog) -> Value {
    let why = |why: &Declined| json!({"name": why.name(), "why": why.to_string()});
    let mut answer = json!({
        "event": event_name(outcome).as_str(),
        "fell_through": outcome.fell_through.as_ref().map(why),
        "model_declined": outcome.model_declined.as_ref().map(why),
    });
    let parts = match &outcome.result {
        Ok(compacted) => json!({
            "figures": compacted.figures,
            "boundary": compacted.boundary,
            "summary": summary_json(&compacted.summary),
            "restored": restored_json(compacted),
            "hook_results": compacted.hook_results.as_ref().map(message_text),
            "kept": compacted.kept.iter().map(|message| &message.id).collect::<Vec<_>>(),
            "open": compacted.open,
            "repairs": compacted.repairs,
            "request": request_json(compacted, log),
        }),
        Err(declined) => json!({"declined": why(declined)}),
    };
    if let (Value::Object(answer), Value::Object(parts)) = (&mut answer, parts) {
        answer.extend(parts);
    }
    answer
}

/// Returns the request to send in place of the conversation.
pub fn request_json(compacted: &CompactedConversation, log: &ConversationLog) -> Value {
    log.request
        .write(&compacted.request_messages(), &compacted.open)
}

/// Returns the event of an outcome.
pub fn event_name(outcome: &CompactionOutcome) -> EventName {
    match &outcome.result {
        Ok(compacted) => match compacted.source {
            SummarySource::Summary => EventName::CompactionUsedSummary,
            SummarySource::FullByModel => EventName::CompactionFullByModel,
            SummarySource::Full => EventName::CompactionFull,
        },
        Err(declined) => declined_event(declined),
    }
}

/// Returns the event of a declined compaction.
pub(super) const fn declined_event(declined: &Declined) -> EventName {
    match declined {
        Declined::Disabled => EventName::CompactionDeclinedDisabled,
        Declined::NotDue { .. } => EventName::CompactionDeclinedNotDue,
        Declined::TooShort { .. } => EventName::CompactionDeclinedTooShort,
        Declined::Empty => EventName::CompactionDeclinedEmpty,
        Declined::NoSummary => EventName::CompactionDeclinedNoSummary,
        Declined::BareTemplate => EventName::CompactionDeclinedBareTemplate,
        Declined::CoverageLost { .. } => EventName::CompactionDeclinedCoverageLost,
        Declined::StillTooLarge { .. } => EventName::CompactionDeclinedStillTooLarge,
        Declined::NoProgress { .. } => EventName::CompactionDeclinedNoProgress,
        Declined::NothingToSummarize => EventName::CompactionDeclinedNothingToSummarize,
        Declined::ModelFailed { .. } => EventName::CompactionDeclinedModelFailed,
        Declined::Failed { .. } => EventName::CompactionDeclinedFailed,
    }
}

/// Returns the summary with the flags by which an agent hides it from the user: the model sees it,
/// and a person sees it only in the transcript.
fn summary_json(message: &Message) -> Value {
    json!({
        "id": message.id,
        "role": message.role,
        "text": message_text(message),
        "is_compact_summary": true,
        "is_visible_in_transcript_only": true,
    })
}

fn restored_json(compacted: &CompactedConversation) -> Option<Value> {
    let message = compacted.restored.as_ref()?;
    let context = &compacted.restored_context;
    Some(json!({
        "id": message.id,
        "role": message.role,
        "text": message_text(message),
        "files": context.files,
        "todos": context.todos,
        "plan": context.plan,
        "pointers": context.pointers,
    }))
}

/// Returns the text of a message that a compaction has written.
pub fn message_text(message: &Message) -> &str {
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) | Block::Summary(text) => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_default()
}
