//! Compaction: a conversation made shorter without breaking a rule of the APIs.
//!
//! [`compact()`] replaces the beginning by the session's running summary and keeps the end verbatim;
//! no model is called. [`keep`] says where to cut, [`close`] moves the cut so that nothing is parted,
//! [`mod@settle`] brings what is kept into the form of a request, [`message`] writes what stands before it,
//! [`restore`] puts files, todos and the plan back, [`scene`] does it all to one conversation. [`full`] needs
//! no running summary: [`account()`] makes one of the messages, as the embedded extractor does of records.
//! [`compact_or_full`] tries one, then the account of a model if the caller has one, then the other.
//! Whatever is not possible is [`Declined`], by name.
//!
//! Everything here is a function of its arguments. Messages come from the caller or from the agent's
//! own log, never from the store. [`wait`] decides how long a running extraction is waited for.

mod account;
mod close;
mod keep;
mod limits;
mod message;
mod outcome;
mod restore;
mod scene;
mod settle;
pub mod wait;

use memory::summary::Template;
use memory::{Message, MessageId, Summary};

pub use self::account::summarize_messages;
pub use self::close::MessageTies;
pub use self::keep::{MessageWeight, first_kept_index, index_after_boundary};
pub use self::limits::{CompactionLimits, ConfiguredLimits, RestoreLimits};
pub use self::outcome::{
    CompactedConversation, CompactionFigures, CompactionOutcome, Declined, SummarySource, Trigger,
};
pub use self::restore::{RestoredContext, RestoredFile, TodoItem};
use self::scene::CutContext;
pub use self::settle::{Repair, RequestMessages, merge_turns};

/// What is to be compacted, and how.
#[derive(Clone, Copy, Debug)]
pub struct CompactionTask<'a> {
    /// The conversation, in the order of its log; what lies before the last boundary may be there.
    pub messages: &'a [Message],
    /// The same messages without what notes may not quote, one for each. Accounts and restored files
    /// are made of these; what is kept is kept as it is.
    pub visible: &'a [Message],
    /// The running summary, if there is one; or why it could not be read.
    pub notes: Result<Option<CompactionNotes<'a>>, &'a str>,
    pub template: &'a Template,
    /// The agent's own log, where the model can look up what was cut.
    pub transcript: Option<&'a str>,
    /// What working memory wants restored; what the messages tell, when it has no opinion.
    pub restored: Option<&'a RestoredContext>,
    pub trigger: Trigger,
    pub limits: &'a CompactionLimits,
}

/// The session's running summary.
#[derive(Clone, Copy, Debug)]
pub struct CompactionNotes<'a> {
    pub summary: &'a Summary,
    /// Where it lies.
    pub file: &'a str,
    /// The last message that it covers; unknown in a resumed session.
    pub last: Option<&'a MessageId>,
}

/// Compacts with the running summary.
pub fn compact(task: &CompactionTask<'_>) -> Result<CompactedConversation, Declined> {
    CutContext::analyze(task)?.cut_with_notes()
}

/// Compacts with an account that the embedded extractor makes of the messages.
pub fn compact_from_messages(task: &CompactionTask<'_>) -> Result<CompactedConversation, Declined> {
    embedded(&CutContext::analyze(task)?)
}

/// Gives an account of the messages that a model still sees, or says why it cannot.
pub type ModelSummarizer<'a> = &'a dyn Fn(&[Message]) -> Result<Summary, Declined>;

/// Compacts with the running summary where that is possible, else with the account of a model where
/// there is one, else with that of the embedded extractor.
pub fn compact_with_fallback(
    task: &CompactionTask<'_>,
    model: Option<ModelSummarizer<'_>>,
) -> CompactionOutcome {
    let scene = match CutContext::analyze(task) {
        Ok(scene) => scene,
        Err(declined) => return CompactionOutcome::first_try(Err(declined)),
    };
    let fell_through = match scene.cut_with_notes() {
        Ok(compacted) => return CompactionOutcome::first_try(Ok(compacted)),
        Err(declined) => declined,
    };
    let told = model.map(|tell| {
        let summary = tell(scene.live_messages())?;
        scene.cut_with_summary(SummarySource::FullByModel, &summary)
    });
    let (result, model) = match told {
        Some(Ok(compacted)) => (Ok(compacted), None),
        Some(Err(declined)) => (embedded(&scene), Some(declined)),
        None => (embedded(&scene), None),
    };
    CompactionOutcome {
        result,
        fell_through: Some(fell_through),
        model_declined: model,
    }
}

fn embedded(scene: &CutContext<'_>) -> Result<CompactedConversation, Declined> {
    let summary = summarize_messages(scene.live_messages(), scene.task.template)
        .ok_or(Declined::NothingToSummarize)?;
    scene.cut_with_summary(SummarySource::Full, &summary)
}

#[cfg(test)]
mod tests;
