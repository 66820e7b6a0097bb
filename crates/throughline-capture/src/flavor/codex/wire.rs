//! Mirrors Codex's JSON, borrowed from the line.
//!
//! Fields whose type changed between versions stay raw and are read where they are needed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Text};
use crate::time::Time;

/// A line: an envelope around a payload or, before September 2025, the bare item.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Line<'a> {
    #[serde(default)]
    pub timestamp: Time,
    #[serde(default, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub record_type: Text<'a>,
    #[serde(default)]
    pub ordinal: Option<&'a RawValue>,
    #[serde(default)]
    pub payload: Option<&'a RawValue>,
    #[serde(default)]
    pub metadata: Option<&'a RawValue>,
}

/// The oldest format: a whole session in one document.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Document<'a> {
    pub session: &'a RawValue,
    pub items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct SessionMeta<'a> {
    #[serde(default)]
    pub id: Text<'a>,
    #[serde(default)]
    pub timestamp: Time,
    #[serde(default)]
    pub cwd: Text<'a>,
    #[serde(default)]
    pub cli_version: Text<'a>,
    #[serde(default)]
    pub source: Option<&'a RawValue>,
    #[serde(default)]
    pub git: Option<&'a RawValue>,
    #[serde(default)]
    pub forked_from_id: Text<'a>,
    #[serde(default)]
    pub parent_thread_id: Text<'a>,
    #[serde(default)]
    pub history_base: Option<&'a RawValue>,
    #[serde(default)]
    pub subagent_history_start_ordinal: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Git<'a> {
    #[serde(default)]
    pub branch: Text<'a>,
    #[serde(default)]
    pub repository_url: Text<'a>,
}

/// The thread that a fork continues.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct HistoryBase<'a> {
    #[serde(default)]
    pub thread_id: Text<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct TurnContext<'a> {
    #[serde(default)]
    pub cwd: Text<'a>,
    #[serde(default)]
    pub model: Text<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Compacted<'a> {
    #[serde(default)]
    pub message: Text<'a>,
}

/// A response item of any type.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Item<'a> {
    #[serde(default, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub id: Text<'a>,
    #[serde(default)]
    pub role: Text<'a>,
    #[serde(default)]
    pub author: Text<'a>,
    #[serde(default)]
    pub name: Text<'a>,
    #[serde(default)]
    pub namespace: Text<'a>,
    #[serde(default)]
    pub call_id: Text<'a>,
    #[serde(default)]
    pub revised_prompt: Text<'a>,
    #[serde(default)]
    pub content: Option<&'a RawValue>,
    #[serde(default)]
    pub summary: Option<&'a RawValue>,
    #[serde(default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(default)]
    pub input: Option<&'a RawValue>,
    #[serde(default)]
    pub action: Option<&'a RawValue>,
    #[serde(default)]
    pub output: Option<&'a RawValue>,
    #[serde(default)]
    pub tools: Option<&'a RawValue>,
    #[serde(default, rename = "internal_chat_message_metadata_passthrough")]
    pub passthrough: Option<&'a RawValue>,
}

/// Metadata of a response item, since 0.16x.
#[derive(Default, Deserialize)]
pub(crate) struct ItemMetadata {
    #[serde(default)]
    pub compaction_output: bool,
    #[serde(default)]
    pub inherited_user_message: bool,
}

/// The authors of a message's parts, since 0.15x.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Passthrough<'a> {
    #[serde(default)]
    pub content_item_kinds: Vec<Text<'a>>,
    #[serde(default)]
    pub content_item_metadata: Vec<PartMetadata<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct PartMetadata<'a> {
    #[serde(default)]
    pub provenance: Option<Provenance<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Provenance<'a> {
    #[serde(default, rename = "type")]
    pub kind: Text<'a>,
}

