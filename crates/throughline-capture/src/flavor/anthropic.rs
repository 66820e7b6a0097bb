//! Content blocks of Anthropic's Messages API, as Amp, Cline, Roo and Cursor write them to disk.
//!
//! Claude Code's log has the same blocks, but mirrors them in its own `wire` module: it is by far
//! the largest input, so its blocks borrow from the line and parse nested content in the same pass.

use memory::{CallId, ToolResult, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Lenient;

/// A block of any type; its `kind` says which of the other fields are used.
#[derive(Debug, Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ContentBlock<'a> {
    #[serde(rename = "type")]
    pub kind: Lenient<String>,
    pub text: Lenient<String>,
    pub thinking: Lenient<String>,
    pub id: Lenient<String>,
    pub name: Lenient<String>,
    pub input: Option<&'a RawValue>,
    pub tool_use_id: Lenient<String>,
    pub content: Option<&'a RawValue>,
    pub is_error: Lenient<bool>,
    pub source: Lenient<ImageSource>,
    /// Amp's name for `tool_use_id`.
    #[serde(rename = "toolUseID")]
    pub amp_tool_use_id: Lenient<String>,
    /// Amp's own account of a tool's result.
    pub run: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub(crate) struct ImageSource {
    #[serde(alias = "mediaType")]
    pub media_type: Lenient<String>,
    pub data: Lenient<String>,
}

impl ContentBlock<'_> {
    /// Returns the arguments of a call as JSON text, or `default` if there are none.
    pub(crate) fn input_or(&self, default: &str) -> String {
        self.input.map_or(default, RawValue::get).to_owned()
    }

    pub(crate) fn into_tool_use(self, call: CallId, default_input: &str) -> ToolUse {
        ToolUse {
            call,
            input: self.input_or(default_input),
            tool: self.name.into_text().unwrap_or_default(),
            path: None,
        }
    }

    pub(crate) fn into_tool_result(self, call: Option<CallId>, content: String) -> ToolResult {
        ToolResult {
            call,
            tool: self.name.into_text(),
            content,
            is_error: self.is_error.is_true(),
            ..ToolResult::default()
        }
    }
}
