//! Mirrors Goose's JSON, as far as it is read. The content of a message is the same in the database
//! and in older files.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Lenient;
use crate::time::Time;

/// A line of a file; the first one describes the session.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Line<'a> {
    pub role: Lenient<String>,
    pub created: Time,
    pub content: Lenient<Vec<&'a RawValue>>,
    #[serde(default)]
    pub metadata: Lenient<Visibility>,
    pub working_dir: Lenient<String>,
    pub description: Lenient<String>,
    pub schedule_id: Lenient<String>,
    pub input_tokens: Lenient<f64>,
    pub output_tokens: Lenient<f64>,
    pub accumulated_input_tokens: Lenient<f64>,
    pub accumulated_output_tokens: Lenient<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Visibility {
    pub user_visible: Lenient<bool>,
}

/// A part of a message.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Content<'a> {
    #[serde(rename = "type")]
    pub kind: Lenient<String>,
    pub text: Lenient<String>,
    pub thinking: Lenient<String>,
    pub id: Lenient<String>,
    pub tool_call: Lenient<Outcome<'a>>,
    pub tool_result: Lenient<Outcome<'a>>,
    pub mime_type: Lenient<String>,
    pub data: Lenient<String>,
}

/// The outcome of a request to a model or a tool.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Outcome<'a> {
    pub value: Option<&'a RawValue>,
    pub error: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Call<'a> {
    pub name: Lenient<String>,
    pub arguments: Option<&'a RawValue>,
}

/// A tool's result.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Answer {
    pub content: Lenient<Vec<Piece>>,
    #[serde(alias = "isError")]
    pub is_error: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Piece {
    pub text: Lenient<String>,
    pub resource: Lenient<Resource>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Resource {
    pub text: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ModelConfig {
    pub model_name: Lenient<String>,
}
