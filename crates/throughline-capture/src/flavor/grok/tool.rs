//! Reads tool calls and their results.

use std::borrow::Cow;

use memory::command::CallFiles;
use memory::{CallId, FileModification, ToolResult, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{Output, Part, Tool};
use crate::tools;

impl Tool<'_> {
    /// Returns the tool's name: the one that the model called, or else a word for its kind.
    pub(crate) fn name(&self) -> String {
        let named = self
            .meta
            .as_ref()
            .and_then(|meta| meta.tool.as_ref()?.name.as_deref());
        let title = self.title.as_deref().filter(|title| is_word(title));
        let name = named.or(title).or(self.kind.as_deref());
        name.unwrap_or("tool").to_owned()
    }

    /// Returns the arguments if they have come.
    pub(crate) fn input(&self) -> Option<&str> {
        self.raw_input
            .map(RawValue::get)
            .filter(|input| *input != "{}")
    }

    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed" | "failed"))
    }

    /// Returns the call. If the arguments never come, the title serves as input.
    pub(crate) fn call(&self) -> ToolUse {
        let input = self
            .input()
            .or(self.title.as_deref())
            .unwrap_or_default()
            .to_owned();
        let located = || Some(self.locations.as_ref()?.first()?.path.to_string());
        ToolUse {
            call: CallId::new(&*self.tool_call_id),
            tool: self.name(),
            path: tools::target_path(&input).or_else(located),
            input,
        }
    }

    pub(crate) fn result(&self) -> ToolResult {
        let output = self.raw_output.map(output).unwrap_or_default();
        let failed = self.status.as_deref() == Some("failed");
        let parts = self.content.as_deref().unwrap_or_default();
        ToolResult {
            call: Some(CallId::new(&*self.tool_call_id)),
            tool: None,
            path: None,
            content: text(parts)
                .or_else(|| output_text(&output, self.raw_output?))
                .unwrap_or_default(),
            is_error: failed
                || output.exit_code.is_some_and(|code| code != 0)
                || output.timed_out == Some(true),
            exit_code: output.exit_code,
            files: CallFiles::default(),
            changes: parts.iter().filter_map(change).collect(),
        }
    }
}

fn is_word(title: &str) -> bool {
    !title.is_empty() && !title.contains(char::is_whitespace)
}

fn text(parts: &[Part<'_>]) -> Option<String> {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.content.as_ref()?.text.as_deref())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn change(part: &Part<'_>) -> Option<FileModification> {
    let (path, new) = (part.path.as_deref()?, part.new_text.as_deref()?);
    let diff = match part.old_text.as_deref() {
        None | Some("") => new.to_owned(),
        Some(old) => tools::diff(old, new),
    };
    Some(FileModification {
        path: path.to_owned(),
        diff,
    })
}

/// Reads the known fields of a tool's own output; an unknown shape yields none.
fn output(raw: &RawValue) -> Output<'_> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Returns a tool's output as text where the log contains no text of it.
fn output_text(output: &Output<'_>, raw: &RawValue) -> Option<String> {
    /// The result of an MCP server's tool.
    #[derive(Deserialize)]
    struct Returned<'a> {
        #[serde(borrow, rename = "OkayOutput")]
        text: Cow<'a, str>,
    }
    if let Some(shown) = &output.output_for_prompt {
        return Some(shown.to_string());
    }
    if let Some(edits) = &output.edits {
        return edits.tool_output_for_prompt.as_deref().map(str::to_owned);
    }
    if output.kind.as_deref() == Some("Bash") {
        let bytes: Vec<u8> = serde_json::from_str(output.output?.get()).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let returned = output
        .output
        .and_then(|output| serde_json::from_str::<Returned<'_>>(output.get()).ok());
    Some(match returned {
        Some(returned) => returned.text.into_owned(),
        None => memory::flatten::flatten(raw.get()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, content: &str, is_error: bool) {
        let tool: Tool<'_> = serde_json::from_str(json).unwrap();
        let result = tool.result();
        assert_eq!(
            (result.content.as_str(), result.is_error),
            (content, is_error)
        );
    }

    #[test]
    fn output_is_found_wherever_it_is() {
        check(
            concat!(
                r#"{"toolCallId":"c","status":"completed","content":[{"type":"content","content""#,
                r#":{"type":"text","text":"hi"}}]}"#,
            ),
            "hi",
            false,
        );
        check(
            concat!(
                r#"{"toolCallId":"c","status":"completed","rawOutput":{"type":"Bash","output":[1"#,
                r#"04,105],"exit_code":2}}"#,
            ),
            "hi",
            true,
        );
        check(
            concat!(
                r#"{"toolCallId":"c","status":"completed","rawOutput":{"type":"MCP","output":{"O"#,
                r#"kayOutput":"hi"}}}"#,
            ),
            "hi",
            false,
        );
        check(
            concat!(
                r#"{"toolCallId":"c","status":"failed","rawOutput":{"type":"MCP","output":{"Erro"#,
                r#"rOutput":"no"}}}"#,
            ),
            "type: MCP\noutput:\n  ErrorOutput: no",
            true,
        );
        check(
            r#"{"toolCallId":"c","status":"failed","rawOutput":"no"}"#,
            "no",
            true,
        );
    }

    #[test]
    fn a_title_of_one_word_is_a_name() {
        let name = |json: &str| serde_json::from_str::<Tool<'_>>(json).unwrap().name();
        assert_eq!(
            name(r#"{"toolCallId":"c","title":"grep","kind":"search"}"#),
            "grep"
        );
        assert_eq!(
            name(r#"{"toolCallId":"c","title":"Run `ls`","kind":"execute"}"#),
            "execute"
        );
        assert_eq!(name(r#"{"toolCallId":"c"}"#), "tool");
    }
}
