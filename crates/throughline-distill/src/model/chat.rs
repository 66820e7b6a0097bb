//! OpenAI's chat completions, which many others speak too.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{self, ApiKey, Endpoint, StreamControl};
use super::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, ModelToolCall, ModelTurn,
    arguments,
};

/// A model that speaks `POST /chat/completions`.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    pub endpoint: Endpoint,
    pub model: String,
}

impl Model for ChatCompletions {
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
        let mut read = ChatStream::default();
        let body = body(self, request);
        let lines = http::parse_events(|event| read.event(event));
        let sent = http::post_streaming(
            &self.endpoint,
            "/chat/completions",
            headers,
            &body,
            timeout,
            lines,
        );
        let usage = read.reply.usage;
        sent.map_err(|error| ModelError { usage, ..error })?;
        Ok(read.finish())
    }
}

pub(super) fn authorization_header(endpoint: &Endpoint) -> Option<String> {
    endpoint
        .key
        .as_ref()
        .map(|key: &ApiKey| format!("Bearer {}", key.expose()))
}

fn body(chat: &ChatCompletions, request: &CompletionRequest) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    messages.extend(request.turns.iter().flat_map(turn));
    // OpenAI's own newer models know only the long name, most others only the short one.
    let limit = if chat.endpoint.is_openai() {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let mut body = json!({
        "model": chat.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
        limit: request.max_tokens,
    });
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema,
        }}]);
    }
    body
}

fn turn(turn: &ModelTurn) -> Vec<Value> {
    match turn {
        ModelTurn::User(text) => vec![json!({"role": "user", "content": text})],
        ModelTurn::Assistant { text, calls } => {
            let mut message = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                let calls: Vec<_> = calls.iter().map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.tool, "arguments": call.input.to_string()}})
                }).collect();
                message["tool_calls"] = json!(calls);
            }
            vec![message]
        }
        ModelTurn::Results(answers) => (answers.iter())
            .map(|answer| {
                json!({"role": "tool", "tool_call_id": answer.call, "content": answer.text})
            })
            .collect(),
    }
}

#[derive(Default)]
struct ChatStream {
    reply: Completion,
    calls: BTreeMap<u64, (String, String, String)>,
}

impl ChatStream {
    fn event(&mut self, event: &Value) -> Result<StreamControl, ModelFailure> {
        if event["error"].is_object() {
            return Err(http::provider_error(&event["error"]));
        }
        if event["usage"].is_object() {
            self.usage(&event["usage"]);
        }
        let choice = &event["choices"][0];
        self.reply.truncated |= choice["finish_reason"] == "length";
        let delta = &choice["delta"];
        self.reply.text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default();
            let known = self.calls.entry(index).or_default();
            known.0 += call["id"].as_str().unwrap_or_default();
            known.1 += call["function"]["name"].as_str().unwrap_or_default();
            known.2 += call["function"]["arguments"].as_str().unwrap_or_default();
        }
        Ok(StreamControl::Continue)
    }

    /// `prompt_tokens` counts what came from the cache too.
    fn usage(&mut self, usage: &Value) {
        let figure = |name: &str| usage[name].as_u64().unwrap_or_default();
        let cached = usage["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .unwrap_or_default();
        self.reply.usage = memory::Usage {
            input: figure("prompt_tokens").saturating_sub(cached),
            output: figure("completion_tokens"),
            cache_read: cached,
            ..memory::Usage::default()
        };
    }

    fn finish(mut self) -> Completion {
        let calls = self.calls.into_iter();
        self.reply.calls = calls
            .map(|(index, (id, tool, input))| ModelToolCall {
                id: if id.is_empty() {
                    format!("call_{index}")
                } else {
                    id
                },
                tool,
                input: arguments(&input),
            })
            .collect();
        self.reply
    }
}
