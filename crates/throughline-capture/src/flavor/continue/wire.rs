//! Mirrors the JSON of a session. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Session<'a> {
    pub session_id: Text<'a>,
    pub title: Text<'a>,
    pub workspace_directory: Text<'a>,
    pub chat_model_title: Text<'a>,
    pub history: Vec<&'a RawValue>,
    /// The usage of the whole session.
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Item<'a> {
    pub message: Message<'a>,
    pub prompt_logs: Option<&'a RawValue>,
    pub tool_call_states: Option<&'a RawValue>,
    /// Older versions have only this one.
    pub tool_call_state: Option<&'a RawValue>,
    pub reasoning: Option<&'a RawValue>,
    /// A summary of everything up to this item.
    pub conversation_summary: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub id: Text<'a>,
    pub role: Text<'a>,
    /// A text, or a list of parts.
    pub content: Option<&'a RawValue>,
    pub tool_calls: Option<&'a RawValue>,
    pub tool_call_id: Text<'a>,
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub text: Text<'a>,
    pub image_url: Option<Image<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Image<'a> {
    pub url: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolCall<'a> {
    pub id: Text<'a>,
    pub function: Function<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Function<'a> {
    pub name: Text<'a>,
    pub arguments: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolCallState<'a> {
    pub tool_call_id: Text<'a>,
    pub tool_call: ToolCall<'a>,
    pub status: Text<'a>,
    pub output: Vec<Output<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Output<'a> {
    pub content: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Reasoning<'a> {
    pub text: Text<'a>,
    pub start_at: Time,
    pub end_at: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct PromptLog<'a> {
    pub model_title: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Usage {
    /// Includes cache reads.
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub prompt_tokens_details: PromptTokens,
    pub total_cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PromptTokens {
    pub cached_tokens: u64,
    pub cache_write_tokens: u64,
}

/// A line of `sessions.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Listed<'a> {
    pub session_id: Text<'a>,
    /// Milliseconds, as a text.
    pub date_created: Text<'a>,
}
