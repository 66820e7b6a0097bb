//! Records: the searchable events that the store keeps, and their projection from messages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{Block, Message, Origin, ToolResult};
use crate::{CallId, MessageId, SessionId, fence, flatten};

/// One searchable event of a session. Its text is not redacted yet; the store does that.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub message: MessageId,
    /// The position within its message. Together with `message` it identifies the record.
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
    pub metadata: Map<String, Value>,
    pub trust: Trust,
    pub context: RecordEnvironment,
}

named_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RecordKind {
        Prompt = "prompt",
        Assistant = "assistant",
        Thinking = "thinking",
        ToolUse = "tool_use",
        ToolResult = "tool_result",
        Approval = "approval",
        Error = "error",
        Artifact = "artifact",
        Summary = "summary",
    }
}

named_enum! {
    /// How far a text can be trusted, lowest first. A text derived from several sources has the
    /// lowest trust among them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Trust {
        /// A tool or a web page returned it.
        Tool = "tool",
        /// The model said it.
        Model = "model",
        /// The user said it.
        User = "user",
    }
}

/// The tag of records and facts that may contain a secret.
pub const SENSITIVE_TAG: &str = "sensitive";

/// Says whether the tags mark a text that may contain a secret.
pub fn is_sensitive(tags: &[String]) -> bool {
    tags.iter().any(|tag| tag == SENSITIVE_TAG)
}

/// The state of the session when the record was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct RecordEnvironment {
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
}

/// The maximum length of the change that an artifact shows.
const SNIPPET_BYTES_MAX: usize = 2 << 10;

/// Returns the records of a message. This is the only place that creates records from messages.
///
/// Text that the agent program added becomes no record, and neither do fenced parts, which came out
/// of memory.
pub fn project_records(message: Message) -> Vec<Record> {
    let origin = message.origin;
    let mut out = Projection::new(&message);
    for block in message.blocks {
        match block {
            Block::Text(text) => {
                let (kind, trust) = match origin {
                    Origin::Harness => continue,
                    Origin::Human => (RecordKind::Prompt, Trust::User),
                    Origin::Model => (RecordKind::Assistant, Trust::Model),
                    Origin::Tool => (RecordKind::ToolResult, Trust::Tool),
                };
                out.add_text(kind, trust, fence::strip(&text).into_owned());
            }
            Block::Thinking(text) => out.add_text(RecordKind::Thinking, Trust::Model, text),
            Block::ToolUse(call) => {
                let text = flatten::flatten(&call.input);
                let record = out.new_record(RecordKind::ToolUse, Trust::Model, text);
                out.add_record(Record {
                    tool: Some(call.tool),
                    path: call.path,
                    call: Some(call.call),
                    ..record
                });
            }
            Block::ToolResult(result) => out.add_tool_result(result),
            Block::Image {
                media_type,
                size_bytes,
            } if origin == Origin::Human => {
                let text = format!("[image: {media_type}, {size_bytes} bytes]");
                out.add_text(RecordKind::Prompt, Trust::User, text);
            }
            Block::Image { .. } | Block::Boundary(_) => {}
            Block::Summary(text) => out.add_text(RecordKind::Summary, Trust::Model, text),
            Block::Error(text) => out.add_text(RecordKind::Error, Trust::Tool, text),
            Block::Approval(text) => out.add_text(RecordKind::Approval, Trust::User, text),
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
            metadata: Map::new(),
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

    fn new_record(&self, kind: RecordKind, trust: Trust, content: String) -> Record {
        Record {
            kind,
            trust,
            content,
            ..self.blank.clone()
        }
    }

    fn add_text(&mut self, kind: RecordKind, trust: Trust, content: String) {
        if !content.trim().is_empty() {
            let record = self.new_record(kind, trust, content);
            self.add_record(record);
        }
    }

    fn add_record(&mut self, record: Record) {
        let ordinal = self.blank.ordinal;
        self.blank.ordinal += 1;
        self.records.push(Record { ordinal, ..record });
    }

    fn add_tool_result(&mut self, result: ToolResult) {
        let kind = if result.is_error {
            RecordKind::Error
        } else {
            RecordKind::ToolResult
        };
        let mut record = self.new_record(
            kind,
            Trust::Tool,
            fence::strip(&result.content).into_owned(),
        );
        if let Some(code) = result.exit_code {
            let code = Value::String(code.to_string());
            record.metadata.insert("exit_code".into(), code);
        }
        record.tool.clone_from(&result.tool);
        record.path.clone_from(&result.path);
        record.call.clone_from(&result.call);
        self.add_record(record);
        for change in result.changes {
            let text = snippet(&change.diff).to_owned();
            let record = self.new_record(RecordKind::Artifact, Trust::Model, text);
            self.add_record(Record {
                tool: result.tool.clone(),
                path: Some(change.path),
                call: result.call.clone(),
                ..record
            });
        }
    }
}

/// Returns the part of a change that an artifact shows: its head, cut at a line break if possible.
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
