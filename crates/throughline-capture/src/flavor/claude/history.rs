//! Reads `history.jsonl`: every typed prompt with its project and, in newer versions, its session.
//!
//! Prompts without a session become one session per project and day. Whether a log contains such a
//! prompt follows from the times that the project's logs span.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use crate::flavor::history::{HistoryFormat, HistoryPrompt};
use crate::json::Text;
use crate::time::{self, Time};
use crate::{Source, tail};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ClaudeHistoryLine<'a> {
    display: Text<'a>,
    timestamp: Time,
    project: Text<'a>,
    session_id: Text<'a>,
    pasted_contents: BTreeMap<String, serde_json::Value>,
}

/// Parses the history and caches the logs of each project it has looked up.
pub(crate) struct ClaudeHistory {
    projects: PathBuf,
    logs: BTreeMap<String, Vec<LogSpan>>,
}

/// A log and the time span of its records.
struct LogSpan {
    session: String,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl ClaudeHistory {
    pub(crate) fn new(source: &Source) -> Self {
        let home = source.path.parent().unwrap_or(Path::new(""));
        Self {
            projects: home.join("projects"),
            logs: BTreeMap::new(),
        }
    }

    fn is_in_log(&mut self, project: &str, session: Option<&str>, at: Timestamp) -> bool {
        let folder = self.projects.join(project_folder_name(project));
        let logs = self
            .logs
            .entry(project.to_owned())
            .or_insert_with(|| logs_in(&folder));
        logs.iter().any(|log| match session {
            Some(session) => log.session == session,
            None => {
                log.first.is_none_or(|first| first <= at) && log.last.is_none_or(|last| at <= last)
            }
        })
    }
}

impl HistoryFormat for ClaudeHistory {
    fn parse_prompt(&mut self, object: &str) -> serde_json::Result<Option<HistoryPrompt>> {
        let typed: ClaudeHistoryLine<'_> = serde_json::from_str(object)?;
        let (Some(text), Some(at)) = (typed.display.get(), typed.timestamp.0) else {
            return Ok(None);
        };
        let project = typed.project.get().unwrap_or_default();
        let session = typed.session_id.get();
        let made = || {
            format!(
                "history/{}/{}",
                project_folder_name(project),
                at.strftime("%Y-%m-%d")
            )
        };
        Ok(Some(HistoryPrompt {
            at,
            session: session.map_or_else(made, str::to_owned),
            cwd: Some(project.to_owned()).filter(|project| !project.is_empty()),
            text: expand_pastes(text, &typed.pasted_contents),
            is_in_log: self.is_in_log(project, session, at),
        }))
    }
}

/// Returns the name of a project's folder: Claude Code replaces everything but letters and digits
/// by a dash.
fn project_folder_name(project: &str) -> String {
    let dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    project.chars().map(dash).collect()
}

fn logs_in(folder: &Path) -> Vec<LogSpan> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = entries.filter_map(|entry| {
        let path = entry.path();
        let session = path
            .file_name()?
            .to_str()?
            .strip_suffix(".jsonl")?
            .to_owned();
        let written = entry.metadata().and_then(|file| file.modified()).ok();
        Some(LogSpan {
            session,
            first: tail::read_first_block(&path)
                .ok()
                .as_deref()
                .and_then(first_time),
            last: written.and_then(|time| Timestamp::try_from(time).ok()),
        })
    });
    logs.collect()
}

/// Returns the first timestamp in a log's head.
fn first_time(head: &str) -> Option<Timestamp> {
    let (_, rest) = head.split_once("\"timestamp\":\"")?;
    time::parse_iso(rest.split('"').next()?)
}

/// Replaces the placeholders for pasted texts by the texts.
fn expand_pastes(text: &str, pasted: &BTreeMap<String, serde_json::Value>) -> String {
    let mut whole = text.to_owned();
    for (number, paste) in pasted {
        let mention = format!("[Pasted text #{number}");
        if let Some(content) = paste["content"].as_str()
            && let Some(start) = whole.find(&mention)
            && let Some(length) = whole[start..].find(']')
        {
            whole.replace_range(start..=start + length, content);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use memory::Flavor;
    use testkit::shape::shape;

    use super::*;
    use crate::adapter::parse_text;
    use crate::flavor::claude::CLAUDE;

    #[test]
    fn only_what_no_log_tells_is_recovered() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects/-home-dev-my-proj");
        fs::create_dir_all(&folder).unwrap();
        let log = "{\"type\":\"user\",\"timestamp\":\"2026-01-05T09:00:00.000Z\"}\n";
        fs::write(folder.join("kept.jsonl"), log).unwrap();
        let text = concat!(
            concat!(
                r#"{"display":"told by a log","pastedContents":{},"timestamp":1767603600000,"pro"#,
                r#"ject":"/home/dev/my_proj","sessionId":"kept"}"#,
            ),
            "\n",
            concat!(
                r#"{"display":"told by some log","pastedContents":{},"timestamp":1767603660000,""#,
                r#"project":"/home/dev/my_proj"}"#,
            ),
            "\n",
            concat!(
                r##"{"display":"explain [Pasted text #1 +2 lines]","pastedContents":{"1":{"id":"##,
                r##"1,"type":"text","content":"a\nb"}},"timestamp":1764000000000,"project":"/ho"##,
                r##"me/dev/my_proj"}"##,
            ),
            "\n",
            concat!(
                r#"{"display":"rename a to b","pastedContents":{},"timestamp":1764000060000,"pro"#,
                r#"ject":"/home/dev/other","sessionId":"gone"}"#,
            ),
            "\n",
            concat!(
                r#"{"display":"/clear ","pastedContents":{},"timestamp":1764000061000,"project":"#,
                r#""/home/dev/other","sessionId":"gone"}"#,
            ),
            "\n",
            concat!(
                r#"{"display":"just typed","timestamp":4000000000000,"project":"/home/dev/other""#,
                r#","sessionId":"new"}"#,
            ),
            "\n",
        );
        let path = home.path().join("history.jsonl");
        fs::write(&path, text).unwrap();
        let source = Source {
            flavor: Flavor::Claude,
            format: CLAUDE
                .claim(home.path(), Path::new("history.jsonl"))
                .unwrap(),
            path,
        };
        assert!(CLAUDE.recognises(text));
        insta::assert_snapshot!(shape(&parse_text(&CLAUDE, &source, text).entries));
    }
}
