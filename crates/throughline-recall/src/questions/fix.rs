//! Finds earlier occurrences of an error, and what resolved it.

use jiff::Timestamp;
use memory::fingerprint::{error_line, normalized_line};
use memory::{RecordId, RecordKind, SessionId, command};
use serde::Serialize;
use store::{Query, SessionStep, Store};

use super::first_line;

/// Records that are compared with the error.
const RECORDS_MAX: usize = 80;
/// Words of the error that are searched for.
const KEYWORDS_MAX: usize = 10;
/// Files and commands that a resolution lists.
const STEPS_MAX: usize = 12;
/// Steps after a failure that are examined.
const FOLLOWED_MAX: usize = 600;
/// The length at which texts are cut, in characters.
const GIST_CHARS_MAX: usize = 200;
/// A line with this share of the error's words is the same error.
const LIKENESS_MIN: f64 = 0.75;

/// The occurrences of an error and its resolutions.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorHistory {
    /// The error without the parts that differ from run to run.
    pub fingerprint: String,
    pub occurrences: Vec<ErrorOccurrence>,
    /// The resolutions, the latest first.
    pub ways: Vec<ErrorResolution>,
}

/// A record that contains the error.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorOccurrence {
    pub record: RecordId,
    pub session: SessionId,
    pub at: Option<Timestamp>,
    pub line: String,
    /// The command that printed it.
    pub command: Option<String>,
}

/// The work between the last failure of a command and its first success.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorResolution {
    pub session: SessionId,
    pub at: Option<Timestamp>,
    pub command: String,
    pub files: Vec<String>,
    pub commands: Vec<String>,
    /// The agent's last text before the success.
    pub said: Option<String>,
}

/// Finds an error by its text, and what resolved it.
pub fn fix(
    store: &Store,
    error: &str,
    workspace: Option<&str>,
    limit: usize,
) -> store::Result<ErrorHistory> {
    let line = error_line(error);
    let print = normalized_line(&line);
    let found = store.search(&Query {
        text: keywords(&print),
        kinds: vec![RecordKind::Error, RecordKind::ToolResult],
        workspace: workspace.map(str::to_owned),
        limit: RECORDS_MAX,
        ..Query::default()
    })?;
    let mut occurrences = Vec::new();
    let mut ways: Vec<ErrorResolution> = Vec::new();
    for hit in found.hits {
        let Some(record) = store.read_record(hit.id)? else {
            continue;
        };
        let Some(same) = matching_line(&record.content, &print) else {
            continue;
        };
        let Some(step) = store.read_step(hit.id)? else {
            continue;
        };
        let call = store.call_for_result(&step)?;
        let command = match &call {
            Some(call) => command_of(store, call)?,
            None => None,
        };
        if call.as_ref().is_some_and(is_file_reader)
            || command.as_deref().is_some_and(command::only_prints_files)
        {
            continue;
        }
        if let Some(command) = &command
            && let Some(way) = find_resolution(store, &step, command)?
            && !ways
                .iter()
                .any(|known| known.session == way.session && known.at == way.at)
        {
            ways.push(way);
        }
        occurrences.push(ErrorOccurrence {
            record: hit.id,
            session: hit.session,
            at: hit.at,
            line: first_line(&same, GIST_CHARS_MAX),
            command,
        });
    }
    occurrences.sort_by(|a, b| b.at.cmp(&a.at).then(a.record.cmp(&b.record)));
    occurrences.truncate(limit);
    ways.sort_by_key(|way| std::cmp::Reverse(way.at));
    ways.truncate(limit);
    Ok(ErrorHistory {
        fingerprint: print,
        occurrences,
        ways,
    })
}

/// Returns the words of a fingerprint, without the placeholders for variable parts.
fn words(print: &str) -> impl Iterator<Item = String> {
    let telling = print.split(' ').filter(|word| !word.starts_with('<'));
    telling.flat_map(memory::words::split_words)
}

