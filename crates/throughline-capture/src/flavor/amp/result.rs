//! Reads tool results: a text, or an object whose shape depends on the tool.

use memory::{CallId, ToolResult};
use serde_json::Value;

use crate::flavor::anthropic::ContentBlock;

/// Returns a tool's result; `None` while the tool is running.
pub(crate) fn tool_result(part: &ContentBlock<'_>) -> Option<ToolResult> {
    let call = part.amp_tool_use_id.text().or(part.tool_use_id.text())?;
    let call = Some(CallId::new(call));
    let Some(run) = part.run else {
        let content: Value = serde_json::from_str(part.content?.get()).ok()?;
        return Some(ToolResult {
            call,
            content: readable_text(&content),
            is_error: part.is_error.is_true(),
            ..ToolResult::default()
        });
    };
    let run: Value = serde_json::from_str(run.get()).ok()?;
    let (status, result) = (run["status"].as_str().unwrap_or_default(), &run["result"]);
    let exit_code = result["exitCode"].as_i64();
    let content = match (status, result) {
        ("error", Value::Null) => run["error"]["message"]
            .as_str()
            .unwrap_or("failed")
            .to_owned(),
        ("cancelled" | "rejected-by-user", Value::Null) => status.to_owned(),
        (_, Value::Null) => return None,
        (_, result) => readable_text(result),
    };
    let failed = matches!(status, "error" | "cancelled" | "rejected-by-user");
    Some(ToolResult {
        call,
        content,
        is_error: failed
            || result["success"] == Value::Bool(false)
            || exit_code.is_some_and(|code| code != 0),
        exit_code,
        ..ToolResult::default()
    })
}

/// Returns the part of a result that a person would read.
fn readable_text(result: &Value) -> String {
    match result {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let lines = items.iter().map(|item| match item {
                Value::Object(part) if part.get("type").is_some_and(|kind| kind == "image") => {
                    "[image]".to_owned()
                }
                Value::Object(part) => match part.get("text") {
                    Some(Value::String(text)) => text.clone(),
                    _ => item.to_string(),
                },
                item => readable_text(item),
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            // The fields of a shell's output, a file's text and an edit's diff.
            let mut known = ["output", "content", "diff"]
                .iter()
                .filter_map(|name| fields.get(*name))
                .peekable();
            if known.peek().is_none() {
                return result.to_string();
            }
            known
                .map(readable_text)
                .find(|text| !text.is_empty())
                .unwrap_or_default()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(part: &str, expected: Option<(&str, bool)>) {
        let part: ContentBlock<'_> = serde_json::from_str(part).unwrap();
        let found = tool_result(&part);
        let found = found
            .as_ref()
            .map(|result| (&*result.content, result.is_error));
        assert_eq!(found, expected);
    }

    #[test]
    fn each_tool_has_its_shape() {
        for (run, expected) in [
            (
                r#"{"status":"done","result":"text"}"#,
                Some(("text", false)),
            ),
            (
                r#"{"status":"done","result":{"output":"no\n","exitCode":2}}"#,
                Some(("no\n", true)),
            ),
            (
                r#"{"status":"done","result":{"absolutePath":"/a","content":"x"}}"#,
                Some(("x", false)),
            ),
            (
                r#"{"status":"done","result":{"diff":"-a\n+b"}}"#,
                Some(("-a\n+b", false)),
            ),
            (
                r#"{"status":"done","result":{"output":"","exitCode":0}}"#,
                Some(("", false)),
            ),
            (
                r#"{"status":"done","result":["/a:1","/b:2"]}"#,
                Some(("/a:1\n/b:2", false)),
            ),
            (
                r#"{"status":"done","result":{"success":false}}"#,
                Some((r#"{"success":false}"#, true)),
            ),
            (
                r#"{"status":"error","error":{"message":"fail"}}"#,
                Some(("fail", true)),
            ),
            (r#"{"status":"cancelled"}"#, Some(("cancelled", true))),
            (r#"{"status":"in-progress"}"#, None),
            (r#"{"status":"done","result":null}"#, None),
        ] {
            check(
                &format!(r#"{{"type":"tool_result","toolUseID":"c","run":{run}}}"#),
                expected,
            );
        }
        check(
            concat!(
                r#"{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}"#,
                r#"],"is_error":true}"#,
            ),
            Some(("x", true)),
        );
    }
}
