//! The result of a compaction.

use memory::{Boundary, CallId, Message, MessageId, Role, Tokens};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::restore::RestoredContext;
use super::turns::Repair;

/// A conversation after compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactedConversation {
    pub source: SummarySource,
    pub boundary: Boundary,
    /// The last message that the summary replaces.
    pub last_cut: Option<MessageId>,
    pub summary: Message,
    /// Files, todos and the plan, if there was room for them.
    pub restored: Option<Message>,
    /// The same in parts.
    pub restored_context: RestoredContext,
    /// What the agent's hooks said.
    pub hook_results: Option<Message>,
    pub kept: Vec<Message>,
    pub repairs: Vec<Repair>,
    /// Kept calls whose results the caller sends with its next message.
    pub open: Vec<CallId>,
    pub figures: CompactionFigures,
}

impl CompactedConversation {
    /// Returns the messages to send: the summary, the restored context, the results of hooks and
    /// the kept messages.
    pub fn request_messages(&self) -> Vec<Message> {
        let made = std::iter::once(&self.summary).chain(&self.restored);
        let made = made.chain(&self.hook_results);
        made.chain(&self.kept).cloned().collect()
    }

    /// Returns the boundary as a log entry, which precedes the other messages.
    pub fn marker(&self) -> Message {
        Message {
            id: MessageId::new(format!("{}/boundary", self.summary.id)),
            role: Role::System,
            blocks: vec![memory::Block::Boundary(self.boundary.clone())],
            ..self.summary.clone()
        }
    }
}

/// The source of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummarySource {
    /// The session's running summary.
    Summary,
    /// A summary of the messages by a model.
    FullByModel,
    /// A summary of the messages by the embedded extractor.
    Full,
}

memory::named_enum! {
    /// The trigger of the compaction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Trigger {
        /// Only if the conversation has reached the configured size.
        Auto = "auto",
        #[default]
        Manual = "manual",
    }
}

/// The sizes before and after. Messages before the last boundary are not counted, because no model
/// sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionFigures {
    pub messages_before: usize,
    pub messages_cut: usize,
    pub messages_kept: usize,
    pub tokens_before: Tokens,
    pub tokens_after: Tokens,
    pub tokens_summary: Tokens,
    pub tokens_restored: Tokens,
    pub tokens_hook_results: Tokens,
    pub tokens_kept: Tokens,
}

/// Why nothing was compacted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Declined {
    #[error("compaction with the running summary is disabled")]
    Disabled,
    #[error("the conversation has {tokens} tokens, fewer than the {threshold} at which it is due")]
    NotDue { tokens: Tokens, threshold: Tokens },
    #[error(
        "the conversation has {tokens} tokens and {messages} messages with text, and the end that \
         is kept has at least {min_tokens} tokens and {min_messages} messages with text"
    )]
    TooShort {
        tokens: Tokens,
        messages: usize,
        min_tokens: Tokens,
        min_messages: usize,
    },
    #[error("the conversation has no messages to compact")]
    Empty,
    #[error("the session has no summary yet")]
    NoSummary,
    #[error("the summary is still the empty template")]
    BareTemplate,
    #[error("the last summarized message {id} is not in the conversation")]
    CoverageLost { id: MessageId },
    #[error("the result has {after} tokens, not fewer than the threshold of {threshold}")]
    StillTooLarge { after: Tokens, threshold: Tokens },
    #[error("the result has {after} tokens, not fewer than the {before} before")]
    NoProgress { before: Tokens, after: Tokens },
    #[error("the messages have nothing to summarize")]
    NothingToSummarize,
    #[error("the model produced no usable summary: {why}")]
    ModelFailed { why: String },
    #[error("compaction failed: {why}")]
    Failed { why: String },
}

impl Declined {
    /// Returns the name used in events and JSON output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NotDue { .. } => "not_due",
            Self::TooShort { .. } => "too_short",
            Self::Empty => "empty",
            Self::NoSummary => "no_summary",
            Self::BareTemplate => "bare_template",
            Self::CoverageLost { .. } => "coverage_lost",
            Self::StillTooLarge { .. } => "still_too_large",
            Self::NoProgress { .. } => "no_progress",
            Self::NothingToSummarize => "nothing_to_summarize",
            Self::ModelFailed { .. } => "model_failed",
            Self::Failed { .. } => "failed",
        }
    }
}

/// The result of a compaction that may fall back to a summary of the messages.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionOutcome {
    pub result: Result<CompactedConversation, Declined>,
    /// Why the running summary was not used, if it was tried.
    pub fell_through: Option<Declined>,
    /// Why the summary of a model was not used, if it was tried.
    pub model_declined: Option<Declined>,
}

impl CompactionOutcome {
    /// Returns the outcome of a compaction without a fallback.
    pub const fn first_try(result: Result<CompactedConversation, Declined>) -> Self {
        Self {
            result,
            fell_through: None,
            model_declined: None,
        }
    }
}
