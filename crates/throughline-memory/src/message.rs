//! A conversation as a model API sees it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::command::CallFiles;
use crate::tokens::estimate;
use crate::{ApiId, CallId, MessageId, SessionId, Tokens, UsageEntry};

/// What an image costs a model. Its bytes are not kept, so the largest that providers count it for.
const IMAGE_TOKENS: Tokens = Tokens(1_600);

/// One entry of a conversation, verbatim.
///
/// Working directory, branch and model are the message's and not the session's: all three change
/// inside real sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: MessageId,
    /// Entries that share it were one API response and may never be parted.
    pub api_id: Option<ApiId>,
    pub session: SessionId,
    pub at: Option<Timestamp>,
    pub role: Role,
    pub origin: Origin,
    pub blocks: Vec<Block>,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// The physical line in its log. File order is the order; timestamps go back and forth.
    pub line: u64,
}

impl Message {
    /// Returns a message with no blocks; the rest is filled in by the adapter that knows it.
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

    /// Estimates what the message costs a model.
    pub fn tokens(&self) -> Tokens {
        self.blocks.iter().map(Block::tokens).sum()
    }

    /// Returns the marker of the compaction that this entry of the log records.
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

/// Who is behind a message's text, which its role does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person typed it.
    Human,
    /// The model wrote it.
    Model,
    /// A tool returned it.
    Tool,
    /// The agent program put it there: reminders, notifications, command envelopes, instructions
    /// files. It is not memory.
    Harness,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Thinking(String),
    ToolUse(ToolUse),
    ToolResult(ToolResult),
    /// An image or another attachment; its bytes are not kept.
    Image {
        media_type: String,
        size_bytes: u64,
    },
    /// The conversation before this point was compacted away.
    Boundary(Boundary),
    /// The summary that replaced what a boundary cut off.
    Summary(String),
    /// Something failed outside of any tool: an API error, a refusal.
    Error(String),
    /// A person allowed or refused what the model wanted to do.
    Approval(String),
}

impl Block {
    /// Estimates what the block costs a model. What is not sent to it costs nothing.
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
    /// The arguments as JSON text, or as plain text where the tool takes that.
    pub input: String,
    /// The file it is about.
    pub path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct ToolResult {
    pub call: Option<CallId>,
    /// The tool that was called and the file it was called on, joined from the call.
    pub tool: Option<String>,
    pub path: Option<String>,
    pub content: String,
    pub is_error: bool,
    pub exit_code: Option<i64>,
    /// The files that the call names, prints and writes, joined from the call.
    pub files: CallFiles,
    /// What the agent says the tool did to files, where its log tells.
    pub changes: Vec<FileModification>,
}

/// A change to one file, as a log reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileModification {
    pub path: String,
    /// A unified diff or the new text.
    pub diff: String,
}

/// The marker of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Boundary {
    /// "auto" or "manual".
    pub trigger: Option<String>,
    pub tokens_before: Option<u64>,
    /// The last message before the cut.
    pub last: Option<MessageId>,
    /// The tools that were called before the compaction, by name.
    pub tools: Vec<String>,
    pub preserved: Option<PreservedRange>,
}

/// The messages that a compaction kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreservedRange {
    pub head: MessageId,
    /// The message they now follow: the summary.
    pub anchor: MessageId,
    pub tail: MessageId,
}

/// What an adapter understood of a log: messages, what they say of their sessions, and usage.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    Message(Message),
    Session(crate::SessionPatch),
    Usage(UsageEntry),
}
