//! The only tool of a model that updates a summary: `edit`, restricted to one file.
//!
//! The model reads untrusted text and may follow a prompt injection. All it can do is to replace
//! text between the headings of the session's own notes, within their size limits. A rejected edit
//! is answered with the reason, so that the model can correct it.

use memory::summary::SummaryLimits;
use memory::tokens::estimate;
use memory::{Summary, Tokens};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// The name of the tool.
pub const EDIT_TOOL: &str = "edit";

/// The file that may be edited, and its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct EditScope<'a> {
    /// The path of the file, as the model knows it.
    pub file: &'a str,
    pub limits: &'a SummaryLimits,
}

/// Why an edit was rejected. The model reads the message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum EditError {
    #[error("the tool {name:?} is not available here; only `{EDIT_TOOL}` is, on {file}")]
    OtherTool { name: String, file: String },
    #[error("{asked:?} cannot be edited; the only editable file is {file}")]
    OtherFile { asked: String, file: String },
    #[error("invalid arguments for `{EDIT_TOOL}`: {why}")]
    InvalidArguments { why: String },
    #[error("old_string and new_string are the same")]
    NoChange,
    #[error("old_string is empty; quote the text to replace, with the heading if necessary")]
    EmptyOldString,
    #[error("old_string is not in the file; quote it exactly, line breaks included")]
    NotFound,
    #[error("old_string occurs {times} times in the file; quote more of it, or set replace_all")]
    Ambiguous { times: usize },
    #[error("headings and the italic lines below them must not change; this edit changes {what:?}")]
    Heading { what: String },
    #[error("section {heading:?} would have {tokens} tokens; the limit is {limit}, so shorten it")]
    SectionTooLong {
        heading: String,
        tokens: Tokens,
        limit: Tokens,
    },
    #[error(
        "the file would have {tokens} tokens; the limit is {limit}, so shorten older parts first"
    )]
    FileTooLong { tokens: Tokens, limit: Tokens },
}

#[derive(Debug, Deserialize)]
struct NotesEditArguments {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// Returns the text after an edit, or the reason for rejecting it.
pub(super) fn apply_edit(
    text: &str,
    tool: &str,
    input: &Value,
    gate: &EditScope<'_>,
) -> Result<String, EditError> {
    if !tool.eq_ignore_ascii_case(EDIT_TOOL) {
        return Err(EditError::OtherTool {
            name: tool.to_owned(),
            file: gate.file.to_owned(),
        });
    }
    let arguments =
        NotesEditArguments::deserialize(input).map_err(|error| EditError::InvalidArguments {
            why: error.to_string(),
        })?;
    if arguments.file_path != gate.file {
        return Err(EditError::OtherFile {
            asked: arguments.file_path,
            file: gate.file.to_owned(),
        });
    }
    let edited = replace_text(text, &arguments)?;
    check_limits(text, &edited, gate.limits)?;
    Ok(edited)
}

fn replace_text(text: &str, arguments: &NotesEditArguments) -> Result<String, EditError> {
    let (old, new) = (arguments.old_string.as_str(), arguments.new_string.as_str());
    if old.is_empty() {
        return Err(EditError::EmptyOldString);
    }
    if old == new {
        return Err(EditError::NoChange);
    }
    match text.matches(old).count() {
        0 => Err(EditError::NotFound),
        1 => Ok(text.replacen(old, new, 1)),
        _ if arguments.replace_all => Ok(text.replace(old, new)),
        times => Err(EditError::Ambiguous { times }),
    }
}

/// Checks the edited file. A text that exceeded its limit before may stay above it as long as the
/// edit makes it shorter.
fn check_limits(before: &str, after: &str, limits: &SummaryLimits) -> Result<(), EditError> {
    let (was, is) = (Summary::parse(before), Summary::parse(after));
    check_headings(&was, &is)?;
    for (section, before) in is.sections.iter().zip(&was.sections) {
        let tokens = estimate(&section.text);
        if tokens > limits.section && tokens > estimate(&before.text) {
            return Err(EditError::SectionTooLong {
                heading: section.heading.clone(),
                tokens,
                limit: limits.section,
            });
        }
    }
    let tokens = estimate(after);
    if tokens > limits.whole && tokens > estimate(before) {
        return Err(EditError::FileTooLong {
            tokens,
            limit: limits.whole,
        });
    }
    Ok(())
}

fn check_headings(was: &Summary, is: &Summary) -> Result<(), EditError> {
    let heads = |summary: &Summary| -> Vec<(String, Option<String>)> {
        let sections = summary.sections.iter();
        sections
            .map(|section| (section.heading.clone(), section.hint.clone()))
            .collect()
    };
    let (was, is) = (heads(was), heads(is));
    if was == is {
        return Ok(());
    }
    let differing = was.iter().zip(&is).find(|(a, b)| a != b).map(|(a, _)| a);
    let missing = was.get(is.len()).or_else(|| is.get(was.len()));
    let what = differing
        .or(missing)
        .map(|(heading, _)| heading.clone())
        .unwrap_or_default();
    Err(EditError::Heading { what })
}

#[cfg(test)]
mod tests {
    use memory::summary::Template;
    use serde_json::json;

