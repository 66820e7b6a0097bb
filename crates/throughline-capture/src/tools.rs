//! Finds files and changes in the arguments of tools. Agents name their tools differently but use
//! similar arguments, so one parser serves all.

use std::borrow::Cow;

use memory::FileModification;
use memory::command::{self, CallFiles};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Lenient, Text};

/// The known arguments of all tools. A value of an unexpected type is a mistake of the model, or
/// the argument means something else for that tool; the other arguments stay valid.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolArguments<'a> {
    #[serde(
        borrow,
        alias = "filePath",
        alias = "filepath",
        alias = "notebook_path",
        alias = "absolute_path",
        alias = "target_file",
        alias = "AbsolutePath",
        alias = "TargetFile"
    )]
    file_path: Lenient<Text<'a>>,
    #[serde(borrow)]
    path: Lenient<Text<'a>>,
    #[serde(
        borrow,
        alias = "old_str",
        alias = "old_text",
        alias = "oldString",
        alias = "oldText",
        alias = "TargetContent"
    )]
    old_string: Lenient<Text<'a>>,
    #[serde(
        borrow,
        alias = "new_str",
        alias = "new_text",
        alias = "newString",
        alias = "newText",
        alias = "new_source",
        alias = "ReplacementContent"
    )]
    new_string: Lenient<Text<'a>>,
    #[serde(
        borrow,
        alias = "file_text",
        alias = "contents",
        alias = "changes",
        alias = "code_edit",
        alias = "CodeContent"
    )]
    content: Lenient<Text<'a>>,
    #[serde(borrow)]
    diff: Lenient<Text<'a>>,
    /// A list of edits, raw because another tool may use the name for something else.
    #[serde(borrow)]
    edits: Option<&'a RawValue>,
    #[serde(borrow, alias = "patchText")]
    input: Lenient<Text<'a>>,
    #[serde(borrow)]
    patch: Lenient<Text<'a>>,
}

impl<'a> ToolArguments<'a> {
    fn named_file(&self) -> Option<&str> {
        let named = [&self.file_path, &self.path];
        let mut named = named.into_iter().filter_map(|text| text.as_deref());
        named.find(|path| !path.is_empty())
    }

    /// Returns the change to the file that the arguments name, as a diff or a text.
    fn replacement_diff(&self) -> Option<String> {
        let edits: Vec<EditArguments<'a>> = self
            .edits
            .and_then(|edits| serde_json::from_str(edits.get()).ok())
            .unwrap_or_default();
        let replaced = |old: &Lenient<Text<'_>>, new: &Lenient<Text<'_>>| {
            diff(
                old.as_deref().unwrap_or_default(),
                new.as_deref().unwrap_or_default(),
            )
        };
        let text = if !edits.is_empty() {
            let edits = edits.iter().map(|e| replaced(&e.old_string, &e.new_string));
            edits.collect::<Vec<_>>().join("\n")
        } else if let Some(content) = self.content.as_deref().or(self.diff.as_deref()) {
            content.to_owned()
        } else {
            replaced(&self.old_string, &self.new_string)
        };
        (!text.is_empty()).then_some(text)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EditArguments<'a> {
    #[serde(
        borrow,
        alias = "old_str",
        alias = "old_text",
        alias = "oldText",
        alias = "oldString"
    )]
    old_string: Lenient<Text<'a>>,
    #[serde(
        borrow,
        alias = "new_str",
        alias = "new_text",
        alias = "newText",
        alias = "newString"
    )]
    new_string: Lenient<Text<'a>>,
}

/// Returns the file that a call is about.
pub fn target_path(input: &str) -> Option<String> {
    let parsed = parse_arguments(input);
    if let Some(path) = parsed.named_file() {
        return Some(path.to_owned());
    }
    let patched = split_patch(&find_patch(input, &parsed)?);
    patched.into_iter().next().map(|change| change.path)
}

