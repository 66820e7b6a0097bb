//! Reads `history.jsonl`: every typed prompt with its session.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::discover::session_in_name;
use crate::flavor::history::{HistoryFormat, HistoryPrompt};
use crate::json::Text;
use crate::time::Time;
use crate::{Source, tail};

/// Rollouts are in folders of year, month and day.
const DEPTH_MAX: usize = 4;

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CodexHistoryLine<'a> {
    session_id: Text<'a>,
    ts: Time,
    text: Text<'a>,
}

/// Parses the history and knows which sessions have rollouts.
pub(crate) struct CodexHistory {
    sessions_in_logs: BTreeSet<String>,
}

impl CodexHistory {
    pub(crate) fn new(source: &Source) -> Self {
        let mut sessions_in_logs = BTreeSet::new();
        for_each_rollout(source, &mut |path| {
            sessions_in_logs.insert(session_in_name(path));
        });
        Self { sessions_in_logs }
    }
}

/// Returns the folder of a session from its rollout in the same home.
pub(crate) fn session_folder(source: &Source, session: &str) -> Option<String> {
    let mut folder = None;
    for_each_rollout(source, &mut |path| {
        if folder.is_none() && session_in_name(path) == session {
            folder = first_cwd(path);
        }
    });
    folder
}

/// Returns the first working directory in a rollout.
fn first_cwd(path: &Path) -> Option<String> {
    let head = tail::read_first_block(path).ok()?;
    let (_, rest) = head.split_once("\"cwd\"")?;
    let rest = rest.trim_start().strip_prefix(':')?;
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    strings.next()?.ok()
}

/// Calls `each` with every rollout in the home of a history.
fn for_each_rollout(source: &Source, each: &mut dyn FnMut(&Path)) {
    let home = source.path.parent().unwrap_or(Path::new(""));
    for folder in ["sessions", "archived_sessions"] {
        for_each_file(&home.join(folder), 0, each);
    }
}

impl HistoryFormat for CodexHistory {
    fn parse_prompt(&mut self, object: &str) -> serde_json::Result<Option<HistoryPrompt>> {
        let typed: CodexHistoryLine<'_> = serde_json::from_str(object)?;
        let (Some(session), Some(at)) = (typed.session_id.get(), typed.ts.0) else {
            return Ok(None);
        };
        Ok(Some(HistoryPrompt {
            at,
            session: session.to_owned(),
            cwd: None,
            text: typed.text.as_str().to_owned(),
            is_in_log: self.sessions_in_logs.contains(session),
        }))
    }
}

fn for_each_file(folder: &Path, depth: usize, each: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => for_each_file(&path, depth + 1, each),
            Ok(kind) if kind.is_file() => each(&path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use memory::Flavor;
    use testkit::shape::shape;

    use super::*;
    use crate::SourceFormat;
    use crate::adapter::parse_text;
    use crate::flavor::codex::CODEX;

    #[test]
    fn only_deleted_sessions_are_recovered() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/01/05");
        fs::create_dir_all(&day).unwrap();
        let kept = "11111111-1111-4111-8111-111111111111";
        let rollout = format!("rollout-2026-01-05T09-00-00-{kept}.jsonl");
        fs::write(day.join(rollout), "").unwrap();
        let text = format!(
            "{{\"session_id\":\"{kept}\",\"ts\":1767603600,\"text\":\"told\"}}\n\
             {{\"session_id\":\"gone\",\"ts\":1767603601,\"text\":\"rename a to b\"}}\n\
             {{\"session_id\":\"gone\",\"ts\":1767603602,\"text\":\"/quit\"}}\n\
             {{\"session_id\":\"new\",\"ts\":4000000000,\"text\":\"just typed\"}}\n"
        );
        let path = home.path().join("history.jsonl");
        fs::write(&path, &text).unwrap();
        let source = Source {
            flavor: Flavor::Codex,
            format: CODEX
                .claim(home.path(), Path::new("history.jsonl"))
                .unwrap(),
            path,
        };
        assert_eq!(source.format, SourceFormat::Lines);
        assert!(CODEX.recognises(&text));
        insta::assert_snapshot!(shape(&parse_text(&CODEX, &source, &text).entries));
    }
}
