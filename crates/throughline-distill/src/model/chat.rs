//! OpenAI's chat completions, which many others speak too.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{self, Endpoint, Flow, Key};
use super::{Call, Failure, Model, ModelError, Reply, Request, Turn, arguments};

/// A model that speaks `POST /chat/completions`.
#[derive(Clone, Debug)]
pub struct Chat {
    pub endpoint: Endpoint,
    pub model: String,
}

impl Model for Chat {
    fn name(&self) -> &str {
        &self.model
    }

    fn complete(&self, request: &Request, timeout: Duration) -> Result<Reply, ModelError> {
        let bearer = bearer(&self.endpoint);
        let headers: &[(&str, &str)] = match &bearer {
            Some(bearer) => &[("authorization", bearer)],
            None => &[],
        };
        let mut read = Reading::default();
        let body = body(self, request);
        let lines = http::events(|event| read.event(event));
        let sent = http::post(
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

pub(super) fn bearer(endpoint: &Endpoint) -> Option<String> {
    endpoint
        .key
        .as_ref()
        .map(|key: &Key| format!("Bearer {}", key.expose()))
}

fn body(chat: &Chat, request: &Request) -> Value {
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

fn turn(turn: &Turn) -> Vec<Value> {
    match turn {
        Turn::User(text) => vec![json!({"role": "user", "content": text})],
        Turn::Assistant { text, calls } => {
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
        Turn::Results(answers) => (answers.iter())
            .map(|answer| {
                json!({"role": "tool", "tool_call_id": answer.call, "content": answer.text})
            })
            .collect(),
    }
}

#[derive(Default)]
struct Reading {
    reply: Reply,
    calls: BTreeMap<u64, (String, String, String)>,
}

impl Reading {
    fn event(&mut self, event: &Value) -> Result<Flow, Failure> {
        if event["error"].is_object() {
            return Err(http::reported(&event["error"]));
        }
        if event["usage"].is_object() {
            self.usage(&event["usage"]);
        }
        let choice = &event["choices"][0];
        self.reply.cut_short |= choice["finish_reason"] == "length";
        let delta = &choice["delta"];
        self.reply.text += delta["content"].as_str().unwrap_or_default();
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default();
            let known = self.calls.entry(index).or_default();
            known.0 += call["id"].as_str().unwrap_or_default();
            known.1 += call["function"]["name"].as_str().unwrap_or_default();
            known.2 += call["function"]["arguments"].as_str().unwrap_or_default();
        }
        Ok(Flow::More)
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

    fn finish(mut self) -> Reply {
        let calls = self.calls.into_iter();
        self.reply.calls = calls
            .map(|(index, (id, tool, input))| Call {
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
