//! A completion while it arrives as a stream.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Completion, ModelToolCall};

/// The parts of a completion that have arrived so far.
#[derive(Debug, Default)]
pub(super) struct PartialCompletion {
    pub(super) completion: Completion,
    /// Calls whose arguments are still incomplete, by their index in the reply.
    pub(super) calls: BTreeMap<u64, PartialCall>,
}

#[derive(Debug, Default)]
pub(super) struct PartialCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl PartialCompletion {
    pub(super) fn finish(mut self) -> Completion {
        let calls = self.calls.into_iter().map(|(index, call)| ModelToolCall {
            // Some servers send no ids.
            id: match call.id.as_str() {
                "" => format!("call_{index}"),
                _ => call.id,
            },
            tool: call.tool,
            input: parse_arguments(&call.arguments),
        });
        self.completion.calls.extend(calls);
        self.completion
    }
}

/// Parses the arguments of a call, which arrive as text.
pub(super) fn parse_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    // Text that is not JSON is passed on, so that the tool rejects it with a message to the model.
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Returns a string field of an object, or an empty string.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns a number field of an object, or zero.
pub(super) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// Returns the elements of an array field, or none.
pub(super) fn elements<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}
