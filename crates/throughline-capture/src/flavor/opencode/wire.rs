//! Mirrors opencode's JSON, as far as it is read. The database has ids in columns, files and
//! exports have them in the object.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Lenient;
use crate::time::Time;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Session {
    pub id: Lenient<String>,
    #[serde(rename = "parentID")]
    pub parent: Lenient<String>,
    pub directory: Lenient<String>,
    pub title: Lenient<String>,
    pub version: Lenient<String>,
    pub model: Lenient<Model>,
    pub permission: Lenient<Vec<Permission>>,
    pub time: Lenient<Times>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Permission {
    pub permission: Lenient<String>,
    pub action: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Model {
    #[serde(alias = "modelID")]
    pub id: Lenient<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Default)]
#[serde(default)]
pub(crate) struct Times {
    pub created: Time,
    pub updated: Time,
    pub completed: Time,
    pub start: Time,
    pub end: Time,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub id: Lenient<String>,
    #[serde(rename = "sessionID")]
    pub session: Lenient<String>,
    pub role: Lenient<String>,
    pub time: Lenient<Times>,
    #[serde(rename = "modelID")]
    pub model_id: Lenient<String>,
    pub model: Lenient<Model>,
    pub path: Lenient<Where>,
    pub tokens: Lenient<Tokens>,
    pub cost: Lenient<f64>,
    pub error: Lenient<Failure>,
    /// `true` on an assistant message that is a summary; an object on a user message.
    pub summary: Lenient<bool>,
    /// The first releases had the parts inside the message.
    pub parts: Lenient<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Where {
    pub cwd: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Failure {
    pub name: Lenient<String>,
    pub data: Lenient<FailureData>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct FailureData {
    pub message: Lenient<String>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default)]
pub(crate) struct Tokens {
    pub total: Lenient<f64>,
    pub input: Lenient<f64>,
    pub output: Lenient<f64>,
    pub reasoning: Lenient<f64>,
    pub cache: Lenient<Cache>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default)]
pub(crate) struct Cache {
    pub read: Lenient<f64>,
    pub write: Lenient<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    pub id: Lenient<String>,
    #[serde(rename = "sessionID")]
    pub session: Lenient<String>,
    #[serde(rename = "messageID")]
    pub message: Lenient<String>,
    #[serde(rename = "type")]
    pub kind: Lenient<String>,
    pub time: Lenient<Times>,
    pub text: Lenient<String>,
    /// The program wrote the text.
    pub synthetic: Lenient<bool>,
    /// The text is shown but not sent.
    pub ignored: Lenient<bool>,
    #[serde(rename = "callID")]
    pub call: Lenient<String>,
    pub tool: Lenient<String>,
    pub state: Lenient<State<'a>>,
    pub tokens: Lenient<Tokens>,
    pub cost: Lenient<f64>,
    pub mime: Lenient<String>,
    pub url: Lenient<String>,
    pub auto: Lenient<bool>,
    pub error: Lenient<Failure>,
}

/// The state of a tool call.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct State<'a> {
    pub status: Lenient<String>,
    pub input: Option<&'a RawValue>,
    pub output: Lenient<String>,
    pub error: Lenient<String>,
    pub metadata: Lenient<Metadata>,
    pub time: Lenient<Times>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Metadata {
    pub exit: Lenient<i64>,
}

/// The document that `opencode export` prints.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Export<'a> {
    pub info: Session,
    pub messages: Vec<Exported<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct Exported<'a> {
    pub info: &'a RawValue,
    #[serde(default)]
    pub parts: Vec<&'a RawValue>,
}
