//! Mirrors the JSON of Cline and the programs that descend from it, as far as it is read.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Lenient;
use crate::time::Time;

/// A model API message, with the fields that the programs add.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub id: Lenient<String>,
    pub role: Lenient<String>,
    pub content: Option<&'a RawValue>,
    pub ts: Time,
    pub model_info: Lenient<ModelInfo>,
    pub metrics: Lenient<Metrics>,
    /// Set by Roo on a summary that replaces the messages before it.
    pub is_summary: Lenient<bool>,
    pub metadata: Lenient<Metadata>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ModelInfo {
    #[serde(alias = "modelId")]
    pub id: Lenient<String>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metrics {
    pub input_tokens: Lenient<f64>,
    pub output_tokens: Lenient<f64>,
    pub cache_read_tokens: Lenient<f64>,
    pub cache_write_tokens: Lenient<f64>,
    pub cost: Lenient<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Metadata {
    pub kind: Lenient<String>,
}

/// A part of a tool's result: a text, or the outcome of one of several commands.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Answer<'a> {
    pub text: Lenient<String>,
    pub result: Option<&'a RawValue>,
    pub error: Lenient<String>,
    pub success: Lenient<bool>,
}

/// `<id>.messages.json`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Messages<'a> {
    #[serde(rename = "sessionId")]
    pub session: Lenient<String>,
    pub messages: Lenient<Vec<Lenient<Message<'a>>>>,
}

/// `<id>.json`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Session {
    pub session_id: Lenient<String>,
    pub started_at: Time,
    pub ended_at: Time,
    pub interactive: Lenient<bool>,
    pub model: Lenient<String>,
    pub cwd: Lenient<String>,
    pub workspace_root: Lenient<String>,
    pub parent_session_id: Lenient<String>,
    pub metadata: Lenient<SessionMetadata>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct SessionMetadata {
    pub title: Lenient<String>,
}

/// A task, as in `taskHistory.json` or Roo's `history_item.json`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Task {
    pub id: Lenient<String>,
    pub ts: Time,
    pub task: Lenient<String>,
    #[serde(alias = "workspace")]
    pub cwd_on_task_initialization: Lenient<String>,
    pub model_id: Lenient<String>,
    pub parent_task_id: Lenient<String>,
}

/// `task_metadata.json`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct TaskMetadata {
    pub model_usage: Lenient<Vec<ModelUsage>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ModelUsage {
    pub model_id: Lenient<String>,
}

/// A message as the program showed it.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Shown {
    pub ts: Lenient<f64>,
    pub say: Lenient<String>,
    pub ask: Lenient<String>,
    pub text: Lenient<String>,
    pub partial: Lenient<bool>,
    pub model_info: Lenient<ModelInfo>,
}

/// The text of `api_req_started`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Request {
    pub tokens_in: Lenient<f64>,
    pub tokens_out: Lenient<f64>,
    pub cache_writes: Lenient<f64>,
    pub cache_reads: Lenient<f64>,
    pub cost: Lenient<f64>,
}

/// The text of `tool`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ShownTool {
    pub tool: Lenient<String>,
    pub path: Lenient<String>,
    pub diff: Lenient<String>,
    pub content: Lenient<String>,
}
