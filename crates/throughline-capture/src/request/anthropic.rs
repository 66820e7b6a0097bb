//! Anthropic's Messages API.

use std::collections::HashMap;

use memory::{ApiId, Block, CallId, Message, Role, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::signed::SignedBlock;
use super::{ApiRequest, CallNames, describe_media, index_of_kind, names, text_block};

/// Parses a message into its role and blocks.
pub(super) fn parse_message(json: &Value) -> Result<(Role, Vec<Block>), String> {
    let role = match json["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        role => {
            return Err(format!(
                "the role is {role:?}, not \"user\" or \"assistant\""
            ));
        }
    };
    let blocks = match &json["content"] {
        Value::String(text) => vec![text_block(text)],
        Value::Array(blocks) => blocks.iter().filter_map(parse_block).collect(),
        _ => return Err("`content` must be a text or a list of blocks".to_owned()),
    };
    Ok((role, blocks))
}

fn parse_block(block: &Value) -> Option<Block> {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    Some(match text("type") {
        "text" => text_block(text("text")),
        "thinking" => Block::Thinking(text("thinking").to_owned()),
        // The reasoning is encrypted. The block is written back as it was.
        "redacted_thinking" => Block::Thinking(String::new()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Block::ToolUse(ToolUse {
            call: CallId::new(text("id")),
            tool: text("name").to_owned(),
            input: block["input"].to_string(),
            path: None,
        }),
        kind if kind.ends_with("tool_result") => Block::ToolResult(ToolResult {
            call: Some(CallId::new(text("tool_use_id"))),
            content: result_text(&block["content"]),
            is_error: block["is_error"] == true,
            ..ToolResult::default()
        }),
        "image" | "document" => {
            let source = &block["source"];
            let media_type = source["media_type"].as_str().unwrap_or(text("type"));
            let size = source["data"].as_str().map_or(0, str::len);
            Block::Image {
                media_type: media_type.to_owned(),
                size_bytes: size as u64 * 3 / 4,
            }
        }
        _ => return None,
    })
}

fn result_text(content: &Value) -> String {
    let part = |block: &Value| match block["type"].as_str() {
        Some("tool_reference") => Some(format!(
            "[tool: {}]",
            block["tool_name"].as_str().unwrap_or_default()
        )),
        Some("image" | "document") => Some("[image]".to_owned()),
        _ => block["text"].as_str().map(str::to_owned),
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(part)
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// Says whether JSON is the form of a block.
pub(super) fn is_block(json: &Value, block: &Block) -> bool {
    let is = |name: &str, value: &str| json[name].as_str() == Some(value);
    match block {
        Block::Text(text) | Block::Summary(text) => is("type", "text") && is("text", text),
        Block::Thinking(text) if text.is_empty() => is("type", "redacted_thinking"),
        Block::Thinking(text) => is("type", "thinking") && is("thinking", text),
        Block::ToolUse(call) => json.get("input").is_some() && is("id", call.call.as_str()),
        Block::ToolResult(result) => {
            let call = result.call.as_ref();
            call.is_some_and(|call| is("tool_use_id", call.as_str()))
        }
        Block::Image { .. } => is("type", "image") || is("type", "document"),
        Block::Boundary(_) | Block::Error(_) | Block::Approval(_) => false,
    }
}

/// A turn of the request. Consecutive messages of one role are one turn.
struct RequestTurn {
    role: Role,
    blocks: Vec<Value>,
    /// The caller's own message, if the turn consists of it.
    unchanged: Option<Value>,
}

/// Writes messages. Roles alternate in the result.
pub(super) fn write_messages(request: &ApiRequest, messages: &[Message]) -> Vec<Value> {
    let mut writer = BlockWriter {
        request,
        names: CallNames::default(),
        written_lines: HashMap::new(),
    };
    let mut turns: Vec<RequestTurn> = Vec::new();
    for message in messages {
        let unchanged = request.unchanged(message);
        let blocks = match unchanged.map(|json| &json["content"]) {
            Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
            Some(Value::Array(blocks)) => blocks.clone(),
            _ => writer.write_blocks(message),
        };
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut().filter(|turn| turn.role == message.role) {
            Some(turn) => {
                turn.blocks.extend(blocks);
                turn.unchanged = None;
            }
            None => turns.push(RequestTurn {
                role: message.role,
                blocks,
                unchanged: unchanged.cloned(),
            }),
        }
    }
    let written = turns.into_iter().map(|turn| {
        let blocks = turn.blocks;
        let new = || json!({"role": turn.role, "content": blocks});
        turn.unchanged.unwrap_or_else(new)
    });
    written.collect()
}

struct BlockWriter<'a> {
    request: &'a ApiRequest,
    names: CallNames,
    /// The line of the log up to which the thinking of each response was written.
    written_lines: HashMap<&'a ApiId, u64>,
}

impl<'a> BlockWriter<'a> {
    fn write_blocks(&mut self, message: &Message) -> Vec<Value> {
        let mut written = self.signed_thinking(message);
        for (index, block) in message.blocks.iter().enumerate() {
            let same_kind = index_of_kind(&message.blocks, index);
            let original = self.request.original_block(message, block, same_kind);
            written.extend(original.cloned().or_else(|| self.write_block(block)));
        }
        written
    }

    /// Returns the signed thinking blocks of a response up to a line of the log.
    fn signed_thinking(&mut self, message: &Message) -> Vec<Value> {
        let signed = &self.request.signed.0;
        let response = message.api_id.as_ref();
        let Some((api_id, blocks)) = response.and_then(|id| signed.get_key_value(id)) else {
            return Vec::new();
        };
        let written = self.written_lines.entry(api_id).or_default();
        let is_new = |block: &&SignedBlock| block.line > *written && block.line <= message.line;
        let new = blocks.iter().filter(is_new).map(|block| block.json.clone());
        let new = new.collect();
        *written = message.line.max(*written);
        new
    }

    fn write_block(&mut self, block: &Block) -> Option<Value> {
        Some(match block {
            Block::Text(text) | Block::Summary(text) => json!({"type": "text", "text": text}),
            Block::ToolUse(call) => {
                let input = serde_json::from_str(&call.input).ok();
                let input = input.filter(Value::is_object);
                json!({
                    "type": "tool_use",
                    "id": self.names.name(&call.call),
                    "name": names::tool_name(&call.tool),
                    "input": input.unwrap_or_else(|| json!({"input": call.input})),
                })
            }
            Block::ToolResult(result) => {
                let id = self.names.name(result.call.as_ref()?);
                let mut json =
                    json!({"type": "tool_result", "tool_use_id": id, "content": result.content});
                if result.is_error {
                    json["is_error"] = json!(true);
                }
                json
            }
            Block::Image {
                media_type,
                size_bytes,
            } => {
                json!({"type": "text", "text": describe_media(media_type, *size_bytes)})
            }
            // Thinking without its signature is rejected.
            Block::Thinking(_) | Block::Boundary(_) | Block::Error(_) | Block::Approval(_) => {
                return None;
            }
        })
    }
}
