//! Mirrors Gemini CLI's JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flavor::gemini_content::GeminiContent;
use crate::json;
use crate::time::Time;

/// The fields that tell the records of a `.jsonl` apart.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Mark {
    #[serde(rename = "$rewindTo")]
    pub rewind_to: Option<Box<RawValue>>,
    #[serde(rename = "$set")]
    pub set: Option<Box<RawValue>>,
    pub id: Option<Box<RawValue>>,
}

/// A session's header, a change to it, or a whole `.json`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Session {
    #[serde(deserialize_with = "json::or_default")]
    pub session_id: Option<String>,
    #[serde(alias = "start_time")]
    pub start_time: Time,
    pub last_updated: Time,
    #[serde(deserialize_with = "json::or_default")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub summary: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub directories: Vec<String>,
    #[serde(deserialize_with = "json::valid_items", alias = "history")]
    pub messages: Vec<Message>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Message {
    #[serde(deserialize_with = "json::or_default")]
    pub id: Option<String>,
    #[serde(alias = "ts")]
    pub timestamp: Time,
    #[serde(rename = "type", alias = "role", deserialize_with = "json::or_default")]
    pub kind: String,
    #[serde(alias = "parts")]
    pub content: GeminiContent,
    /// The typed text, if the content contains more.
    pub display_content: Option<GeminiContent>,
    #[serde(deserialize_with = "json::or_default")]
    pub model: Option<String>,
    #[serde(deserialize_with = "json::valid_items")]
    pub thoughts: Vec<Thought>,
    #[serde(deserialize_with = "json::or_default")]
    pub tokens: Option<Tokens>,
    #[serde(deserialize_with = "json::valid_items")]
    pub tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct Thought {
    #[serde(deserialize_with = "json::or_default")]
    pub subject: String,
    #[serde(deserialize_with = "json::or_default")]
    pub description: String,
}

/// Token counts of the API: the prompt includes cache reads, the output excludes reasoning.
#[derive(Deserialize, Default, Debug, Clone, Copy)]
#[serde(default)]
pub(crate) struct Tokens {
    #[serde(deserialize_with = "json::or_default")]
    pub input: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub output: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub cached: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub thoughts: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub tool: u64,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolCall {
    #[serde(deserialize_with = "json::or_default")]
    pub id: String,
    #[serde(deserialize_with = "json::or_default")]
    pub name: String,
    pub args: Option<Box<RawValue>>,
    pub result: Option<GeminiContent>,
    #[serde(deserialize_with = "json::or_default")]
    pub status: String,
    pub timestamp: Time,
    pub result_display: Option<Box<RawValue>>,
}
