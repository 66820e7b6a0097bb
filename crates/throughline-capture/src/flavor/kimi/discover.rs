//! Finds Kimi's sessions.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use memory::{Flavor, SessionId};

use super::wire;
use crate::flavor::names::file_name;
use crate::{AgentEnv, SourceFormat};

/// Returns the folders of sessions of Kimi Code and of the older Kimi CLI.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let folder = |variable: &str, default: &str| {
        let home = env.folder_variable(variable);
        home.unwrap_or_else(|| env.home.join(default))
            .join("sessions")
    };
    vec![
        folder("KIMI_CODE_HOME", ".kimi-code"),
        folder("KIMI_HOME", ".kimi"),
    ]
}

pub(crate) fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    let folder = file_name(path.parent()?);
    match relative.file_name()?.to_str()? {
        "wire.jsonl" => Some(SourceFormat::Lines),
        "state.json" if folder.starts_with("session_") => Some(SourceFormat::Document),
        // A folder named `kimi` may contain copies of logs under any name.
        file if folder == "kimi" && file.ends_with(".jsonl") => Some(SourceFormat::Lines),
        _ => None,
    }
}

/// The session that the path of a log names.
#[derive(Clone, Debug)]
pub(crate) struct KimiLocation {
    pub session: SessionId,
    /// The session of the agent that started this one.
    pub parent: Option<SessionId>,
    pub cwd: Option<String>,
}

impl KimiLocation {
    pub(crate) fn of(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(path);
        let agents = folder
            .parent()
            .filter(|agents| file_name(agents) == "agents");
        let Some(directory) = agents.and_then(Path::parent) else {
            let is_log = file_name(path) == "wire.jsonl";
            let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            return Self {
                session: SessionId::of(Flavor::Kimi, if is_log { file_name(folder) } else { stem }),
                parent: None,
                cwd: None,
            };
        };
        let text = fs::read_to_string(directory.join("state.json")).unwrap_or_default();
        let state: wire::State<'_> = serde_json::from_str(&text).unwrap_or_default();
        let agent = file_name(folder);
        let parent = (agent != "main").then(|| {
            let parent = state
                .agents
                .get(agent)
                .and_then(|agent| agent.parent_agent_id.get());
            session_id(file_name(directory), parent.unwrap_or("main"))
        });
        Self {
            session: session_id(file_name(directory), agent),
            parent,
            cwd: state.work_dir.to_text(),
        }
    }
}

/// Returns the session id of an agent; the main agent has the session's own id.
pub(crate) fn session_id(directory: &str, agent: &str) -> SessionId {
    match agent {
        "main" => SessionId::of(Flavor::Kimi, directory),
        agent => SessionId::of(Flavor::Kimi, &format!("{directory}/{agent}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_claimed_below_any_root() {
        let session = "wd_app_0123456789ab/session_1";
        for (relative, format) in [
            (
                format!("{session}/agents/main/wire.jsonl"),
                Some(SourceFormat::Lines),
            ),
            (
                format!("{session}/state.json"),
                Some(SourceFormat::Document),
            ),
            ("0123/4567/wire.jsonl".to_owned(), Some(SourceFormat::Lines)),
            (format!("{session}/agents/main/plans/a.md"), None),
            ("app/state.json".to_owned(), None),
            ("history.jsonl".to_owned(), None),
        ] {
            let root = Path::new("/h/.kimi-code/sessions");
            assert_eq!(claim(root, Path::new(&relative)), format, "{relative}");
        }
        let copy = claim(Path::new("/copies/kimi"), Path::new("small.jsonl"));
        assert_eq!(copy, Some(SourceFormat::Lines));
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        let (new, old) = ("/h/.kimi-code/sessions", "/h/.kimi/sessions");
        assert_eq!(roots(&env), [PathBuf::from(new), old.into()]);
        env.variables.insert("KIMI_CODE_HOME".into(), "/k".into());
        assert_eq!(roots(&env), [PathBuf::from("/k/sessions"), old.into()]);
    }

    #[test]
    fn the_path_names_the_session() {
        let native = |path: &str| {
            KimiLocation::of(Path::new(path))
                .session
                .native()
                .to_owned()
        };
        assert_eq!(
            native("/s/wd_a/session_1/agents/main/wire.jsonl"),
            "session_1"
        );
        assert_eq!(
            native("/s/wd_a/session_1/agents/agent-0/wire.jsonl"),
            "session_1/agent-0"
        );
        assert_eq!(native("/s/0123/4567/wire.jsonl"), "4567");
        assert_eq!(native("/kimi/small.jsonl"), "small");
    }
}
