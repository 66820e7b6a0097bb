use memory::{Flavor, SessionId, SessionKind, Signal, SignalKind};
use store::SessionSignals;

use super::*;

/// Returns a session that started `hour` hours after a fixed time, with the given signals.
fn session(
    name: &str,
    flavor: Flavor,
    hour: i64,
    signals: &[(SignalKind, &str)],
) -> SessionSignals {
    let started = Timestamp::from_second(1_767_600_000 + hour * 3_600).ok();
    let signals = signals.iter().map(|(kind, name)| Signal {
        ms: 120_000,
        tokens: 1_000,
        text: (*name).to_owned(),
        ..Signal::new(*kind, *name)
    });
    SessionSignals {
        session: SessionId::of(flavor, name),
        flavor,
        kind: SessionKind::Main,
        parent: None,
        workspace: Some("example.com/app".to_owned()),
        agent_version: None,
        model: None,
        started,
        ended: started.map(|at| at + jiff::SignedDuration::from_mins(20)),
        prompts: 3,
        tool_calls: 9,
        signals: signals.collect(),
    }
}

const DIAG: SignalKind = SignalKind::Diag;

fn five() -> Vec<SessionSignals> {
    let noisy = [(DIAG, "golangci/errcheck"), (DIAG, "tsc/TS2345")];
    vec![
        session("a", Flavor::Claude, 0, &noisy),
        session("b", Flavor::Claude, 30, &noisy),
        session("c", Flavor::Codex, 60, &noisy),
        session(
            "d",
            Flavor::Codex,
            61,
            &[(DIAG, "golangci/errcheck"), (DIAG, "git/conflict")],
        ),
        session(
            "e",
            Flavor::Claude,
            90,
            &[(SignalKind::Tool, "path-missing x.yml")],
        ),
    ]
}

#[test]
fn two_agents_with_one_cause_are_cross_flavor() {
    let found = detect(&five(), &DetectOptions::default());
    // The compile error is in three sessions, but normal work needs six.
    assert_eq!(found.len(), 1);
    let errcheck = &found[0];
    assert_eq!(
        (errcheck.name.as_str(), errcheck.sessions),
        ("golangci/errcheck", 4)
    );
    assert!(errcheck.cross_flavor);
    assert_eq!(
        (errcheck.minutes, errcheck.tokens, errcheck.days),
        (8, 4_000, 3)
    );
    assert_eq!(errcheck.evidence.len(), 4);
    assert_eq!(errcheck.id.len(), 12);
}

#[test]
fn the_order_of_sessions_does_not_matter() {
    let options = DetectOptions {
        min_frequency: 1,
        ..DetectOptions::default()
    };
    let mut sessions = five();
    let expected = detect(&sessions, &options);
    for turn in 0..sessions.len() {
        sessions.rotate_left(1);
        sessions.swap(0, turn);
        assert_eq!(detect(&sessions, &options), expected);
    }
}

#[test]
fn poor_sessions_do_not_count() {
    let mut sessions = five();
    sessions[0].tool_calls = 0;
    sessions[0].prompts = 1;
    sessions[1].kind = SessionKind::Automated;
    assert_eq!(detect(&sessions, &DetectOptions::default()), []);
}

#[test]
fn a_subagent_counts_with_its_parent() {
    let mut sessions = five();
    for at in [1, 2, 3] {
        sessions[at].kind = SessionKind::Subagent;
        sessions[at].parent = Some(sessions[0].session.clone());
    }
    assert_eq!(detect(&sessions, &DetectOptions::default()), []);
}

#[test]
fn messages_that_differ_in_one_word_are_one_cluster() {
    let says =
        "other/error the cache of the remote builder is not available in this region at the moment";
    let same =
        "other/error the cache of the remote builder is not available in this region at the time";
    let other = "other/error the index of the local registry is not writable by this user";
    let sessions: Vec<_> = [says, same, says, other]
        .iter()
        .zip(["a", "b", "c", "d"])
        .map(|(text, name)| session(name, Flavor::Claude, 1, &[(DIAG, text)]))
        .collect();
    let found = detect(&sessions, &DetectOptions::default());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].sessions), (says, 3));
}

#[test]
fn a_missing_path_that_an_instruction_names_is_stale() {
    let missing = [
        (SignalKind::Tool, "path-missing"),
        (SignalKind::Tool, "path-missing .golangci.yml"),
    ];
    let by_shell = [(DIAG, "shell/path-missing .golangci.yml")];
    let sessions = [
        session("a", Flavor::Claude, 0, &missing),
        session("b", Flavor::Claude, 1, &missing),
        session("c", Flavor::Codex, 2, &by_shell),
    ];
    let plain = detect(&sessions, &DetectOptions::default());
    assert_eq!((plain.len(), plain[0].kind), (1, SignalKind::Tool));
    let options = DetectOptions {
        instruction_files: vec![InstructionFile {
            workspace: "example.com/app".to_owned(),
            path: "CLAUDE.md".to_owned(),
            text: "Lint: see .golangci.yml for the rules.".to_owned(),
        }],
        ..DetectOptions::default()
    };
    let stale = detect(&sessions, &options);
    assert_eq!(stale[0].kind, SignalKind::Instruction);
    assert_eq!(stale[0].stale_in.as_deref(), Some("CLAUDE.md"));
    assert_eq!(
        stale[0].id, plain[0].id,
        "the decision stays when the file is corrected"
    );
}
