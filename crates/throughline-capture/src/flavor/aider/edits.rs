//! Finds the changes that a model proposes in its answer, in the formats that Aider asks for.

use memory::{CallId, ToolUse};

/// The name given to the tool that applies the proposed changes.
pub(crate) const TOOL: &str = "edit";

/// Returns the proposed changes as tool calls; the id of a call is the path of the file it changes.
pub(crate) fn proposed_edits(answer: &str) -> Vec<ToolUse> {
    let lines: Vec<&str> = answer.lines().map(str::trim_end).collect();
    let mut edits: Vec<AiderEdit> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let path = path_before(&lines[..at]);
        let (edit, next) = if is_conflict_marker(lines[at], '<', "SEARCH") {
            // A second block may leave out the name of the file.
            let path = path.or_else(|| edits.last().map(|edit| edit.path.clone()));
            search_replace(&lines, at, path)
        } else if fence_language(lines[at]).is_some() {
            fenced_edit(&lines, at, path)
        } else {
            (None, at + 1)
        };
        edits.extend(edit);
        at = next;
    }
    merge_by_file(edits)
}

struct AiderEdit {
    path: String,
    old: String,
    new: String,
}

/// Merges all changes of one file into one call.
fn merge_by_file(edits: Vec<AiderEdit>) -> Vec<ToolUse> {
    let mut calls: Vec<(String, Vec<serde_json::Value>)> = Vec::new();
    for AiderEdit { path, old, new } in edits {
        let edit = serde_json::json!({ "old_string": old, "new_string": new });
        match calls.iter_mut().find(|(known, _)| *known == path) {
            Some((_, edits)) => edits.push(edit),
            None => calls.push((path, vec![edit])),
        }
    }
    let calls = calls.into_iter().map(|(path, edits)| ToolUse {
        call: CallId::new(path.as_str()),
        tool: TOOL.to_owned(),
        input: serde_json::json!({ "path": path, "edits": edits }).to_string(),
        path: Some(path),
    });
    calls.collect()
}

/// Reads `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
fn search_replace(
    lines: &[&str],
    start: usize,
    path: Option<String>,
) -> (Option<AiderEdit>, usize) {
    let find = |from: usize, mark: char, word: &str| {
        let found = lines[from..]
            .iter()
            .position(|line| is_conflict_marker(line, mark, word));
        found.map(|found| from + found)
    };
    let Some(middle) = find(start + 1, '=', "") else {
        return (None, start + 1);
    };
    let Some(end) = find(middle + 1, '>', "REPLACE") else {
        return (None, start + 1);
    };
    let edit = path.map(|path| AiderEdit {
        path,
        old: lines[start + 1..middle].join("\n"),
        new: lines[middle + 1..end].join("\n"),
    });
    (edit, end + 1)
}

/// Reads a fenced block: a diff, or the whole new text of the file named before it. A block that
/// contains search blocks is skipped here, so that they are read one by one.
fn fenced_edit(lines: &[&str], start: usize, path: Option<String>) -> (Option<AiderEdit>, usize) {
    let Some(language) = fence_language(lines[start]) else {
        return (None, start + 1);
    };
    let inner = &lines[start + 1..];
    let Some(length) = inner
        .iter()
        .position(|line| fence_language(line) == Some(""))
    else {
        return (None, start + 1);
    };
    let body = &inner[..length];
    if body
        .iter()
        .any(|line| is_conflict_marker(line, '<', "SEARCH"))
    {
        return (None, start + 1);
    }
    let edit = if language == "diff" {
        let path = body.iter().find_map(|line| line.strip_prefix("+++ "));
        let of = |sign: char| {
            let of = body
                .iter()
                .filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
            let of = of.filter_map(|line| line.strip_prefix(sign));
            of.collect::<Vec<_>>().join("\n")
        };
        path.map(|path| AiderEdit {
            path: path.to_owned(),
            old: of('-'),
            new: of('+'),
        })
    } else {
        path.map(|path| AiderEdit {
            path,
            old: String::new(),
            new: body.join("\n"),
        })
    };
    (edit, start + length + 2)
}

/// Returns the language of a fence's opening line, which is empty for a closing line.
fn fence_language(line: &str) -> Option<&str> {
    line.strip_prefix("```")
        .map(|rest| rest.trim_start_matches('`').trim())
}

/// Says whether a line is five to nine of `mark`, then `word`: models miscount the usual seven.
fn is_conflict_marker(line: &str, mark: char, word: &str) -> bool {
    let rest = line.trim_start_matches(mark);
    (5..=9).contains(&(line.len() - rest.len())) && rest.trim() == word
}

/// Returns the path on the line before a block, above its fence.
fn path_before(lines: &[&str]) -> Option<String> {
    let mut above = lines.iter().rev();
    let line = above.next()?;
    let line =
        if fence_language(line).is_some_and(|language| !language.is_empty()) || *line == "```" {
            above.next()?
        } else {
            line
        };
    let path = line.trim_matches(['*', '`', '#', ':', ' ']);
    let shaped = !path.is_empty()
        && !path.contains([' ', '<', '>', '(', '"'])
        && path.contains(['.', '/', '_']);
    shaped.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[track_caller]
    fn check(answer: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = proposed_edits(answer)
            .iter()
            .flat_map(|call| tools::file_changes(&call.tool, &call.input))
            .map(|change| (change.path, change.diff))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(p, d)| (p.as_str(), d.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn search_and_replace() {
        let answer = "So:\n\na/b.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\nz\n>>>>>>> REPLACE\n\
            ```\n\nand\n\n```python\n<<<<<<< SEARCH\np\n=======\n>>>>>>> REPLACE\n```\n";
        check(answer, &[("a/b.py", "-x\n+y\n+z\n-p")]);
    }

    #[test]
    fn diffs_and_whole_files() {
        check(
            "```diff\n--- a.py\n+++ a.py\n@@ ... @@\n-x\n+y\n```",
            &[("a.py", "-x\n+y")],
        );
        check("**show.py**\n```\nprint()\n```", &[("show.py", "+print()")]);
    }

    #[test]
    fn other_blocks_propose_nothing() {
        check("Run this:\n\n```bash\nls\n```\n", &[]);
        check("a.py\n```\n<<<<<<< SEARCH\nx\n", &[]);
    }
}
