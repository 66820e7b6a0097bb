//! Finds Codex's rollouts and parses their file names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{AgentEnv, SourceFormat};

const INDEX: &str = "session_index.jsonl";
const HISTORY: &str = "history.jsonl";

/// Returns the two folders of rollouts, and as roots of their own the files with the sessions'
/// names and prompts. The rest of Codex's home (worktrees, caches, databases) must not be walked.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_or_home("CODEX_HOME", ".codex");
    ["sessions", "archived_sessions", INDEX, HISTORY]
        .iter()
        .map(|name| home.join(name))
        .collect()
}

/// Claims rollouts at any depth below any root.
pub(crate) fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    // The relative path is empty if the root itself is a file.
    let name = relative.file_name().or_else(|| root.file_name());
    let name = name.and_then(OsStr::to_str)?;
    let on_top = relative.components().count() <= 1;
    if name == INDEX || (name == HISTORY && on_top) {
        return Some(SourceFormat::Lines);
    }
    // Collections of logs flatten the folders into the name, so `rollout-` may be inside it.
    let rollout = &name[name.find("rollout-")?..];
    if rollout.ends_with(".jsonl") {
        Some(SourceFormat::Lines)
    } else if rollout.ends_with(".jsonl.zst") {
        Some(SourceFormat::LinesZstd)
    } else if rollout.ends_with(".json") {
        Some(SourceFormat::Document)
    } else {
        None
    }
}

pub(crate) fn is_index(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(INDEX))
}

pub(crate) fn is_history(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(HISTORY))
}

/// Says whether the head of a file is one of Codex's logs, or the history of its prompts.
pub(crate) fn recognises(head: &str) -> bool {
    let start = start_of(head);
    let has = |mark: &str| start.contains(mark);
    let typed = start.starts_with("{\"session_id\":") && has("\"ts\":") && has("\"text\":");
    typed || identify(head).is_some()
}

/// Returns how to read a rollout, whatever its name. Searches for keys instead of parsing, because
/// the head may end inside the long first line.
pub(crate) fn identify(head: &str) -> Option<SourceFormat> {
    let head = start_of(head);
    let has = |mark: &str| head.contains(mark);
    if !head.starts_with('{') {
        return None;
    }
    let document = head.starts_with("{\"session\"") || head.starts_with("{\n  \"session\"");
    if document && has("\"items\"") {
        return Some(SourceFormat::Document);
    }
    let enveloped = has("\"payload\"")
        && (has("\"cli_version\"") || has("\"session_meta\"") || has("\"turn_context\""));
    let bare = has("\"timestamp\"") && has("\"instructions\"") && head.starts_with("{\"id\":");
    (enveloped || bare || has("{\"record_type\":\"state\"}")).then_some(SourceFormat::Lines)
}

fn start_of(head: &str) -> &str {
    head.trim_start_matches(['\u{feff}', ' ', '\r', '\n'])
}

/// Returns the session in a file's name: the thread of `rollout-<time>-<thread>[_<rollout>]`, or
/// else the whole stem.
pub(crate) fn session_in_name(path: &Path) -> String {
    let name = path.file_name().map(OsStr::to_string_lossy);
    let name = name.unwrap_or_default();
    let stem = [".jsonl.zst", ".jsonl", ".json"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let Some((before, last)) = last_uuid(stem) else {
        return stem.to_owned();
    };
    before
        .strip_suffix('_')
        .and_then(last_uuid)
        .map_or(last, |(_, thread)| thread)
        .to_owned()
}

/// Splits off a UUID at the end of a text.
fn last_uuid(text: &str) -> Option<(&str, &str)> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(36)?)?;
    let shaped = last.char_indices().all(|(at, c)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    });
    shaped.then_some((before, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(relative: &str, format: Option<SourceFormat>) {
        assert_eq!(
            claim(Path::new("/x"), Path::new(relative)),
            format,
            "{relative}"
        );
    }

    #[test]
    fn rollouts_are_claimed_at_any_depth() {
        let name = "rollout-2026-02-02T10-00-00-019ed836-b1da-78f1-8a0c-e598363d10f4";
        check(&format!("{name}.jsonl"), Some(SourceFormat::Lines));
        check(
            &format!("sessions/2026/02/02/{name}.jsonl"),
            Some(SourceFormat::Lines),
        );
        check(
            &format!("2026/{name}.jsonl.zst"),
            Some(SourceFormat::LinesZstd),
        );
        check(&format!("{name}.json"), Some(SourceFormat::Document));
        check("session_index.jsonl", Some(SourceFormat::Lines));
        check("history.jsonl", Some(SourceFormat::Lines));
        check("worktrees/a/history.jsonl", None);
        check("state_5.sqlite", None);
        check("worktrees/a/rollout-plan.md", None);
        assert_eq!(
            claim(
                Path::new("/home/dev/.codex/session_index.jsonl"),
                Path::new("")
            ),
            Some(SourceFormat::Lines)
        );
    }

    #[test]
    fn the_home_moves_with_its_variable() {
        let mut env = AgentEnv {
            home: "/home/dev".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env)[0], Path::new("/home/dev/.codex/sessions"));
        env.variables
            .insert("CODEX_HOME".into(), "/srv/codex".into());
        assert_eq!(roots(&env)[1], Path::new("/srv/codex/archived_sessions"));
    }

    #[test]
    fn a_name_tells_the_thread() {
        let (thread, rollout) = (
            "019ed836-b1da-78f1-8a0c-e598363d10f4",
            "019f03e0-321f-7eb2-83cc-b54ecd71be23",
        );
        for name in [
            format!("rollout-2026-02-02T10-00-00-{thread}.jsonl"),
            format!("rollout-2026-02-02T10-00-00-{thread}.jsonl.zst"),
            format!("rollout-2026-02-02T10-00-00-{thread}_{rollout}.jsonl"),
        ] {
            assert_eq!(session_in_name(Path::new(&name)), thread);
        }
        assert_eq!(
            session_in_name(Path::new("dir/codex_050.jsonl")),
            "codex_050"
        );
    }

    #[test]
    fn heads_are_recognised() {
        assert!(recognises(
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"#
        ));
        assert!(recognises(
            r#"{"payload":{"base_instructions":{"text":"…"},"cli_version":"0.142.2"#
        ));
        assert!(recognises(
            r#"{"id":"84b6","timestamp":"2025-08-23T16:52:59.705Z","instructions":"#
        ));
        assert!(!recognises(
            r#"{"type":"user","uuid":"1","sessionId":"2","message":{}}"#
        ));
    }
}
