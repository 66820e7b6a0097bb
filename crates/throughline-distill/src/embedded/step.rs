//! What the extractor sees of a session: one record, wherever it comes from.

use memory::{MessageId, Record, RecordKind};
use store::StoredRecord;

/// One event of a session.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    pub message: &'a MessageId,
    pub kind: RecordKind,
    pub tool: Option<&'a str>,
    pub path: Option<&'a str>,
    pub call: Option<&'a str>,
    pub content: &'a str,
    pub exit_code: Option<i64>,
    pub cwd: Option<&'a str>,
    pub branch: Option<&'a str>,
}

impl<'a> From<&'a StoredRecord> for RecordView<'a> {
    fn from(record: &'a StoredRecord) -> Self {
        let code = record
            .metadata
            .get("exit_code")
            .and_then(|code| code.as_str());
        Self {
            message: &record.message,
            kind: record.kind,
            tool: record.tool.as_deref(),
            path: record.path.as_deref(),
            call: record.call.as_deref(),
            content: &record.content,
            exit_code: code.and_then(|code| code.parse().ok()),
            cwd: record.context.cwd.as_deref(),
            branch: record.context.branch.as_deref(),
        }
    }
}

impl<'a> From<&'a Record> for RecordView<'a> {
    fn from(record: &'a Record) -> Self {
        let code = record.metadata.get("exit_code");
        Self {
            message: &record.message,
            kind: record.kind,
            tool: record.tool.as_deref(),
            path: record.path.as_deref(),
            call: record.call.as_ref().map(memory::CallId::as_str),
            content: &record.content,
            exit_code: code.and_then(|code| code.parse().ok()),
            cwd: record.context.cwd.as_deref(),
            branch: record.context.branch.as_deref(),
        }
    }
}

impl RecordView<'_> {
    pub fn failed(&self) -> bool {
        self.kind == RecordKind::Error || self.exit_code.is_some_and(|code| code != 0)
    }

    /// Returns the command line of a call that runs one.
    pub fn command(&self) -> Option<String> {
        let text = argument(self.content, COMMANDS)?;
        let text = text.trim();
        let script = WRAPPERS
            .iter()
            .find_map(|wrapper| text.strip_prefix(wrapper));
        let script = script.unwrap_or(text).trim();
        (!script.is_empty()).then(|| script.to_owned())
    }

    /// Returns the todo list or the plan that a call sets.
    pub fn todos(&self) -> Option<String> {
        let tool = self.tool?.to_lowercase();
        let is_list = tool.contains("todo") || tool.contains("plan") || tool == "focus_chain";
        let shaped = ["status:", "step:", "content:", "- ["];
        let holds = shaped.iter().any(|mark| self.content.contains(mark));
        (is_list && holds).then(|| items(self.content))
    }
}

/// Names under which tools take a command.
const COMMANDS: &[&str] = &["command", "cmd", "CommandLine", "script"];
/// What agents put around a command.
const WRAPPERS: &[&str] = &[
    "bash -lc ",
    "bash -c ",
    "/bin/bash -lc ",
    "/bin/bash -c ",
    "zsh -lc ",
    "sh -c ",
    "sh -lc ",
];

/// Returns an argument of a call, whose arguments stand one under the other as `name: value`.
fn argument<'a>(content: &'a str, names: &[&str]) -> Option<&'a str> {
    let mut start = None;
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        match start {
            None => {
                let named = names.iter().find_map(|name| {
                    let rest = line.strip_prefix(name)?.strip_prefix(':')?;
                    Some(line.len() - rest.len())
                });
                start = named.map(|offset| at + offset);
            }
            Some(start) if is_argument(line) => return content.get(start..at),
            Some(_) => {}
        }
        at += line.len();
    }
    content.get(start?..)
}

/// Says whether a line begins another argument. A command may hold lines of the same form, so only
/// names count that stand beside commands.
fn is_argument(line: &str) -> bool {
    const BESIDE: &[&str] = &[
        "description",
        "timeout",
        "timeout_ms",
        "workdir",
        "cwd",
        "run_in_background",
        "is_background",
        "justification",
        "with_escalated_permissions",
        "sandbox_permissions",
        "yield_time_ms",
        "max_output_tokens",
        "shell",
        "login",
        "requires_approval",
        "dir_path",
        "explanation",
        "blocking",
        "Cwd",
        "WaitMsBeforeAsync",
        "SafeToAutoRun",
        "toolAction",
        "toolSummary",
        "directory",
        "prefix_rule",
        "mode",
        "shellId",
        "initial_wait",
        "tty",
    ];
    line.split_once(':')
        .is_some_and(|(name, _)| BESIDE.contains(&name))
}

/// Turns the arguments of a todo tool into a list with marks.
fn items(content: &str) -> String {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in content.lines().map(str::trim) {
        let (name, value) = line.split_once(": ").unwrap_or(("", line));
        match name {
            "content" | "step" | "text" | "title" => {
                items.push((value.to_owned(), String::new()));
            }
            "status" => match items.last_mut() {
                Some(item) if item.1.is_empty() => value.clone_into(&mut item.1),
                _ => items.push((String::new(), value.to_owned())),
            },
            _ if line.starts_with("- [") => items.push((line[2..].to_owned(), "-".to_owned())),
            _ => {}
        }
    }
    // Some tools name the status first.
    let shown = items.iter().filter(|(text, _)| !text.is_empty());
    let shown = shown.map(|(text, status)| match status.as_str() {
        "-" => format!("- {text}"),
        "" => format!("- {text}"),
        status => format!("- [{status}] {text}"),
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, command: Option<&str>) {
        let message = MessageId::new("m");
        let step = RecordView {
            message: &message,
            kind: RecordKind::ToolUse,
            tool: Some("Bash"),
            path: None,
            call: None,
            content,
            exit_code: None,
            cwd: None,
            branch: None,
        };
        assert_eq!(step.command().as_deref(), command);
    }

    #[test]
    fn a_command_is_all_of_its_lines() {
        check("command: cargo test\ntimeout: 5", Some("cargo test"));
        check(
            "description: x\ncommand: cat <<E\na: b\nE\ntimeout: 5",
            Some("cat <<E\na: b\nE"),
        );
        check(
            "command: bash -lc cargo test\nworkdir: /p",
            Some("cargo test"),
        );
        check("cmd: ls", Some("ls"));
        check("path: a.rs\ncontent: command", None);
        check("command: \ntimeout: 1", None);
    }

    #[test]
    fn a_todo_list_reads_as_one() {
        let text = "todos:\n  content: a\n  status: done\n  content: b\n  status: pending";
        assert_eq!(items(text), "- [done] a\n- [pending] b");
        assert_eq!(items("task_progress: - [x] a\n- [ ] b"), "- [ ] b");
    }
}
