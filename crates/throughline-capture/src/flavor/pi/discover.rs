//! Finds Pi's sessions.

use std::path::{Path, PathBuf};

use crate::{AgentEnv, SourceFormat};

/// Returns the folders of sessions.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_or_home("PI_CODING_AGENT_DIR", ".pi/agent");
    let mut roots = vec![home.join("sessions")];
    roots.extend(env.folder_variable("PI_CODING_AGENT_SESSION_DIR"));
    roots
}

/// Returns how to read a file. Sessions are named `<time>_<id>.jsonl`, and a folder named `pi` may
/// contain copies under any name.
pub(crate) fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let stem = relative.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let named = stem.split_once('_').is_some_and(|(time, id)| {
        time.ends_with('Z') && time.contains('T') && time.starts_with("20") && !id.is_empty()
    });
    let is_pi = |name: &str| matches!(name, "pi" | ".pi");
    let ours = root
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(is_pi);
    (named || ours).then_some(SourceFormat::Lines)
}

/// Says whether a text starts like a session.
pub(crate) fn recognises(head: &str) -> bool {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let first = head.lines().next().unwrap_or_default();
    first.starts_with(r#"{"type":"session","#)
        && first.contains("\"id\":")
        && first.contains("\"cwd\":")
}

/// Returns the session id in a file's name.
pub(crate) fn session_in_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    stem.split_once('_').map_or(stem, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "2026-05-20T10-00-33-231Z_019e44d4-6ecf-7c1d-96ab-582effc13411.jsonl";

    #[track_caller]
    fn check(root: &str, relative: &str, claimed: bool) {
        let format = claim(Path::new(root), Path::new(relative));
        assert_eq!(format, claimed.then_some(SourceFormat::Lines), "{relative}");
    }

    #[test]
    fn sessions_are_claimed_below_any_root() {
        check("/h/.pi/agent/sessions", &format!("--p--/{FILE}"), true);
        check("/anywhere", FILE, true);
        check("/copies/pi", "synthetic/small.jsonl", true);
        check("/anywhere", "small.jsonl", false);
        check("/h/.pi", "agent/settings.json", false);
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env), [PathBuf::from("/h/.pi/agent/sessions")]);
        let mut set = |name: &str, value: &str| env.variables.insert(name.into(), value.into());
        set("PI_CODING_AGENT_DIR", "/p");
        set("PI_CODING_AGENT_SESSION_DIR", "/s");
        assert_eq!(roots(&env), [PathBuf::from("/p/sessions"), "/s".into()]);
    }

    #[test]
    fn the_name_tells_the_session() {
        let id = "019e44d4-6ecf-7c1d-96ab-582effc13411";
        assert_eq!(session_in_name(&format!("/s/--p--/{FILE}")), id);
        assert_eq!(session_in_name("small.jsonl"), "small");
    }
}
