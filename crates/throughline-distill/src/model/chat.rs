//! The wire format of OpenAI's chat completions API, which many other servers support.

use memory::Usage;
use serde_json::{Value, json};

use super::completion::{PartialCompletion, elements, number, text};
use super::http::{StreamControl, provider_error};
use super::{CompletionRequest, ModelFailure, ModelTool, ModelTurn};

pub(super) const PATH: &str = "/chat/completions";

/// Returns the request body. `limit` is the name of the argument that limits the reply.
pub(super) fn body(model: &str, request: &CompletionRequest, limit: &str) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(request, turn_messages),
        "stream": true,
        "stream_options": {"include_usage": true},
        limit: request.max_tokens,
    });
    if let Some(tool) = &request.tool {
        body["tools"] = function_tool(tool);
    }
    body
}

/// Returns the system prompt and all turns as messages.
pub(super) fn messages(
    request: &CompletionRequest,
    turn_messages: fn(&ModelTurn) -> Vec<Value>,
) -> Vec<Value> {
    let system = json!({"role": "system", "content": request.system});
    let turns = request.turns.iter().flat_map(turn_messages);
    std::iter::once(system).chain(turns).collect()
}

/// Returns the list of tools with one function.
pub(super) fn function_tool(tool: &ModelTool) -> Value {
    json!([{"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema,
    }}])
}

fn turn_messages(turn: &ModelTurn) -> Vec<Value> {
    match turn {
        ModelTurn::User(text) => vec![json!({"role": "user", "content": text})],
        ModelTurn::Assistant { text, calls } => {
            let mut message = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                let calls = calls.iter().map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.tool, "arguments": call.input.to_string()}})
                });
                message["tool_calls"] = calls.collect();
            }
            vec![message]
        }
        ModelTurn::Results(outputs) => (outputs.iter())
            .map(|output| {
                json!({"role": "tool", "tool_call_id": output.call, "content": output.text})
            })
            .collect(),
    }
}

pub(super) fn read_event(
    event: &Value,
    partial: &mut PartialCompletion,
) -> Result<StreamControl, ModelFailure> {
    if event["error"].is_object() {
        return Err(provider_error(&event["error"]));
    }
    if event["usage"].is_object() {
        partial.completion.usage = read_usage(&event["usage"]);
    }
    let choice = &event["choices"][0];
    partial.completion.truncated |= choice["finish_reason"] == "length";
    let delta = &choice["delta"];
    partial.completion.text += text(delta, "content");
    for call in elements(delta, "tool_calls") {
        let known = partial.calls.entry(number(call, "index")).or_default();
        known.id += text(call, "id");
        known.tool += text(&call["function"], "name");
        known.arguments += text(&call["function"], "arguments");
    }
    Ok(StreamControl::Continue)
}

/// Reads the token counts. `prompt_tokens` includes the tokens from the cache.
fn read_usage(usage: &Value) -> Usage {
    let cached = number(&usage["prompt_tokens_details"], "cached_tokens");
    Usage {
        input: number(usage, "prompt_tokens").saturating_sub(cached),
        output: number(usage, "completion_tokens"),
        cache_read: cached,
        ..Usage::default()
    }
}
