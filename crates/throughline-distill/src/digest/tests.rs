//! Digests of sessions that are written as one line per record.

use jiff::{SignedDuration, Timestamp};
use memory::digest::{Digest, ERRORS_MAX, FIRST_PROMPTS_MAX, LAST_PROMPTS_MAX, STEPS_MAX};
use memory::{
    Flavor, Outcome, RecordEnvironment, RecordId, RecordKind, Session, SessionId, SessionKind,
    Trust, Usage,
};
use proptest::prelude::*;
use store::StoredRecord;

use super::digest;

fn session() -> Session {
    Session {
        id: SessionId::of(Flavor::Claude, "s"),
        flavor: Flavor::Claude,
        kind: SessionKind::Main,
        title: None,
        workspace: None,
        cwd: Some("/repo".to_owned()),
        branch: None,
        model: None,
        version: None,
        parent: None,
        started: None,
        ended: None,
        records: 0,
        prompts: 0,
        tool_calls: 0,
        errors: 0,
        usage: Usage::default(),
        cost_usd: None,
        source: None,
        source_gone: false,
        detached: 0,
        outcome: None,
        evicted: 0,
        marks: memory::SessionMarks::default(),
    }
}

/// Reads a transcript: `u` prompt, `a` words, `$` command, `e PATH` edit, `r PATH` read, `.` a good
/// result, `! TEXT` a failed one, `x` a refusal. A minute passes with each.
fn records(transcript: &str) -> Vec<StoredRecord> {
    let start: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
    let mut tool = None;
    let mut path: Option<String> = None;
    let lines = transcript
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let record = |(at, line): (usize, &str)| {
        let (mark, text) = line.split_once(' ').unwrap_or((line, ""));
        let (kind, trust, content) = match mark {
            "u" => (RecordKind::Prompt, Trust::User, text.to_owned()),
            "a" => (RecordKind::Assistant, Trust::Model, text.to_owned()),
            "$" => {
                (tool, path) = (Some("Bash"), None);
                (
                    RecordKind::ToolUse,
                    Trust::Model,
                    format!("command: {text}\ndescription: x"),
                )
            }
            "e" | "r" => {
                tool = Some(if mark == "e" { "Edit" } else { "Read" });
                path = Some(format!("/repo/{text}"));
                (
                    RecordKind::ToolUse,
                    Trust::Model,
                    format!("file_path: /repo/{text}"),
                )
            }
            "!" => (RecordKind::Error, Trust::Tool, text.to_owned()),
            "x" => (RecordKind::Approval, Trust::User, "refused Bash".to_owned()),
            _ => (RecordKind::ToolResult, Trust::Tool, text.to_owned()),
        };
        let by_tool = matches!(
            kind,
            RecordKind::ToolUse | RecordKind::ToolResult | RecordKind::Error
        );
        StoredRecord {
            id: RecordId::from_bytes([0; 16]),
            message: memory::MessageId::new("m"),
            line: 0,
            ordinal: 0,
            kind,
            at: Some(start + SignedDuration::from_mins(i64::try_from(at).unwrap())),
            session: SessionId::of(Flavor::Claude, "s"),
            workspace: None,
            tool: tool.filter(|_| by_tool).map(str::to_owned),
            path: path.clone().filter(|_| by_tool),
            call: None,
            tags: Vec::new(),
            metadata: serde_json::Map::new(),
            trust,
            context: RecordEnvironment::default(),
            copy: false,
            in_source: true,
            content,
        }
    };
    lines.enumerate().map(record).collect()
}

fn of(transcript: &str) -> Digest {
    digest(&session(), &records(transcript))
}

#[track_caller]
fn check(transcript: &str, outcome: Outcome, reason: &str) {
    let digest = of(transcript);
    assert_eq!(digest.outcome, outcome, "{:?}", digest.reasons);
    assert!(digest.reasons[0].contains(reason), "{:?}", digest.reasons);
}

