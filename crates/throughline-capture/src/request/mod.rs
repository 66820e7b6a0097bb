//! Requests to model APIs: parsed into messages, and written from messages.
//!
//! A program that compacts its own conversation sends the request that it would send to the model,
//! and gets one back in the same format. What is kept is written back verbatim, because a provider
//! checks the signature of each thinking block, and because a [`Message`] does not hold the bytes
//! of an image. A log holds no requests, so a request for a session is written from its messages;
//! [`signed`] adds the thinking blocks with their signatures.

mod anthropic;
mod chat;
mod names;
pub mod signed;

use std::collections::HashMap;

use memory::{Block, CallId, Message, MessageId, Origin, Role, SessionId, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use self::names::CallNames;
use self::signed::SignedThinking;

/// The reply limit of a request for a session, which Anthropic's API requires.
const REPLY_TOKENS_MAX: u64 = 8_192;
/// The result of a call that has none yet.
const OPEN_CALL_TEXT: &str = "[no result: the conversation was compacted while the call ran]";
/// The last message of a request if the assistant spoke last. No API continues such a conversation
/// reliably.
const CONTINUE_TEXT: &str = "Continue with the last request if it is not done yet.";

memory::named_enum! {
    /// The format of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RequestFormat {
        /// Anthropic's Messages API.
        Anthropic = "anthropic",
        /// OpenAI's Chat Completions API and everything compatible with it.
        Openai = "openai",
    }
}

/// Why a request cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidRequest {
    #[error("`messages` must be a list with at least one message")]
    NoMessages,
    #[error("messages[{index}] is not a message of the {format:?} format: {reason}")]
    Message {
        index: usize,
        format: RequestFormat,
        reason: String,
    },
}

/// A request with its conversation as messages.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub format: RequestFormat,
    pub messages: Vec<Message>,
    /// The fields of the request besides its messages.
    fields: Map<String, Value>,
    /// System messages at the start, which a compaction never replaces.
    system: Vec<Value>,
    originals: HashMap<MessageId, OriginalMessage>,
    signed: SignedThinking,
}

/// A message as the caller sent it.
#[derive(Clone, Debug)]
struct OriginalMessage {
    blocks: Vec<Block>,
    json: Value,
}

impl ApiRequest {
    /// Parses a request body or a list of messages. Without a format, the messages decide.
    pub fn parse(
        body: Value,
        format: Option<RequestFormat>,
        session: &SessionId,
    ) -> Result<Self, InvalidRequest> {
        let mut fields = match body {
            Value::Object(fields) => fields,
            messages => Map::from_iter([("messages".to_owned(), messages)]),
        };
        let Some(Value::Array(messages)) = fields.remove("messages") else {
            return Err(InvalidRequest::NoMessages);
        };
        if messages.is_empty() {
            return Err(InvalidRequest::NoMessages);
        }
        let mut request = Self {
            format: format.unwrap_or_else(|| guess_format(&messages)),
            messages: Vec::with_capacity(messages.len()),
            fields,
            system: Vec::new(),
            originals: HashMap::new(),
            signed: SignedThinking::default(),
        };
        request.parse_messages(messages, session)?;
        Ok(request)
    }

    /// Returns the request of a session's log. Fields that the caller does not set are completed:
    /// the model of the session, the reply limit, and a definition of each tool that was called.
    pub fn for_log(
        format: RequestFormat,
        mut fields: Map<String, Value>,
        messages: &[Message],
        signed: SignedThinking,
    ) -> Self {
        let model = messages
            .iter()
            .rev()
            .find_map(|message| message.model.as_deref());
        if let Some(model) = model {
            fields.entry("model").or_insert_with(|| json!(model));
        }
        if format == RequestFormat::Anthropic {
            let limit = || json!(REPLY_TOKENS_MAX);
            fields.entry("max_tokens").or_insert_with(limit);
        }
        let tools = tool_definitions(format, messages);
        if !tools.is_empty() {
            fields.entry("tools").or_insert_with(|| Value::Array(tools));
        }
        Self {
            format,
            messages: Vec::new(),
            fields,
            system: Vec::new(),
            originals: HashMap::new(),
            signed,
        }
    }

    /// Writes a request with other messages. It ends with a message of the user, and every call has
    /// a result, so it can be sent as it is.
    pub fn write(&self, messages: &[Message], open: &[CallId]) -> Value {
        let mut messages = messages.to_vec();
        messages.extend(closing_message(&messages, open));
        let written = match self.format {
            RequestFormat::Anthropic => anthropic::write_messages(self, &messages),
            RequestFormat::Openai => chat::write_messages(self, &messages),
        };
        let all = self.system.iter().cloned().chain(written).collect();
        let mut body = self.fields.clone();
        body.insert("messages".to_owned(), Value::Array(all));
        Value::Object(body)
    }