fn keywords(print: &str) -> String {
    let mut words: Vec<_> = words(print)
        .filter(|word| memory::words::weight(word) >= 1.0 && word.len() > 2)
        .collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.truncate(KEYWORDS_MAX);
    words.join(" ")
}

/// Returns the line of an output that is the same error, if there is one.
fn matching_line(output: &str, print: &str) -> Option<String> {
    let wanted: Vec<_> = words(print).collect();
    let shared = |line: &str| {
        let print = normalized_line(line);
        let has: std::collections::BTreeSet<_> = words(&print).collect();
        let shared = wanted.iter().filter(|word| has.contains(*word)).count();
        shared as f64 / wanted.len().max(1) as f64
    };
    output
        .lines()
        .take(20_000)
        .map(|line| (shared(line), line))
        .filter(|(share, _)| *share >= LIKENESS_MIN && !wanted.is_empty())
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, line)| line.trim().to_owned())
}

/// Says whether a call is one of a tool that shows files: an error in its result is a line of a
/// file.
fn is_file_reader(call: &SessionStep) -> bool {
    let tool = call
        .tool
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    [
        "read", "grep", "glob", "view", "read_file", "search_file_content", "rg",
    ]
    .contains(&tool.as_str())
}

fn command_of(store: &Store, call: &SessionStep) -> store::Result<Option<String>> {
    if !call.tool.as_deref().is_some_and(command::is_shell_tool) {
        return Ok(None);
    }
    let record = store.read_record(call.id)?;
    Ok(record
        .and_then(|record| command::parse_call(&record.content))
        .map(|line| first_line(command::strip_setup(&line), GIST_CHARS_MAX)))
}

/// Follows a session from a failure to the first success of the same command, and collects the work
/// after the last failure.
fn find_resolution(
    store: &Store,
    failure: &SessionStep,
    command: &str,
) -> store::Result<Option<ErrorResolution>> {
    let steps = store.steps(&failure.session)?;
    let Some(from) = steps.iter().position(|step| step.id == failure.id) else {
        return Ok(None);
    };
    let mut way = ErrorResolution {
        session: failure.session.clone(),
        at: None,
        command: command.to_owned(),
        files: Vec::new(),
        commands: Vec::new(),
        said: None,
    };
    for step in steps[from + 1..].iter().take(FOLLOWED_MAX) {
        match step.kind {
            RecordKind::Artifact => {
                if let Some(path) = &step.path
                    && !way.files.contains(path)
                    && way.files.len() < STEPS_MAX
                {
                    way.files.push(path.clone());
                }
            }
            RecordKind::ToolUse => {
                let Some(line) = command_of(store, step)? else {
                    continue;
                };
                if line != command {
                    if way.commands.len() < STEPS_MAX && !way.commands.contains(&line) {
                        way.commands.push(line);
                    }
                    continue;
                }
                let Some(answer) = store.result_of_call(step)? else {
                    continue;
                };
                if answer.succeeded() {
                    let said = store.last_before(step, RecordKind::Assistant)?;
                    way.said = said.map(|said| first_line(&said.content, GIST_CHARS_MAX));
                    way.at = answer.at;
                    return Ok(Some(way));
                }
                // The command still failed, so the work so far did not resolve the error.
                way.files.clear();
                way.commands.clear();
            }
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_it() {
        let text = "Traceback (most recent call last):\n  File \"a.py\"\nValueError: bad value";
        assert_eq!(error_line(text), "ValueError: bad value");
        assert!(
            matching_line(
                "ok\nValueError: bad value\n",
                &normalized_line("ValueError: bad value")
            )
            .is_some()
        );
        assert!(matching_line("all good", &normalized_line("ValueError: bad value")).is_none());
        let moved = "error[E0382]: borrow of moved value: `x` at /home/a/src/main.rs:42:7";
        let elsewhere = "error[E0382]: borrow of moved value: `x` at /code/b/lib.rs:9:1";
        assert!(matching_line(elsewhere, &normalized_line(moved)).is_some());
    }
}
