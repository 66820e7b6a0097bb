//! Decides what is withheld of a tool call and its result, in the same way for every agent and
//! tool.

use memory::command::{self, CallFiles};
use memory::{ToolResult, ToolUse};
use serde_json::Value;

use super::{CaptureScope, WithholdReason, placeholder};
use crate::tools;

impl CaptureScope {
    /// Returns why the output of a call is withheld, or `None` if it is not. `root` is the
    /// session's workspace, `cwd` the folder in which the call ran.
    pub(crate) fn output_reason(
        &self,
        files: &CallFiles,
        root: Option<&str>,
        cwd: Option<&str>,
    ) -> Option<WithholdReason> {
        let mut named = files
            .named
            .iter()
            .chain(&files.printed)
            .chain(&files.written);
        if named.any(|name| self.names_never_captured(name)) {
            return Some(WithholdReason::Credentials);
        }
        let mut printed = files.printed.iter();
        let is_outside = printed.any(|path| self.is_outside(path, root, cwd));
        is_outside.then_some(WithholdReason::Outside)
    }

    /// Returns the arguments of a call without what they write to never-captured files, or `None`
    /// if nothing is withheld. The withheld texts are added to `removed`.
    pub(crate) fn withhold_input(
        &self,
        call: &ToolUse,
        removed: &mut Vec<String>,
    ) -> Option<String> {
        if !self.may_name_never_captured(&call.input) {
            return None;
        }
        let before = removed.len();
        let input = match tools::parse_json_arguments(&call.input) {
            Some(mut value) => {
                self.withhold_values(&mut value, "", false, removed);
                serde_json::to_string(&value).ok()?
            }
            None if command::is_shell_tool(&call.tool)
                && self.writes_never_captured(&call.input) =>
            {
                removed.push(call.input.clone());
                placeholder(WithholdReason::Credentials, call.input.len())
            }
            None => self.withhold_quotes(&call.input, removed)?,
        };
        (removed.len() > before).then_some(input)
    }

    /// Returns a text, which may be JSON, without what it quotes of never-captured files, or `None`
    /// if nothing is withheld.
    pub(crate) fn withhold_text(&self, text: &str, removed: &mut Vec<String>) -> Option<String> {
        if !self.may_name_never_captured(text) {
            return None;
        }
        let Some(mut value) = tools::parse_json_arguments(text) else {
            return self.withhold_quotes(text, removed);
        };
        let before = removed.len();
        self.withhold_values(&mut value, "", false, removed);
        if removed.len() == before {
            return None;
        }
        serde_json::to_string(&value).ok()
    }

    fn withhold_values(
        &self,
        value: &mut Value,
        key: &str,
        of_never: bool,
        removed: &mut Vec<String>,
    ) {
        match value {
            Value::Object(fields) => {
                let is_never = |(key, value): (&String, &Value)| {
                    tools::is_path_key(key)
                        && value
                            .as_str()
                            .is_some_and(|path| self.is_never_captured(path))
                };
                let of_never = of_never || fields.iter().any(is_never);
                for (key, value) in fields {
                    self.withhold_values(value, key, of_never, removed);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.withhold_values(item, key, of_never, removed);
                }
            }
            Value::String(text) => {
                if let Some(kept) = self.withhold_argument(text, key, of_never, removed) {
                    *text = kept;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the replacement of one argument, or `None` if it stays. `of_never` says that another
    /// argument of the same call names a never-captured file.
    pub(crate) fn withhold_argument(
        &self,
        text: &str,
        key: &str,
        of_never: bool,
        removed: &mut Vec<String>,
    ) -> Option<String> {
        if tools::is_path_key(key) || text.is_empty() {
            return None;
        }
        let is_content = of_never && !tools::is_neutral_argument(key, text);
        if is_content || tools::is_command_key(key) && self.writes_never_captured(text) {
            removed.push(text.to_owned());
            return Some(placeholder(WithholdReason::Credentials, text.len()));
        }
        self.withhold_quotes(text, removed)
    }

    /// Says whether a command writes to a never-captured file.
    pub(crate) fn writes_never_captured(&self, text: &str) -> bool {
        self.may_name_never_captured(text)
            && CallFiles::of_command(text)
                .written
                .iter()
                .any(|name| self.names_never_captured(name))
    }

    /// Says whether a word of a command names a never-captured file, or a folder of such files.
    pub(crate) fn names_never_captured(&self, name: &str) -> bool {
        let name = name.trim_end_matches(['/', '\\']);
        !name.is_empty()
            && (self.is_never_captured(name)
                || self.is_never_captured(&format!("{name}/x"))
                || self.glob_matches_never_captured(name))
    }

    /// Says whether a glob such as `.env*` matches a never-captured file.
    fn glob_matches_never_captured(&self, glob: &str) -> bool {
        let file = glob.rsplit(['/', '\\']).next().unwrap_or(glob);
        let Some((start, _)) = file.split_once(['*', '?']) else {
            return false;
        };
        // A glob such as `*.json` means "every file", and does not name a credential.
        (start.len() > 1 || start == ".")
            && self.never_captured.iter().any(|pattern| {
                let name = pattern.rsplit('/').next().unwrap_or(pattern);
                let literal = name.split('*').next().unwrap_or(name);
                literal.len() > 1 && literal.starts_with(start)
            })
    }
}

/// Returns the files of a result, including those that its own fields name.
pub(crate) fn files_of_result(result: &ToolResult) -> CallFiles {
    let mut files = result.files.clone();
    if let Some(path) = &result.path {
        files.add_named(path);
        if result.tool.as_deref().is_some_and(tools::is_read_tool) {
            files.printed.push(path.clone());
        }
    }
    files
}
