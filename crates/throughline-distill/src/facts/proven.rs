//! Facts that the commands of a session prove.

use std::collections::BTreeMap;

use memory::fact::WORDS_MAX;
use memory::{FactKind, RecordKind, Trust, command};
use store::StoredRecord;

use super::ExtractedFact;

/// The maximum number of command facts per session.
const COMMANDS_MAX: usize = 3;
/// The number of successful runs after which a command becomes a fact.
const RUNS_MIN: usize = 2;
/// A longer command does not become a fact.
const COMMAND_CHARS_MAX: usize = 160;
/// The maximum number of files that an outcome names.
const FILES_MAX: usize = 4;
/// How much of an output is read.
const OUTPUT_END_BYTES: usize = 4_000;

/// The first words of commands that test, build, check or start a project.
#[rustfmt::skip]
const PROJECT_COMMANDS: &[&str] = &[
    "cargo test", "cargo nextest", "cargo build", "cargo clippy", "cargo check", "cargo run",
    "cargo fmt", "cargo bench", "npm test", "npm run", "npm ci", "pnpm", "yarn", "bun test",
    "bun run", "pytest", "python -m pytest", "python3 -m pytest", "python -m unittest",
    "python3 -m unittest", "uv run", "poetry run", "tox", "nox", "go test", "go build", "go vet",
    "go run", "make", "just", "./gradlew", "gradle", "mvn", "./mvnw", "jest", "npx jest",
    "npx vitest", "vitest", "npx playwright", "ruff", "mypy", "dotnet test", "dotnet build",
    "mix test", "rake", "bundle exec", "rspec", "phpunit", "composer", "docker compose",
    "swift test", "swift build", "xcodebuild", "ctest", "cmake", "bazel", "ninja", "mise run",
    "deno test", "deno task", "sbt", "./test", "terraform plan", "zig build", "flutter test",
];

/// A shell command and its result.
struct ShellRun<'a> {
    call: &'a StoredRecord,
    command: String,
    /// `None` if the log has no result.
    succeeded: Option<bool>,
    /// The number of file changes before the command.
    edits: usize,
    failure: Option<&'a StoredRecord>,
}

/// Returns the facts that the commands of a session prove.
pub fn proven_facts(records: &[StoredRecord]) -> Vec<ExtractedFact> {
    let runs = shell_runs(records);
    let mut facts: Vec<_> = replacement_facts(&runs)
        .into_iter()
        .take(COMMANDS_MAX)
        .collect();
    let left = COMMANDS_MAX - facts.len();
    facts.extend(repeated_command_facts(&runs).into_iter().take(left));
    facts.extend(fixed_test_fact(&runs, records));
    facts
}

fn shell_runs(records: &[StoredRecord]) -> Vec<ShellRun<'_>> {
    let answers: BTreeMap<_, _> = records
        .iter()
        .filter(|record| matches!(record.kind, RecordKind::ToolResult | RecordKind::Error))
        .filter_map(|record| Some((record.call.as_deref()?, record)))
        .collect();
    let mut edits = 0;
    let mut runs = Vec::new();
    for record in records {
        edits += usize::from(record.kind == RecordKind::Artifact);
        let shell = record.tool.as_deref().is_some_and(command::is_shell_tool);
        if record.kind != RecordKind::ToolUse || !shell {
            continue;
        }
        let Some(line) = command::parse_call(&record.content) else {
            continue;
        };
        let answer = record
            .call
            .as_deref()
            .and_then(|call| answers.get(call).copied());
        let succeeded = answer.map(|answer| {
            let code = answer
                .metadata
                .get("exit_code")
                .and_then(|code| code.as_str()?.parse().ok());
            command::call_succeeded(answer.kind == RecordKind::Error, code)
                && !reports_failure(&answer.content)
        });
        runs.push(ShellRun {
            call: record,
            command: command::strip_setup(&line).to_owned(),
            succeeded,
            edits,
            failure: answer.filter(|_| succeeded == Some(false)),
        });
    }
    runs
}

/// Says whether an output reports a failure. The exit code is not enough: a pipe hides the status
/// of the commands before the last one, so `cargo test | tail` always succeeds.
fn reports_failure(output: &str) -> bool {
    let end = output_end(output);
    [
        "test result: FAILED",
        "FAILED (",
        "error: could not compile",
        "npm ERR!",
        "command not found",
        "Error: ",
        "error[E",
        "make: ***",
        "Traceback (most recent call last)",
    ]
    .iter()
    .any(|sign| end.contains(sign))
}

/// Returns the part of an output that says how the command ended.
pub(super) fn output_end(output: &str) -> &str {
    let from = output.len().saturating_sub(OUTPUT_END_BYTES);
    &output[output.ceil_char_boundary(from)..]
}

