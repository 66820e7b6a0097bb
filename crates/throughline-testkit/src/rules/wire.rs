//! The rules that a request must keep on the wire, as JSON.
//!
//! The rules of [`super::broken`] are about messages; these are about what is really sent. The
//! wording follows the providers' own.

use std::collections::HashSet;

use serde_json::Value;

/// The fields of the blocks that Anthropic's API accepts, by the type of the block.
const ANTHROPIC_BLOCKS: &[(&str, &[&str])] = &[
    ("text", &["text", "citations"]),
    ("thinking", &["thinking", "signature"]),
    ("redacted_thinking", &["data"]),
    ("tool_use", &["id", "name", "input"]),
    ("tool_result", &["tool_use_id", "content", "is_error"]),
    ("image", &["source"]),
    ("document", &["source", "title", "context", "citations"]),
];
const ID_CHARS_MAX: usize = 64;
/// OpenAI's limit for the id of a call.
const CHAT_ID_CHARS_MAX: usize = 40;

/// Returns what Anthropic's Messages API would find wrong with a request.
pub fn anthropic_problem(body: &Value) -> Option<String> {
    for field in ["model", "max_tokens"] {
        if body.get(field).is_none() {
            return Some(format!("{field}: Field required"));
        }
    }
    let messages = body["messages"].as_array()?;
    if messages.first().is_none_or(|first| first["role"] != "user") {
        return Some("messages: first message must use the \"user\" role".to_owned());
    }
    if messages.last().is_none_or(|last| last["role"] != "user") {
        return Some("messages: the last message must be from the user".to_owned());
    }
    let (mut open, mut seen) = (Vec::new(), HashSet::new());
    let mut role_before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !matches!(role, "user" | "assistant") || role == role_before {
            return Some(format!("messages.{index}: roles must alternate"));
        }
        role_before = role;
        let fields = message.as_object()?.keys();
        if let Some(odd) = fields
            .into_iter()
            .find(|key| !["role", "content"].contains(&key.as_str()))
        {
            return Some(format!(
                "messages.{index}.{odd}: Extra inputs are not permitted"
            ));
        }
        let text = message["content"].as_str();
        if text.is_some_and(|text| text.trim().is_empty()) {
            return Some(format!("messages.{index}: text content must be non-empty"));
        }
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        if text.is_none() && blocks.is_empty() {
            return Some(format!("messages.{index}: content must be non-empty"));
        }
        let wrong = anthropic_turn(role, &blocks, &mut open, &mut seen);
        if let Some(wrong) = wrong {
            return Some(format!("messages.{index}: {wrong}"));
        }
    }
    let blocks = messages
        .iter()
        .flat_map(|message| elements(&message["content"]));
    let mut calls = blocks.filter(|block| block["type"] == "tool_use");
    let has_tools = elements(&body["tools"]).next().is_some();
    (!has_tools && calls.next().is_some()).then(|| "tools: Field required".to_owned())
}

