//! Finds Gemini CLI's sessions.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::conversation::Layout;
use crate::AgentEnv;
use crate::flavor::names::file_name;

/// Returns the folder of all projects. The variable names the parent of `.gemini`.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_variable("GEMINI_CLI_HOME");
    let home = home.unwrap_or_else(|| env.home.clone());
    vec![home.join(".gemini").join("tmp")]
}

/// Says whether a file is a session: `chats/session-*`, or `chats/<parent>/<subagent>.jsonl`.
pub(crate) fn is_session(path: &Path) -> bool {
    let file = file_name(path);
    let folder = path.parent().map_or("", file_name);
    let above = path.parent().and_then(Path::parent).map_or("", file_name);
    if folder == "chats" {
        return file.starts_with("session-") && is_log(file);
    }
    // Collections of logs flatten the folders into the name.
    let flattened = file.contains("__chats__session-") && is_log(file);
    let copied = path.iter().any(|part| part == "gemini");
    flattened || ((above == "chats" || copied) && file.ends_with(".jsonl"))
}

fn is_log(name: &str) -> bool {
    name.ends_with(".json") || name.ends_with(".jsonl")
}

/// Says whether a text starts like a session of either format.
pub(crate) fn recognises(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && head.contains("\"sessionId\"")
        && head.contains("\"projectHash\"")
}

/// The session that the path of a file names.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeminiLocation {
    /// The session in the file's name, for files that do not name one.
    pub session: String,
    pub cwd: Option<String>,
    /// The session that started this one with a tool call.
    pub parent: Option<String>,
    pub layout: Layout,
    /// A later version resumed the session and copied it to a `.jsonl` beside it.
    pub superseded: bool,
}

impl GeminiLocation {
    pub(crate) fn of(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(path);
        let above = folder.parent().unwrap_or(folder);
        let (chats, parent) = if file_name(above) == "chats" {
            (above, Some(file_name(folder).to_owned()))
        } else {
            (folder, None)
        };
        let is_object = path.extension() == Some(OsStr::new("json"));
        Self {
            session: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            cwd: chats.parent().and_then(project_root),
            parent,
            layout: if is_object {
                Layout::Object
            } else {
                Layout::Lines
            },
            superseded: is_object && path.with_extension("jsonl").exists(),
        }
    }
}

/// Returns the working directory of a project, from its own folder or from the list of all
/// projects.
fn project_root(project: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Registry {
        projects: BTreeMap<String, String>,
    }
    if let Ok(root) = fs::read_to_string(project.join(".project_root")) {
        return Some(root.trim().to_owned()).filter(|root| !root.is_empty());
    }
    let home = project.parent()?.parent()?;
    let registry = fs::read_to_string(home.join("projects.json")).ok()?;
    let registry: Registry = serde_json::from_str(&registry).ok()?;
    let mut projects = registry.projects.into_iter();
    projects.find_map(|(root, slug)| (slug == file_name(project)).then_some(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, is: bool) {
        assert_eq!(is_session(Path::new(path)), is, "{path}");
    }

    #[test]
    fn sessions_are_claimed_below_any_root() {
        check(
            "/h/.gemini/tmp/proj/chats/session-2026-11-15T18-38-694b1fc8.jsonl",
            true,
        );
        check(
            "/h/.gemini/tmp/40fc80/chats/session-2026-04-14T09-55-d0ed8c54.json",
            true,
        );
        check(
            "/h/.gemini/tmp/proj/chats/694b1fc8-274d-4ddc-ae01-c1b1b6531e1d/ab12.jsonl",
            true,
        );
        check(
            "/copies/gemini__tmp__proj__chats__session-2026-11-15T18-38-694b1fc8.jsonl",
            true,
        );
    }

    #[test]
    fn other_files_are_left_alone() {
        for path in [
            "logs.json",
            "shell_history",
            "checkpoint-x.json",
            "chats/session-1.jsonl.unreadable-17",
            "chats/session-1.jsonl.tmp-9",
            "tool-outputs/session-1/read.txt",
        ] {
            check(&format!("/h/.gemini/tmp/proj/{path}"), false);
        }
        check(
            "/h/.qwen/projects/p/chats/019f0000-0000-7000-8000-000000000001.jsonl",
            false,
        );
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env), [PathBuf::from("/h/.gemini/tmp")]);
        env.variables.insert("GEMINI_CLI_HOME".into(), "/g".into());
        assert_eq!(roots(&env), [PathBuf::from("/g/.gemini/tmp")]);
    }

    #[test]
    fn the_project_is_found_by_either_way() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/proj/chats");
        fs::create_dir_all(chats.join("parent")).unwrap();
        let log = chats.join("session-1.json");
        let cwd = || GeminiLocation::of(&log).cwd;
        assert_eq!(cwd(), None);
        let registry = r#"{"projects":{"/other":"other","/src/proj":"proj"}}"#;
        fs::write(home.path().join("projects.json"), registry).unwrap();
        assert_eq!(cwd().as_deref(), Some("/src/proj"));
        fs::write(home.path().join("tmp/proj/.project_root"), "/moved/proj\n").unwrap();
        assert_eq!(cwd().as_deref(), Some("/moved/proj"));
        let child = GeminiLocation::of(&chats.join("parent/child.jsonl"));
        assert_eq!(child.cwd.as_deref(), Some("/moved/proj"));
        assert_eq!(child.parent.as_deref(), Some("parent"));
        assert!(!GeminiLocation::of(&log).superseded);
        fs::write(chats.join("session-1.jsonl"), "").unwrap();
        assert!(GeminiLocation::of(&log).superseded);
    }
}
