//! Compaction: makes a conversation shorter without breaking the rules of the model APIs.
//!
//! [`compact()`] replaces the beginning of a conversation by the running summary of its session and
//! keeps the end verbatim; it calls no model. [`compact_from_messages`] needs no running summary:
//! [`summarize_messages`] makes one from the messages with the embedded extractor.
//! [`compact_with_fallback`] tries the first, then a summary by a model if the caller has one, then
//! the second. If a compaction is not possible, the reason is a [`Declined`].
//!
//! The steps: [`keep`] chooses where to cut, [`ties`] moves the cut back so that calls and results
//! stay together, [`turns`] brings the kept messages into the form of a request, [`message`] writes
//! the messages before them, [`restore`] puts files, todos and the plan back, and [`cut`] runs all
//! of them on one conversation.
//!
//! Everything here is a pure function. Messages come from the caller or from the agent's own log,
//! never from the store. [`wait`] decides how long to wait for a running summary update.

mod cut;
mod keep;
mod limits;
mod message;
mod outcome;
mod restore;
mod summarize;
mod ties;
mod turns;
pub mod wait;

use memory::summary::Template;
use memory::{Message, Summary, Tokens};

use self::cut::CutContext;
pub use self::keep::{MessageWeight, first_kept_index, index_after_boundary};
pub use self::limits::{CompactionLimits, RestoreLimits};
pub use self::outcome::{
    CompactedConversation, CompactionFigures, CompactionOutcome, Declined, SummarySource, Trigger,
};
pub use self::restore::{RememberedFiles, RestoredContext, RestoredFile, TodoItem};
pub use self::summarize::summarize_messages;
pub use self::ties::MessageTies;
pub use self::turns::{Repair, RequestMessages, merge_turns};
use crate::summary::RunningSummary;

/// A conversation to compact, with its summary and limits.
#[derive(Clone, Copy, Debug)]
pub struct CompactionTask<'a> {
    /// The conversation in log order. It may include messages before the last boundary.
    pub messages: &'a [Message],
    /// The same messages without the parts that notes must not quote, at the same indices.
    /// Summaries and restored files are made from these, while kept messages are taken from
    /// `messages`.
    pub visible: &'a [Message],
    /// Whether the running summary may be used. A full compaction is always possible.
    pub uses_notes: bool,
    /// The running summary if there is one, or why it could not be read.
    pub notes: Result<Option<&'a RunningSummary>, &'a str>,
    pub template: &'a Template,
    /// The path of the agent's log, where the model can look up the replaced messages.
    pub transcript: Option<&'a str>,
    /// The files, todos and plan to restore. `None`: those that the messages mention last.
    pub restored: Option<&'a RestoredContext>,
    /// What working memory knows about the session's files. It completes what the messages mention.
    pub remembered: Option<&'a RememberedFiles>,
    /// What the agent's hooks said at this compaction; the model sees it after the summary.
    pub hook_results: &'a [String],
    /// The size of the conversation as the log's last API usage states it.
    pub measured_tokens: Option<Tokens>,
    pub trigger: Trigger,
    pub limits: &'a CompactionLimits,
}

/// Compacts with the running summary.
pub fn compact(task: &CompactionTask<'_>) -> Result<CompactedConversation, Declined> {
    CutContext::analyze(task)?.cut_with_notes()
}

/// Compacts with a summary that the embedded extractor makes from the messages.
pub fn compact_from_messages(task: &CompactionTask<'_>) -> Result<CompactedConversation, Declined> {
    compact_with_embedded(&CutContext::analyze(task)?)
}

/// Summarizes the messages that are still visible to the agent's model, or says why it cannot.
pub type ModelSummarizer<'a> = &'a dyn Fn(&[Message]) -> Result<Summary, Declined>;

/// Compacts with the running summary if possible, else with a summary by a model if there is one,
/// else with a summary by the embedded extractor.
pub fn compact_with_fallback(
    task: &CompactionTask<'_>,
    model: Option<ModelSummarizer<'_>>,
) -> CompactionOutcome {
    let context = match CutContext::analyze(task) {
        Ok(context) => context,
        Err(declined) => return CompactionOutcome::first_try(Err(declined)),
    };
    let fell_through = match context.cut_with_notes() {
        Ok(compacted) => return CompactionOutcome::first_try(Ok(compacted)),
        Err(declined) => declined,
    };
    // No summary helps if nothing can be cut, so the model is not asked.
    if let Err(declined) = context.check_length() {
        return CompactionOutcome {
            fell_through: Some(fell_through),
            ..CompactionOutcome::first_try(Err(declined))
        };
    }
    let by_model = model.map(|summarize| {
        let summary = summarize(context.live_messages())?;
        context.cut_with_summary(SummarySource::FullByModel, &summary)
    });
    let (result, model_declined) = match by_model {
        Some(Ok(compacted)) => (Ok(compacted), None),
        Some(Err(declined)) => (compact_with_embedded(&context), Some(declined)),
        None => (compact_with_embedded(&context), None),
    };
    CompactionOutcome {
        result,
        fell_through: Some(fell_through),
        model_declined,
    }
}

fn compact_with_embedded(context: &CutContext<'_>) -> Result<CompactedConversation, Declined> {
    let summary = summarize_messages(context.live_messages(), context.task.template)
        .ok_or(Declined::NothingToSummarize)?;
    context.cut_with_summary(SummarySource::Full, &summary)
}

#[cfg(test)]
mod tests;
