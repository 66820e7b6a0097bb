//! Finds Qwen Code's logs.

use std::path::{Path, PathBuf};

use crate::AgentEnv;
use crate::flavor::names::file_name;

pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let moved = ["QWEN_RUNTIME_DIR", "QWEN_HOME"]
        .iter()
        .find_map(|name| env.folder_variable(name));
    let home = moved.unwrap_or_else(|| env.home.join(".qwen"));
    vec![home.join("projects")]
}

/// Claims `chats/<session>.jsonl` and `subagents/<session>/agent-<id>.jsonl`.
pub(crate) fn is_log(path: &Path) -> bool {
    let file = file_name(path);
    let folder = path.parent().map_or("", file_name);
    let above = path.parent().and_then(Path::parent).map_or("", file_name);
    if !file.ends_with(".jsonl") {
        return false;
    }
    match folder {
        // Gemini's logs are named `session-…`.
        "chats" => !file.starts_with("session-"),
        "qwen" | ".qwen" => true,
        _ => above == "subagents" && file.starts_with("agent-"),
    }
}

pub(crate) fn recognises(head: &str) -> bool {
    let has = |key: &str| head.contains(key);
    has("\"uuid\"")
        && has("\"parentUuid\"")
        && has("\"sessionId\"")
        && (has("\"parts\"") || has("\"systemPayload\""))
}

/// Returns the session that a path names; the records may name another, which then counts.
pub(crate) fn session_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_claimed_and_others_are_not() {
        for path in [
            "/h/.qwen/projects/-home-dev/chats/019f.jsonl",
            "/h/.qwen/projects/-home-dev/subagents/019f/agent-explore-7f3c.jsonl",
            "/copies/qwen/019f.jsonl",
        ] {
            assert!(is_log(Path::new(path)), "{path}");
        }
        for path in [
            "/h/.gemini/tmp/proj/chats/session-2026-11-15T18-38-694b1fc8.jsonl",
            "/h/.claude/projects/-home-dev/019f/subagents/agent-1.jsonl",
            "/h/.qwen/projects/-home-dev/chats/019f.runtime.json",
            "/h/.qwen/usage_record.jsonl.lock",
        ] {
            assert!(!is_log(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env), [PathBuf::from("/h/.qwen/projects")]);
        env.variables.insert("QWEN_HOME".into(), "/q".into());
        assert_eq!(roots(&env), [PathBuf::from("/q/projects")]);
        env.variables.insert("QWEN_RUNTIME_DIR".into(), "/r".into());
        assert_eq!(roots(&env), [PathBuf::from("/r/projects")]);
    }
}
