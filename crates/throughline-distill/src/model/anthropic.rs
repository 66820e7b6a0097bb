//! Anthropic's Messages.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{self, ApiKey, Endpoint, StreamControl};
use super::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, ModelToolCall, ModelTurn,
    arguments,
};

/// A model that speaks `POST /v1/messages`.
#[derive(Clone, Debug)]
pub struct Anthropic {
    pub endpoint: Endpoint,
    pub model: String,
}

const VERSION: &str = "2023-06-01";

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.model
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        let key = self.endpoint.key.as_ref().map_or("", ApiKey::expose);
        let headers = [("x-api-key", key), ("anthropic-version", VERSION)];
        let mut read = MessageStream::default();
        let body = body(&self.model, request);
        let lines = http::parse_events(|event| read.event(event));
        let sent = http::post_streaming(
            &self.endpoint,
            "/v1/messages",
            &headers,
            &body,
            timeout,
            lines,
        );
        let usage = read.reply.usage;
        sent.map_err(|error| ModelError { usage, ..error })?;
        Ok(read.finish())
    }
}

/// Writes the request. What is asked first stays the same from round to round, so it carries marks for
/// the cache: the instructions, and the end of what is known so far.
fn body(model: &str, request: &CompletionRequest) -> Value {
    let mark = json!({"type": "ephemeral"});
    let mut messages: Vec<Value> = request.turns.iter().map(turn).collect();
    if let Some(blocks) = messages
        .last_mut()
        .and_then(|last| last["content"].as_array_mut())
        && let Some(block) = blocks.last_mut()
    {
        block["cache_control"] = mark.clone();
    }
    if let Some(parent) = &request.parent_request {
        return forked(parent, &request.system, messages);
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

/// Goes on from another conversation: everything it sent stays as it is, and what is new comes behind.
fn forked(parent: &Value, system: &str, mut messages: Vec<Value>) -> Value {
    let mut body = parent.clone();
    body["stream"] = json!(true);
    if let Some(first) = messages
        .first_mut()
        .and_then(|first| first["content"].as_array_mut())
    {
        first.insert(0, json!({"type": "text", "text": system}));
    }
    if let Some(all) = body["messages"].as_array_mut() {
        all.append(&mut messages);
    }
    // Four marks are allowed; the parent may use them all, and its prefix counts for more than ours.
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > MARKS_MAX
        && let Some(last) = body["messages"]
            .as_array_mut()
            .and_then(|all| all.last_mut())
        && let Some(block) = last["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut())
        && let Some(block) = block.as_object_mut()
    {
        block.remove("cache_control");
    }
    body
}

const MARKS_MAX: usize = 4;

fn turn(turn: &ModelTurn) -> Value {
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
        ModelTurn::Results(answers) => {
            let blocks: Vec<_> = (answers.iter())
                .map(|answer| {
                    json!({"type": "tool_result", "tool_use_id": answer.call,
                        "content": answer.text, "is_error": answer.is_error})
                })
                .collect();
            json!({"role": "user", "content": blocks})
        }
    }
}

#[derive(Default)]
struct MessageStream {
    reply: Completion,
    /// Calls whose arguments are still coming, by their place in the message.
    calls: BTreeMap<u64, (String, String, String)>,
}

impl MessageStream {
    fn event(&mut self, event: &Value) -> Result<StreamControl, ModelFailure> {
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.usage(&event["message"]["usage"]),
            "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                let block = &event["content_block"];
                let call = (text(block, "id"), text(block, "name"), String::new());
                self.calls.insert(index, call);
            }
            "content_block_delta" => match event["delta"]["type"].as_str().unwrap_or_default() {
                "text_delta" => self.reply.text += &text(&event["delta"], "text"),
                "input_json_delta" => {
                    if let Some((_, _, input)) = self.calls.get_mut(&index) {
                        *input += &text(&event["delta"], "partial_json");
                    }
                }
                _ => {}
            },
            "message_delta" => {
                self.usage(&event["usage"]);
                self.reply.truncated = event["delta"]["stop_reason"] == "max_tokens";
            }
            "message_stop" => return Ok(StreamControl::Done),
            "error" => return Err(http::provider_error(&event["error"])),
            _ => {}
        }
        Ok(StreamControl::Continue)
    }

    /// Figures are told again as they grow; the last telling of each counts.
    fn usage(&mut self, usage: &Value) {
        let told = &mut self.reply.usage;
        for (name, figure) in [
            ("input_tokens", &mut told.input),
            ("output_tokens", &mut told.output),
            ("cache_read_input_tokens", &mut told.cache_read),
            ("cache_creation_input_tokens", &mut told.cache_write),
        ] {
            *figure = usage[name].as_u64().unwrap_or(*figure);
        }
    }

    fn finish(mut self) -> Completion {
        let calls = self.calls.into_values();
        self.reply.calls = calls
            .map(|(id, tool, input)| ModelToolCall {
                id,
                tool,
                input: arguments(&input),
            })
            .collect();
        self.reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_keeps_its_parents_prefix_byte_for_byte() {
        let parent = json!({
            "model": "m", "max_tokens": 9, "stream": false,
            "system": [{"type": "text", "text": "parent", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "Bash"}, {"name": "Edit", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
        });
        let request = CompletionRequest {
            system: "take notes".into(),
            turns: vec![ModelTurn::User("the file".into())],
            parent_request: Some(parent.clone()),
            ..CompletionRequest::default()
        };
        let forked = body("other", &request);
        for same in ["model", "max_tokens", "system", "tools"] {
            assert_eq!(forked[same].to_string(), parent[same].to_string());
        }
        let messages = forked["messages"].as_array().unwrap();
        assert_eq!(messages[..2], parent["messages"].as_array().unwrap()[..]);
        assert_eq!(messages[2]["content"][0]["text"], "take notes");
        assert_eq!(forked.to_string().matches("cache_control").count(), 3);
    }
}
