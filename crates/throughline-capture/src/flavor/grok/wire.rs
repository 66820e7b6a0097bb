//! Mirrors Grok's JSON. Fields of the agent protocol are in camel case, xAI's own in snake case;
//! the same log contains both.

mod chat;
mod summary;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use self::chat::{BackendCall, ChatCall, ChatLine};
pub(crate) use self::summary::{Subagent, Summary};
use crate::time::Time;

/// A line of `updates.jsonl`. The oldest lines are bare notifications without an envelope.
#[derive(Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(default)]
    pub timestamp: Time,
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Notification<'a>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

impl<'a> Line<'a> {
    pub(crate) fn notification(self) -> Notification<'a> {
        self.params.unwrap_or(Notification {
            session: self.session,
            update: self.update,
            meta: self.meta,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct Notification<'a> {
    #[serde(borrow, rename = "sessionId")]
    pub session: Option<Cow<'a, str>>,
    /// Raw until the kind is known, because an unknown kind may have any fields.
    #[serde(borrow)]
    pub update: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<Meta<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta<'a> {
    #[serde(borrow)]
    pub event_id: Option<Cow<'a, str>>,
    pub agent_timestamp_ms: Time,
    #[serde(borrow)]
    pub prompt_id: Option<Cow<'a, str>>,
    /// The start of the model's response, which all its updates share.
    pub stream_start_ms: Option<u64>,
    pub is_replay: Option<bool>,
    #[serde(rename = "x.ai/titleIsManual")]
    pub title_is_manual: Option<bool>,
}

#[derive(Deserialize)]
pub(crate) struct Kind<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    pub kind: Cow<'a, str>,
}

/// A chunk of a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub content: Option<Content<'a>>,
    #[serde(borrow)]
    pub message_id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta", default)]
    pub meta: Option<ChunkMeta<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChunkMeta<'a> {
    #[serde(borrow)]
    pub model_id: Option<Cow<'a, str>>,
    pub prompt_index: Option<u64>,
    #[serde(borrow, alias = "synthetic_reason")]
    pub synthetic_reason: Option<Cow<'a, str>>,
}

/// A block of the agent protocol, or of `chat_history.jsonl`, which adds `url`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Content<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "url")]
    pub uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub resource: Option<Resource<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Resource<'a> {
    #[serde(borrow)]
    pub uri: Option<Cow<'a, str>>,
}

/// A tool call, or an update of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tool<'a> {
    #[serde(borrow)]
    pub tool_call_id: Cow<'a, str>,
    #[serde(borrow)]
    pub title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub locations: Option<Vec<Location<'a>>>,
    #[serde(borrow)]
    pub raw_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub raw_output: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<ToolMeta<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct ToolMeta<'a> {
    #[serde(borrow, rename = "x.ai/tool")]
    pub tool: Option<ToolName<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct ToolName<'a> {
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct Location<'a> {
    #[serde(borrow)]
    pub path: Cow<'a, str>,
}

/// A part of a tool's result: content, a diff, or a terminal.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part<'a> {
    #[serde(borrow)]
    pub content: Option<Content<'a>>,
    #[serde(borrow)]
    pub path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub old_text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub new_text: Option<Cow<'a, str>>,
}

/// The known fields of tools' own outputs. Every tool has its own shape.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Output<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub output_for_prompt: Option<Cow<'a, str>>,
    pub exit_code: Option<i64>,
    pub timed_out: Option<bool>,
    #[serde(borrow, rename = "EditsApplied")]
    pub edits: Option<Edits<'a>>,
    /// The bytes of a command's output, or the result of an MCP server's tool.
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct Edits<'a> {
    #[serde(borrow)]
    pub tool_output_for_prompt: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct TurnCompleted<'a> {
    #[serde(borrow)]
    pub prompt_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub agent_result: Option<Cow<'a, str>>,
    /// The usage of this prompt, not of the whole session: [`Spent`] and [`SpentByModel`] in one
    /// object.
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpentByModel<'a> {
    #[serde(borrow, default)]
    pub model_usage: BTreeMap<Cow<'a, str>, Spent>,
    #[serde(default)]
    pub usage_is_incomplete: bool,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spent {
    /// Includes cache reads and writes.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_read_tokens: u64,
    pub cache_creation_tokens: u64,
    pub reasoning_tokens: u64,
    pub cost_usd_ticks: Option<i64>,
    pub cost_is_partial: bool,
}

/// The fields of xAI's small updates that are read. No field has two meanings.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct News<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub error: Option<Cow<'a, str>>,
    pub tokens_used: Option<u64>,
    pub tokens_before: Option<u64>,
    #[serde(borrow)]
    pub summary_preview: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub summary: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub session_summary: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub title: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "new_model_id")]
    pub model_id: Option<Cow<'a, str>>,
    pub target_prompt_index: Option<u64>,
}
