//! Recognises the files of Cline and the programs that descend from it.

use std::path::Path;

use crate::SourceFormat;

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClineFile {
    /// A task's conversation.
    History,
    /// The conversation as the program showed it.
    UiMessages,
    TaskMetadata,
    /// A list of all tasks.
    Tasks,
    Task,
    /// A session of the newer store; `Messages` is its conversation.
    Session,
    Messages,
}

impl ClineFile {
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?;
        let above = folder.parent();
        let in_task = above.is_some_and(|above| above.ends_with("tasks"));
        let folder_name = folder.file_name()?.to_str()?;
        match name {
            "api_conversation_history.json" => Some(Self::History),
            "ui_messages.json" => Some(Self::UiMessages),
            "task_metadata.json" if in_task => Some(Self::TaskMetadata),
            "history_item.json" if in_task => Some(Self::Task),
            "taskHistory.json" if folder_name == "state" => Some(Self::Tasks),
            _ => {
                let stem = name.strip_suffix(".json")?;
                let (id, file) = match stem.strip_suffix(".messages") {
                    Some(id) => (id, Self::Messages),
                    None => (stem, Self::Session),
                };
                let in_sessions = above.is_some_and(|above| above.ends_with("sessions"));
                (in_sessions && (id == folder_name || id == "session")).then_some(file)
            }
        }
    }
}

/// Says whether a path belongs to Roo or one of its forks, whose files have the names of Cline's.
pub(crate) fn is_roo_path(path: &Path) -> bool {
    path.iter().any(|folder| {
        let folder = folder.to_string_lossy().to_ascii_lowercase();
        ["roo", ".roo"].contains(&folder.as_str())
            || ["roo-cline", "roo-code", "roo-code-nightly"]
                .iter()
                .any(|name| folder.ends_with(name))
    })
}

pub(crate) fn claim_path(path: &Path) -> Option<SourceFormat> {
    ClineFile::at(path).map(|_| SourceFormat::Document)
}

/// Says whether a text starts like one of these files.
pub(crate) fn recognises(head: &str) -> bool {
    // All files are JSON documents; a text that only mentions their keys is not one.
    if !head
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '['])
    {
        return false;
    }
    let has = |key: &str| head.contains(key);
    let history = has("\"role\"") && has("\"content\"");
    let shown = has("\"ts\"") && (has("\"say\"") || has("\"ask\""));
    let about = has("\"session_id\"") || has("\"model_usage\"") || has("\"task\"");
    history || shown || about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let check = |path: &str, file| assert_eq!(ClineFile::at(Path::new(path)), file, "{path}");
        let task = "/g/saoudrizwan.claude-dev/tasks/1731784818255";
        check(
            &format!("{task}/api_conversation_history.json"),
            Some(ClineFile::History),
        );
        check(
            &format!("{task}/ui_messages.json"),
            Some(ClineFile::UiMessages),
        );
        check(
            &format!("{task}/task_metadata.json"),
            Some(ClineFile::TaskMetadata),
        );
        check(&format!("{task}/history_item.json"), Some(ClineFile::Task));
        check(&format!("{task}/context_history.json"), None);
        check(
            "/g/saoudrizwan.claude-dev/state/taskHistory.json",
            Some(ClineFile::Tasks),
        );
        check(
            "/g/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            None,
        );
        check(
            "/h/.cline/data/sessions/1_a/1_a.json",
            Some(ClineFile::Session),
        );
        check(
            "/h/.cline/data/sessions/1_a/1_a.messages.json",
            Some(ClineFile::Messages),
        );
        check("/h/.cline/data/sessions/1_a/other.json", None);
        check("/h/.cline/data/secrets.json", None);
    }

    #[test]
    fn roo_is_told_from_cline() {
        assert!(is_roo_path(Path::new(
            "/g/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json"
        )));
        assert!(!is_roo_path(Path::new(
            "/root/g/saoudrizwan.claude-dev/tasks/1/ui_messages.json"
        )));
    }
}
