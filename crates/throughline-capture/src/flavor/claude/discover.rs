//! Finds Claude Code's logs.

use std::path::{Component, Path, PathBuf};

use crate::flavor::names::is_uuid;
use crate::{AgentEnv, SourceFormat};

/// Returns the folders that contain the projects' folders, and the histories of prompts.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    if let Some(list) = env
        .variables
        .get("CLAUDE_CONFIG_DIR")
        .filter(|list| !list.trim().is_empty())
    {
        let homes = list
            .split(',')
            .map(str::trim)
            .filter(|home| !home.is_empty());
        return homes.flat_map(|home| home_roots(Path::new(home))).collect();
    }
    let config = env.folder_or_home("XDG_CONFIG_HOME", ".config");
    let homes = [env.home.join(".claude"), config.join("claude")];
    homes.iter().flat_map(|home| home_roots(home)).collect()
}

/// Returns a home's folder of projects, and its history of prompts as a root of its own.
fn home_roots(home: &Path) -> [PathBuf; 2] {
    let projects = projects_folder(home);
    let history = projects.with_file_name(HISTORY);
    [projects, history]
}

const HISTORY: &str = "history.jsonl";

pub(crate) fn is_history(path: &Path) -> bool {
    path.ends_with(HISTORY)
}

fn projects_folder(home: &Path) -> PathBuf {
    if home.ends_with("projects") {
        home.to_owned()
    } else {
        home.join("projects")
    }
}

/// Folders of Claude Code's home, or of a session, that contain no logs.
const NOT_LOGS: &[&str] = &[
    "backups", "cache", "debug", "file-history", "plugins", "shell-snapshots", "tasks",
    "telemetry", "todos", "tool-results",
];

/// Returns how to read a file, by its path alone.
pub(crate) fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let names: Vec<&str> = relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (&file, folders) = names.split_last()?;
    if folders.iter().any(|folder| NOT_LOGS.contains(folder)) {
        return None;
    }
    if folders.contains(&"subagents") {
        return subagent_file_format(file);
    }
    if file == HISTORY {
        return folders.is_empty().then_some(SourceFormat::Lines);
    }
    let stem = file
        .strip_suffix(".jsonl")
        .filter(|stem| !stem.is_empty())?;
    // The root may be the home folder above `projects`; other folders in it contain no logs.
    let in_project = match folders.iter().rposition(|&folder| folder == "projects") {
        Some(at) => folders.len() == at + 2,
        None => folders.len() == 1 && !is_home(root),
    };
    (in_project || is_uuid(stem) || (folders.is_empty() && stem.starts_with("agent-")))
        .then_some(SourceFormat::Lines)
}

fn subagent_file_format(file: &str) -> Option<SourceFormat> {
    let name = file.strip_prefix("agent-")?;
    if name.ends_with(".meta.json") {
        Some(SourceFormat::Document)
    } else {
        name.ends_with(".jsonl").then_some(SourceFormat::Lines)
    }
}

fn is_home(root: &Path) -> bool {
    root.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(".claude"))
}

/// Says whether the head of a file is one of Claude Code's logs.
pub(crate) fn recognises(head: &str) -> bool {
    let is_typed = |line: &str| {
        let has = |key: &str| line.contains(key);
        has("\"display\":") && has("\"timestamp\":") && has("\"project\":")
    };
    is_conversation(head) || head.lines().take(HEAD_LINES).any(is_typed)
}

/// Says whether a file is a conversation by its head, whatever its name.
pub(crate) fn is_conversation(head: &str) -> bool {
    head.lines().take(HEAD_LINES).any(|line| {
        let has = |key: &str| line.contains(key);
        // Qwen Code uses the same record names with other fields.
        let is_qwen = has("\"parts\":") || has("\"systemPayload\":");
        let is_entry = has("\"parentUuid\":") && has("\"sessionId\":") && !is_qwen;
        let is_about_it = has("\"leafUuid\":")
            || (has("\"file-history-snapshot\"") && has("\"messageId\":"))
            || (has("\"queue-operation\"") && has("\"sessionId\":"));
        is_entry || is_about_it
    })
}

/// How many lines of a file are checked; the first ones may not be messages.
const HEAD_LINES: usize = 8;

/// The session and the subagent that a log's path names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogOwner {
    /// The session of records that do not name one.
    pub session: String,
    /// The id of the subagent that may have written the log.
    pub agent: Option<String>,
    /// The log is in a folder of subagents, so every record in it is a subagent's.
    pub is_subagent: bool,
}

