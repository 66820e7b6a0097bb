//! Finds Copilot CLI's sessions.

use std::path::{Path, PathBuf};

use crate::flavor::names::file_name;
use crate::{AgentEnv, SourceFormat};

const EVENTS: &str = "events.jsonl";
const WORKSPACE: &str = "workspace.yaml";
const FOLDERS: &[&str] = &["session-state", "history-session-state"];

pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_or_home("COPILOT_HOME", ".copilot");
    FOLDERS.iter().map(|folder| home.join(folder)).collect()
}

/// Claims `session-state/<id>/events.jsonl`, its `workspace.yaml`, and `session-state/<id>.jsonl`.
///
/// Other agents have files of these names too, so the folder must be Copilot's.
pub(crate) fn claim(path: &Path) -> Option<SourceFormat> {
    let file = file_name(path);
    let folder = path.parent()?;
    let is_state = |folder: &Path| FOLDERS.contains(&file_name(folder));
    if let Some((_, flattened)) = file.rsplit_once("session-state__") {
        return session_file_format(flattened.rsplit("__").next()?);
    }
    if is_state(folder) && file.ends_with(".jsonl") {
        return Some(SourceFormat::Lines);
    }
    if folder.parent().is_some_and(is_state) {
        return session_file_format(file);
    }
    let copied = path
        .iter()
        .any(|part| part == "copilot" || part == ".copilot");
    if copied && file.ends_with(".jsonl") {
        return Some(SourceFormat::Lines);
    }
    None
}

fn session_file_format(file: &str) -> Option<SourceFormat> {
    match file {
        EVENTS => Some(SourceFormat::Lines),
        WORKSPACE => Some(SourceFormat::Document),
        _ => None,
    }
}

pub(crate) fn recognises(head: &str) -> bool {
    let head = head.trim_start_matches(['\u{feff}', ' ', '\r', '\n']);
    head.starts_with('{')
        && head.contains("\"session.start\"")
        && head.contains("\"copilotVersion\"")
}

/// Returns the session that a path names; the events may name another, which then counts.
pub(crate) fn session_of(path: &Path) -> String {
    let file = file_name(path);
    let flattened = file.rsplit_once("session-state__").map(|(_, rest)| rest);
    if let Some((session, _)) = flattened.and_then(|rest| rest.split_once("__")) {
        return session.to_owned();
    }
    match file {
        EVENTS | WORKSPACE => path.parent().map_or("", file_name).to_owned(),
        file => file.strip_suffix(".jsonl").unwrap_or(file).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, format: Option<SourceFormat>) {
        assert_eq!(claim(Path::new(path)), format, "{path}");
    }

    #[test]
    fn sessions_are_claimed() {
        check(
            "/h/.copilot/session-state/ab/events.jsonl",
            Some(SourceFormat::Lines),
        );
        check(
            "/h/.copilot/session-state/ab/workspace.yaml",
            Some(SourceFormat::Document),
        );
        check(
            "/h/.copilot/session-state/ab.jsonl",
            Some(SourceFormat::Lines),
        );
        check("/copies/copilot/ab/events.jsonl", Some(SourceFormat::Lines));
        check("/copies/copilot/ab.jsonl", Some(SourceFormat::Lines));
        check(
            "/x/copilot__session-state__ab__events.jsonl",
            Some(SourceFormat::Lines),
        );
        check(
            "/x/copilot__session-state__ab__workspace.yaml",
            Some(SourceFormat::Document),
        );
    }

    #[test]
    fn other_files_are_left_alone() {
        check("/h/.grok/sessions/%2Fp/ab/events.jsonl", None);
        check("/h/.copilot/session-state/ab/checkpoints/001.md", None);
        check("/h/.copilot/session-state/ab/plan.md", None);
        check("/h/.copilot/logs/process-1.log", None);
        check("/h/src/workspace.yaml", None);
    }

    #[test]
    fn a_path_names_the_session() {
        for path in [
            "/h/.copilot/session-state/ab/events.jsonl",
            "/h/.copilot/session-state/ab/workspace.yaml",
            "/h/.copilot/session-state/ab.jsonl",
            "/x/copilot__session-state__ab__events.jsonl",
        ] {
            assert_eq!(session_of(Path::new(path)), "ab", "{path}");
        }
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env)[0], Path::new("/h/.copilot/session-state"));
        env.variables.insert("COPILOT_HOME".into(), "/c".into());
        assert_eq!(roots(&env)[0], Path::new("/c/session-state"));
    }
}
