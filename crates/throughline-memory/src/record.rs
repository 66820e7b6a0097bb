//! What is stored and searched.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::message::{Block, Message, Origin, ToolResult};
use crate::{CallId, MessageId, SessionId, fence, flatten};

/// One searchable event of a session. Its text is raw until the store's redactor has cleaned it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub message: MessageId,
    /// Where in its message it stands; with `message` it names the record.
    pub ordinal: u32,
    pub at: Option<Timestamp>,
    pub line: u64,
    pub kind: RecordKind,
    pub session: SessionId,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub call: Option<CallId>,
    pub content: String,
    pub tags: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    pub trust: Trust,
    pub context: RecordEnvironment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    Prompt,
    Assistant,
    Thinking,
    ToolUse,
    ToolResult,
    Approval,
    Error,
    Artifact,
    Summary,
}

impl RecordKind {
    pub const ALL: &[Self] = &[
        Self::Prompt,
        Self::Assistant,
        Self::Thinking,
        Self::ToolUse,
        Self::ToolResult,
        Self::Approval,
        Self::Error,
        Self::Artifact,
        Self::Summary,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
            Self::Approval => "approval",
            Self::Error => "error",
            Self::Artifact => "artifact",
            Self::Summary => "summary",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl std::fmt::Display for RecordKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose word a text is. What is derived from several carries the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// A tool or a web page returned it.
    Tool,
    /// The model said it.
    Model,
    /// The user said it.
    User,
}

impl Trust {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
        }
    }

    pub fn from_name(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "model" => Self::Model,
            _ => Self::Tool,
        }
    }
}

/// Where the session stood when the record was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct RecordEnvironment {
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
}

/// Longest part of a change that an artifact shows.
const SNIPPET_BYTES_MAX: usize = 2 << 10;

/// Returns the records of a message: the one projection.
///
/// What the agent program itself put into the conversation becomes no record, nor do fenced
/// parts that came out of memory.
pub fn project_records(message: Message) -> Vec<Record> {
    let origin = message.origin;
    let mut out = Projection::new(&message);
    for block in message.blocks {
        match block {
            Block::Text(text) => match (origin, fence::strip(&text)) {
                (Origin::Harness, _) => {}
                (Origin::Human, text) => {
                    out.push(RecordKind::Prompt, Trust::User, text.into_owned())
                }
                (Origin::Model, text) => {
                    out.push(RecordKind::Assistant, Trust::Model, text.into_owned())
                }
                (Origin::Tool, text) => {
                    out.push(RecordKind::ToolResult, Trust::Tool, text.into_owned())
                }
            },
            Block::Thinking(text) => out.push(RecordKind::Thinking, Trust::Model, text),
            Block::ToolUse(call) => {
                let text = flatten::flatten(&call.input);
                let record = out.make(RecordKind::ToolUse, Trust::Model, text);
                out.keep(Record {
                    tool: Some(call.tool),
                    path: call.path,
                    call: Some(call.call),
                    ..record
                });
            }
            Block::ToolResult(result) => out.tool_result(result),
            Block::Image {
                media_type,
                size_bytes,
            } if origin == Origin::Human => {
                let text = format!("[image: {media_type}, {size_bytes} bytes]");
                out.push(RecordKind::Prompt, Trust::User, text);
            }
            Block::Image { .. } | Block::Boundary(_) => {}
            Block::Summary(text) => out.push(RecordKind::Summary, Trust::Model, text),
            Block::Error(text) => out.push(RecordKind::Error, Trust::Tool, text),
            Block::Approval(text) => out.push(RecordKind::Approval, Trust::User, text),
        }
    }
    out.records
}

struct Projection {
    records: Vec<Record>,
    blank: Record,
}

impl Projection {
    fn new(message: &Message) -> Self {
        let blank = Record {
            message: message.id.clone(),
            ordinal: 0,
            at: message.at,
            line: message.line,
            kind: RecordKind::Assistant,
            session: message.session.clone(),
            tool: None,
            path: None,
            call: None,
            content: String::new(),
            tags: Vec::new(),
            metadata: BTreeMap::new(),
            trust: Trust::Tool,
            context: RecordEnvironment {
                cwd: message.cwd.clone(),
                branch: message.branch.clone(),
                model: message.model.clone(),
            },
        };
        Self {
            records: Vec::new(),
            blank,
        }
    }

