//! Mirrors the lines of a session. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

/// A line: the header, or an entry of the tree.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// The session's id in the header, otherwise the entry's; absent in version 1.
    #[serde(borrow)]
    pub id: Text<'a>,
    pub timestamp: Time,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    /// The file of the session that this one is a fork of.
    #[serde(borrow, rename = "parentSession", alias = "branchedFrom")]
    pub parent_session: Text<'a>,
    #[serde(borrow, rename = "modelId")]
    pub model_id: Text<'a>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub summary: Text<'a>,
    #[serde(borrow, rename = "tokensBefore")]
    pub tokens_before: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    /// A text, or a list of parts.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    pub timestamp: Time,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, rename = "stopReason")]
    pub stop_reason: Text<'a>,
    #[serde(borrow, rename = "errorMessage")]
    pub error_message: Text<'a>,
    #[serde(borrow, rename = "toolCallId")]
    pub tool_call_id: Text<'a>,
    #[serde(borrow, rename = "toolName")]
    pub tool_name: Text<'a>,
    #[serde(rename = "isError")]
    pub is_error: Option<bool>,
    /// Used by a command that the user ran.
    #[serde(borrow)]
    pub command: Text<'a>,
    #[serde(borrow)]
    pub output: Text<'a>,
    #[serde(rename = "exitCode")]
    pub exit_code: Option<i64>,
    #[serde(borrow)]
    pub summary: Text<'a>,
    #[serde(rename = "tokensBefore")]
    pub tokens_before: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub thinking: Text<'a>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub data: Text<'a>,
    #[serde(borrow, rename = "mimeType")]
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