    fn parse_messages(
        &mut self,
        messages: Vec<Value>,
        session: &SessionId,
    ) -> Result<(), InvalidRequest> {
        let mut calls = crate::calls::OpenCalls::default();
        for (index, mut json) in messages.into_iter().enumerate() {
            let is_chat = self.format == RequestFormat::Openai;
            if is_chat && self.messages.is_empty() && chat::is_system(&json) {
                self.system.push(json);
                continue;
            }
            let (role, mut blocks) = match self.format {
                RequestFormat::Anthropic => anthropic::parse_message(&json),
                RequestFormat::Openai => chat::parse_message(&json),
            }
            .map_err(|reason| InvalidRequest::Message {
                index,
                format: self.format,
                reason,
            })?;
            for block in &mut blocks {
                match block {
                    Block::ToolUse(call) => calls.open(call),
                    Block::ToolResult(result) => calls.close(result),
                    _ => {}
                }
            }
            // The ids are ours: a provider rejects them in a request.
            let mut take_id = |name: &str| -> Option<String> {
                let id = json.as_object_mut()?.remove(name)?;
                id.as_str().map(str::to_owned)
            };
            let id = take_id("uuid").unwrap_or_else(|| format!("messages[{index}]"));
            let api_id = take_id("id").map(memory::ApiId::new);
            let origin = match role {
                Role::Assistant => Origin::Model,
                _ if chat::is_system(&json) => Origin::Harness,
                _ => Origin::Human,
            };
            let mut message = Message::new(MessageId::new(id), session.clone(), role, origin);
            message.api_id = api_id;
            message.line = index as u64 + 1;
            message.blocks.clone_from(&blocks);
            let original = OriginalMessage { blocks, json };
            self.originals.insert(message.id.clone(), original);
            self.messages.push(message);
        }
        if self.messages.is_empty() {
            return Err(InvalidRequest::NoMessages);
        }
        Ok(())
    }

    /// Returns the caller's own message, if nothing in it was changed.
    fn unchanged(&self, message: &Message) -> Option<&Value> {
        let original = self.originals.get(&message.id)?;
        (original.blocks == message.blocks).then_some(&original.json)
    }

    /// Returns the caller's own form of a block. `index` counts the blocks of the same kind before
    /// it in the message.
    fn original_block(&self, message: &Message, block: &Block, index: usize) -> Option<&Value> {
        let original = self.originals.get(&message.id)?;
        let is_same = |known: &&Value| match self.format {
            RequestFormat::Anthropic => anthropic::is_block(known, block),
            RequestFormat::Openai => chat::is_block(known, block),
        };
        let mut parts = original.json["content"].as_array()?.iter().filter(is_same);
        match block {
            Block::Image { .. } => parts.nth(index),
            Block::Thinking(text) if text.is_empty() => parts.nth(index),
            _ => parts.next(),
        }
    }
}

/// Returns the message that makes a conversation end with the user.
fn closing_message(messages: &[Message], open: &[CallId]) -> Option<Message> {
    let last = messages.last()?;
    let result = |call: &CallId| {
        Block::ToolResult(ToolResult {
            call: Some(call.clone()),
            content: OPEN_CALL_TEXT.to_owned(),
            is_error: true,
            ..ToolResult::default()
        })
    };
    let blocks: Vec<_> = match open {
        [] if last.role == Role::User => return None,
        [] => vec![Block::Text(CONTINUE_TEXT.to_owned())],
        open => open.iter().map(result).collect(),
    };
    let id = MessageId::new(format!("{}/closing", last.id));
    let mut message = Message::new(id, last.session.clone(), Role::User, Origin::Harness);
    message.blocks = blocks;
    Some(message)
}

/// Says in which format messages are written. Messages of texts alone are the same in both.
fn guess_format(messages: &[Value]) -> RequestFormat {
    let is_chat = |message: &Value| {
        let is_chat_part =
            |part: &Value| matches!(part["type"].as_str(), Some("image_url" | "input_audio"));
        let parts = message["content"].as_array();
        message.get("tool_calls").is_some()
            || message.get("tool_call_id").is_some()
            || chat::is_system(message)
            || parts.is_some_and(|parts| parts.iter().any(is_chat_part))
    };
    if messages.iter().any(is_chat) {
        RequestFormat::Openai
    } else {
        RequestFormat::Anthropic
    }
}

/// Returns a minimal definition of each tool that the messages call. A log does not contain the
/// real ones, and a provider rejects calls of tools that are not defined.
fn tool_definitions(format: RequestFormat, messages: &[Message]) -> Vec<Value> {
    let mut tools = std::collections::BTreeSet::new();
    for block in messages.iter().flat_map(|message| &message.blocks) {
        if let Block::ToolUse(call) = block {
            tools.insert(names::tool_name(&call.tool));
        }
    }
    let schema = json!({"type": "object"});
    let tools = tools.into_iter().map(|name| match format {
        RequestFormat::Anthropic => json!({"name": name, "input_schema": schema}),
        RequestFormat::Openai => {
            json!({"type": "function", "function": {"name": name, "parameters": schema}})
        }
    });
    tools.collect()
}

/// Counts the blocks of the same kind before a block.
fn index_of_kind(blocks: &[Block], index: usize) -> usize {
    let kind = std::mem::discriminant(&blocks[index]);
    let before = blocks[..index].iter();
    before
        .filter(|block| std::mem::discriminant(*block) == kind)
        .count()
}

/// Parses a text. The summary of an earlier compaction is recognised by its fence.
fn text_block(text: &str) -> Block {
    let text = text.to_owned();
    if text.starts_with("<throughline-memory kind=\"summary\">") {
        Block::Summary(text)
    } else {
        Block::Text(text)
    }
}

/// Describes an image or a file whose bytes are not known.
fn describe_media(media_type: &str, size_bytes: u64) -> String {
    format!("[{media_type}, {size_bytes} bytes; not part of this request]")
}

#[cfg(test)]
mod tests;
