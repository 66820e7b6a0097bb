//! A conversation as a model API sees it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::command::CallFiles;
use crate::tokens::estimate;
use crate::{ApiId, CallId, MessageId, SessionId, SessionPatch, Tokens, UsageEntry};

/// The token cost of an image. Its bytes are not stored, so this is the maximum that providers
/// charge.
const IMAGE_TOKENS: Tokens = Tokens(1_600);

/// One entry of a conversation, verbatim.
///
/// Working directory, branch and model belong to the message and not to the session, because all
/// three change within real sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: MessageId,
    /// Entries with the same id were one API response and must not be separated.
    pub api_id: Option<ApiId>,
    pub session: SessionId,
    pub at: Option<Timestamp>,
    pub role: Role,
    pub origin: Origin,
    pub blocks: Vec<Block>,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// The line in the log. Messages are ordered by it, because timestamps are not monotonic.
    pub line: u64,
}

impl Message {
    /// Returns a message without blocks. The adapter sets the other fields.
    pub fn new(id: MessageId, session: SessionId, role: Role, origin: Origin) -> Self {
        Self {
            id,
            api_id: None,
            session,
            at: None,
            role,
            origin,
            blocks: Vec::new(),
            model: None,
            cwd: None,
            branch: None,
            line: 0,
        }
    }

    /// Estimates the size of the message for a model.
    pub fn tokens(&self) -> Tokens {
        self.blocks.iter().map(Block::tokens).sum()
    }

    /// Returns the compaction boundary that this log entry records, if any.
    pub fn boundary(&self) -> Option<&Boundary> {
        self.blocks.iter().find_map(|block| match block {
            Block::Boundary(boundary) => Some(boundary),
            _ => None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
}

/// The author of a message's text, which the role does not identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person typed it.
    Human,
    /// The model wrote it.
    Model,
    /// A tool returned it.
    Tool,
    /// The agent program added it: reminders, notifications, command envelopes, instruction files.
    /// Text of this origin does not become a record.
    Harness,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Thinking(String),
    ToolUse(ToolUse),
    ToolResult(ToolResult),
    /// An image or another attachment. Its bytes are not stored.
    Image {
        media_type: String,
        size_bytes: u64,
    },
    /// The conversation before this point was compacted.
    Boundary(Boundary),
    /// The summary that replaced the messages before a boundary.
    Summary(String),
    /// A failure outside of any tool: an API error, a refusal.
    Error(String),
    /// The user allowed or refused an action of the model.
    Approval(String),
}

impl Block {
    /// Estimates the size of the block for a model. Blocks that are not sent count as zero.
    pub fn tokens(&self) -> Tokens {
        match self {
            Self::Text(text) | Self::Thinking(text) | Self::Summary(text) => estimate(text),
            Self::ToolUse(call) => estimate(&call.tool) + estimate(&call.input),
            Self::ToolResult(result) => estimate(&result.content),
            Self::Image { .. } => IMAGE_TOKENS,
            Self::Boundary(_) | Self::Error(_) | Self::Approval(_) => Tokens(0),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    pub call: CallId,
    pub tool: String,
    /// The arguments as JSON, or as plain text if the tool takes plain text.
    pub input: String,
    /// The file that the call is about.
    pub path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct ToolResult {
    pub call: Option<CallId>,
    /// The tool and the file of the call, copied from it.
    pub tool: Option<String>,
    pub path: Option<String>,
    pub content: String,
    pub is_error: bool,
    pub exit_code: Option<i64>,
    /// The files that the call names, prints and writes, copied from it.
    pub files: CallFiles,
    /// The changes to files that the log reports for the call.
    pub changes: Vec<FileModification>,
}

/// A change to one file, as a log reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileModification {
    pub path: String,
    /// A unified diff or the new text.
    pub diff: String,
}

/// The marker that a compaction leaves in the log.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Boundary {
    /// "auto" or "manual".
    pub trigger: Option<String>,
    pub tokens_before: Option<u64>,
    /// The last message that was replaced.
    pub last: Option<MessageId>,
    /// The names of the tools that were called before the compaction.
    pub tools: Vec<String>,
    pub preserved: Option<PreservedRange>,
}

/// The messages that a compaction kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreservedRange {
    pub head: MessageId,
    /// The message before them: the summary.
    pub anchor: MessageId,
    pub tail: MessageId,
}

/// One item that an adapter parsed from a log.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    Message(Message),
    Session(SessionPatch),
    Usage(UsageEntry),
}

impl From<Message> for LogEntry {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl From<SessionPatch> for LogEntry {
    fn from(patch: SessionPatch) -> Self {
        Self::Session(patch)
    }
}

impl From<UsageEntry> for LogEntry {
    fn from(entry: UsageEntry) -> Self {
        Self::Usage(entry)
    }
}
