//! A common view of stored records and of records that are not stored yet.

use memory::{MessageId, Record, RecordKind, command};
use store::StoredRecord;

/// The parts of a record that the extractor reads.
#[derive(Clone, Copy, Debug)]
pub struct ExtractorRecord<'a> {
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

impl<'a> From<&'a StoredRecord> for ExtractorRecord<'a> {
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

impl<'a> From<&'a Record> for ExtractorRecord<'a> {
    fn from(record: &'a Record) -> Self {
        let code = record
            .metadata
            .get("exit_code")
            .and_then(|code| code.as_str());
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

impl ExtractorRecord<'_> {
    pub fn failed(&self) -> bool {
        !command::call_succeeded(self.kind == RecordKind::Error, self.exit_code)
    }

    /// Returns the todo list or the plan that a call sets, as a Markdown list.
    pub fn todos(&self) -> Option<String> {
        let tool = self.tool?.to_lowercase();
        let is_list = tool.contains("todo") || tool.contains("plan") || tool == "focus_chain";
        let markers = ["status:", "step:", "content:", "- ["];
        let has_items = markers.iter().any(|marker| self.content.contains(marker));
        (is_list && has_items).then(|| todo_items(self.content))
    }
}

/// Turns the arguments of a todo tool into a Markdown list.
fn todo_items(content: &str) -> String {
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
    // Some tools put the status before the text, so an item may have no text.
    let shown = items.iter().filter(|(text, _)| !text.is_empty());
    let shown = shown.map(|(text, status)| match status.as_str() {
        "-" | "" => format!("- {text}"),
        status => format!("- [{status}] {text}"),
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_todo_list_reads_as_one() {
        let text = "todos:\n  content: a\n  status: done\n  content: b\n  status: pending";
        assert_eq!(todo_items(text), "- [done] a\n- [pending] b");
        assert_eq!(todo_items("task_progress: - [x] a\n- [ ] b"), "- [ ] b");
    }
}
