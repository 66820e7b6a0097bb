//! Mirrors the JSON of a thread. A field of another type than expected reads as absent.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Text;
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Thread<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    pub created: Time,
    #[serde(borrow)]
    pub title: Text<'a>,
    #[serde(borrow)]
    pub messages: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub env: Option<&'a RawValue>,
    #[serde(borrow)]
    pub meta: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Environment<'a> {
    #[serde(borrow)]
    pub initial: Initial<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Initial<'a> {
    #[serde(borrow)]
    pub trees: Vec<Tree<'a>>,
    #[serde(borrow)]
    pub platform: Platform<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tree<'a> {
    #[serde(borrow)]
    pub uri: Text<'a>,
    #[serde(borrow)]
    pub repository: Option<Repository<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Repository<'a> {
    #[serde(borrow)]
    pub url: Text<'a>,
    #[serde(borrow, rename = "ref")]
    pub branch: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Platform<'a> {
    #[serde(borrow)]
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
#[serde(default)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    /// A list of content blocks, or a text.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub meta: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct MessageMeta {
    pub sent_at: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Usage<'a> {
    #[serde(borrow)]
    pub model: Text<'a>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub timestamp: Time,
}
