//! Recognizes refusals: by the agent's own tools, and by the user.
//!
//! Each agent words its refusals differently. A family has one name for all of them, so that the
//! same mistake under two agents is one problem.

use std::sync::LazyLock;

use regex::RegexSet;

/// Only the start of a result says that it is a refusal; the rest may quote anything.
const SCANNED_BYTES: usize = 600;

/// The families of refusals by tools, each with the forms of its messages.
#[rustfmt::skip]
const FAMILIES: &[(&str, &str)] = &[
    ("edit-without-read", concat!(
        r"(?i)has not been read yet|must (first )?(use the )?read (tool )?(the file|it|",
        r"this file)|read (the|this) file (first )?before (editing|writing|overwriting)|",
        r"Read it first before",
    )),
    ("edit-ambiguous", concat!(
        r"(?i)\d+ matches of the string|found multiple times|multiple (occurrences|",
        r"matches)|Expected 1 occurrences? but found [1-9]|more than one match|must be ",
        r"unique|matched \d+ (times|locations)|appears? \d+ times",
    )),
    ("edit-no-match", concat!(
        r"(?i)string to replace (was )?not found|failed to find (expected lines|context)|",
        r"old_?str(ing)?`? (was )?not found|could not find (old_?string|the string to ",
        r"replace|oldString)|0 occurrences found|no occurrences? of|did not match any ",
        r"(lines|text)|no match found|old_string did not appear|search block (was )?not ",
        r"found|SearchReplaceNoExactMatch|failed to exactly match",
    )),
    ("edit-stale", concat!(
        r"(?i)modified since (it was )?(last )?read|unexpectedly modified|file has changed ",
        r"since|changed on disk",
    )),
    ("edit-no-change", concat!(
        r"(?i)old_?string and new_?string (are|must be)|no changes to (make|apply)|are ",
        r"exactly the same",
    )),
    ("invalid-patch", concat!(
        r"(?i)invalid patch|patch (format|hunk).*(invalid|error)|The first line of the ",
        r"patch must be|failed to parse patch",
    )),
    ("too-large", concat!(
        r"(?i)exceeds (the )?maximum allowed (tokens|size|length)|file (content )?is too ",
        r"large|output too large",
    )),
    ("unknown-tool", concat!(
        r"(?i)no such tool available|unsupported call|tool .{1,60} (not found|does not ",
        r"exist)|unknown (tool|skill|agent type|function)|agent type .{1,60} not found",
    )),
    ("invalid-input", concat!(
        r"(?i)InputValidationError|invalid (tool )?(parameters|arguments|input)|failed to ",
        r"parse (function )?arguments|missing required (parameter|argument|field)|params ",
        r"must have",
    )),
    ("is-directory", r"(?i)EISDIR|is a directory"),
    ("path-missing", concat!(
        r"(?i)file does not exist|file not found|path does not exist|ENOENT|no such file|",
        r"directory does not exist|Failed to read file to update|cannot find (the )?(file|",
        r"path)",
    )),
    ("sandbox", concat!(
        r"(?i)sandbox (denied|error|blocked)|outside (of )?the (allowed|workspace|working|",
        r"sandbox)|blocked by (the )?(policy|sandbox|hook)|path not in workspace",
    )),
    ("hook-blocked", r"(?i)hook (error|blocked|denied)|blocked by .{0,20}hook"),
    ("timeout", r"(?i)timed out"),
];

/// How users refuse a call.
#[rustfmt::skip]
const REJECTIONS: &[&str] = &[
    r"(?i)^\W*(the )?user (doesn't|does not|didn't|did not) want",
    concat!(
        r"(?i)^\W*(the )?(tool use|tool call|command|request|action|operation) (was ",
        r")?(rejected|denied|declined|cancelled|canceled|refused) by (the )?user",
    ),
    concat!(
        r"(?i)^\W*(the )?user (has )?(rejected|denied|declined|cancelled|canceled|refused|",
        r"skipped|interrupted)",
    ),
    concat!(
        r"(?i)^\W*\[?request interrupted by user|^\W*interrupted by (the )?user|",
        r"^\W*rejected by (the )?user|^\W*aborted by (the )?user|exec command rejected",
    ),
    r"(?i)^\W*permission (to use|for) .{1,60} (has been )?(denied|was denied)",
];

/// Returns the family of a tool's refusal.
pub(super) fn tool_refusal(result: &str) -> Option<&'static str> {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| {
        RegexSet::new(FAMILIES.iter().map(|(_, pattern)| pattern)).unwrap_or_default()
    });
    let at = SET.matches(head(result)).into_iter().next()?;
    FAMILIES.get(at).map(|(family, _)| *family)
}

/// Says whether the user refused the call.
pub(super) fn is_user_rejection(result: &str) -> bool {
    static SET: LazyLock<RegexSet> =
        LazyLock::new(|| RegexSet::new(REJECTIONS).unwrap_or_default());
    SET.is_match(head(result))
}

fn head(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.floor_char_boundary(SCANNED_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_family_for_the_wordings_of_all_agents() {
        for (text, family) in [
            (
                "<tool_use_error>File has not been read yet. Read it first before writing to it.",
                "edit-without-read",
            ),
            (
                "You must read the file /a/b.ts before overwriting it. Use the Read tool first",
                "edit-without-read",
            ),
            (
                "<tool_use_error>String to replace not found in file.\nString: x",
                "edit-no-match",
            ),
            (
                "apply_patch verification failed: Failed to find expected lines in /a/b.ts:\nx",
                "edit-no-match",
            ),
            (
                "Failed to edit, could not find the string to replace.",
                "edit-no-match",
            ),
            ("oldString not found in content", "edit-no-match"),
            (
                concat!(
                    "<tool_use_error>Found 3 matches of the string to replace, but ",
                    "replace_all is false.",
                ),
                "edit-ambiguous",
            ),
            (
                "Failed to edit, Expected 1 occurrence but found 2.",
                "edit-ambiguous",
            ),
            (
                "oldString found multiple times and requires more code context",
                "edit-ambiguous",
            ),
            (
                concat!(
                    "<tool_use_error>File has been modified since read, either by the user ",
                    "or by a linter.",
                ),
                "edit-stale",
            ),
            (
                "File does not exist. Did you mean .golangci.yaml?",
                "path-missing",
            ),
            ("File not found: /a/b.ts", "path-missing"),
            (
                "<tool_use_error>InputValidationError: Read failed due to the following issue:",
                "invalid-input",
            ),
            (
                "<tool_use_error>Unknown skill: plan_review</tool_use_error>",
                "unknown-tool",
            ),
            (
                "File content (31000 tokens) exceeds maximum allowed tokens (25000).",
                "too-large",
            ),
        ] {
            assert_eq!(tool_refusal(text), Some(family), "{text}");
        }
        assert_eq!(tool_refusal("cargo: 3 tests passed"), None);
    }

    #[test]
    fn refusals_by_the_user_are_not_errors() {
        for text in [
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            "User rejected the command",
            "exec command rejected by user",
            "[Request interrupted by user for tool use]",
            "Permission to use Bash with command rm has been denied.",
        ] {
            assert!(is_user_rejection(text), "{text}");
        }
        assert!(!is_user_rejection("error: the user table does not exist"));
    }

    #[test]
    fn the_patterns_are_valid() {
        assert!(RegexSet::new(FAMILIES.iter().map(|(_, pattern)| pattern)).is_ok());
        assert!(RegexSet::new(REJECTIONS).is_ok());
    }
}