/// Says whether a command tests, builds, checks or starts a project and is short enough for a fact.
fn is_project_command(line: &str) -> bool {
    let program = line
        .split_whitespace()
        .skip_while(|word| word.contains('=') && !word.starts_with('-'))
        .collect::<Vec<_>>()
        .join(" ");
    let known = |begin: &&str| {
        program
            .strip_prefix(*begin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    line.chars().count() <= COMMAND_CHARS_MAX
        && !line.contains(['\n', '`'])
        && line.split_whitespace().count() + 8 <= WORDS_MAX
        && PROJECT_COMMANDS.iter().any(known)
}

/// Removes the pipes and redirections that only filter the output.
fn without_output_filter(line: &str) -> &str {
    let line = line.split(" | ").next().unwrap_or(line);
    line.trim_end().trim_end_matches("2>&1").trim_end()
}

/// Finds a command that could not run and a similar one that then succeeded, with no file changed
/// in between.
fn replacement_facts(runs: &[ShellRun<'_>]) -> Vec<ExtractedFact> {
    let mut facts = Vec::new();
    for (at, bad) in runs.iter().enumerate() {
        let Some(failure) = bad.failure else { continue };
        if !is_usage_error(&failure.content)
            || !is_project_command(without_output_filter(&bad.command))
        {
            continue;
        }
        let good = runs[at + 1..].iter().take(3).find(|good| {
            good.succeeded == Some(true)
                && good.edits == bad.edits
                && is_project_command(without_output_filter(&good.command))
                && without_output_filter(&good.command) != without_output_filter(&bad.command)
                && share_a_word(&good.command, &bad.command)
        });
        if let Some(good) = good {
            facts.push(ExtractedFact {
                kind: FactKind::Command,
                text: format!(
                    "`{}` works where `{}` could not run",
                    without_output_filter(&good.command),
                    without_output_filter(&bad.command)
                ),
                trust: Trust::Model,
                at: good.call.at,
                sources: vec![good.call.id, bad.call.id],
            });
        }
    }
    facts
}

/// Says whether an output reports that the command itself is wrong, and not its input.
fn is_usage_error(output: &str) -> bool {
    let output = output_end(output).to_lowercase();
    [
        "command not found", "no module named", "unrecognized option", "unknown option",
        "no such command", "unexpected argument", "missing script", "is not recognized",
        "unknown command", "not found: ", "no such file or directory",
        "could not find `cargo.toml`",
    ]
    .iter()
    .any(|sign| output.contains(sign))
}

/// Says whether two commands share a word that is not an option, and so have the same purpose.
fn share_a_word(a: &str, b: &str) -> bool {
    let words = |line: &str| {
        let words = line
            .split_whitespace()
            .filter(|word| !word.starts_with('-'));
        words
            .map(|word| memory::words::stem(&word.to_lowercase()))
            .collect::<Vec<_>>()
    };
    let (a, b) = (words(a), words(b));
    a.iter().any(|word| word.len() > 2 && b.contains(word))
}

/// Finds commands that succeeded repeatedly.
fn repeated_command_facts(runs: &[ShellRun<'_>]) -> Vec<ExtractedFact> {
    let mut counts: BTreeMap<&str, Vec<&ShellRun<'_>>> = BTreeMap::new();
    for run in runs
        .iter()
        .filter(|run| is_project_command(without_output_filter(&run.command)))
    {
        counts
            .entry(without_output_filter(&run.command))
            .or_default()
            .push(run);
    }
    let mut often: Vec<_> = counts
        .into_iter()
        .filter(|(_, runs)| {
            let good = runs
                .iter()
                .filter(|run| run.succeeded == Some(true))
                .count();
            let last = runs.last().and_then(|run| run.succeeded);
            good >= RUNS_MIN && last == Some(true)
        })
        .collect();
    often.sort_by_key(|(line, runs)| (std::cmp::Reverse(runs.len()), *line));
    often
        .into_iter()
        .map(|(line, runs)| ExtractedFact {
            kind: FactKind::Command,
            text: format!("`{line}` works"),
            trust: Trust::Model,
            at: runs.last().and_then(|run| run.call.at),
            sources: runs.iter().map(|run| run.call.id).take(4).collect(),
        })
        .collect()
}

/// Finds the last command that failed first and succeeded after changes to files.
fn fixed_test_fact(runs: &[ShellRun<'_>], records: &[StoredRecord]) -> Option<ExtractedFact> {
    let good_at = runs.iter().rposition(|good| {
        good.succeeded == Some(true)
            && is_project_command(without_output_filter(&good.command))
            && runs.iter().any(|bad| is_fix_of(bad, good))
    })?;
    let good = &runs[good_at];
    let bad = runs[..good_at].iter().rfind(|bad| is_fix_of(bad, good))?;
    let files = files_changed_between(records, bad, good);
    if files.is_empty() {
        return None;
    }
    Some(ExtractedFact {
        kind: FactKind::Outcome,
        text: format!(
            "`{}` failed, and passes since {} changed",
            without_output_filter(&good.command),
            files.join(", ")
        ),
        trust: Trust::Model,
        at: good.call.at,
        sources: vec![good.call.id, bad.call.id],
    })
}

fn is_fix_of(bad: &ShellRun<'_>, good: &ShellRun<'_>) -> bool {
    bad.succeeded == Some(false)
        && bad.edits < good.edits
        && without_output_filter(&bad.command) == without_output_filter(&good.command)
}

fn files_changed_between(
    records: &[StoredRecord],
    bad: &ShellRun<'_>,
    good: &ShellRun<'_>,
) -> Vec<String> {
    let mut files = Vec::new();
    let changes = records
        .iter()
        .filter(|record| record.kind == RecordKind::Artifact);
    for change in changes.skip(bad.edits).take(good.edits - bad.edits) {
        let path = change.path.as_deref().unwrap_or_default();
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        if !name.is_empty() && !files.contains(&name) && files.len() < FILES_MAX {
            files.push(name);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use memory::{RecordEnvironment, RecordId, SessionId};

    use super::*;

    /// Parses a session: `run`, then `ok` or `bad` with its output; `edit` with a path.
    fn session(script: &str) -> Vec<StoredRecord> {
        let mut records = Vec::new();
        let mut call = 0;
        for (at, line) in script
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .enumerate()
        {
            let (what, text) = line.split_once(' ').unwrap_or((line, ""));
            let (kind, content) = match what {
                "run" => (
                    RecordKind::ToolUse,
                    format!("command: {text}\ndescription: x"),
                ),
                "ok" => (RecordKind::ToolResult, text.to_owned()),
                "bad" => (RecordKind::Error, text.to_owned()),
                "edit" => (RecordKind::Artifact, "+x".to_owned()),
                other => panic!("{other}"),
            };
            call += usize::from(what == "run");
            records.push(StoredRecord {
                id: RecordId::from_bytes([u8::try_from(at).unwrap(); 16]),
                message: memory::MessageId::new("m"),
                line: 0,
                ordinal: 0,
                kind,
                at: None,
                session: SessionId::new("claude:s"),
                workspace: Some("w".into()),
                tool: Some("Bash".into()),
                path: (what == "edit").then(|| text.to_owned()),
                call: (what != "edit").then(|| format!("c{call}")),
                tags: Vec::new(),
                metadata: serde_json::Map::new(),
                trust: Trust::Model,
                context: RecordEnvironment::default(),
                copy: false,
                in_source: true,
                content,
            });
        }
        records
    }

    #[track_caller]
    fn check(script: &str, facts: &[&str]) {
        let found: Vec<_> = proven_facts(&session(script))
            .into_iter()
            .map(|fact| fact.text)
            .collect();
        assert_eq!(found, facts, "{script}");
    }

    #[test]
    fn a_command_that_works_again_and_again() {
        check(
            "run cargo test -p x\nok\nrun cargo test -p x 2>&1 | tail -5\nok",
            &["`cargo test -p x` works"],
        );
        check("run cargo test\nok", &[]);
        check("run ls -la\nok\nrun ls -la\nok", &[]);
        check(
            "run cargo test\nok\nrun cargo test\nok\nrun cargo test\nbad no",
            &[],
        );
        check(
            "run make\nok make: *** [all] Error 2\nrun make\nok make: *** stop",
            &[],
        );
    }

    #[test]
    fn a_command_that_could_not_run_and_the_one_that_did() {
        check(
            "run pytest -q\nbad bash: pytest: command not found\nrun uv run pytest -q\nok 3 passed",
            &["`uv run pytest -q` works where `pytest -q` could not run"],
        );
        // The files changed in between, so the command was not wrong.
        check(
            "run pytest -q\nbad No module named app\nedit /p/a.py\nrun uv run pytest -q\nok",
            &[],
        );
        check("run pytest -q\nbad 1 failed\nrun uv run pytest -q\nok", &[]);
    }

    #[test]
    fn what_passes_since_a_change() {
        check(
            "run cargo test\nbad 1 failed\nedit /p/src/a.rs\nedit /p/src/b.rs\nrun cargo test\nok",
            &["`cargo test` failed, and passes since a.rs, b.rs changed"],
        );
        check("run cargo test\nbad 1 failed\nrun cargo test\nok", &[]);
    }
}
