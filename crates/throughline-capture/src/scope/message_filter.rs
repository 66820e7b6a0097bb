//! Applies the scope to messages, and remembers the withheld texts, so that they are removed from
//! the archived log too.

use std::collections::{HashMap, VecDeque};

use memory::{Block, CallId, Message, SessionId, ToolResult};
use serde_json::Value;

use super::call::files_of_result;
use super::{CaptureScope, WithholdReason, placeholder};
use crate::git::WorkspaceResolver;
use crate::tools;

/// The most calls with a withheld result that are remembered; then the oldest are dropped.
const CALLS_MAX: usize = 4096;
/// The most values of one credential file that are searched for in the rest of its session.
const VALUES_MAX: usize = 256;
/// A shorter value could be an ordinary word.
const VALUE_BYTES_MIN: usize = 8;
/// Keys and certificates are long and may contain slashes; a shorter value with a slash is a path.
const ENCODED_BYTES_MIN: usize = 32;

/// Withholds texts from the messages of one source.
#[derive(Debug, Default)]
pub(crate) struct MessageFilter {
    calls: HashMap<String, WithholdReason>,
    order: VecDeque<String>,
    /// The texts of credential files that were withheld since the last
    /// [`MessageFilter::take_withheld`].
    credentials: Vec<(SessionId, String)>,
    /// The texts of files outside the workspace that were withheld since then.
    outside: Vec<String>,
}

/// The texts that were withheld from the messages of a batch.
#[derive(Debug, Default)]
pub(crate) struct WithheldTexts {
    pub(crate) credentials: Vec<(SessionId, String)>,
    pub(crate) outside: Vec<String>,
}

impl MessageFilter {
    /// Replaces what must not be captured in a message. `root` is the session's workspace.
    pub(crate) fn apply(
        &mut self,
        scope: &CaptureScope,
        message: &mut Message,
        root: Option<&str>,
    ) {
        let mut removed = Vec::new();
        let cwd = message.cwd.clone();
        for block in &mut message.blocks {
            match block {
                Block::ToolUse(call) => {
                    let files = tools::call_files(&call.tool, &call.input);
                    let reason = scope.output_reason(&files, root, cwd.as_deref());
                    if let Some(reason) = reason {
                        self.note_call(call.call.as_str(), reason);
                    }
                    if let Some(input) = scope.withhold_input(call, &mut removed) {
                        call.input = input;
                    }
                }
                Block::ToolResult(result) => {
                    self.filter_result(scope, result, root, cwd.as_deref(), &mut removed);
                }
                Block::Text(text)
                | Block::Thinking(text)
                | Block::Summary(text)
                | Block::Error(text)
                | Block::Approval(text) => {
                    if let Some(kept) = scope.withhold_text(text, &mut removed) {
                        *text = kept;
                    }
                }
                Block::Image { .. } | Block::Boundary(_) => {}
            }
        }
        let session = &message.session;
        let removed = removed.into_iter().map(|text| (session.clone(), text));
        self.credentials.extend(removed);
    }

    fn filter_result(
        &mut self,
        scope: &CaptureScope,
        result: &mut ToolResult,
        root: Option<&str>,
        cwd: Option<&str>,
        removed: &mut Vec<String>,
    ) {
        let call = result.call.as_ref();
        let by_call = call.and_then(|call| self.reason_for_call(call));
        let reason = by_call.or_else(|| scope.output_reason(&files_of_result(result), root, cwd));
        for change in &mut result.changes {
            if scope.is_never_captured(&change.path) {
                let kept = placeholder(WithholdReason::Credentials, change.diff.len());
                removed.push(std::mem::replace(&mut change.diff, kept));
            }
        }
        let text = &mut result.content;
        let Some(reason) = reason else {
            if let Some(kept) = scope.withhold_text(text, removed) {
                *text = kept;
            }
            return;
        };
        if text.trim().is_empty() {
            return;
        }
        if let Some(call) = &result.call {
            self.note_call(call.as_str(), reason);
        }
        let kept = placeholder(reason, text.len());
        let text = std::mem::replace(text, kept);
        match reason {
            WithholdReason::Credentials => removed.push(text),
            WithholdReason::Outside => self.outside.push(text),
        }
    }

    /// Returns the texts that were withheld since the last call.
    pub(crate) fn take_withheld(&mut self) -> WithheldTexts {
        WithheldTexts {
            credentials: std::mem::take(&mut self.credentials),
            outside: std::mem::take(&mut self.outside),
        }
    }

