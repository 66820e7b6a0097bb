//! Finds how a command was run, and with what result.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId, command};
use serde::Serialize;
use store::{Query, Store};

use super::first_line;

/// Tool calls that are examined.
const CALLS_MAX: usize = 200;
/// The length at which commands are cut, in characters.
const COMMAND_CHARS_MAX: usize = 400;
/// The length at which error messages are cut, in characters.
const GIST_CHARS_MAX: usize = 160;

/// All runs of one command line.
#[derive(Clone, Debug, Serialize)]
pub struct CommandHistory {
    pub command: String,
    pub succeeded: u64,
    pub failed: u64,
    /// Runs whose result is not in the log.
    pub unknown: u64,
    /// The last run that succeeded, otherwise the last one.
    pub last: CommandRun,
    /// The error message of the last failure.
    pub failure: Option<String>,
}

/// A run of a command.
#[derive(Clone, Debug, Serialize)]
pub struct CommandRun {
    pub record: RecordId,
    pub session: SessionId,
    pub at: Option<Timestamp>,
    pub cwd: Option<String>,
    pub exit_code: Option<i64>,
    pub succeeded: Option<bool>,
}

/// Returns the commands that contain all of these words: those that run the first word as a program
/// before those that mention it, those that succeeded first, then the latest.
pub fn how(
    store: &Store,
    words: &str,
    workspace: Option<&str>,
    limit: usize,
) -> store::Result<Vec<CommandHistory>> {
    let found = store.search(&Query {
        // A flag such as `-v` must not be parsed as an excluded word.
        text: memory::words::split_words(words)
            .collect::<Vec<_>>()
            .join(" "),
        kinds: vec![RecordKind::ToolUse],
        workspace: workspace.map(str::to_owned),
        limit: CALLS_MAX,
        ..Query::default()
    })?;
    let wanted: Vec<_> = words
        .to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let mut ways: BTreeMap<String, CommandHistory> = BTreeMap::new();
    for hit in found.hits {
        let shell = hit.tool.as_deref().is_some_and(command::is_shell_tool);
        let Some(record) = (if shell {
            store.read_record(hit.id)?
        } else {
            None
        }) else {
            continue;
        };
        let Some(line) = command::parse_call(&record.content) else {
            continue;
        };
        // A file that a command writes may contain the words without anything being run.
        let line = command::without_here_documents(command::strip_setup(&line));
        let lower = line.to_lowercase();
        if !wanted.iter().all(|word| lower.contains(word.as_str())) {
            continue;
        }
        let step = store.read_step(hit.id)?;
        let answer = match &step {
            Some(step) => store.result_of_call(step)?,
            None => None,
        };
        let run = CommandRun {
            record: hit.id,
            session: hit.session,
            at: hit.at,
            cwd: record.context.cwd,
            exit_code: answer.as_ref().and_then(|answer| answer.exit_code),
            succeeded: answer.as_ref().map(store::SessionStep::succeeded),
        };
        let failure = match &answer {
            Some(answer) if !answer.succeeded() => store
                .read_record(answer.id)?
                .map(|record| error_line(&record.content)),
            _ => None,
        };
        add_run(&mut ways, line, run, failure);
    }
    let mut ways: Vec<_> = ways.into_values().collect();
    ways.sort_by(|a, b| {
        let rank = |way: &CommandHistory| {
            let is_run = wanted
                .first()
                .is_some_and(|program| command::runs_program(&way.command, program));
            (is_run, way.succeeded > 0, way.last.at)
        };
        rank(b).cmp(&rank(a)).then(a.command.cmp(&b.command))
    });
    ways.truncate(limit);
    Ok(ways)
}

fn add_run(
    ways: &mut BTreeMap<String, CommandHistory>,
    line: String,
    run: CommandRun,
    failure: Option<String>,
) {
    let shown = cut_at_word(&line);
    let way = ways.entry(line).or_insert_with(|| CommandHistory {
        command: shown,
        succeeded: 0,
        failed: 0,
        unknown: 0,
        last: run.clone(),
        failure: None,
    });
    match run.succeeded {
        Some(true) => way.succeeded += 1,
        Some(false) => way.failed += 1,
        None => way.unknown += 1,
    }
    let rank = |run: &CommandRun| (run.succeeded == Some(true), run.at);
    if rank(&run) > rank(&way.last) {
        way.last = run;
    }
    way.failure = failure.or(way.failure.take());
}

/// Returns the beginning of a long command, up to the end of a word.
fn cut_at_word(command: &str) -> String {
    let Some((end, _)) = command.char_indices().nth(COMMAND_CHARS_MAX) else {
        return command.to_owned();
    };
    let head = &command[..end];
    let end = head.rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", head[..end].trim_end())
}

/// Returns the line of an output that names the error.
fn error_line(output: &str) -> String {
    let bad = [
        "error", "failed", "not found", "panicked", "exception", "cannot", "no such",
    ];
    let line = output.lines().find(|line| {
        let line = line.to_lowercase();
        bad.iter().any(|word| line.contains(word))
    });
    first_line(line.unwrap_or(output), GIST_CHARS_MAX)
}
