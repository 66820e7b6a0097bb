//! Parts of Google's model API, which Gemini CLI and the agents derived from it write to their
//! logs.

use memory::{Block, CallId, FileModification, ToolUse};
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json;

/// A text, a part, or a list of both.
#[derive(Debug, Default)]
pub(crate) struct GeminiContent(pub Vec<GeminiPart>);

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GeminiPart {
    #[serde(deserialize_with = "json::or_default")]
    pub text: Option<String>,
    /// The text is the model's reasoning.
    #[serde(deserialize_with = "json::or_default")]
    pub thought: bool,
    #[serde(deserialize_with = "json::or_default")]
    pub function_call: Option<FunctionCall>,
    #[serde(deserialize_with = "json::or_default")]
    pub function_response: Option<FunctionResponse>,
    #[serde(deserialize_with = "json::or_default")]
    pub inline_data: Option<InlineData>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct FunctionCall {
    #[serde(deserialize_with = "json::or_default")]
    pub id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub name: String,
    pub args: Option<Box<RawValue>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct FunctionResponse {
    #[serde(deserialize_with = "json::or_default")]
    pub id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub name: Option<String>,
    pub response: Option<Box<RawValue>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InlineData {
    #[serde(deserialize_with = "json::or_default")]
    mime_type: String,
    #[serde(deserialize_with = "json::or_default")]
    data: String,
}

impl<'de> Deserialize<'de> for GeminiContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let pieces = match serde_json::from_str::<Vec<Box<RawValue>>>(raw.get()) {
            Ok(pieces) => pieces,
            Err(_) => vec![raw],
        };
        Ok(Self(
            pieces.iter().filter_map(|piece| part(piece)).collect(),
        ))
    }
}

fn part(piece: &RawValue) -> Option<GeminiPart> {
    if let Ok(text) = serde_json::from_str(piece.get()) {
        let text = Some(text);
        return Some(GeminiPart {
            text,
            ..GeminiPart::default()
        });
    }
    serde_json::from_str(piece.get()).ok()
}

impl GeminiContent {
    /// Returns the text without reasoning.
    pub(crate) fn spoken_text(&self) -> String {
        let spoken = self.0.iter().filter(|part| !part.thought);
        spoken.filter_map(|part| part.text.as_deref()).collect()
    }

    pub(crate) fn responses(&self) -> impl Iterator<Item = &FunctionResponse> + Clone {
        self.0
            .iter()
            .filter_map(|part| part.function_response.as_ref())
    }
}

impl GeminiPart {
    /// Returns a text or an image as a block.
    pub(crate) fn block(&self) -> Option<Block> {
        if let Some(text) = self.text.as_ref().filter(|text| !text.is_empty()) {
            let block = if self.thought {
                Block::Thinking
            } else {
                Block::Text
            };
            return Some(block(text.clone()));
        }
        self.inline_data.as_ref().map(|data| Block::Image {
            media_type: data.mime_type.clone(),
            size_bytes: data.data.len() as u64 / 4 * 3,
        })
    }
}

impl FunctionCall {
    pub(crate) fn tool_use(&self) -> ToolUse {
        ToolUse {
            call: CallId::new(self.id.as_deref().unwrap_or_default()),
            tool: self.name.clone(),
            input: self
                .args
                .as_ref()
                .map_or("{}", |args| args.get())
                .to_owned(),
            path: None,
        }
    }
}

/// A tool's result.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolAnswer {
    pub text: String,
    pub is_error: bool,
    pub exit_code: Option<i64>,
}

impl FunctionResponse {
    pub(crate) fn answer(&self) -> ToolAnswer {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Response {
            #[serde(deserialize_with = "json::or_default")]
            output: Option<String>,
            #[serde(deserialize_with = "json::or_default")]
            error: Option<String>,
        }
        let raw = self.response.as_ref().map_or("", |raw| raw.get());
        let response: Response = serde_json::from_str(raw).unwrap_or_default();
        let failed = response.error.is_some();
        let text = match response.output.or(response.error) {
            Some(text) => strip_untrusted_tags(&text).to_owned(),
            None if raw == "{}" => String::new(),
            None => memory::flatten::flatten(raw),
        };
        let exit_code = exit_code(&text);
        ToolAnswer {
            is_error: failed || exit_code.is_some_and(|code| code != 0),
            exit_code,
            text,
        }
    }
}

/// Returns the change that a tool shows to the user, without the header of its diff.
pub(crate) fn displayed_change(display: &RawValue, path: Option<&str>) -> Option<FileModification> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FileDiff {
        file_diff: String,
        #[serde(default, deserialize_with = "json::or_default")]
        file_path: Option<String>,
        #[serde(default, deserialize_with = "json::or_default")]
        file_name: Option<String>,
    }
    let shown: FileDiff = serde_json::from_str(display.get()).ok()?;
    let hunks = shown.file_diff.find("@@").unwrap_or_default();
    let diff = shown.file_diff[hunks..].to_owned();
    let path = path
        .map(str::to_owned)
        .or(shown.file_path)
        .or(shown.file_name)?;
    (!diff.is_empty()).then_some(FileModification { path, diff })
}

/// Returns a tool's output without the tags that mark it as untrusted.
fn strip_untrusted_tags(text: &str) -> &str {
    let inner = text
        .trim()
        .strip_prefix("<untrusted_context>")
        .and_then(|text| text.strip_suffix("</untrusted_context>"));
    inner.map_or(text, |inner| inner.trim_matches('\n'))
}

/// Returns the exit code, which is on a line of its own after a command's output.
fn exit_code(text: &str) -> Option<i64> {
    let mut codes = text
        .lines()
        .rev()
        .filter_map(|line| line.strip_prefix("Exit Code: "));
    codes.next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn answer(response: &str, text: &str, is_error: bool, exit_code: Option<i64>) {
        let json = format!(r#"{{"id":"c","name":"t","response":{response}}}"#);
        let response: FunctionResponse = serde_json::from_str(&json).unwrap();
        let text = text.to_owned();
        assert_eq!(
            response.answer(),
            ToolAnswer {
                text,
                is_error,
                exit_code
            }
        );
    }

    #[test]
    fn answers_of_tools() {
        answer(r#"{"output":"hi"}"#, "hi", false, None);
        answer(
            r#"{"error":"File not found"}"#,
            "File not found",
            true,
            None,
        );
        answer(
            r#"{"output":"<untrusted_context>\nOutput: x\nExit Code: 3\n</untrusted_context>"}"#,
            "Output: x\nExit Code: 3",
            true,
            Some(3),
        );
        answer(r#"{"hits":2}"#, "hits: 2", false, None);
        answer("{}", "", false, None);
    }

    #[test]
    fn content_of_every_kind() {
        for json in [
            r#""hi""#, r#"{"text":"hi"}"#, r#"["h",{"text":"i"}]"#, r#"["hi",7]"#,
        ] {
            let content: GeminiContent = serde_json::from_str(json).unwrap();
            assert_eq!(content.spoken_text(), "hi", "{json}");
        }
    }
}
