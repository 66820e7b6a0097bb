//! Ollama's own chat, in lines of JSON.

use std::time::Duration;

use memory::tokens::estimate;
use serde_json::{Value, json};

use super::http::{self, Endpoint, StreamControl};
use super::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, ModelToolCall, ModelTurn,
};

/// A model that speaks `POST /api/chat`.
#[derive(Clone, Debug)]
pub struct Ollama {
    pub endpoint: Endpoint,
    pub model: String,
}

/// The smallest window that is asked for; Ollama's own default cuts long prompts without a word.
const WINDOW_MIN: u64 = 8_192;

impl Model for Ollama {
    fn name(&self) -> &str {
        &self.model
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        let mut reply = Completion::default();
        let body = body(&self.model, request);
        let lines = |line: &str| match line.trim() {
            "" => Ok(StreamControl::Continue),
            line => read(&http::parse_json(line)?, &mut reply),
        };
        let sent = http::post_streaming(&self.endpoint, "/api/chat", &[], &body, timeout, lines);
        let usage = reply.usage;
        sent.map_err(|error| ModelError { usage, ..error })?;
        Ok(reply)
    }
}

fn body(model: &str, request: &CompletionRequest) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    messages.extend(request.turns.iter().flat_map(turn));
    let needed = estimate(&json!(messages).to_string()).0 + u64::from(request.max_tokens);
    let window = (needed + needed / 4)
        .max(WINDOW_MIN)
        .next_multiple_of(1_024);
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "options": {"num_ctx": window, "num_predict": request.max_tokens},
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
            let calls: Vec<_> = (calls.iter())
                .map(|call| json!({"function": {"name": call.tool, "arguments": call.input}}))
                .collect();
            vec![json!({"role": "assistant", "content": text, "tool_calls": calls})]
        }
        ModelTurn::Results(answers) => (answers.iter())
            .map(|answer| json!({"role": "tool", "tool_name": answer.tool, "content": answer.text}))
            .collect(),
    }
}

fn read(line: &Value, reply: &mut Completion) -> Result<StreamControl, ModelFailure> {
    if let Some(error) = line["error"].as_str() {
        return Err(ModelFailure::ProviderError {
            kind: "error".to_owned(),
            said: error.chars().take(300).collect(),
        });
    }
    reply.text += line["message"]["content"].as_str().unwrap_or_default();
    for call in line["message"]["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let id = format!("call_{}", reply.calls.len());
        reply.calls.push(ModelToolCall {
            id,
            tool: call["function"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            input: call["function"]["arguments"].clone(),
        });
    }
    if line["done"] != true {
        return Ok(StreamControl::Continue);
    }
    let figure = |name: &str| line[name].as_u64().unwrap_or_default();
    reply.usage.input = figure("prompt_eval_count");
    reply.usage.output = figure("eval_count");
    reply.truncated = line["done_reason"] == "length";
    Ok(StreamControl::Done)
}