    use super::*;

    const FILE: &str = "/m/summary.md";

    fn notes() -> String {
        Template::default().0.to_string()
    }

    fn try_edit(text: &str, tool: &str, input: &Value) -> Result<String, EditError> {
        let limits = SummaryLimits {
            section: Tokens(50),
            whole: Tokens(400),
        };
        let gate = EditScope {
            file: FILE,
            limits: &limits,
        };
        apply_edit(text, tool, input, &gate)
    }

    fn replacement(old: &str, new: &str) -> Value {
        json!({"file_path": FILE, "old_string": old, "new_string": new})
    }

    #[track_caller]
    fn check(old: &str, new: &str, denied: &str) {
        let input = json!({"file_path": FILE, "old_string": old, "new_string": new});
        assert_eq!(
            try_edit(&notes(), EDIT_TOOL, &input)
                .unwrap_err()
                .to_string(),
            denied
        );
    }

    #[test]
    fn words_go_below_the_italic_line() {
        let hint = "_Step by step, very short, what was done_";
        let input = replacement(hint, &format!("{hint}\n1. began"));
        let edited = try_edit(&notes(), "Edit", &input).unwrap();
        assert_eq!(Summary::parse(&edited).get("Worklog"), Some("1. began"));
    }

    #[test]
    fn another_tool_or_file_is_denied_in_so_many_words() {
        let denied =
            |tool: &str, input: Value| try_edit(&notes(), tool, &input).unwrap_err().to_string();
        assert_eq!(
            denied("Bash", json!({"command": "rm -rf /"})),
            "the tool \"Bash\" is not available here; only `edit` is, on /m/summary.md"
        );
        for path in ["/etc/passwd", "/m/../m/summary.md", "summary.md", ""] {
            let said = denied(
                EDIT_TOOL,
                json!({"file_path": path, "old_string": "a", "new_string": "b"}),
            );
            assert!(
                said.ends_with("the only editable file is /m/summary.md"),
                "{said}"
            );
        }
        let said = denied(EDIT_TOOL, json!({"file_path": FILE}));
        assert!(said.contains("missing field `old_string`"), "{said}");
        assert!(denied(EDIT_TOOL, json!("x")).starts_with("invalid arguments"));
    }

    #[test]
    fn the_text_must_be_there_once() {
        check(
            "no such words",
            "x",
            "old_string is not in the file; quote it exactly, line breaks included",
        );
        check(
            "",
            "x",
            "old_string is empty; quote the text to replace, with the heading if necessary",
        );
        check("what", "what", "old_string and new_string are the same");
        let input = json!({"file_path": FILE, "old_string": "_\n", "new_string": "_\nx\n"});
        let denied = try_edit(&notes(), EDIT_TOOL, &input).unwrap_err();
        assert!(
            matches!(denied, EditError::Ambiguous { times: 10 }),
            "{denied}"
        );
        let mut all = input.clone();
        all["replace_all"] = json!(true);
        let edited = Summary::parse(&try_edit(&notes(), EDIT_TOOL, &all).unwrap());
        assert!(edited.sections.iter().all(|section| section.text == "x"));
    }

    #[test]
    fn headings_and_hints_survive() {
        let said = "headings and the italic lines below them must not change; this edit changes";
        check("# Task", "# Orders", &format!("{said} \"Task\""));
        check("# Worklog", "", &format!("{said} \"Worklog\""));
        check(
            "_How the parts of the system fit together_",
            "",
            &format!("{said} \"System documentation\""),
        );
        check(
            "# Worklog",
            "# Extra\n# Worklog",
            &format!("{said} \"Worklog\""),
        );
    }

    #[test]
    fn limits_hold_and_shortening_is_always_allowed() {
        let hint = "_Step by step, very short, what was done_";
        let long = "word ".repeat(60);
        let input =
            json!({"file_path": FILE, "old_string": hint, "new_string": format!("{hint}\n{long}")});
        let denied = try_edit(&notes(), EDIT_TOOL, &input)
            .unwrap_err()
            .to_string();
        assert!(
            denied.contains("\"Worklog\" would have 61 tokens; the limit is 50"),
            "{denied}"
        );
        let mut full = Template::default().0;
        for place in 0..10 {
            full.sections[place].text = "word ".repeat(45).trim().to_owned();
        }
        full.sections[0].text = "word ".repeat(90).trim().to_owned();
        let text = full.to_string();
        let grow = replacement("# Worklog", "# Worklog ");
        assert!(try_edit(&text, EDIT_TOOL, &grow).is_ok());
        let shorter = replacement("word word word\n\n# Current", "word\n\n# Current");
        assert!(try_edit(&text, EDIT_TOOL, &shorter).is_ok());
        let longer = replacement("word\n\n# Task", "word end\n\n# Task");
        let denied = try_edit(&text, EDIT_TOOL, &longer).unwrap_err().to_string();
        assert!(denied.starts_with("the file would have"), "{denied}");
    }
}
