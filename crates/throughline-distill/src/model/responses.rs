//! OpenAI's responses.

use std::time::Duration;

use serde_json::{Value, json};

use super::chat::authorization_header;
use super::http::{self, Endpoint, StreamControl};
use super::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, ModelToolCall, ModelTurn,
    arguments,
};

/// A model that speaks `POST /responses`.
#[derive(Clone, Debug)]
pub struct Responses {
    pub endpoint: Endpoint,
    pub model: String,
}

impl Model for Responses {
    fn name(&self) -> &str {
        &self.model
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        let bearer = authorization_header(&self.endpoint);
        let headers: &[(&str, &str)] = match &bearer {
            Some(bearer) => &[("authorization", bearer)],
            None => &[],
        };
        let mut reply = Completion::default();
        let body = body(&self.model, request);
        let lines = http::parse_events(|event| read(event, &mut reply));
        let sent =
            http::post_streaming(&self.endpoint, "/responses", headers, &body, timeout, lines);
        let usage = reply.usage;
        sent.map_err(|error| ModelError { usage, ..error })?;
        Ok(reply)
    }
}

fn body(model: &str, request: &CompletionRequest) -> Value {
    let input: Vec<Value> = request.turns.iter().flat_map(turn).collect();
    let mut body = json!({
        "model": model,
        "instructions": request.system,
        "input": input,
        "max_output_tokens": request.max_tokens,
        "stream": true,
        // Nothing is to stay with the provider.
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

fn turn(turn: &ModelTurn) -> Vec<Value> {
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
        ModelTurn::Results(answers) => (answers.iter())
            .map(|answer| {
                json!({"type": "function_call_output", "call_id": answer.call,
                    "output": answer.text})
            })
            .collect(),
    }
}

/// Finished items are told whole, so the pieces before them need not be gathered.
fn read(event: &Value, reply: &mut Completion) -> Result<StreamControl, ModelFailure> {
    match event["type"].as_str().unwrap_or_default() {
        "response.output_item.done" => item(&event["item"], reply),
        "response.completed" | "response.incomplete" => {
            usage(&event["response"]["usage"], reply);
            reply.truncated = event["type"] == "response.incomplete";
            return Ok(StreamControl::Done);
        }
        "response.failed" => {
            usage(&event["response"]["usage"], reply);
            return Err(http::provider_error(&event["response"]["error"]));
        }
        "error" => return Err(http::provider_error(event)),
        _ => {}
    }
    Ok(StreamControl::Continue)
}

fn item(item: &Value, reply: &mut Completion) {
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            for part in item["content"].as_array().into_iter().flatten() {
                reply.text += part["text"].as_str().unwrap_or_default();
            }
        }
        "function_call" => reply.calls.push(ModelToolCall {
            id: item["call_id"].as_str().unwrap_or_default().to_owned(),
            tool: item["name"].as_str().unwrap_or_default().to_owned(),
            input: arguments(item["arguments"].as_str().unwrap_or_default()),
        }),
        _ => {}
    }
}

fn usage(usage: &Value, reply: &mut Completion) {
    let figure = |name: &str| usage[name].as_u64().unwrap_or_default();
    let cached = usage["input_tokens_details"]["cached_tokens"]
        .as_u64()
        .unwrap_or_default();
    let reasoning = usage["output_tokens_details"]["reasoning_tokens"].as_u64();
    reply.usage = memory::Usage {
        input: figure("input_tokens").saturating_sub(cached),
        output: figure("output_tokens"),
        cache_read: cached,
        cache_write: 0,
        reasoning: reasoning.unwrap_or_default(),
    };
}
