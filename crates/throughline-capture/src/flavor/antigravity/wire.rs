//! Mirrors the JSON of Antigravity's steps.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::json;
use crate::time::Time;

#[derive(Deserialize)]
pub(crate) struct Step {
    pub step_index: u64,
    #[serde(rename = "type")]
    pub kind: String,
    /// "USER_EXPLICIT", "MODEL" or "SYSTEM".
    #[serde(default, deserialize_with = "json::or_default")]
    pub source: String,
    #[serde(default, deserialize_with = "json::or_default")]
    pub status: String,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default, deserialize_with = "json::or_default")]
    pub content: String,
    #[serde(default, deserialize_with = "json::or_default")]
    pub thinking: String,
    #[serde(default, deserialize_with = "json::valid_items")]
    pub tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
pub(crate) struct ToolCall {
    pub name: String,
    /// Each value is a text that contains JSON.
    #[serde(default, deserialize_with = "json::or_default")]
    args: BTreeMap<String, Value>,
}

impl ToolCall {
    /// Returns the arguments as the tool received them.
    pub(crate) fn input(&self) -> String {
        let decoded = self.args.iter().map(|(name, value)| {
            let inner = value
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok());
            (name.clone(), inner.unwrap_or_else(|| value.clone()))
        });
        Value::Object(decoded.collect()).to_string()
    }

    /// Returns the folder that a command runs in.
    pub(crate) fn cwd(&self) -> Option<String> {
        let cwd = self.args.get("Cwd")?.as_str()?;
        let cwd: String = serde_json::from_str(cwd).unwrap_or_else(|_| cwd.to_owned());
        Some(cwd).filter(|cwd| !cwd.is_empty())
    }
}
