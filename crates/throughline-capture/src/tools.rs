//! What tools' arguments say of files. Agents name their tools differently but their arguments
//! alike, so one reading serves all.

use std::borrow::Cow;

use memory::Change;
use serde::Deserialize;

/// The arguments we know, of any tool.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Input<'a> {
    #[serde(
        borrow,
        alias = "filePath",
        alias = "notebook_path",
        alias = "absolute_path",
        alias = "target_file",
        alias = "AbsolutePath",
        alias = "TargetFile"
    )]
    file_path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "old_str", alias = "oldString", alias = "oldText")]
    old_string: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        alias = "new_str",
        alias = "newString",
        alias = "newText",
        alias = "new_source"
    )]
    new_string: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "file_text", alias = "contents", alias = "code_edit")]
    content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    edits: Vec<Edit<'a>>,
    #[serde(borrow, alias = "patchText")]
    input: Option<Cow<'a, str>>,
    #[serde(borrow)]
    patch: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Edit<'a> {
    #[serde(borrow, alias = "old_str", alias = "oldText", alias = "oldString")]
    old_string: Cow<'a, str>,
    #[serde(borrow, alias = "new_str", alias = "newText", alias = "newString")]
    new_string: Cow<'a, str>,
}

/// Returns the file that a call is about.
pub fn path(input: &str) -> Option<String> {
    let parsed = read(input);
    let named = parsed.file_path.or(parsed.path);
    named
        .filter(|path| !path.is_empty())
        .map(Cow::into_owned)
        .or_else(|| {
            let patched = patch_in(input)?;
            changes_of_patch(&patched)
                .into_iter()
                .next()
                .map(|change| change.path)
        })
}

/// Returns what a call changes when it succeeds.
pub fn changes(tool: &str, input: &str) -> Vec<Change> {
    if let Some(patch) = patch_in(input) {
        return changes_of_patch(&patch);
    }
    if !writes(tool) {
        return Vec::new();
    }
    let parsed = read(input);
    let Some(path) = parsed
        .file_path
        .or(parsed.path)
        .filter(|path| !path.is_empty())
    else {
        return Vec::new();
    };
    let diff = if !parsed.edits.is_empty() {
        parsed
            .edits
            .iter()
            .map(|e| diff(&e.old_string, &e.new_string))
            .collect::<Vec<_>>()
            .join("\n")
    } else if let Some(content) = parsed.content {
        content.into_owned()
    } else {
        diff(
            &parsed.old_string.unwrap_or_default(),
            &parsed.new_string.unwrap_or_default(),
        )
    };
    if diff.is_empty() {
        Vec::new()
    } else {
        vec![Change {
            path: path.into_owned(),
            diff,
        }]
    }
}

/// Says whether a tool of this name writes files.
fn writes(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["edit", "write", "create", "replace", "insert"]
        .iter()
        .any(|verb| tool.contains(verb))
        && !tool.contains("todo")
}

/// Says whether a tool of this name returns a file's text.
pub fn reads(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    (tool.contains("read") || tool == "view" || tool == "view_file" || tool == "cat")
        && !tool.contains("thread")
}

fn read(input: &str) -> Input<'_> {
    if !input.trim_start().starts_with('{') {
        return Input::default();
    }
    // Arguments of the wrong type are the model's slip, not ours: then nothing is known.
    serde_json::from_str(input).unwrap_or_default()
}

/// Returns a replacement as a diff: what went, then what came.
pub fn diff(old: &str, new: &str) -> String {
    let removed = old.lines().map(|line| format!("-{line}"));
    let added = new.lines().map(|line| format!("+{line}"));
    removed.chain(added).collect::<Vec<_>>().join("\n")
}

const PATCH_BEGIN: &str = "*** Begin Patch";

/// Returns the patch that the arguments hold: as themselves, in a field, or in a shell command.
fn patch_in(input: &str) -> Option<Cow<'_, str>> {
    if !input.contains(PATCH_BEGIN) {
        return None;
    }
    if input.trim_start().starts_with(PATCH_BEGIN) {
        return Some(Cow::Borrowed(input));
    }
    let parsed = read(input);
    let field = [parsed.input, parsed.patch]
        .into_iter()
        .flatten()
        .find(|t| t.contains(PATCH_BEGIN));
    field.or_else(|| Some(Cow::Owned(memory::flatten::flatten(input))))
}

/// Splits a patch of the `*** Update File: path` kind by file.
fn changes_of_patch(patch: &str) -> Vec<Change> {
    let Some(begin) = patch.find(PATCH_BEGIN) else {
        return Vec::new();
    };
    let mut changes: Vec<Change> = Vec::new();
    for line in patch[begin..].lines().skip(1) {
        if let Some(path) = ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
        {
            changes.push(Change {
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
        let found = changes(tool, input);
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
        assert_eq!(path(input).as_deref(), Some("/p/a.rs"));
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
        assert!(reads("Read") && reads("read_file") && !reads("Bash"));
    }

    #[test]
    fn a_patch_is_split_by_file() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+new\n*** End Patch";
        check(
            "apply_patch",
            patch,
            &[("a.rs", "@@\n-x\n+y"), ("b.rs", "+new")],
        );
        let shell = serde_json::json!({ "command": ["apply_patch", patch] }).to_string();
        check("shell", &shell, &[("a.rs", "@@\n-x\n+y"), ("b.rs", "+new")]);
        assert_eq!(path(patch).as_deref(), Some("a.rs"));
    }

    #[test]
    fn odd_arguments_are_no_arguments() {
        check("Edit", r#"{"file_path":7}"#, &[]);
        check("Edit", "{", &[]);
    }
}