/// Returns what a call changes when it succeeds.
pub fn file_changes(tool: &str, input: &str) -> Vec<FileModification> {
    let parsed = parse_arguments(input);
    // The named file comes first: its new text may itself contain a patch.
    if is_write_tool(tool)
        && let Some(path) = parsed.named_file()
        && let Some(diff) = parsed.replacement_diff()
    {
        let path = path.to_owned();
        return vec![FileModification { path, diff }];
    }
    find_patch(input, &parsed).map_or_else(Vec::new, |patch| split_patch(&patch))
}

/// Says whether a tool of this name writes files.
pub fn is_write_tool(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["edit", "write", "create", "replace", "insert", "apply_diff"]
        .iter()
        .any(|verb| tool.contains(verb))
        && !tool.contains("todo")
}

/// Says whether a tool of this name returns a file's text.
pub fn is_read_tool(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    (tool.contains("read") || tool == "view" || tool == "view_file" || tool == "cat")
        && !["thread", "bash", "shell", "terminal"]
            .iter()
            .any(|other| tool.contains(other))
}

/// Returns the files that a call names, reads and writes.
pub fn call_files(tool: &str, input: &str) -> CallFiles {
    let value = match parse_json_arguments(input) {
        Some(value) => value,
        None if command::is_shell_tool(tool) => return CallFiles::of_command(input),
        None => return CallFiles::default(),
    };
    let is_view = value.get("command").and_then(Value::as_str) == Some("view");
    let mut files = CallFiles::default();
    add_files(&value, "", is_read_tool(tool) || is_view, &mut files);
    files
}

