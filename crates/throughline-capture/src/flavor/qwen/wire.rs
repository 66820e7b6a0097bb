//! Mirrors the JSON of Qwen Code's records.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flavor::gemini_content::GeminiContent;
use crate::json;
use crate::time::Time;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, deserialize_with = "json::or_default")]
    pub subtype: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub uuid: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub session_id: Option<String>,
    #[serde(default)]
    pub timestamp: Time,
    #[serde(default, deserialize_with = "json::or_default")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub version: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub git_branch: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub message: Message,
    #[serde(default, deserialize_with = "json::or_default")]
    pub usage_metadata: Option<Tokens>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub tool_call_result: CallResult,
    #[serde(default, deserialize_with = "json::or_default")]
    pub system_payload: Payload,
    /// The author, if it is recorded.
    #[serde(default, deserialize_with = "json::or_default")]
    pub provenance: Option<String>,
    /// The subagent of the record.
    #[serde(default, deserialize_with = "json::or_default")]
    pub agent_id: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub agent_name: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub is_sidechain: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Message {
    pub parts: GeminiContent,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CallResult {
    #[serde(deserialize_with = "json::or_default")]
    pub call_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub status: Option<String>,
    pub result_display: Option<Box<RawValue>>,
}

/// The content of a record that the model does not see.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Payload {
    /// The typed text.
    #[serde(deserialize_with = "json::or_default")]
    pub display_text: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub custom_title: Option<String>,
    /// `auto` or `manual`; the first versions had only manual titles and left this out.
    #[serde(deserialize_with = "json::or_default")]
    pub title_source: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_session_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub model_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub info: CompressionInfo,
    #[serde(deserialize_with = "json::valid_items")]
    pub compressed_history: Vec<Message>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompressionInfo {
    #[serde(deserialize_with = "json::or_default")]
    pub original_token_count: Option<u64>,
}

/// The prompt includes cache reads. The candidates exclude reasoning if the API is Google's and
/// include it otherwise, which the total shows.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    #[serde(deserialize_with = "json::or_default")]
    pub prompt_token_count: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub candidates_token_count: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub cached_content_token_count: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub thoughts_token_count: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub tool_use_prompt_token_count: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub total_token_count: u64,
}
