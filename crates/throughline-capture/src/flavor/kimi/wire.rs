//! Mirrors the lines of a log. A field of another type than expected reads as absent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Text};
use crate::time::Time;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    pub time: Time,
    pub created_at: Time,
    /// The time in the Kimi CLI's lines.
    pub timestamp: Time,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub origin: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub event: Option<&'a RawValue>,
    #[serde(borrow, rename = "modelAlias")]
    pub model_alias: Text<'a>,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow, rename = "environmentDisclosure")]
    pub environment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub source: Text<'a>,
    #[serde(borrow)]
    pub summary: Text<'a>,
    #[serde(borrow, rename = "tokensBefore")]
    pub tokens_before: Option<&'a RawValue>,
    #[serde(borrow)]
    pub action: Text<'a>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Environment<'a> {
    #[serde(borrow)]
    pub cwd: Text<'a>,
}

/// The author of a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Origin<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub trigger: Text<'a>,
    #[serde(borrow, alias = "commandName")]
    pub skill_name: Text<'a>,
    #[serde(borrow, alias = "commandArgs")]
    pub skill_args: Text<'a>,
    #[serde(borrow)]
    pub phase: Text<'a>,
    pub is_error: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContextMessage<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub origin: Option<&'a RawValue>,
}

/// A part of a message. Links to images and other media are not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub think: Text<'a>,
}

/// An event of the model's current step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub uuid: Text<'a>,
    #[serde(borrow)]
    pub step_uuid: Text<'a>,
    #[serde(borrow)]
    pub part: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Output<'a> {
    /// A text, or a list of parts.
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(rename = "isError", alias = "is_error")]
    pub is_error: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Decision<'a> {
    #[serde(borrow)]
    pub decision: Text<'a>,
    #[serde(borrow)]
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
#[serde(default, rename_all = "camelCase")]
pub(crate) struct State<'a> {
    pub created_at: Time,
    pub updated_at: Time,
    #[serde(borrow)]
    pub title: Text<'a>,
    pub is_custom_title: bool,
    #[serde(borrow)]
    pub work_dir: Text<'a>,
    #[serde(borrow)]
    pub agents: BTreeMap<String, Agent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Agent<'a> {
    #[serde(borrow)]
    pub parent_agent_id: Text<'a>,
}

/// The message of a line of the Kimi CLI.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Legacy<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Payload<'a> {
    /// A text, or a list of parts.
    #[serde(borrow)]
    pub user_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub function: Function<'a>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub return_value: Option<&'a RawValue>,
    #[serde(borrow)]
    pub token_usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
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
