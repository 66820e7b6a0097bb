//! Mirrors the JSON of a thread. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Thread<'a> {
    pub id: Text<'a>,
    pub created: Time,
    pub title: Text<'a>,
    pub messages: Vec<&'a RawValue>,
    pub env: Option<&'a RawValue>,
    pub meta: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Environment<'a> {
    pub initial: Initial<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Initial<'a> {
    pub trees: Vec<Tree<'a>>,
    pub platform: Platform<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Tree<'a> {
    pub uri: Text<'a>,
    pub repository: Option<Repository<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Repository<'a> {
    pub url: Text<'a>,
    #[serde(rename = "ref")]
    pub branch: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Platform<'a> {
    pub client_version: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadMeta {
    pub traces: Vec<Trace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Trace {
    pub end_time: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub role: Text<'a>,
    /// A list of content blocks, or a text.
    pub content: Option<&'a RawValue>,
    pub usage: Option<&'a RawValue>,
    pub meta: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct MessageMeta {
    pub sent_at: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Usage<'a> {
    pub model: Text<'a>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub timestamp: Time,
}