/// Checks the blocks of a turn, and its results against the calls of the turn before.
fn anthropic_turn(
    role: &str,
    blocks: &[Value],
    open: &mut Vec<String>,
    seen: &mut HashSet<String>,
) -> Option<String> {
    let mut answered = Vec::new();
    let mut other = false;
    for block in blocks {
        let kind = block["type"].as_str().unwrap_or_default();
        let Some((_, fields)) = ANTHROPIC_BLOCKS.iter().find(|(known, _)| *known == kind) else {
            return Some(format!("unknown block type {kind:?}"));
        };
        let is_odd = |key: &&String| {
            !fields.contains(&key.as_str()) && !["type", "cache_control"].contains(&key.as_str())
        };
        if let Some(odd) = block.as_object()?.keys().find(is_odd) {
            return Some(format!("{kind}.{odd}: Extra inputs are not permitted"));
        }
        let is_blank = |name: &str| {
            block[name]
                .as_str()
                .is_none_or(|text| text.trim().is_empty())
        };
        let is_assistant = role == "assistant";
        match kind {
            "text" if is_blank("text") => return Some("text blocks must be non-empty".to_owned()),
            "thinking" if is_blank("signature") => {
                return Some("Invalid `signature` in `thinking` block".to_owned());
            }
            "thinking" | "redacted_thinking" | "tool_use" if !is_assistant => {
                return Some(format!(
                    "{kind} blocks are only allowed in assistant messages"
                ));
            }
            "tool_result" | "image" | "document" if is_assistant => {
                return Some(format!("{kind} blocks are only allowed in user messages"));
            }
            "tool_use" => {
                let id = block["id"].as_str().unwrap_or_default();
                if !is_name(id, ID_CHARS_MAX) || !seen.insert(id.to_owned()) {
                    return Some(format!("tool_use.id {id:?} is invalid or not unique"));
                }
                if !is_name(block["name"].as_str().unwrap_or_default(), ID_CHARS_MAX) {
                    return Some(format!("tool_use.name {} is invalid", block["name"]));
                }
                if !block["input"].is_object() {
                    return Some("tool_use.input: Input should be an object".to_owned());
                }
            }
            "tool_result" => {
                if other {
                    return Some("tool_result blocks must come first".to_owned());
                }
                answered.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        other |= kind != "tool_result";
    }
    let last = blocks.last().and_then(|block| block["type"].as_str());
    if role == "assistant" && last.is_some_and(|kind| kind.ends_with("thinking")) {
        return Some("the final block in an assistant message cannot be `thinking`".to_owned());
    }
    if role == "user" {
        answered.sort();
        open.sort();
        if answered != *open {
            return Some(format!(
                "tool_use ids {open:?} were answered by {answered:?}"
            ));
        }
    }
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    *open = calls
        .filter_map(|call| call["id"].as_str().map(str::to_owned))
        .collect();
    None
}

/// Returns what OpenAI's Chat Completions API would find wrong with a request.
pub fn chat_problem(body: &Value) -> Option<String> {
    if body.get("model").is_none() {
        return Some("you must provide a model parameter".to_owned());
    }
    let mut open: Vec<String> = Vec::new();
    for (index, message) in elements(&body["messages"]).enumerate() {
        let wrong = |what: String| Some(format!("messages[{index}]: {what}"));
        let role = message["role"].as_str().unwrap_or_default();
        let content = &message["content"];
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(known) = open.iter().position(|known| known == id) else {
                return wrong(format!(
                    "role 'tool' must answer a preceding call, not {id:?}"
                ));
            };
            open.remove(known);
            if !content.is_string() && !content.is_array() {
                return wrong("content is required".to_owned());
            }
            continue;
        }
        if !open.is_empty() {
            return wrong(format!("the calls {open:?} did not have response messages"));
        }
        let is_empty = |content: &Value| {
            content.is_null()
                || content.as_str().is_some_and(str::is_empty)
                || content.as_array().is_some_and(Vec::is_empty)
        };
        match role {
            "assistant" => {
                for call in elements(&message["tool_calls"]) {
                    let id = call["id"].as_str().unwrap_or_default();
                    let function = &call["function"];
                    let name = function["name"].as_str().unwrap_or_default();
                    let arguments = function["arguments"].as_str().unwrap_or_default();
                    if id.is_empty() || id.len() > CHAT_ID_CHARS_MAX || !is_name(name, ID_CHARS_MAX)
                    {
                        return wrong(format!("invalid call {call}"));
                    }
                    if serde_json::from_str::<Value>(arguments).is_err() {
                        return wrong(format!("the arguments of {id:?} are not JSON"));
                    }
                    open.push(id.to_owned());
                }
                if open.is_empty() && is_empty(content) {
                    return wrong("content is required unless tool_calls is given".to_owned());
                }
            }
            "user" | "system" | "developer" if !is_empty(content) => {}
            role => return wrong(format!("invalid role {role:?} or empty content")),
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} did not have response messages"))
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn is_name(text: &str, chars_max: usize) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=chars_max).contains(&text.len()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn anthropic(messages: &Value) -> Option<String> {
        let tools = json!([{"name": "T", "input_schema": {}}]);
        anthropic_problem(
            &json!({"model": "m", "max_tokens": 1, "tools": tools, "messages": messages}),
        )
    }

    fn chat(messages: &Value) -> Option<String> {
        let tools = json!([{"type": "function", "function": {"name": "T"}}]);
        chat_problem(&json!({"model": "m", "tools": tools, "messages": messages}))
    }

    #[test]
    fn sound_requests_pass() {
        let call = json!({"type": "tool_use", "id": "c1", "name": "T", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "c1", "content": "ok"});
        let sound = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "s"}, call]},
            {"role": "user", "content": [result, {"type": "text", "text": "and?"}]},
        ]);
        assert_eq!(anthropic(&sound), None);
        let function = json!({"name": "T", "arguments": "{}"});
        let sound = json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": ""},
        ]);
        assert_eq!(chat(&sound), None);
    }

    #[test]
    fn each_rule_can_be_broken() {
        let user = json!({"role": "user", "content": "go"});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "T", "input": {}});
        let said = |blocks: Value| json!({"role": "assistant", "content": blocks});
        for messages in [
            json!([said(json!([{"type": "text", "text": "a"}])), user]),
            json!([user, user]),
            json!([user, said(json!("a"))]),
            json!([{"role": "user", "content": " "}]),
            json!([{"role": "user", "content": "a", "uuid": "1"}]),
            json!([user, said(json!([call("c1")])), user]),
            json!([user, said(json!([call("c 1")])), user]),
            json!([
                user,
                said(json!([{"type": "thinking", "thinking": "a"}, call("c")])),
                user
            ]),
            json!([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}]),
            json!([{"role": "user", "content": [{"type": "text", "text": "a", "id": "b"}]}]),
        ] {
            assert!(anthropic(&messages).is_some(), "{messages}");
        }
        let called = |id: &str, arguments: &str| {
            let function = json!({"name": "T", "arguments": arguments});
            json!({"role": "assistant", "tool_calls": [{"id": id, "function": function}]})
        };
        let result = json!({"role": "tool", "tool_call_id": "c1", "content": "ok"});
        for messages in [
            json!([user, result]),
            json!([user, called("c1", "{}")]),
            json!([user, called("c1", "{}"), user]),
            json!([user, called("c1", "{"), result]),
            json!([user, called(&"c".repeat(41), "{}")]),
            json!([user, {"role": "assistant", "content": null}]),
            json!([{"role": "robot", "content": "a"}]),
        ] {
            assert!(chat(&messages).is_some(), "{messages}");
        }
    }
}