/// An event of any type, or the item of an `item_completed` event.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Event<'a> {
    #[serde(default, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub id: Text<'a>,
    #[serde(default)]
    pub call_id: Text<'a>,
    #[serde(default)]
    pub message: Text<'a>,
    #[serde(default)]
    pub text: Text<'a>,
    #[serde(default)]
    pub reason: Text<'a>,
    #[serde(default)]
    pub status: Text<'a>,
    #[serde(default)]
    pub thread_name: Text<'a>,
    #[serde(default)]
    pub thread_id: Text<'a>,
    #[serde(default)]
    pub success: Option<&'a RawValue>,
    #[serde(default)]
    pub exit_code: Option<&'a RawValue>,
    #[serde(default)]
    pub info: Option<&'a RawValue>,
    #[serde(default)]
    pub changes: Option<&'a RawValue>,
    #[serde(default)]
    pub result: Option<&'a RawValue>,
    #[serde(default)]
    pub error: Option<&'a RawValue>,
    #[serde(default)]
    pub item: Option<&'a RawValue>,
}

/// The result of an MCP call: plain since 0.14x, before in `Ok` or `Err`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct McpResult<'a> {
    #[serde(default, rename = "isError", alias = "is_error")]
    pub is_error: Option<bool>,
    #[serde(default, rename = "Ok")]
    pub ok: Option<Box<Self>>,
    #[serde(default, rename = "Err")]
    pub err: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct ErrorBody<'a> {
    #[serde(default)]
    pub message: Text<'a>,
}

/// The changes of a patch, by path.
pub(crate) type FileChanges<'a> = BTreeMap<String, FileChange<'a>>;

/// The change of a patch to a file. Before 0.4x the type was a key around the other fields.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct FileChange<'a> {
    #[serde(default, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub unified_diff: Text<'a>,
    #[serde(default)]
    pub content: Text<'a>,
    #[serde(default)]
    pub move_path: Text<'a>,
    #[serde(default)]
    pub add: Option<Box<Self>>,
    #[serde(default)]
    pub update: Option<Box<Self>>,
    #[serde(default)]
    pub delete: Option<Box<Self>>,
}

#[derive(Deserialize)]
pub(crate) struct TokenInfo {
    #[serde(default)]
    pub total_token_usage: Option<TokenUsage>,
    #[serde(default)]
    pub last_token_usage: Option<TokenUsage>,
}

#[derive(Clone, Copy, Deserialize)]
pub(crate) struct TokenUsage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub cached_input_tokens: u64,
    #[serde(default)]
    pub cache_write_input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub reasoning_output_tokens: u64,
}

/// A line of `session_index.jsonl`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct IndexEntry<'a> {
    #[serde(default)]
    pub id: Text<'a>,
    #[serde(default)]
    pub thread_name: Text<'a>,
}

/// A part of a message or of a tool's output.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    #[serde(default)]
    pub text: Text<'a>,
    #[serde(default)]
    pub image_url: Text<'a>,
}

impl Part<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.get().or(self.image_url.get()).is_none()
    }
}

/// Returns the parts of a value, which is a text, a part, or a list of parts.
pub(crate) fn parts(raw: Option<&RawValue>) -> Vec<Part<'_>> {
    let Some(json) = raw.map(RawValue::get) else {
        return Vec::new();
    };
    match json.as_bytes().first() {
        Some(b'[') => serde_json::from_str(json).unwrap_or_default(),
        Some(b'{') => serde_json::from_str(json).map_or_else(|_| Vec::new(), |part| vec![part]),
        _ => vec![Part {
            text: serde_json::from_str(json).unwrap_or_default(),
            image_url: Text(None),
        }],
    }
}

/// Returns a value as text: a string decoded, `null` as empty, anything else as its JSON.
pub(crate) fn as_text(raw: Option<&RawValue>) -> Cow<'_, str> {
    let Some(json) = raw.map(RawValue::get) else {
        return Cow::Borrowed("");
    };
    match json::parse::<Text<'_>>(raw) {
        Some(Text(Some(text))) => text,
        _ => Cow::Borrowed(json),
    }
}
