//! OpenAI's Chat Completions API.

use memory::{Block, CallId, Message, Role, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::{ApiRequest, CallNames, describe_media, index_of_kind, names, text_block};

/// Says whether a message sets instructions.
pub(super) fn is_system(json: &Value) -> bool {
    matches!(json["role"].as_str(), Some("system" | "developer"))
}

/// Parses a message into its role and blocks. Instructions in the middle count as a message of the
/// user, because that is where they stand in the conversation.
pub(super) fn parse_message(json: &Value) -> Result<(Role, Vec<Block>), String> {
    let text = |name: &str| json[name].as_str().unwrap_or_default();
    let mut blocks = Vec::new();
    match text("role") {
        "tool" => {
            let result = ToolResult {
                call: Some(CallId::new(text("tool_call_id"))),
                content: plain_text(&json["content"]),
                ..ToolResult::default()
            };
            Ok((Role::User, vec![Block::ToolResult(result)]))
        }
        "user" | "system" | "developer" => {
            parse_content(&json["content"], &mut blocks)?;
            Ok((Role::User, blocks))
        }
        "assistant" => {
            let reasoning = text("reasoning_content");
            if !reasoning.is_empty() {
                blocks.push(Block::Thinking(reasoning.to_owned()));
            }
            if !json["content"].is_null() {
                parse_content(&json["content"], &mut blocks)?;
            }
            let calls = json["tool_calls"].as_array();
            blocks.extend(calls.into_iter().flatten().map(parse_call));
            Ok((Role::Assistant, blocks))
        }
        role => Err(format!("the role {role:?} is unknown")),
    }
}

fn parse_call(json: &Value) -> Block {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (function, input) = match json.get("custom") {
        Some(custom) => (custom, &custom["input"]),
        None => (&json["function"], &json["function"]["arguments"]),
    };
    Block::ToolUse(ToolUse {
        call: CallId::new(text(&json["id"])),
        tool: text(&function["name"]),
        input: text(input),
        path: None,
    })
}

fn parse_content(content: &Value, blocks: &mut Vec<Block>) -> Result<(), String> {
    match content {
        Value::String(text) => blocks.push(text_block(text)),
        Value::Array(parts) => blocks.extend(parts.iter().map(parse_part)),
        _ => return Err("`content` must be a text or a list of parts".to_owned()),
    }
    Ok(())
}

fn parse_part(part: &Value) -> Block {
    let text = part["text"].as_str().or(part["refusal"].as_str());
    match text {
        Some(text) => text_block(text),
        None => Block::Image {
            media_type: part["type"].as_str().unwrap_or("file").to_owned(),
            size_bytes: part.to_string().len() as u64,
        },
    }
}

fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Says whether JSON is the form of a block.
pub(super) fn is_block(json: &Value, block: &Block) -> bool {
    match block {
        Block::Text(text) | Block::Summary(text) => json["text"].as_str() == Some(text),
        Block::Image { .. } => json.get("text").is_none() && json.get("refusal").is_none(),
        _ => false,
    }
}

/// Writes messages. Consecutive messages of the assistant become one, because results must follow
/// the message with their calls.
pub(super) fn write_messages(request: &ApiRequest, messages: &[Message]) -> Vec<Value> {
    let mut names = CallNames::default();
    let mut written: Vec<Value> = Vec::new();
    for message in messages {
        let new = match request.unchanged(message) {
            Some(json) => vec![json.clone()],
            None if message.role == Role::Assistant => {
                write_assistant(message, &mut names).into_iter().collect()
            }
            None => write_user(request, message, &mut names),
        };
        for json in new {
            match written.last_mut() {
                Some(last) if last["role"] == "assistant" && json["role"] == "assistant" => {
                    append_assistant(last, &json);
                }
                _ => written.push(json),
            }
        }
    }
    written
}

fn write_assistant(message: &Message, names: &mut CallNames) -> Option<Value> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => texts.push(text.as_str()),
            Block::ToolUse(call) => {
                let is_object =
                    serde_json::from_str(&call.input).is_ok_and(|input: Value| input.is_object());
                let arguments = if is_object {
                    call.input.clone()
                } else {
                    json!({"input": call.input}).to_string()
                };
                let function =
                    json!({"name": names::tool_name(&call.tool), "arguments": arguments});
                let id = names.name(&call.call);
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            // The API has no place for reasoning.
            _ => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let content = match texts.as_slice() {
        [] => Value::Null,
        texts => json!(texts.join("\n\n")),
    };
    let mut json = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        json["tool_calls"] = Value::Array(calls);
    }
    Some(json)
}

/// Appends a message of the assistant to the one before it.
fn append_assistant(last: &mut Value, next: &Value) {
    let texts = [&last["content"], &next["content"]].map(plain_text);
    let texts: Vec<_> = texts.iter().filter(|text| !text.is_empty()).collect();
    last["content"] = match texts.as_slice() {
        [] => Value::Null,
        [text] => json!(text),
        [first, second, ..] => json!(format!("{first}\n\n{second}")),
    };
    let calls = |json: &Value| json["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = [calls(last), calls(next)].concat();
    if !calls.is_empty() {
        last["tool_calls"] = Value::Array(calls);
    }
}

fn write_user(request: &ApiRequest, message: &Message, names: &mut CallNames) -> Vec<Value> {
    let mut written = Vec::new();
    let mut parts = Vec::new();
    for (index, block) in message.blocks.iter().enumerate() {
        let same_kind = index_of_kind(&message.blocks, index);
        let original = request.original_block(message, block, same_kind);
        match block {
            Block::ToolResult(ToolResult {
                call: Some(call),
                content,
                ..
            }) => {
                let id = names.name(call);
                written.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
            }
            _ if original.is_some() => parts.extend(original.cloned()),
            Block::Text(text) | Block::Summary(text) => {
                parts.push(json!({"type": "text", "text": text}));
            }
            Block::Image {
                media_type,
                size_bytes,
            } => {
                let text = describe_media(media_type, *size_bytes);
                parts.push(json!({"type": "text", "text": text}));
            }
            _ => {}
        }
    }
    if !parts.is_empty() {
        written.push(json!({"role": "user", "content": parts}));
    }
    written
}
