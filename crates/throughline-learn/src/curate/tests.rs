use memory::{Flavor, SessionId, SignalKind};

use super::*;

fn candidate(sessions: u64, cross_flavor: bool) -> PatternCandidate {
    PatternCandidate {
        id: "0123456789ab".to_owned(),
        kind: SignalKind::Diag,
        name: "golangci/errcheck".to_owned(),
        version: 1,
        workspace: Some("example.com/app".to_owned()),
        sessions,
        times: sessions * 2,
        overcome: sessions,
        flavors: if cross_flavor {
            vec![Flavor::Claude, Flavor::Codex]
        } else {
            vec![Flavor::Claude]
        },
        cross_flavor,
        days: sessions,
        minutes: 14,
        tokens: 9_000,
        log_odds: 0.0,
        first: None,
        last: None,
        stale_in: None,
        evidence: Vec::new(),
        session_ids: (0..sessions)
            .map(|n| SessionId::new(format!("claude:{n}")))
            .collect(),
    }
}

#[test]
fn thin_evidence_stays_out_and_real_evidence_is_provisional() {
    let gate = CurationGate::default();
    assert_eq!(gate.level(&candidate(2, true)), EvidenceLevel::TooThin);
    assert_eq!(gate.level(&candidate(4, true)), EvidenceLevel::Provisional);
    assert_eq!(gate.level(&candidate(9, false)), EvidenceLevel::Provisional);
    assert_eq!(
        gate.level(&candidate(9, true)),
        EvidenceLevel::DistributionReady
    );
}

#[test]
fn a_rejected_candidate_does_not_come_back_unchanged() {
    let store = testkit::TestStore::empty();
    let now = Timestamp::from_second(1_767_600_000).unwrap();
    let rejected = candidate(4, false);
    let new = NewDecision {
        candidate: &rejected,
        decision: ReviewDecision::Reject,
        why: Some("wrong".to_owned()),
        guidance: None,
    };
    assert!(record_decision(&store, &new, now).unwrap());
    assert!(
        !record_decision(&store, &new, now).unwrap(),
        "the same decision again"
    );
    let reviews = store.reviews().unwrap();
    assert_eq!(reviews.len(), 1);
    assert!(!needs_decision(&rejected, &reviews));
    assert!(!needs_decision(&candidate(5, false), &reviews));
    assert!(
        needs_decision(&candidate(6, false), &reviews),
        "half as many sessions again"
    );
    assert!(
        needs_decision(&candidate(4, true), &reviews),
        "another agent"
    );
    let queued = store.queued_decisions().unwrap();
    assert_eq!(queued.len(), 1);
    assert!(queued[0].payload.contains("\"decision\":\"reject\""));
    store.mark_decision_sent(queued[0].id, now).unwrap();
    assert_eq!(store.queued_decisions().unwrap(), []);
}

#[test]
fn the_version_follows_from_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = folder.path().join("patterns");
    let first = "Check every returned error, also of Close, and wrap it with context before you \
        return it to the caller of the function in the package";
    let save = |sessions, text: &str| {
        let candidate = candidate(sessions, true);
        let entry =
            CatalogEntry::from_candidate(&candidate, EntryStatus::Approved, true, text.into());
        let outcome = save_entry(&catalog, entry);
        let outcome = outcome.unwrap();
        let version = outcome.version().to_string();
        (outcome, version)
    };
    assert!(matches!(save(4, first).0, SaveOutcome::Created(_)));
    assert!(matches!(save(4, first).0, SaveOutcome::Unchanged(_)));
    let (outcome, version) = save(9, first);
    assert!(matches!(outcome, SaveOutcome::Refreshed(_)));
    assert_eq!(version, "1.0.0", "fresh evidence is no new version");
    assert_eq!(save(9, &format!("{first} now")).1, "1.0.1");
    assert_eq!(
        save(9, &format!("{first} now. Never ignore one with a blank")).1,
        "1.1.0"
    );
    assert_eq!(save(9, "Never use naked returns").1, "2.0.0");
    let history = catalog.join("0123456789ab.history.jsonl");
    assert_eq!(std::fs::read_to_string(history).unwrap().lines().count(), 3);
    let entries = load_catalog(&catalog).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].guidance, "Never use naked returns");
    assert_eq!(entries[0].scope.repos, ["example.com/app"]);
}

#[test]
fn guidance_is_short_and_says_why() {
    for (kind, name) in [
        (SignalKind::Diag, "golangci/errcheck"),
        (SignalKind::Diag, "shell/command-not-found docker"),
        (SignalKind::Tool, "edit-without-read"),
        (SignalKind::Instruction, "path-missing .golangci.yml"),
        (SignalKind::Fixpair, "golangci/gofmt => mise run fmt"),
        (SignalKind::Reject, "git push"),
        (SignalKind::Retry, "npm test"),
    ] {
        let text = draft_guidance(&PatternCandidate {
            kind,
            name: name.to_owned(),
            ..candidate(9, true)
        });
        assert!(
            text.split_whitespace().count() <= GUIDANCE_WORDS_MAX,
            "{text}"
        );
        assert!(
            text.contains("because that cost 14 minutes in 9 sessions"),
            "{text}"
        );
    }
}

#[test]
fn what_is_said_already_is_found() {
    let texts = [BloatText {
        source: "CLAUDE.md".to_owned(),
        text: "# Rules\n\n- Read a file in this session before you edit or overwrite it.\n"
            .to_owned(),
    }];
    let found = find_bloat(
        "Read a file in this session before you edit or overwrite it, because that cost 3 minutes.",
        &texts,
    );
    assert!(found[0].duplicate);
    let rule = |name: &str| format!("Write code that passes `{name}` the first time, and check it");
    let other = [BloatText {
        source: "pattern 1".to_owned(),
        text: rule("golangci/dupl"),
    }];
    assert_eq!(
        find_bloat(&rule("golangci/errcheck"), &other),
        [],
        "another rule"
    );
    let wrapped = [BloatText {
        source: "AGENTS.md".to_owned(),
        text: "- Keep it short. Read a file in this session\n  before you edit or overwrite it.\n"
            .to_owned(),
    }];
    let rule = "Read a file in this session before you edit or overwrite it";
    assert!(
        find_bloat(rule, &wrapped)[0].duplicate,
        "a sentence over two lines"
    );
    assert_eq!(
        find_bloat("Never push to main without a review", &texts),
        []
    );
}