    pub(crate) fn calls(&self) -> &HashMap<String, WithholdReason> {
        &self.calls
    }

    /// Remembers a call whose output is withheld.
    pub(crate) fn note_call(&mut self, call: &str, reason: WithholdReason) {
        if self.calls.insert(call.to_owned(), reason).is_some() {
            return;
        }
        self.order.push_back(call.to_owned());
        if self.order.len() > CALLS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    fn reason_for_call(&self, call: &CallId) -> Option<WithholdReason> {
        self.calls.get(call.as_str()).copied()
    }
}

impl CaptureScope {
    /// Returns the messages of a log without what the scope withholds.
    pub fn visible_messages(&self, messages: &[Message]) -> Vec<Message> {
        let mut judge = MessageFilter::default();
        let mut workspaces = WorkspaceResolver::default();
        let mut roots: HashMap<SessionId, String> = HashMap::new();
        let mut visible = messages.to_vec();
        for message in &mut visible {
            if let Some(cwd) = &message.cwd
                && !roots.contains_key(&message.session)
                && let Some(workspace) = workspaces.resolve(cwd, None)
            {
                roots.insert(message.session.clone(), workspace.root);
            }
            let root = roots.get(&message.session).map(String::as_str);
            judge.apply(self, message, root);
        }
        visible
    }

    /// Removes from a reader's state what open calls write to never-captured files, and the words
    /// of their commands that do not name such a file.
    pub(crate) fn filter_reader_state(&self, state: String) -> String {
        if !state.contains("\"files\"") && !state.contains("\"changes\"") {
            return state;
        }
        let Ok(mut value) = serde_json::from_str(&state) else {
            return state;
        };
        self.filter_open_calls(&mut value);
        serde_json::to_string(&value).unwrap_or(state)
    }

    fn filter_open_calls(&self, value: &mut Value) {
        let keep_never = |names: &mut Vec<Value>| {
            names.retain(|name| {
                name.as_str()
                    .is_some_and(|name| self.names_never_captured(name))
            });
        };
        match value {
            Value::Object(fields) => {
                if let Some(Value::Object(files)) = fields.get_mut("files") {
                    for list in ["named", "written"] {
                        if let Some(Value::Array(names)) = files.get_mut(list) {
                            keep_never(names);
                        }
                    }
                }
                let path = fields.get("path").and_then(Value::as_str);
                if path.is_some_and(|path| self.is_never_captured(path))
                    && let Some(Value::String(diff)) = fields.get_mut("diff")
                {
                    *diff = placeholder(WithholdReason::Credentials, diff.len());
                }
                fields
                    .values_mut()
                    .for_each(|value| self.filter_open_calls(value));
            }
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.filter_open_calls(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Returns the values in the text of a credential file that are distinctive enough to be searched
/// for in other texts.
pub(crate) fn secret_values(text: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = strip_line_number(line).trim_start_matches(['+', '-', ' ']);
        let value = line.split_once(['=', ':']).map_or(line, |(_, value)| value);
        let value = value.trim().trim_matches(['"', '\'', ',', ';', '`']);
        if is_distinctive(value) && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
        if values.len() == VALUES_MAX {
            break;
        }
    }
    values
}

fn is_distinctive(value: &str) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    value.len() >= VALUE_BYTES_MIN
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !has(|c| c.is_whitespace() || "()[]{}<>$".contains(*c))
        && (!value.contains('/') || value.len() >= ENCODED_BYTES_MIN && !value.contains("://"))
}

/// Strips the line number that a tool for reading files puts before a line.
pub(crate) fn strip_line_number(line: &str) -> &str {
    let trimmed = line.trim_start();
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == trimmed.len() {
        return line;
    }
    let separators = ["→", "\t", ": ", ":", "| ", "|", "  "];
    separators
        .iter()
        .find_map(|separator| rest.strip_prefix(separator))
        .unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_distinctive_values_are_searched_for() {
        let text = "     1→FOO=marker-4711\n2\tPORT=3000\nDEBUG=true\nHOME=/srv/app1\n\
            PLAIN=two words 2\n# a comment\nURL=https://example.com/v2\nQUOTED=\"abcd1234\"";
        assert_eq!(secret_values(text), ["marker-4711", "abcd1234"]);
    }
}
