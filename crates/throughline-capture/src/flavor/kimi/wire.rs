//! Mirrors the lines of a log. A field of another type than expected reads as absent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Text};
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Line<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub time: Time,
    pub created_at: Time,
    /// The time in the Kimi CLI's lines.
    pub timestamp: Time,
    pub input: Option<&'a RawValue>,
    pub origin: Option<&'a RawValue>,
    pub message: Option<&'a RawValue>,
    pub event: Option<&'a RawValue>,
    #[serde(rename = "modelAlias")]
    pub model_alias: Text<'a>,
    pub cwd: Text<'a>,
    #[serde(rename = "environmentDisclosure")]
    pub environment: Option<&'a RawValue>,
    pub model: Text<'a>,
    pub usage: Option<&'a RawValue>,
    pub source: Text<'a>,
    pub summary: Text<'a>,
    #[serde(rename = "tokensBefore")]
    pub tokens_before: Option<&'a RawValue>,
    pub action: Text<'a>,
    pub result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Environment<'a> {
    pub cwd: Text<'a>,
}

/// The author of a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Origin<'a> {
    pub kind: Text<'a>,
    pub trigger: Text<'a>,
    #[serde(alias = "commandName")]
    pub skill_name: Text<'a>,
    #[serde(alias = "commandArgs")]
    pub skill_args: Text<'a>,
    pub phase: Text<'a>,
    pub is_error: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ContextMessage<'a> {
    pub role: Text<'a>,
    pub content: Option<&'a RawValue>,
    pub origin: Option<&'a RawValue>,
}

/// A part of a message. Links to images and other media are not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub text: Text<'a>,
    pub think: Text<'a>,
}

/// An event of the model's current step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Event<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub uuid: Text<'a>,
    pub step_uuid: Text<'a>,
    pub part: Option<&'a RawValue>,
    pub tool_call_id: Text<'a>,
    pub name: Text<'a>,
    pub args: Option<&'a RawValue>,
    pub result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Output<'a> {
    /// A text, or a list of parts.
    pub output: Option<&'a RawValue>,
    pub message: Text<'a>,
    #[serde(rename = "isError", alias = "is_error")]
    pub is_error: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Decision<'a> {
    pub decision: Text<'a>,
    pub feedback: Text<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Usage {
    #[serde(alias = "input_other")]
    pub input_other: u64,
    pub output: u64,
    #[serde(alias = "input_cache_read")]
    pub input_cache_read: u64,
    #[serde(alias = "input_cache_creation")]
    pub input_cache_creation: u64,
}

/// `state.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct State<'a> {
    pub created_at: Time,
    pub updated_at: Time,
    pub title: Text<'a>,
    pub is_custom_title: bool,
    pub work_dir: Text<'a>,
    pub agents: BTreeMap<String, Agent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Agent<'a> {
    pub parent_agent_id: Text<'a>,
}

/// The message of a line of the Kimi CLI.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Legacy<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub payload: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Payload<'a> {
    /// A text, or a list of parts.
    pub user_input: Option<&'a RawValue>,
    pub id: Text<'a>,
    pub function: Function<'a>,
    pub tool_call_id: Text<'a>,
    pub return_value: Option<&'a RawValue>,
    pub token_usage: Option<&'a RawValue>,
    pub message_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Function<'a> {
    pub name: Text<'a>,
    pub arguments: Text<'a>,
}

/// Returns the text of a field, which is a text or a list of parts.
pub(crate) fn text(json: Option<&RawValue>) -> String {
    let Some(json) = json else {
        return String::new();
    };
    if let Ok(text) = serde_json::from_str::<String>(json.get()) {
        return text;
    }
    let parts: Vec<Part<'_>> = json::parse_or_default(Some(json));
    let texts = parts.iter().filter_map(|part| part.text.get());
    texts.collect::<Vec<_>>().join("\n")
}