    fn make(&self, kind: RecordKind, trust: Trust, content: String) -> Record {
        Record {
            kind,
            trust,
            content,
            ..self.blank.clone()
        }
    }

    fn push(&mut self, kind: RecordKind, trust: Trust, content: String) {
        if !content.trim().is_empty() {
            let record = self.make(kind, trust, content);
            self.keep(record);
        }
    }

    fn keep(&mut self, record: Record) {
        let ordinal = self.blank.ordinal;
        self.blank.ordinal += 1;
        self.records.push(Record { ordinal, ..record });
    }

    fn tool_result(&mut self, result: ToolResult) {
        let kind = if result.is_error {
            RecordKind::Error
        } else {
            RecordKind::ToolResult
        };
        let mut record = self.make(
            kind,
            Trust::Tool,
            fence::strip(&result.content).into_owned(),
        );
        if let Some(code) = result.exit_code {
            record.metadata.insert("exit_code".into(), code.to_string());
        }
        record.tool.clone_from(&result.tool);
        record.path.clone_from(&result.path);
        record.call.clone_from(&result.call);
        self.keep(record);
        for change in result.changes {
            let text = snippet(&change.diff).to_owned();
            let record = self.make(RecordKind::Artifact, Trust::Model, text);
            self.keep(Record {
                tool: result.tool.clone(),
                path: Some(change.path),
                call: result.call.clone(),
                ..record
            });
        }
    }
}

/// Returns what an artifact shows of a change: its head, cut at a line where possible, at a character at least.
pub fn snippet(text: &str) -> &str {
    if text.len() <= SNIPPET_BYTES_MAX {
        return text;
    }
    let head = &text[..text.floor_char_boundary(SNIPPET_BYTES_MAX)];
    head.rfind('\n').map_or(head, |end| &head[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FileModification, Role, ToolUse};
    use crate::{Flavor, SessionId};

    fn message(origin: Origin, blocks: Vec<Block>) -> Message {
        let session = SessionId::of(Flavor::Claude, "s");
        let mut message = Message::new(MessageId::new("m"), session, Role::User, origin);
        message.blocks = blocks;
        message
    }

    #[track_caller]
    fn check(message: Message, shape: &str) {
        let shown = project_records(message)
            .iter()
            .map(|r| {
                let tool = r.tool.as_deref().unwrap_or("-");
                let path = r.path.as_deref().unwrap_or("-");
                format!("{} {tool} {path} {:?}", r.kind, r.content)
            })
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(shown, shape);
    }

    #[test]
    fn a_person_prompts_and_the_program_does_not() {
        check(
            message(Origin::Human, vec![Block::Text("hi".into())]),
            "prompt - - \"hi\"",
        );
        check(
            message(
                Origin::Harness,
                vec![Block::Text("<system-reminder>".into())],
            ),
            "",
        );
    }

    #[test]
    fn memory_does_not_quote_itself() {
        let text = "go <throughline-memory>x</throughline-memory>".to_owned();
        check(
            message(Origin::Human, vec![Block::Text(text)]),
            "prompt - - \"go \"",
        );
    }

    #[test]
    fn a_result_brings_its_tool_and_its_artifacts() {
        let result = ToolResult {
            call: Some(CallId::new("c")),
            tool: Some("Edit".into()),
            path: Some("src/a.rs".into()),
            content: "done".into(),
            changes: vec![FileModification {
                path: "src/a.rs".into(),
                diff: "-a\n+b".into(),
            }],
            ..ToolResult::default()
        };
        check(
            message(Origin::Tool, vec![Block::ToolResult(result)]),
            "tool_result Edit src/a.rs \"done\"\nartifact Edit src/a.rs \"-a\\n+b\"",
        );
    }

    #[test]
    fn a_failed_call_is_an_error() {
        let call = ToolUse {
            call: CallId::new("c"),
            tool: "Bash".into(),
            input: r#"{"command":"make"}"#.into(),
            path: None,
        };
        let result = ToolResult {
            content: "no rule".into(),
            is_error: true,
            ..ToolResult::default()
        };
        check(
            message(
                Origin::Tool,
                vec![Block::ToolUse(call), Block::ToolResult(result)],
            ),
            "tool_use Bash - \"command: make\"\nerror - - \"no rule\"",
        );
    }

    #[test]
    fn a_snippet_ends_at_a_line() {
        let text = "é line\n".repeat(400);
        let cut = snippet(&text);
        assert!(cut.len() <= SNIPPET_BYTES_MAX && cut.ends_with("line"));
    }
}
