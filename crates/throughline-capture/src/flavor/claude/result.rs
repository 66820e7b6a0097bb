//! Reads what Claude Code records beside a tool's result: the patch, the exit code, the refusal.

use std::fmt::Write;

use memory::{FileModification, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Flag, Number, Text};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ResultDetail<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    file_path: Text<'a>,
    structured_patch: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    exit_code: Number,
    interrupted: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Hunk<'a> {
    old_start: Number,
    old_lines: Number,
    new_start: Number,
    new_lines: Number,
    lines: Vec<Text<'a>>,
}

/// Adds the details in `toolUseResult` to the result they belong to.
pub(crate) fn add_detail(result: &mut ToolResult, raw: Option<&RawValue>) {
    let raw = raw.filter(|raw| raw.get().starts_with('{'));
    let detail: ResultDetail<'_> = json::parse_or_default(raw);
    // An interrupted command did not do what it was meant to do.
    result.is_error |= detail.interrupted.0;
    #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
    let exit_code = detail.exit_code.0.map(|code| code as i64);
    result.exit_code = exit_code.or_else(|| exit_code_in(&result.content));
    if result.is_error {
        return;
    }
    let Some(path) = detail.file_path.get() else {
        return;
    };
    let mut diff = structured_patch(detail.structured_patch);
    if diff.is_empty() && (detail.kind.is("create") || detail.kind.is("update")) {
        diff = json::parse_or_default::<Text<'_>>(detail.content).into_string();
    }
    if !diff.is_empty() {
        result.changes.push(FileModification {
            path: path.to_owned(),
            diff,
        });
    }
}

fn structured_patch(raw: Option<&RawValue>) -> String {
    let hunks: Vec<Hunk<'_>> = json::parse_or_default(raw);
    let mut diff = String::new();
    for hunk in &hunks {
        let [old_start, old_lines, new_start, new_lines] = [
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines,
        ]
        .map(Number::count);
        let separator = if diff.is_empty() { "" } else { "\n" };
        let _infallible = write!(
            diff,
            "{separator}@@ -{old_start},{old_lines} +{new_start},{new_lines} @@"
        );
        for line in &hunk.lines {
            let _infallible = write!(diff, "\n{}", line.get().unwrap_or(""));
        }
    }
    diff
}

/// Returns the exit code that Claude Code puts before the output of a failed command.
fn exit_code_in(content: &str) -> Option<i64> {
    let rest = content.strip_prefix("Error: ").unwrap_or(content);
    let digits = rest.strip_prefix("Exit code ")?;
    digits.split(['\n', ' ']).next()?.parse().ok()
}

/// The beginning of the result of a refused call. Other calls of the same turn, and interrupted
/// ones, say "the user doesn't want to take" this action "right now", which does not judge them.
const REFUSED: &str = "The user doesn't want to proceed with this tool use";

/// Returns what a person decided about a call, if its result is that decision.
pub(crate) fn user_decision(result: &ToolResult, denial_kind: Option<&str>) -> Option<String> {
    let tool = result.tool.as_deref().unwrap_or("a tool");
    if result.content.starts_with("User has approved your plan") {
        return Some("approved the plan".to_owned());
    }
    // Rules and hooks refuse calls too, which is not a person's decision.
    let by_person = match denial_kind {
        Some(kind) => kind.starts_with("user"),
        None => result.is_error && result.content.starts_with(REFUSED),
    };
    if !by_person {
        return None;
    }
    Some(match refusal_reason(&result.content) {
        Some(reason) => format!("refused {tool}: {reason}"),
        None => format!("refused {tool}"),
    })
}

fn refusal_reason(content: &str) -> Option<&str> {
    [
        "The user provided the following reason for the rejection:",
        "To tell you how to proceed, the user said:",
    ]
    .iter()
    .find_map(|mark| content.split_once(mark))
    .map(|(_, reason)| reason.trim())
    .filter(|reason| !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, is_error: bool, detail: &str, expected: &str) {
        let mut result = ToolResult {
            content: content.to_owned(),
            is_error,
            ..ToolResult::default()
        };
        let raw: Box<RawValue> = serde_json::from_str(detail).unwrap();
        add_detail(&mut result, Some(&raw));
        let mut shown = format!("{:?}", result.exit_code);
        for change in &result.changes {
            let _infallible = write!(shown, " {} {:?}", change.path, change.diff);
        }
        if let Some(decision) = user_decision(&result, None) {
            let _infallible = write!(shown, " {decision}");
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_patch_is_a_diff() {
        check(
            "updated",
            false,
            concat!(
                r#"{"filePath":"/a","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,""#,
                r#"newLines":1,"lines":["-x","+y"]}],"originalFile":"x"}"#,
            ),
            r#"None /a "@@ -1,1 +1,1 @@\n-x\n+y""#,
        );
        check(
            "created",
            false,
            r#"{"type":"create","filePath":"/a","content":"hi","structuredPatch":[]}"#,
            r#"None /a "hi""#,
        );
    }

    #[test]
    fn what_failed_changed_nothing() {
        check(
            "no",
            true,
            r#"{"type":"create","filePath":"/a","content":"hi"}"#,
            "None",
        );
        check(
            "Exit code 127\nsh: x", true, r#""Error: Exit code 127""#, "Some(127)",
        );
        check("ok", false, r#"{"exitCode":0,"stdout":""}"#, "Some(0)");
    }

    #[test]
    fn a_person_refuses_and_approves() {
        let refused =
            "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        check(refused, true, "null", "None refused a tool");
        check(
            &format!(
                "{refused} The user provided the following reason for the rejection:  use pnpm"
            ),
            true,
            "null",
            "None refused a tool: use pnpm",
        );
        check(
            "User has approved your plan. Go.",
            false,
            "null",
            "None approved the plan",
        );
        check(refused, false, "null", "None");
        check(
            "The user doesn't want to take this action right now.",
            true,
            "null",
            "None",
        );
    }
}
