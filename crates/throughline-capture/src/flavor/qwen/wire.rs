//! Qwen Code's records, as they are written.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flavor::gemini_content::GeminiContent;
use crate::json;
use crate::time::Time;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
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
    /// Who wrote it, where that is said.
    #[serde(default, deserialize_with = "json::or_default")]
    pub provenance: Option<String>,
    /// The subagent that a record is of.
    #[serde(default, deserialize_with = "json::or_default")]
    pub agent_id: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub agent_name: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    pub is_sidechain: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Message {
    pub parts: GeminiContent,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CallResult {
    #[serde(deserialize_with = "json::or_default")]
    pub call_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub status: Option<String>,
    pub result_display: Option<Box<RawValue>>,
}

/// What a record says besides what the model sees.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Payload {
    /// What the user typed.
    #[serde(deserialize_with = "json::or_default")]
    pub display_text: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub custom_title: Option<String>,
    /// "auto" or "manual"; the first versions did not say, and had only titles given by hand.
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
pub struct CompressionInfo {
    #[serde(deserialize_with = "json::or_default")]
    pub original_token_count: Option<u64>,
}

/// The prompt includes what was cached. The candidates exclude thoughts where the API is
/// Google's and include them where it is another's, which the total tells.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
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
