//! Names that providers accept for calls and tools.

use std::collections::HashMap;

use memory::CallId;

/// OpenAI's limit for the id of a call; Anthropic's is higher.
const CALL_ID_CHARS_MAX: usize = 40;
const TOOL_NAME_CHARS_MAX: usize = 64;

/// Gives calls whose id no provider would accept another one, the same for call and result.
#[derive(Debug, Default)]
pub(super) struct CallNames(HashMap<CallId, String>);

impl CallNames {
    pub(super) fn name(&mut self, call: &CallId) -> String {
        let id = call.as_str();
        let is_valid = !id.is_empty() && id.len() <= CALL_ID_CHARS_MAX && id.chars().all(is_plain);
        if is_valid {
            return id.to_owned();
        }
        let number = self.0.len() + 1;
        let new = || format!("compacted_call_{number}");
        self.0.entry(call.clone()).or_insert_with(new).clone()
    }
}

/// Returns the name of a tool as providers accept it.
pub(super) fn tool_name(tool: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '_' };
    let name: String = tool.chars().map(plain).take(TOOL_NAME_CHARS_MAX).collect();
    if name.is_empty() {
        "tool".to_owned()
    } else {
        name
    }
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
