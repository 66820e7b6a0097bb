//! The wire format of Ollama's chat API: one JSON object per line.

use memory::tokens::estimate;
use serde_json::{Value, json};

use super::chat::{function_tool, messages};
use super::completion::{PartialCompletion, elements, number, text};
use super::http::{StreamControl, excerpt};
use super::{CompletionRequest, ModelFailure, ModelToolCall, ModelTurn};

pub(super) const PATH: &str = "/api/chat";

/// The minimum context window. Ollama's default silently truncates long prompts.
const WINDOW_MIN: u64 = 8_192;

pub(super) fn body(model: &str, request: &CompletionRequest) -> Value {
    let messages = json!(messages(request, turn_messages));
    let needed = estimate(&messages.to_string()).0 + u64::from(request.max_tokens);
    // The tokenizer of a local model may count more than the estimate.
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
        body["tools"] = function_tool(tool);
    }
    body
}

fn turn_messages(turn: &ModelTurn) -> Vec<Value> {
    match turn {
        ModelTurn::User(text) => vec![json!({"role": "user", "content": text})],
        ModelTurn::Assistant { text, calls } => {
            let calls: Vec<_> = (calls.iter())
                .map(|call| json!({"function": {"name": call.tool, "arguments": call.input}}))
                .collect();
            vec![json!({"role": "assistant", "content": text, "tool_calls": calls})]
        }
        ModelTurn::Results(outputs) => (outputs.iter())
            .map(|output| json!({"role": "tool", "tool_name": output.tool, "content": output.text}))
            .collect(),
    }
}

pub(super) fn read_line(
    line: &Value,
    partial: &mut PartialCompletion,
) -> Result<StreamControl, ModelFailure> {
    if let Some(error) = line["error"].as_str() {
        return Err(ModelFailure::ProviderError {
            kind: "error".to_owned(),
            message: excerpt(error),
        });
    }
    let completion = &mut partial.completion;
    completion.text += text(&line["message"], "content");
    for call in elements(&line["message"], "tool_calls") {
        // Ollama joins results to calls by the name of the tool and sends no ids.
        completion.calls.push(ModelToolCall {
            id: format!("call_{}", completion.calls.len()),
            tool: text(&call["function"], "name").to_owned(),
            input: call["function"]["arguments"].clone(),
        });
    }
    if line["done"] != true {
        return Ok(StreamControl::Continue);
    }
    completion.usage.input = number(line, "prompt_eval_count");
    completion.usage.output = number(line, "eval_count");
    completion.truncated = line["done_reason"] == "length";
    Ok(StreamControl::Done)
}