pub(crate) fn log_owner(path: &Path) -> LogOwner {
    let name = path
        .file_name()
        .map_or("", |name| name.to_str().unwrap_or(""));
    let stem = name
        .strip_suffix(".meta.json")
        .or_else(|| name.strip_suffix(".jsonl"))
        .unwrap_or(name);
    let agent = stem.strip_prefix("agent-").map(str::to_owned);
    let above = path
        .ancestors()
        .find(|folder| folder.ends_with("subagents"))
        .and_then(|folder| folder.parent()?.file_name()?.to_str());
    LogOwner {
        session: above.unwrap_or(stem).to_owned(),
        is_subagent: above.is_some() && agent.is_some(),
        agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "2c5941bd-b9de-41d6-9414-221d175776f7";

    #[track_caller]
    fn check(root: &str, file: &str, format: Option<SourceFormat>) {
        let file = file.replace("UUID", UUID);
        assert_eq!(
            claim(Path::new(root), Path::new(&file)),
            format,
            "{root} {file}"
        );
    }

    #[test]
    fn logs_below_projects() {
        for root in ["/h/.claude/projects", "/copy"] {
            check(root, "-work-p/UUID.jsonl", Some(SourceFormat::Lines));
            check(root, "-work-p/any name.jsonl", Some(SourceFormat::Lines));
            check(
                root,
                "-work-p/agent-3430b97e.jsonl",
                Some(SourceFormat::Lines),
            );
            check(
                root,
                "-work-p/UUID/subagents/agent-a1.jsonl",
                Some(SourceFormat::Lines),
            );
            check(
                root,
                "-work-p/UUID/subagents/workflows/wf/agent-a1.jsonl",
                Some(SourceFormat::Lines),
            );
            check(
                root,
                "-work-p/UUID/subagents/agent-a1.meta.json",
                Some(SourceFormat::Document),
            );
        }
        check(
            "/h/.claude",
            "projects/-work-p/x.jsonl",
            Some(SourceFormat::Lines),
        );
        check(
            "/backup",
            "home/.claude/projects/-work-p/x.jsonl",
            Some(SourceFormat::Lines),
        );
        check("/copy/-work-p", "UUID.jsonl", Some(SourceFormat::Lines));
    }

    #[test]
    fn what_lies_beside_them() {
        check("/h/.claude", "history.jsonl", Some(SourceFormat::Lines));
        check("/h/.claude", "jobs/x.jsonl", None);
        check("/h/.claude", "backups/UUID.jsonl", None);
        check("/copy", "-work-p/history.jsonl", None);
        check(
            "/copy",
            "-work-p/UUID/subagents/workflows/wf/journal.jsonl",
            None,
        );
        check("/copy", "-work-p/UUID/workflows/wf.json", None);
        check("/copy", "-work-p/UUID/tool-results/x.txt", None);
        check("/copy", "-work-p/UUID/other.jsonl", None);
        check("/copy", "-work-p/.jsonl", None);
        check("/copy", "../-work-p/x.jsonl", None);
    }

    #[test]
    fn roots_of_a_machine() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        let shown = |env: &AgentEnv| {
            let (histories, projects): (Vec<_>, Vec<_>) =
                roots(env).into_iter().partition(|root| is_history(root));
            assert_eq!(histories.len(), projects.len());
            for (history, projects) in histories.iter().zip(&projects) {
                assert_eq!(history.parent(), projects.parent());
            }
            format!("{projects:?}")
        };
        assert_eq!(
            shown(&env),
            r#"["/h/.claude/projects", "/h/.config/claude/projects"]"#
        );
        env.variables.insert("XDG_CONFIG_HOME".into(), "/x".into());
        assert_eq!(
            shown(&env),
            r#"["/h/.claude/projects", "/x/claude/projects"]"#
        );
        env.variables
            .insert("CLAUDE_CONFIG_DIR".into(), "/a, /b/projects".into());
        assert_eq!(shown(&env), r#"["/a/projects", "/b/projects"]"#);
    }

    #[test]
    fn whose_a_log_is() {
        let of = |path: &str| {
            let whose = log_owner(Path::new(path));
            format!("{} {:?}", whose.session, whose.agent)
        };
        assert_eq!(of("/p/s1.jsonl"), "s1 None");
        assert_eq!(of("/p/agent-a1.jsonl"), r#"agent-a1 Some("a1")"#);
        assert_eq!(
            of("/p/s1/subagents/wf/x/agent-a1.meta.json"),
            r#"s1 Some("a1")"#
        );
    }
}