#[test]
fn the_end_decides() {
    check("u fix it\na done", Outcome::Succeeded, "the work is done");
    check(
        "u why is it slow?\na the cache is cold",
        Outcome::Succeeded,
        "answered",
    );
    check(
        "u fix it\na Let me look at the logs.",
        Outcome::Abandoned,
        "announced",
    );
    check(
        "u fix it\na Which file do you mean?",
        Outcome::Unclear,
        "asked a question",
    );
    check(
        "u fix it\na I couldn't find the file.",
        Outcome::Failed,
        "did not succeed",
    );
    check("u fix it", Outcome::Abandoned, "no answer");
    check(
        "u fix it\ne a.rs\n.\na done\nu thanks",
        Outcome::Succeeded,
        "satisfied",
    );
    check("u fix it\n$ make\nx", Outcome::Abandoned, "refused");
    check(
        "u fix it\n$ make",
        Outcome::Abandoned,
        "during a call of Bash",
    );
    check(
        "u fix it\n$ make\n! error: no rule",
        Outcome::Failed,
        "failed call of Bash",
    );
    check(
        "u fix it\n! API error: overloaded",
        Outcome::Failed,
        "API error",
    );
}

#[test]
fn the_work_decides_when_the_end_does_not() {
    let failing = "u fix it\ne a.rs\n.\n$ cargo test\n! 1 failed\na I stopped here";
    check(failing, Outcome::Failed, "test run failed");
    let passing = "u fix it\n$ cargo test\n! 1 failed\ne a.rs\n.\n$ cargo test\n. ok\na fixed";
    check(passing, Outcome::Succeeded, "test run passed");
    check(
        "u fix it\ne a.rs\n.\na done",
        Outcome::Succeeded,
        "1 file was changed",
    );
    check(
        "u fix\n$ git commit -m x\n.\na done",
        Outcome::Succeeded,
        "committed",
    );
    check(
        "u fix\ne a.rs\n.\na done\nu no, the other\na hm",
        Outcome::Unclear,
        "correction",
    );
}

#[test]
fn errors_are_overcome_when_the_same_succeeds() {
    let digest = of("u go\n$ make\n! error: boom\n$ make\n! error: boom\n$ make\n. ok\na done");
    let error = &digest.errors.items[0];
    assert_eq!((error.times, error.overcome), (2, true));
    assert_eq!(digest.retries.items[0].times, 2);
    assert_eq!((digest.overhead.failed, digest.overhead.calls), (2, 3));
    let open = of("u go\n$ make\n! error: boom\n$ ls\n. a\na done");
    assert!(!open.errors.items[0].overcome);
}

#[test]
fn looking_is_no_step_and_reading_again_is_overhead() {
    let digest = of("u go\nr a.rs\n. x\nr a.rs\n. x\ne a.rs\n.\nr a.rs\n. y\n$ ls\n. z\na ok");
    assert_eq!(digest.looks, 4);
    assert_eq!(digest.overhead.rereads, 1);
    let steps: Vec<_> = digest
        .done
        .items
        .iter()
        .map(|step| step.what.as_str())
        .collect();
    assert_eq!(steps, ["a.rs"]);
}

#[test]
fn pauses_do_not_count_as_work() {
    let mut records = records("u go\na done\nu more\na done");
    for record in &mut records[2..] {
        record.at = record.at.map(|at| at + SignedDuration::from_hours(5));
    }
    let digest = digest(&session(), &records);
    assert_eq!(digest.wall_ms, (5 * 60 + 3) * 60_000);
    assert_eq!(digest.active_ms, (1 + 5 + 1) * 60_000);
}

#[test]
fn each_part_has_the_trust_of_its_sources() {
    let trust = of("u go\n$ make\n! error: boom\na done").trust;
    assert_eq!(trust.asked, Some(Trust::User));
    assert_eq!(trust.done, Some(Trust::Model));
    assert_eq!(trust.errors, Some(Trust::Tool));
    assert_eq!(trust.lowest(), Trust::Tool);
}

/// The maximum size of a digest whose lists are all full of long and unusual texts.
const DIGEST_BYTES_MAX: usize = 12 << 10;

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_session_has_a_small_digest(
        lines in prop::collection::vec(("[ua$er.!x]", "[ -~]{0,300}"), 0..150)
    ) {
        let lines = lines.iter().map(|(mark, text)| format!("{mark} {text}"));
        let transcript: Vec<_> = lines.collect();
        let records = records(&transcript.join("\n"));
        let made = digest(&session(), &records);
        prop_assert_eq!(&made, &digest(&session(), &records));
        prop_assert!(made.asked.items.len() <= FIRST_PROMPTS_MAX + LAST_PROMPTS_MAX);
        prop_assert!(made.done.items.len() <= STEPS_MAX && made.errors.items.len() <= ERRORS_MAX);
        prop_assert!(!made.reasons.is_empty());
        let json = serde_json::to_string(&made).unwrap();
        prop_assert!(json.len() <= DIGEST_BYTES_MAX, "{}", json.len());
        prop_assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), made);
    }
}
