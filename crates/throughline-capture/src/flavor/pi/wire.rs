//! Mirrors the lines of a session. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

/// A line: the header, or an entry of the tree.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Line<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    /// The session's id in the header, otherwise the entry's; absent in version 1.
    pub id: Text<'a>,
    pub timestamp: Time,
    pub cwd: Text<'a>,
    /// The file of the session that this one is a fork of.
    #[serde(rename = "parentSession", alias = "branchedFrom")]
    pub parent_session: Text<'a>,
    #[serde(rename = "modelId")]
    pub model_id: Text<'a>,
    pub message: Option<&'a RawValue>,
    pub summary: Text<'a>,
    #[serde(rename = "tokensBefore")]
    pub tokens_before: Option<&'a RawValue>,
    pub name: Text<'a>,
    pub content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub role: Text<'a>,
    /// A text, or a list of parts.
    pub content: Option<&'a RawValue>,
    pub timestamp: Time,
    pub model: Text<'a>,
    pub usage: Option<&'a RawValue>,
    #[serde(rename = "stopReason")]
    pub stop_reason: Text<'a>,
    #[serde(rename = "errorMessage")]
    pub error_message: Text<'a>,
    #[serde(rename = "toolCallId")]
    pub tool_call_id: Text<'a>,
    #[serde(rename = "toolName")]
    pub tool_name: Text<'a>,
    #[serde(rename = "isError")]
    pub is_error: Option<bool>,
    /// Used by a command that the user ran.
    pub command: Text<'a>,
    pub output: Text<'a>,
    #[serde(rename = "exitCode")]
    pub exit_code: Option<i64>,
    pub summary: Text<'a>,
    #[serde(rename = "tokensBefore")]
    pub tokens_before: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub text: Text<'a>,
    pub thinking: Text<'a>,
    pub id: Text<'a>,
    pub name: Text<'a>,
    pub arguments: Option<&'a RawValue>,
    pub data: Text<'a>,
    #[serde(rename = "mimeType")]
    pub mime_type: Text<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost: Option<Cost>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cost {
    pub total: f64,
}
