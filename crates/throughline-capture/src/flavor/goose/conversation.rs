//! Turns a conversation into messages, one by one.

use jiff::Timestamp;
use memory::{
    Block, Boundary, CallId, IdChain, Message, Origin, Role, SessionId, ToolResult, ToolUse,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{Answer, Call, Content, Outcome};
use crate::ParseOutput;
use crate::calls::OpenCalls;

/// The state of a conversation on which the next message depends.
///
/// Goose's message ids are shared by several rows and missing in older ones, so ids are derived
/// from the content. They survive a compaction, which rewrites the conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GooseConversation {
    chain: IdChain,
    calls: OpenCalls,
    line: u64,
}

/// A message as the database or a file contains it.
#[derive(Debug)]
pub(crate) struct GooseMessage<'a> {
    pub role: &'a str,
    pub at: Option<Timestamp>,
    pub content: Vec<&'a RawValue>,
    pub part: GooseMessageKind,
    /// The author of messages in the user's role.
    pub prompter: Origin,
}

/// The part that a message plays in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GooseMessageKind {
    Spoken,
    /// Goose added it for the model; users do not see it.
    Hidden,
    /// It replaces the messages before it.
    Summary,
}

impl GooseConversation {
    /// Returns the message; `None` if it is empty.
    pub(crate) fn read_message(
        &mut self,
        session: &SessionId,
        said: GooseMessage<'_>,
        out: &mut ParseOutput,
    ) -> Option<Message> {
        self.line += 1;
        let role = match said.role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => {
                out.count_unknown(&format!("role/{other}"));
                return None;
            }
        };
        // The time distinguishes it from the same words in another session, and copies keep it.
        let at = said.at.map_or(0, Timestamp::as_millisecond);
        let mut gist = vec![said.role.to_owned(), at.to_string()];
        let mut blocks = Vec::new();
        for raw in said.content {
            match serde_json::from_str::<Content<'_>>(raw.get()) {
                Ok(content) => self.add_content(content, &mut gist, &mut blocks, out),
                Err(_) => out.count_unknown("content"),
            }
        }
        let gist: Vec<_> = gist.iter().map(String::as_str).collect();
        let id = self.chain.link(&gist);
        let answers = blocks
            .iter()
            .any(|block| matches!(block, Block::ToolResult(_)));
        let origin = match role {
            _ if answers => Origin::Tool,
            _ if said.part == GooseMessageKind::Hidden => Origin::Harness,
            Role::User if said.part == GooseMessageKind::Spoken => said.prompter,
            _ => Origin::Model,
        };
        if said.part == GooseMessageKind::Summary {
            let text = blocks.into_iter().filter_map(|block| match block {
                Block::Text(text) => Some(Block::Summary(text)),
                _ => None,
            });
            blocks = std::iter::once(Block::Boundary(Boundary::default()))
                .chain(text)
                .collect();
        }
        (!blocks.is_empty()).then(|| Message {
            at: said.at,
            blocks,
            line: self.line,
            ..Message::new(id, session.clone(), role, origin)
        })
    }

    fn add_content(
        &mut self,
        content: Content<'_>,
        gist: &mut Vec<String>,
        blocks: &mut Vec<Block>,
        out: &mut ParseOutput,
    ) {
        let kind = content.kind.text().unwrap_or_default().to_owned();
        let id = content.id.0.unwrap_or_default();
        gist.push(kind.clone());
        match kind.as_str() {
            "text" => {
                let text = content.text.0.unwrap_or_default();
                gist.push(text.clone());
                if !text.trim().is_empty() {
                    blocks.push(Block::Text(text));
                }
            }
            "thinking" | "reasoning" => {
                let text = content.thinking.0.or(content.text.0).unwrap_or_default();
                gist.push(text.clone());
                if !text.trim().is_empty() {
                    blocks.push(Block::Thinking(text));
                }
            }
            "toolRequest" | "frontendToolRequest" => {
                let mut call = call(&id, content.tool_call.0.unwrap_or_default());
                gist.extend([id, call.tool.clone(), call.input.clone()]);
                self.calls.open(&mut call);
                blocks.push(Block::ToolUse(call));
            }
            "toolResponse" => {
                let mut result = result(&id, content.tool_result.0.unwrap_or_default());
                gist.extend([id, result.content.clone()]);
                self.calls.close(&mut result);
                blocks.push(Block::ToolResult(result));
            }
            "image" => {
                let data = content.data.0.unwrap_or_default();
                gist.push(data.len().to_string());
                blocks.push(Block::Image {
                    media_type: content.mime_type.0.unwrap_or_default(),
                    size_bytes: data.len() as u64 * 3 / 4,
                });
            }
            // Questions to the user, whose answers are not recorded, and notices for the screen.
            "toolConfirmationRequest"
            | "actionRequired"
            | "systemNotification"
            | "redactedThinking"
            | "conversationCompacted"
            | "summarizationRequested"
            | "contextLengthExceeded" => {}
            other => out.count_unknown(&format!("content/{other}")),
        }
    }
}

fn call(id: &str, outcome: Outcome<'_>) -> ToolUse {
    let call = outcome
        .value
        .and_then(|value| serde_json::from_str::<Call<'_>>(value.get()).ok());
    let call = call.unwrap_or_default();
    let input = call.arguments.map_or_else(
        // Goose could not parse the model's call.
        || outcome.error.0.unwrap_or_else(|| "{}".to_owned()),
        |arguments| arguments.get().to_owned(),
    );
    ToolUse {
        call: CallId::new(id),
        tool: call.name.0.unwrap_or_default(),
        input,
        path: None,
    }
}

fn result(id: &str, outcome: Outcome<'_>) -> ToolResult {
    let answer = outcome.value.map(|value| match value.get() {
        // Older releases wrote only the list.
        list if list.starts_with('[') => Answer {
            content: serde_json::from_str(list).unwrap_or_default(),
            ..Answer::default()
        },
        answer => serde_json::from_str(answer).unwrap_or_default(),
    });
    let is_error = answer
        .as_ref()
        .is_none_or(|answer| answer.is_error.is_true());
    let pieces = answer
        .and_then(|answer| answer.content.0)
        .unwrap_or_default();
    let texts = pieces.into_iter().filter_map(|piece| {
        let resource = piece.resource.0.and_then(|resource| resource.text.0);
        piece.text.0.or(resource)
    });
    let mut texts: Vec<_> = texts.collect();
    // Some tools return the same text twice, for the model and for the screen.
    texts.dedup();
    ToolResult {
        call: Some(CallId::new(id)),
        content: outcome.error.0.unwrap_or_else(|| texts.join("\n")),
        is_error,
        ..ToolResult::default()
    }
}