fn add_files(value: &Value, key: &str, is_reader: bool, files: &mut CallFiles) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                add_files(value, key, is_reader, files);
            }
        }
        Value::Array(items) if is_command_key(key) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            files.merge(CallFiles::of_command(&words.join(" ")));
            for word in words {
                files.merge(CallFiles::of_command(word));
            }
        }
        Value::Array(items) => {
            for item in items {
                add_files(item, key, is_reader, files);
            }
        }
        Value::String(text) if is_command_key(key) => files.merge(CallFiles::of_command(text)),
        Value::String(text) if is_path_key(key) => {
            let path = text.strip_prefix("file://").unwrap_or(text);
            files.add_named(path);
            if is_reader {
                files.printed.push(path.to_owned());
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses arguments that are a JSON object or list.
pub fn parse_json_arguments(input: &str) -> Option<Value> {
    let is_json = input.trim_start().starts_with(['{', '[']);
    is_json.then(|| serde_json::from_str(input).ok()).flatten()
}

/// Says whether a field of this name holds paths.
pub fn is_path_key(key: &str) -> bool {
    let key = normalize_key(key);
    if key.contains("text") || key.contains("content") {
        return false;
    }
    key.contains("path")
        || key.contains("filename")
        || ["file", "files", "uri", "glob", "include"]
            .iter()
            .any(|end| key.ends_with(end))
        || ["source", "destination", "target", "directory", "dir"].contains(&key.as_str())
}

/// Says whether a field of this name holds a shell command or a program.
pub fn is_command_key(key: &str) -> bool {
    [
        "command", "cmd", "commandline", "script", "code", "argv", "args", "commands",
    ]
    .contains(&normalize_key(key).as_str())
}

/// Says whether an argument beside a path only describes the call and contains no text of the file.
pub fn is_neutral_argument(key: &str, text: &str) -> bool {
    const NEUTRAL: &[&str] = &[
        "description", "explanation", "instruction", "mode", "type", "pattern", "query",
        "outputmode", "encoding", "tool", "toolname", "name", "id", "status", "role", "editmode",
        "celltype", "cellid",
    ];
    let key = normalize_key(key);
    NEUTRAL.contains(&key.as_str())
        || is_command_key(&key) && !text.contains(char::is_whitespace)
        || is_path_key(&key)
}

/// Returns a field's name in lower case without separators, which agents use differently.
pub fn normalize_key(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn parse_arguments(input: &str) -> ToolArguments<'_> {
    if !input.trim_start().starts_with('{') {
        return ToolArguments::default();
    }
    serde_json::from_str(input).unwrap_or_default()
}

/// Returns a replacement as a diff: the removed lines, then the added ones.
pub fn diff(old: &str, new: &str) -> String {
    let removed = old.lines().map(|line| format!("-{line}"));
    let added = new.lines().map(|line| format!("+{line}"));
    removed.chain(added).collect::<Vec<_>>().join("\n")
}

const PATCH_BEGIN: &str = "*** Begin Patch";

/// Returns the patch in the arguments: as a whole, in a field, or in a shell command that applies
/// it.
fn find_patch<'a>(input: &'a str, parsed: &ToolArguments<'a>) -> Option<Cow<'a, str>> {
    if !input.contains(PATCH_BEGIN) {
        return None;
    }
    if input.trim_start().starts_with(PATCH_BEGIN) {
        return Some(Cow::Borrowed(input));
    }
    let fields = [&parsed.input, &parsed.patch];
    let mut fields = fields
        .into_iter()
        .filter_map(|field| field.0.as_ref()?.0.as_ref());
    if let Some(patch) = fields.find(|text| text.contains(PATCH_BEGIN)) {
        return Some(patch.clone());
    }
    let applied = ["apply_patch", "applypatch"]
        .iter()
        .any(|name| input.contains(name));
    applied.then(|| Cow::Owned(memory::flatten::flatten(input)))
}

/// Splits a patch in the `*** Update File: path` format by file.
fn split_patch(patch: &str) -> Vec<FileModification> {
    let Some(begin) = patch.find(PATCH_BEGIN) else {
        return Vec::new();
    };
    let mut changes: Vec<FileModification> = Vec::new();
    for line in patch[begin..].lines().skip(1) {
        if let Some(path) = ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
        {
            changes.push(FileModification {
                path: path.trim().to_owned(),
                diff: String::new(),
            });
        } else if line.starts_with("*** End Patch") {
            break;
        } else if let Some(change) = changes.last_mut() {
            if !change.diff.is_empty() {
                change.diff.push('\n');
            }
            change.diff.push_str(line);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, input: &str, expected: &[(&str, &str)]) {
        let found = file_changes(tool, input);
        let found: Vec<_> = found
            .iter()
            .map(|c| (c.path.as_str(), c.diff.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_edit_is_a_diff() {
        let input = r#"{"file_path":"/p/a.rs","old_string":"a\nb","new_string":"c"}"#;
        check("Edit", input, &[("/p/a.rs", "-a\n-b\n+c")]);
        assert_eq!(target_path(input).as_deref(), Some("/p/a.rs"));
    }

    #[test]
    fn a_new_file_is_its_text() {
        check(
            "write_file",
            r#"{"path":"x.txt","content":"hi"}"#,
            &[("x.txt", "hi")],
        );
        check(
            "create",
            r#"{"path":"x.txt","file_text":"hi"}"#,
            &[("x.txt", "hi")],
        );
    }

    #[test]
    fn reading_changes_nothing() {
        check("Read", r#"{"file_path":"/p/a.rs"}"#, &[]);
        check("TodoWrite", r#"{"todos":[]}"#, &[]);
        assert!(is_read_tool("Read") && is_read_tool("read_file") && !is_read_tool("Bash"));
        assert!(is_read_tool("view") && !is_read_tool("read_bash") && !is_read_tool("read_thread"));
    }

    #[test]
    fn a_patch_is_split_by_file() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+new\n\
            *** End Patch";
        check(
            "apply_patch",
            patch,
            &[("a.rs", "@@\n-x\n+y"), ("b.rs", "+new")],
        );
        let shell = serde_json::json!({ "command": ["apply_patch", patch] }).to_string();
        check("shell", &shell, &[("a.rs", "@@\n-x\n+y"), ("b.rs", "+new")]);
        assert_eq!(target_path(patch).as_deref(), Some("a.rs"));
    }

    #[test]
    fn odd_arguments_are_no_arguments() {
        check("Edit", r#"{"file_path":7}"#, &[]);
        check("Edit", "{", &[]);
        check(
            "write",
            r#"{"filePath":"a","content":"b","input":{},"edits":"none","path":null}"#,
            &[("a", "b")],
        );
        assert_eq!(
            target_path(r#"{"path":"a","content":[1]}"#).as_deref(),
            Some("a")
        );
    }

    /// Names of tools and arguments as they occur in agents' logs.
    #[test]
    fn every_agent_has_its_words() {
        for (tool, input) in [
            (
                "Edit",
                r#"{"replace_all":false,"file_path":"a","old_string":"x","new_string":"y"}"#,
            ),
            (
                "MultiEdit",
                r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}"#,
            ),
            (
                "NotebookEdit",
                r#"{"notebook_path":"a","old_string":"x","new_source":"y"}"#,
            ),
            (
                "search_replace",
                r#"{"file_path":"a","old_string":"x","new_string":"y"}"#,
            ),
            (
                "replace",
                r#"{"file_path":"a","instruction":"i","old_string":"x","new_string":"y"}"#,
            ),
            (
                "edit",
                r#"{"filePath":"a","oldString":"x","newString":"y"}"#,
            ),
            ("edit", r#"{"path":"a","old_str":"x","new_str":"y"}"#),
            ("edit", r#"{"path":"a","oldText":"x","newText":"y"}"#),
            (
                "edit",
                r#"{"path":"a","edits":[{"oldText":"x","newText":"y"}]}"#,
            ),
            ("editor", r#"{"path":"a","old_text":"x","new_text":"y"}"#),
            (
                "str_replace_based_edit_tool",
                r#"{"command":"str_replace","path":"a","old_str":"x","new_str":"y"}"#,
            ),
            (
                "replace_file_content",
                r#"{"TargetFile":"a","TargetContent":"x","ReplacementContent":"y"}"#,
            ),
        ] {
            check(tool, input, &[("a", "-x\n+y")]);
        }
        for (tool, input) in [
            ("Write", r#"{"file_path":"a","content":"y"}"#),
            ("write", r#"{"filePath":"a","content":"y"}"#),
            ("create", r#"{"path":"a","file_text":"y"}"#),
            ("edit_file", r#"{"target_file":"a","code_edit":"y"}"#),
            (
                "builtin_create_new_file",
                r#"{"filepath":"a","contents":"y"}"#,
            ),
            ("write_to_file", r#"{"TargetFile":"a","CodeContent":"y"}"#),
            (
                "builtin_edit_existing_file",
                r#"{"filepath":"a","changes":"y"}"#,
            ),
            ("replace_in_file", r#"{"path":"a","diff":"y"}"#),
            ("apply_diff", r#"{"path":"a","diff":"y"}"#),
        ] {
            check(tool, input, &[("a", "y")]);
        }
        for input in [
            r#"{"target_file":"a"}"#,
            r#"{"AbsolutePath":"a"}"#,
            r#"{"filePath":"a","offset":1,"limit":2}"#,
            r#"{"path":"a","view_range":[1,2]}"#,
            r#"{"pattern":"x","path":"a","-n":true}"#,
        ] {
            assert_eq!(target_path(input).as_deref(), Some("a"), "{input}");
        }
    }

    #[test]
    fn speaking_of_a_patch_applies_none() {
        let patch = "*** Begin Patch\n*** Delete File: a.rs\n*** End Patch";
        let written = serde_json::json!({ "file_path": "doc.md", "content": patch }).to_string();
        check("Write", &written, &[("doc.md", patch)]);
        let searched = serde_json::json!({ "command": format!("grep '{patch}' doc.md") });
        check("Bash", &searched.to_string(), &[]);
        let applied = serde_json::json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF") });
        check("exec_command", &applied.to_string(), &[("a.rs", "")]);
        let text = serde_json::json!({ "patchText": patch }).to_string();
        check("apply_patch", &text, &[("a.rs", "")]);
    }
}
