//! What came of a compaction.

use memory::{Boundary, CallId, Message, MessageId, Role, Tokens};
use serde::Serialize;
use thiserror::Error;

use super::settle::Repair;

/// A conversation made shorter.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactedConversation {
    pub source: SummarySource,
    pub boundary: Boundary,
    pub summary: Message,
    /// Files, todos and the plan, where there was room for them.
    pub restored: Option<Message>,
    pub kept: Vec<Message>,
    pub repairs: Vec<Repair>,
    /// Calls among the kept messages that the caller answers with its next message.
    pub open: Vec<CallId>,
    pub figures: CompactionFigures,
}

impl CompactedConversation {
    /// Returns what is sent: the summary, what is restored, and what is kept.
    pub fn request_messages(&self) -> Vec<Message> {
        let made = std::iter::once(&self.summary).chain(&self.restored);
        made.chain(&self.kept).cloned().collect()
    }

    /// Returns the boundary as an entry of the log, to stand before the request.
    pub fn marker(&self) -> Message {
        Message {
            id: MessageId::new(format!("{}/boundary", self.summary.id)),
            role: Role::System,
            blocks: vec![memory::Block::Boundary(self.boundary.clone())],
            ..self.summary.clone()
        }
    }
}

/// What the summary was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummarySource {
    /// The session's running summary.
    Summary,
    /// An account of the messages by a model.
    FullByModel,
    /// An account of the messages by the embedded extractor.
    Full,
}

/// Who wanted the compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Auto,
    Manual,
}

impl Trigger {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

/// How large everything is. Messages before the last boundary count for nothing: no model sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionFigures {
    pub messages_before: usize,
    pub messages_cut: usize,
    pub messages_kept: usize,
    pub tokens_before: Tokens,
    pub tokens_after: Tokens,
    pub tokens_summary: Tokens,
    pub tokens_restored: Tokens,
    pub tokens_kept: Tokens,
}

/// Why nothing was compacted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Declined {
    #[error("compaction is switched off")]
    Disabled,
    #[error("the conversation has no messages to compact")]
    Empty,
    #[error("the session has no summary yet")]
    NoSummary,
    #[error("the summary is still the bare template")]
    BareTemplate,
    #[error("the last summarized message {id} is not in the conversation")]
    CoverageLost { id: MessageId },
    #[error("the result has {after} tokens, still more than the threshold of {threshold}")]
    StillTooLarge { after: Tokens, threshold: Tokens },
    #[error("the result has {after} tokens, not fewer than the {before} there were")]
    NoProgress { before: Tokens, after: Tokens },
    #[error("no account of the messages could be made")]
    NothingToSummarize,
    #[error("the model gave no account that can be used: {why}")]
    ModelFailed { why: String },
    #[error("it failed: {why}")]
    Failed { why: String },
}

impl Declined {
    /// The name of the event.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Disabled => "off",
            Self::Empty => "empty",
            Self::NoSummary => "no_summary",
            Self::BareTemplate => "bare_template",
            Self::CoverageLost { .. } => "coverage_lost",
            Self::StillTooLarge { .. } => "still_too_large",
            Self::NoProgress { .. } => "no_progress",
            Self::NothingToSummarize => "no_account",
            Self::ModelFailed { .. } => "untold",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A compaction that tries the summary first and accounts of the messages next.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionOutcome {
    pub result: Result<CompactedConversation, Declined>,
    /// Why the summary was not used, where that was tried.
    pub fell_through: Option<Declined>,
    /// Why the account of a model was not used, where one was asked.
    pub model_declined: Option<Declined>,
}

impl CompactionOutcome {
    /// What came of it at the first try.
    pub const fn first_try(result: Result<CompactedConversation, Declined>) -> Self {
        Self {
            result,
            fell_through: None,
            model_declined: None,
        }
    }
}
