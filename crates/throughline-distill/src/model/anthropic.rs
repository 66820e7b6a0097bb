//! The wire format of Anthropic's Messages API.

use serde_json::{Value, json};

use super::completion::{PartialCall, PartialCompletion, text};
use super::http::{StreamControl, provider_error};
use super::{CompletionRequest, ModelFailure, ModelTurn};

pub(super) const PATH: &str = "/v1/messages";
pub(super) const API_VERSION: &str = "2023-06-01";

/// The API rejects a request with more cache marks.
const CACHE_MARKS_MAX: usize = 4;

/// Returns the request body. The instructions and the last message carry cache marks, because both
/// are the start of the next request of the same conversation.
pub(super) fn body(model: &str, request: &CompletionRequest) -> Value {
    let mark = json!({"type": "ephemeral"});
    let mut messages: Vec<Value> = request.turns.iter().map(message).collect();
    if let Some(block) = messages.last_mut().and_then(last_block) {
        block["cache_control"] = mark.clone();
    }
    if let Some(parent) = &request.parent_request {
        return forked_body(parent, &request.system, messages);
    }
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens,
        "stream": true,
        "system": [{"type": "text", "text": request.system, "cache_control": mark}],
        "messages": messages,
    });
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.schema,
        }]);
    }
    body
}

/// Continues another conversation: its request stays unchanged, and the new messages follow it.
fn forked_body(parent: &Value, system: &str, mut messages: Vec<Value>) -> Value {
    let mut body = parent.clone();
    body["stream"] = json!(true);
    if let Some(first) = messages.first_mut()
        && let Some(blocks) = first["content"].as_array_mut()
    {
        blocks.insert(0, json!({"type": "text", "text": system}));
    }
    if let Some(all) = body["messages"].as_array_mut() {
        all.append(&mut messages);
    }
    // The parent may use all marks, and its prefix is worth more than ours.
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > CACHE_MARKS_MAX
        && let Some(all) = body["messages"].as_array_mut()
        && let Some(block) = all.last_mut().and_then(last_block)
        && let Some(block) = block.as_object_mut()
    {
        block.remove("cache_control");
    }
    body
}

fn last_block(message: &mut Value) -> Option<&mut Value> {
    message["content"].as_array_mut()?.last_mut()
}

fn message(turn: &ModelTurn) -> Value {
    match turn {
        ModelTurn::User(text) => {
            json!({"role": "user", "content": [{"type": "text", "text": text}]})
        }
        ModelTurn::Assistant { text, calls } => {
            let mut blocks = Vec::new();
            if !text.trim().is_empty() {
                blocks.push(json!({"type": "text", "text": text}));
            }
            blocks.extend(calls.iter().map(|call| {
                let input = if call.input.is_object() {
                    call.input.clone()
                } else {
                    json!({})
                };
                json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input})
            }));
            json!({"role": "assistant", "content": blocks})
        }
        ModelTurn::Results(outputs) => {
            let blocks: Vec<_> = (outputs.iter())
                .map(|output| {
                    json!({"type": "tool_result", "tool_use_id": output.call,
                        "content": output.text, "is_error": output.is_error})
                })
                .collect();
            json!({"role": "user", "content": blocks})
        }
    }
}

pub(super) fn read_event(
    event: &Value,
    partial: &mut PartialCompletion,
) -> Result<StreamControl, ModelFailure> {
    let index = event["index"].as_u64().unwrap_or_default();
    match text(event, "type") {
        "message_start" => read_usage(&event["message"]["usage"], partial),
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            let block = &event["content_block"];
            let call = PartialCall {
                id: text(block, "id").to_owned(),
                tool: text(block, "name").to_owned(),
                arguments: String::new(),
            };
            partial.calls.insert(index, call);
        }
        "content_block_delta" => match text(&event["delta"], "type") {
            "text_delta" => partial.completion.text += text(&event["delta"], "text"),
            "input_json_delta" => {
                if let Some(call) = partial.calls.get_mut(&index) {
                    call.arguments += text(&event["delta"], "partial_json");
                }
            }
            _ => {}
        },
        "message_delta" => {
            read_usage(&event["usage"], partial);
            partial.completion.truncated = event["delta"]["stop_reason"] == "max_tokens";
        }
        "message_stop" => return Ok(StreamControl::Done),
        "error" => return Err(provider_error(&event["error"])),
        _ => {}
    }
    Ok(StreamControl::Continue)
}

/// Updates the token counts. The stream repeats them as they grow, and the last value counts.
fn read_usage(usage: &Value, partial: &mut PartialCompletion) {
    let counts = &mut partial.completion.usage;
    for (name, count) in [
        ("input_tokens", &mut counts.input),
        ("output_tokens", &mut counts.output),
        ("cache_read_input_tokens", &mut counts.cache_read),
        ("cache_creation_input_tokens", &mut counts.cache_write),
    ] {
        *count = usage[name].as_u64().unwrap_or(*count);
    }
}
