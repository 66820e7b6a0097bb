//! Mirrors `chat_history.jsonl`, the conversation as it is sent to the model.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Content;

/// A line of `chat_history.jsonl`. Its kind is `type` or, in the first format, `role`.
#[derive(Deserialize)]
pub(crate) struct ChatLine<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub role: Option<Cow<'a, str>>,
    /// A text, or a list of blocks.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<ChatCall<'a>>>,
    #[serde(borrow)]
    pub tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub model_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub synthetic_reason: Option<Cow<'a, str>>,
    pub prompt_index: Option<u64>,
    #[serde(borrow)]
    pub reasoning_content: Option<Cow<'a, str>>,
    /// Used by `reasoning`.
    #[serde(borrow)]
    pub summary: Option<Vec<Content<'a>>>,
    /// Used by `backend_tool_call`, whose field is called `kind`.
    #[serde(borrow, rename = "kind")]
    pub backend: Option<BackendCall<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct ChatCall<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub arguments: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub function: Option<ChatFunction<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct ChatFunction<'a> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow)]
    pub arguments: Option<Cow<'a, str>>,
}

/// A tool that ran on xAI's servers; the answer contains its result.
#[derive(Deserialize)]
pub(crate) struct BackendCall<'a> {
    #[serde(borrow)]
    pub tool_type: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub action: Option<&'a RawValue>,
}
