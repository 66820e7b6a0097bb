//! Mirrors the JSON of Claude Code's records. Texts are borrowed from the line; fields that are
//! large and rarely needed stay raw.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{EncodedSize, Flag, Number, Text};
use crate::time::Time;

/// The fields of any record, in the conversation or around it.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Record<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub subtype: Text<'a>,
    pub uuid: Text<'a>,
    pub session_id: Text<'a>,
    pub timestamp: Time,
    pub cwd: Text<'a>,
    pub git_branch: Text<'a>,
    pub version: Text<'a>,
    pub entrypoint: Text<'a>,
    pub agent_id: Text<'a>,
    pub is_sidechain: Flag,
    pub is_meta: Flag,
    pub is_compact_summary: Flag,
    pub is_api_error_message: Flag,
    pub prompt_source: Text<'a>,
    pub origin: Option<&'a RawValue>,
    pub request_id: Text<'a>,
    #[serde(rename = "costUSD")]
    pub cost_usd: Number,
    pub message: Option<&'a RawValue>,
    pub tool_use_result: Option<&'a RawValue>,
    pub tool_denial_kind: Text<'a>,
    pub attachment: Option<&'a RawValue>,
    pub compact_metadata: Option<&'a RawValue>,
    pub error: Option<&'a RawValue>,
    pub level: Text<'a>,
    pub api_refusal_explanation: Text<'a>,
    /// Used by system records and queue operations.
    pub content: Option<&'a RawValue>,
    pub operation: Text<'a>,
    pub summary: Text<'a>,
    pub leaf_uuid: Text<'a>,
    pub custom_title: Text<'a>,
    pub ai_title: Text<'a>,
    pub last_prompt: Text<'a>,
}

/// A request to the model API, or its response.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub id: Text<'a>,
    pub model: Text<'a>,
    pub content: Content<'a>,
    pub usage: Option<&'a RawValue>,
}

impl Message<'_> {
    /// Says whether Claude Code made up the message itself.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.model.is("<synthetic>")
    }

    /// Returns the model that answered.
    pub(crate) fn model(&self) -> Option<String> {
        let model = self.model.get().filter(|_| !self.is_synthetic());
        model.map(str::to_owned)
    }
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Origin<'a> {
    pub kind: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Attachment<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub prompt: Content<'a>,
    pub command_mode: Text<'a>,
    pub origin: Option<&'a RawValue>,
    pub is_meta: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct CompactMetadata<'a> {
    pub trigger: Text<'a>,
    pub pre_tokens: Number,
}

/// An API error, which contains the error that caused it. Headers are not read.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Failure<'a> {
    pub formatted: Text<'a>,
    pub message: Text<'a>,
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub status: Number,
    pub error: Option<&'a RawValue>,
}

/// A list of content blocks, which may be written as a text, one block, or a list of both.
#[derive(Default)]
pub(crate) struct Content<'a>(pub Vec<Block<'a>>);

/// A block of any type; the type says which fields are used.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Block<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub text: Text<'a>,
    pub thinking: Text<'a>,
    pub id: Text<'a>,
    pub name: Text<'a>,
    /// Used by a reference to a tool.
    pub tool_name: Text<'a>,
    pub input: Option<&'a RawValue>,
    pub tool_use_id: Text<'a>,
    pub content: Content<'a>,
    pub is_error: Flag,
    pub source: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Source<'a> {
    pub media_type: Text<'a>,
    pub data: EncodedSize,
}

impl<'a> Block<'a> {
    fn text(text: Text<'a>) -> Self {
        Self {
            kind: Text(Some("text".into())),
            text,
            ..Self::default()
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content(vec![Block::text(Text(Some(text.into())))]))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let text = Text(Some(text.to_owned().into()));
        Ok(Content(vec![Block::text(text)]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(Content(items)) = seq.next_element()? {
            blocks.extend(items);
        }
        Ok(Content(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let block = Block::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Content(vec![block]))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Content::default())
    }
}

/// Says whether a line can be skipped without parsing it.
///
/// Progress reports and copies of API requests are most of the bytes of some logs. A line with two
/// records is never skipped here, because the second may be of another type.
pub(crate) fn is_ignored_line(line: &str) -> bool {
    /// The type is near the beginning of a line, before any long field.
    const ENVELOPE_BYTES_MAX: usize = 1 << 10;
    let head = &line[..line.floor_char_boundary(ENVELOPE_BYTES_MAX)];
    let noise = match head.strip_prefix("{\"type\":\"") {
        Some(kind) => ["api-request", "file-history-snapshot\"", "progress\""]
            .iter()
            .any(|noise| kind.starts_with(noise)),
        None => head
            .find("\"type\":\"progress\",\"data\":{")
            .is_some_and(|at| !head[..at].contains(":{")),
    };
    noise
        && memchr::memmem::find(line.as_bytes(), b"}{\"").is_none()
        && line.trim_end().ends_with('}')
}
