//! The wire format of OpenAI's responses API.

use memory::Usage;
use serde_json::{Value, json};

use super::completion::{PartialCompletion, elements, number, parse_arguments, text};
use super::http::{StreamControl, provider_error};
use super::{CompletionRequest, ModelFailure, ModelToolCall, ModelTurn};

pub(super) const PATH: &str = "/responses";

pub(super) fn body(model: &str, request: &CompletionRequest) -> Value {
    let input: Vec<Value> = request.turns.iter().flat_map(turn_items).collect();
    let mut body = json!({
        "model": model,
        "instructions": request.system,
        "input": input,
        "max_output_tokens": request.max_tokens,
        "stream": true,
        // The provider must not store the conversation.
        "store": false,
    });
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.schema, "strict": false,
        }]);
    }
    body
}

fn turn_items(turn: &ModelTurn) -> Vec<Value> {
    match turn {
        ModelTurn::User(text) => vec![json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]})],
        ModelTurn::Assistant { text, calls } => {
            let mut items = Vec::new();
            if !text.trim().is_empty() {
                items.push(json!({"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text}]}));
            }
            items.extend(calls.iter().map(|call| {
                json!({"type": "function_call", "call_id": call.id, "name": call.tool,
                    "arguments": call.input.to_string()})
            }));
            items
        }
        ModelTurn::Results(outputs) => (outputs.iter())
            .map(|output| {
                json!({"type": "function_call_output", "call_id": output.call,
                    "output": output.text})
            })
            .collect(),
    }
}

/// Reads an event. Complete items repeat their content, so the deltas before them are ignored.
pub(super) fn read_event(
    event: &Value,
    partial: &mut PartialCompletion,
) -> Result<StreamControl, ModelFailure> {
    let usage = &event["response"]["usage"];
    match text(event, "type") {
        "response.output_item.done" => read_item(&event["item"], partial),
        "response.completed" | "response.incomplete" => {
            partial.completion.usage = read_usage(usage);
            partial.completion.truncated = event["type"] == "response.incomplete";
            return Ok(StreamControl::Done);
        }
        "response.failed" => {
            partial.completion.usage = read_usage(usage);
            return Err(provider_error(&event["response"]["error"]));
        }
        "error" => return Err(provider_error(event)),
        _ => {}
    }
    Ok(StreamControl::Continue)
}

fn read_item(item: &Value, partial: &mut PartialCompletion) {
    match text(item, "type") {
        "message" => {
            let parts = elements(item, "content").map(|part| text(part, "text"));
            partial.completion.text.extend(parts);
        }
        "function_call" => partial.completion.calls.push(ModelToolCall {
            id: text(item, "call_id").to_owned(),
            tool: text(item, "name").to_owned(),
            input: parse_arguments(text(item, "arguments")),
        }),
        _ => {}
    }
}

/// Reads the token counts. `input_tokens` includes the tokens from the cache.
fn read_usage(usage: &Value) -> Usage {
    let cached = number(&usage["input_tokens_details"], "cached_tokens");
    Usage {
        input: number(usage, "input_tokens").saturating_sub(cached),
        output: number(usage, "output_tokens"),
        cache_read: cached,
        cache_write: 0,
        reasoning: number(&usage["output_tokens_details"], "reasoning_tokens"),
    }
}
