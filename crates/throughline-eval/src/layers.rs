//! Reads the touches of real sessions and replays them through the memory layers.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use flate2::read::GzDecoder;
use jiff::Timestamp;
use memory::Tokens;
use memory::command::CallFiles;
use recall::replay::{ReplayAction, ReplayEvent, ReplaySession, SeedRefresh, replay};
use serde::Deserialize;

/// A session of the data set.
#[derive(Debug, Deserialize)]
struct RefSession {
    start: Timestamp,
    branch: Option<String>,
    #[serde(rename = "ev")]
    events: Vec<RefEvent>,
}

#[derive(Debug, Deserialize)]
struct RefEvent {
    #[serde(rename = "t")]
    at: Timestamp,
    #[serde(rename = "k")]
    kind: String,
    path: Option<String>,
    cmd: Option<String>,
    tokens: Option<f64>,
    op: Option<String>,
}

impl RefEvent {
    /// Returns what the event means for the layers, if anything.
    fn action(&self) -> Option<ReplayAction> {
        let tokens = self.size();
        let path = self.path.clone().filter(|path| !path.is_empty());
        Some(match (self.kind.as_str(), path, &self.cmd) {
            ("file", Some(path), _) => ReplayAction::Touch {
                path,
                is_edit: matches!(self.op.as_deref(), Some("Edit" | "Write" | "MultiEdit")),
                tokens,
            },
            ("grep", Some(text), _) => ReplayAction::Mention {
                files: single_files(vec![text.clone()]),
                text,
                tokens,
            },
            ("cmd", _, Some(command)) => ReplayAction::Mention {
                files: single_files(CallFiles::of_command(command).named),
                text: command.clone(),
                tokens,
            },
            ("prompt" | "api", ..) => ReplayAction::Interaction,
            ("compact", ..) => ReplayAction::Compaction,
            _ => return None,
        })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of results are small positive numbers"
    )]
    fn size(&self) -> Tokens {
        Tokens(self.tokens.map_or(1, |tokens| tokens as u64).max(1))
    }
}

fn single_files(words: Vec<String>) -> Vec<String> {
    words
        .into_iter()
        .filter(|word| is_file_name(word))
        .collect()
}

/// Says whether a word is the path of a single file.
fn is_file_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_extension =
        |text: &str| (1..=5).contains(&text.len()) && text.chars().all(char::is_alphanumeric);
    !word.contains(['*', '?', '{', '$', ' ', ':', '|', '\\', '"'])
        && !word.starts_with('-')
        && extension.is_some_and(is_extension)
}

/// Replays a file and returns the report as text.
pub(crate) fn run(path: &Path, json: bool) -> anyhow::Result<String> {
    let sessions = read_sessions(path)?;
    let [all, earlier, later] = replay(&sessions, SeedRefresh::Periodic);
    let [seeds_only, ..] = replay(&sessions, SeedRefresh::Never);
    if json {
        let mut report = serde_json::to_value(&all)?;
        report["earlier_half"] = serde_json::to_value(&earlier)?;
        report["later_half"] = serde_json::to_value(&later)?;
        report["without_refresh"] = serde_json::to_value(&seeds_only)?;
        return Ok(report.to_string());
    }
    let mut table = format!(
        "{:<18} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>7}",
        "sessions", "L1", "L1.5", "L2", "miss", "p@5", "r@10", "r@25", "covered"
    );
    let rows = [
        ("all", &all),
        ("earlier half", &earlier),
        ("later half", &later),
        ("without refresh", &seeds_only),
    ];
    for (name, r) in rows {
        table += &format!(
            "\n{name:<18} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>7}",
            r.l1, r.l15, r.l2, r.miss, r.precision_at_5, r.recall_at_10, r.recall_at_25, r.covered
        );
    }
    Ok(table)
}

/// Reads the sessions of a file, in the order of their start. Sessions without files are left out.
fn read_sessions(path: &Path) -> anyhow::Result<Vec<ReplaySession>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let mut sessions = Vec::new();
    for (number, line) in lines.enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        let session: RefSession = serde_json::from_str(&line)
            .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
        if !session.events.iter().any(|event| event.kind == "file") {
            continue;
        }
        let event = |event: &RefEvent| {
            let (at, action) = (event.at, event.action()?);
            Some(ReplayEvent { at, action })
        };
        sessions.push(ReplaySession {
            start: session.start,
            branch: session.branch,
            events: session.events.iter().filter_map(event).collect(),
        });
    }
    sessions.sort_by_key(|session| session.start);
    Ok(sessions)
}
