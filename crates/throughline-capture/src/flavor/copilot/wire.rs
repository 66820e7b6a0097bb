//! Mirrors the JSON of Copilot CLI's events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::json;
use crate::time::Time;

#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Raw until the kind is known, because most kinds are ignored.
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    /// The subagent of the event. Older versions name the call that started it in `data`.
    #[serde(borrow, rename = "agentId")]
    pub agent: Option<Cow<'a, str>>,
    #[serde(default)]
    pub timestamp: Time,
}

impl Event<'_> {
    pub(crate) fn data<T: DeserializeOwned + Default>(&self) -> T {
        json::parse_or_default(self.data)
    }
}

/// `session.start` and `session.resume`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Start {
    #[serde(deserialize_with = "json::or_default")]
    pub session_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub copilot_version: Option<String>,
    pub start_time: Time,
    #[serde(deserialize_with = "json::or_default")]
    pub selected_model: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub context: Context,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Context {
    #[serde(deserialize_with = "json::or_default")]
    pub cwd: Option<String>,
    /// `owner/name`.
    #[serde(deserialize_with = "json::or_default")]
    pub repository: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub host_type: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub branch: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UserMessage {
    /// The typed text; `transformedContent` is what the model received.
    #[serde(deserialize_with = "json::or_default")]
    pub content: String,
    /// The author, if it is not a person.
    #[serde(deserialize_with = "json::or_default")]
    pub source: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_tool_call_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AssistantMessage {
    #[serde(deserialize_with = "json::or_default")]
    pub api_call_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub model: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub content: String,
    #[serde(deserialize_with = "json::or_default")]
    pub reasoning_text: Option<String>,
    #[serde(deserialize_with = "json::valid_items")]
    pub tool_requests: Vec<ToolRequest>,
    #[serde(deserialize_with = "json::or_default")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_tool_call_id: Option<String>,
}

/// A call as the model requests it, which `tool.execution_start` repeats.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolRequest {
    #[serde(deserialize_with = "json::or_default")]
    pub tool_call_id: String,
    #[serde(alias = "toolName", deserialize_with = "json::or_default")]
    pub name: String,
    /// An object, or a text that contains one.
    pub arguments: Option<Box<RawValue>>,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_tool_call_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolComplete {
    #[serde(deserialize_with = "json::or_default")]
    pub tool_call_id: String,
    #[serde(deserialize_with = "json::or_default")]
    pub success: bool,
    #[serde(deserialize_with = "json::or_default")]
    pub result: ToolText,
    #[serde(deserialize_with = "json::or_default")]
    pub error: ToolText,
    #[serde(deserialize_with = "json::or_default")]
    pub shell_execution: ShellExecution,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_tool_call_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ToolText {
    #[serde(alias = "message", deserialize_with = "json::or_default")]
    pub content: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ShellExecution {
    #[serde(deserialize_with = "json::or_default")]
    pub exit_code: Option<i64>,
}

/// The fields of events with a single text or value.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct News {
    #[serde(deserialize_with = "json::or_default")]
    pub content: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub message: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub reason: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub title: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub new_model: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub tool_call_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub agent_display_name: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub parent_tool_call_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Permission {
    #[serde(deserialize_with = "json::or_default")]
    pub request_id: String,
    #[serde(deserialize_with = "json::or_default")]
    pub permission_request: PermissionRequest,
    #[serde(deserialize_with = "json::or_default")]
    pub result: PermissionResult,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PermissionRequest {
    #[serde(deserialize_with = "json::or_default")]
    pub kind: String,
    #[serde(deserialize_with = "json::or_default")]
    pub full_command_text: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub intention: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct PermissionResult {
    #[serde(deserialize_with = "json::or_default")]
    pub kind: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Compaction {
    #[serde(deserialize_with = "json::or_default")]
    pub success: bool,
    #[serde(deserialize_with = "json::or_default")]
    pub trigger: Option<String>,
    #[serde(
        alias = "preTruncationTokensInMessages",
        deserialize_with = "json::or_default"
    )]
    pub pre_compaction_tokens: Option<u64>,
    #[serde(deserialize_with = "json::or_default")]
    pub summary_content: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub compaction_tokens_used: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct UsageRecord {
    #[serde(deserialize_with = "json::or_default")]
    pub usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Shutdown {
    #[serde(deserialize_with = "json::or_default")]
    pub model_metrics: BTreeMap<String, Metrics>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Metrics {
    #[serde(deserialize_with = "json::or_default")]
    pub usage: Tokens,
}

/// The input includes cache reads and writes.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    #[serde(deserialize_with = "json::or_default")]
    pub model: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub api_call_id: Option<String>,
    #[serde(deserialize_with = "json::or_default")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub cache_read_tokens: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub cache_write_tokens: u64,
    #[serde(deserialize_with = "json::or_default")]
    pub reasoning_tokens: u64,
}
