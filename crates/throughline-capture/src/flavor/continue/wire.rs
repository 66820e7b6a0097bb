//! Mirrors the JSON of a session. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Session<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub title: Text<'a>,
    #[serde(borrow)]
    pub workspace_directory: Text<'a>,
    #[serde(borrow)]
    pub chat_model_title: Text<'a>,
    #[serde(borrow)]
    pub history: Vec<&'a RawValue>,
    /// The usage of the whole session.
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Item<'a> {
    #[serde(borrow)]
    pub message: Message<'a>,
    #[serde(borrow)]
    pub prompt_logs: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_call_states: Option<&'a RawValue>,
    /// Older versions have only this one.
    #[serde(borrow)]
    pub tool_call_state: Option<&'a RawValue>,
    #[serde(borrow)]
    pub reasoning: Option<&'a RawValue>,
    /// A summary of everything up to this item.
    #[serde(borrow)]
    pub conversation_summary: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub role: Text<'a>,
    /// A text, or a list of parts.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub image_url: Option<Image<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Image<'a> {
    #[serde(borrow)]
    pub url: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolCall<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub function: Function<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ToolCallState<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_call: ToolCall<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow)]
    pub output: Vec<Output<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Output<'a> {
    #[serde(borrow)]
    pub content: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Reasoning<'a> {
    #[serde(borrow)]
    pub text: Text<'a>,
    pub start_at: Time,
    pub end_at: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PromptLog<'a> {
    #[serde(borrow)]
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
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Listed<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// Milliseconds, as a text.
    #[serde(borrow)]
    pub date_created: Text<'a>,
}
