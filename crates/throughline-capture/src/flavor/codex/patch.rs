//! Reads the patches that Codex reports as applied.

use memory::{CallId, FileModification};

use super::log::{CodexLogReader, CodexPosition};
use super::wire::{Event, FileChange, FileChanges};
use crate::json;

impl CodexLogReader {
    /// Keeps the changes of a patch for the result of its call. If the result came first, it has
    /// the changes that the call announced.
    pub(super) fn note_patch(&mut self, at: CodexPosition<'_>, call: &str, event: &Event<'_>) {
        let before = self.state.clone();
        let failed = event
            .success
            .is_some_and(|success| success.get() == "false")
            || matches!(event.status.as_str(), "failed" | "declined");
        self.note_signal(call, event, failed);
        let Some(files) = json::parse::<FileChanges<'_>>(event.changes) else {
            return;
        };
        let changes: Vec<FileModification> = files
            .into_iter()
            .map(|(path, told)| patched_change(path, &told))
            .collect();
        if !changes.is_empty() && !failed {
            let call = CallId::new(call);
            self.mark_for_reread(at, &call, before);
            if self.applied.len() == APPLIED_MAX {
                self.applied.remove(0);
            }
            self.applied.push((call, changes));
        }
    }
}

/// How many patches are kept for results that have not come.
const APPLIED_MAX: usize = 64;

/// How many lines of a deleted file its change shows.
const DELETED_LINES_MAX: usize = 40;

fn patched_change(path: String, change: &FileChange<'_>) -> FileModification {
    if let Some(inner) = [&change.add, &change.update, &change.delete]
        .into_iter()
        .flatten()
        .next()
    {
        let deleted = change.delete.is_some();
        return FileModification {
            path,
            diff: change_diff(inner, deleted),
        };
    }
    FileModification {
        path,
        diff: change_diff(change, change.kind.as_str() == "delete"),
    }
}

fn change_diff(change: &FileChange<'_>, deleted: bool) -> String {
    let text = change.unified_diff.get().unwrap_or(change.content.as_str());
    if deleted {
        let lines = text.lines().take(DELETED_LINES_MAX);
        return lines
            .map(|line| format!("-{line}"))
            .collect::<Vec<_>>()
            .join("\n");
    }
    match change.move_path.get() {
        Some(to) => format!("*** Move to: {to}\n{text}"),
        None => text.to_owned(),
    }
}
