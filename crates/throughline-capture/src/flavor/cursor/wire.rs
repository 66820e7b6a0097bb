//! Mirrors Cursor's JSON, as far as it is read.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flavor::anthropic::ContentBlock;
use crate::json::Lenient;
use crate::time::Time;

/// `composer.composerData` of a workspace.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Composers<'a> {
    pub all_composers: Lenient<Vec<&'a RawValue>>,
}

/// A conversation. Older releases have the messages inside, newer ones only their ids.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Composer<'a> {
    pub composer_id: Lenient<String>,
    pub name: Lenient<String>,
    pub created_at: Time,
    pub last_updated_at: Time,
    pub status: Lenient<String>,
    pub generating_bubble_ids: Lenient<Vec<String>>,
    pub model_config: Lenient<ModelName>,
    pub workspace_identifier: Lenient<Workspace>,
    pub subagent_info: Lenient<Subagent>,
    pub conversation: Lenient<Vec<&'a RawValue>>,
    pub full_conversation_headers_only: Lenient<Vec<Header>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ModelName {
    pub model_name: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Workspace {
    pub uri: Lenient<Uri>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Uri {
    pub fs_path: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Subagent {
    pub parent_composer_id: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Header {
    pub bubble_id: Lenient<String>,
}

/// A message, or a tool call with its result.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Bubble {
    pub bubble_id: Lenient<String>,
    /// 1 is the user, 2 the model.
    #[serde(rename = "type")]
    pub kind: Lenient<f64>,
    pub text: Lenient<String>,
    pub created_at: Time,
    pub timing_info: Lenient<Timing>,
    pub thinking: Lenient<Thinking>,
    pub tool_former_data: Lenient<Tool>,
    pub token_count: Lenient<TokenCount>,
    pub model_info: Lenient<ModelName>,
    pub error_details: Lenient<Details>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Timing {
    pub client_start_time: Time,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Thinking {
    pub text: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Tool {
    pub tool_call_id: Lenient<String>,
    pub name: Lenient<String>,
    pub status: Lenient<String>,
    /// JSON in a text: the model's arguments, and in `params` Cursor's version of them.
    pub raw_args: Lenient<String>,
    pub params: Lenient<String>,
    pub result: Lenient<String>,
    pub error: Lenient<String>,
    pub user_decision: Lenient<String>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TokenCount {
    pub input_tokens: Lenient<f64>,
    pub output_tokens: Lenient<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Details {
    pub message: Lenient<String>,
}

/// `workbench.panel.aichat.view.aichat.chatdata` of a workspace.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Chats {
    pub tabs: Lenient<Vec<Lenient<Tab>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Tab {
    pub tab_id: Lenient<String>,
    pub chat_title: Lenient<String>,
    pub last_send_time: Time,
    pub bubbles: Lenient<Vec<Lenient<ChatBubble>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ChatBubble {
    pub id: Lenient<String>,
    #[serde(rename = "type")]
    pub kind: Lenient<String>,
    pub text: Lenient<String>,
    pub raw_text: Lenient<String>,
    pub model_type: Lenient<String>,
}

/// A line of an agent's transcript.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Line<'a> {
    pub role: Lenient<String>,
    pub message: Lenient<Spoken<'a>>,
    pub model: Lenient<String>,
    #[serde(rename = "type")]
    pub kind: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Spoken<'a> {
    pub content: Lenient<Vec<Lenient<ContentBlock<'a>>>>,
}
