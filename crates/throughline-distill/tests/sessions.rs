//! Digests and facts of the sessions in the repository's fixtures and samples.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use capture::flavor::ADAPTERS;
use capture::{CaptureScope, Root, Sources, SweepControl};
use jiff::{SignedDuration, Timestamp};
use memory::{Digest, Outcome, Prices};
use store::{FactFilter, FactScope, SessionFilter};
use testkit::TestStore;
use throughline_distill::digest::{DigestOptions, digest_pending};
use throughline_distill::facts::{extract_ended_session, extract_pending_facts};

fn now() -> Timestamp {
    Timestamp::from_second(2_000_000_000).unwrap()
}

/// Captures all logs below a folder.
fn captured(folder: PathBuf) -> TestStore {
    let store = TestStore::empty();
    let sources = Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![Root {
            path: folder,
            flavor: None,
        }],
        all_roots: true,
        scope: CaptureScope::default(),
        archive: false,
        threads: 2,
    };
    let stop = AtomicBool::new(false);
    capture::sweep(&store, &sources, &SweepControl::new(&stop), now()).unwrap();
    store
}

fn digests(store: &TestStore) -> BTreeMap<String, Digest> {
    let options = DigestOptions {
        quiet_for: SignedDuration::ZERO,
        prices: &Prices::default(),
        threads: 2,
        stop: &AtomicBool::new(false),
    };
    digest_pending(store, &options, now()).unwrap();
    let filter = SessionFilter {
        all_kinds: true,
        limit: 10_000,
        ..SessionFilter::default()
    };
    let sessions = store.sessions(&filter).unwrap();
    let digest = |id| store.digest(id).unwrap().map(|stored| stored.digest);
    sessions
        .iter()
        .filter_map(|session| Some((session.id.to_string(), digest(&session.id)?)))
        .collect()
}

/// Verdicts that a person gave after reading the end of each session.
const VERDICTS: &str = "
    aider:2024-08-05T19-33-32-676a2aec1f7d succeeded
    aider:2024-08-06T08-47-10-75dc93fae2d5 abandoned
    aider:2026-06-01T09-05-00-b68c8d1a108b succeeded
    aider:2026-06-09T15-30-00-631b5e06f948 succeeded
    amp:T-019ca26f-0000-7000-8000-000000000001 abandoned
    claude:07047a7d-ecbf-4e09-9f96-43949ae2e4f4 abandoned
    claude:11110000-0000-4000-8000-000000000001 abandoned
    claude:130d7b7e-5801-4345-9bd6-f32fd9b8429b abandoned
    claude:37f83ec9-f2ea-42a9-925e-0d5c105cb6e8 abandoned
    claude:3de15637-3629-4423-bfe4-8b85e135c885 abandoned
    claude:488c5296-fc78-4fdf-8cfd-f1cae9454bd0 succeeded
    claude:4c5420d7-85c7-46b9-b34d-eaf1c42847fd succeeded
    claude:7142b226-68fa-46a0-8fd9-46e66b66a646 succeeded
    claude:937c6e6b-27e7-4edd-86f1-ad28f9731841 failed
    claude:a7da6a22-facc-4fcd-8bab-f83c87862004/agent-c8d9b115 failed
    claude:ce6db73e-83fb-4b8f-8848-bed8d0ea3acd abandoned
    claude:d1423492-e4f5-4a86-a997-1f1c8d09a940 abandoned
    claude:df749439-8556-41bf-9965-9f49cf38bf2a abandoned
    claude:df749439-8556-41bf-9965-9f49cf38bf2a/sidechain succeeded
    claude:eb000000-0000-4000-8000-000000000001/agent-cccc333 succeeded
    claude:ef958aa1-0e93-49f0-bb71-150f63befcd1/agent-a6aa8ad077d9ea083 succeeded
    claude:f852ad25-1024-47da-964e-5eaae5bd6e6a abandoned
    claude:hook-fix-001 abandoned
    cline:1762853000000 succeeded
    codex:019ed50c-2fb3-7002-a384-360bea6e7f04 abandoned
    codex:019ed836-b1da-78f1-8a0c-e598363d10f4 abandoned
    codex:01a1e083-3243-7112-b608-7ab56732dcdf succeeded
    codex:01a1e083-8989-7ef1-a26f-c1562215f778 abandoned
    codex:test-ratelimit-session failed
    copilot:1afc31c8-d97f-4331-bae9-b6417f1b79a9 succeeded
    copilot:378ab881-f02f-435c-9673-0c8d7c7d6bef abandoned
    copilot:aaaabbbb-1111-2222-3333-ccccddddeeee succeeded
    copilot:cccc0003-0000-4000-8000-000000000003 failed
    cursor:small abandoned
    gemini:914f3c63-152a-4f25-9f4e-367c43140554 succeeded
    gemini:d0ed8c54-d24e-4ca5-b7ff-2f2b943c0d2d succeeded
    goose:20250304_100000 succeeded
    grok:01a1e07c-e626-7793-85aa-32c25c5d307e succeeded
    kimi:22222222-2222-4222-8222-222222222222 succeeded
    kimi:session_11111111-1111-4111-8111-111111111111 failed
    opencode:s_stage0_small abandoned
    opencode:ses_22ac7351effeqtHDYVbWXt31su succeeded
    opencode:ses_27a3283eeffe2okXvUQaxKJ0Nw succeeded
    pi:019e19b4-eb48-746a-aa6b-8dfcfa37954b succeeded
    pi:d703a1a9-1b7b-4fb1-b512-c9738b1fe617 abandoned
";

#[test]
fn most_outcomes_are_clear() {
    let store = captured(testkit::fixture(""));
    let digests = digests(&store);
    for (session, digest) in &digests {
        let said = digest.said.as_deref().unwrap_or_default();
        println!(
            "{session}\t{}\t{}\t{said}",
            digest.outcome.name(),
            digest.reasons[0]
        );
    }
    for (session, verdict) in VERDICTS
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
    {
        let digest = &digests[session];
        let (outcome, reasons) = (digest.outcome.name(), &digest.reasons);
        assert_eq!(outcome, verdict, "{session}: {reasons:?}");
    }
    let unclear = digests
        .values()
        .filter(|digest| digest.outcome == Outcome::Unclear)
        .count();
    println!("{unclear} of {} outcomes are unclear", digests.len());
    assert!(digests.len() > 100);
    assert!(
        unclear * 4 <= digests.len(),
        "{unclear} of {}",
        digests.len()
    );
}

fn samples() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples"))
}

#[test]
fn an_ended_session_is_read_once() {
    let store = captured(samples());
    let filter = SessionFilter {
        limit: 100,
        ..SessionFilter::default()
    };
    let mut facts = 0;
    for session in store.sessions(&filter).unwrap() {
        let first = extract_ended_session(&store, &session.id, now()).unwrap();
        let second = extract_ended_session(&store, &session.id, now()).unwrap();
        assert_eq!((first.sessions, second.sessions), (1, 0), "{}", session.id);
        facts += first.facts;
    }
    assert!(facts > 0);
}

#[test]
fn a_headless_session_states_facts() {
    let store = captured(samples());
    extract_pending_facts(&store, now(), &|| false).unwrap();
    let filter = FactFilter {
        scope: FactScope::All,
        kind: None,
        history: false,
        limit: 100,
    };
    let facts = store.facts(&filter).unwrap();
    let texts: Vec<_> = facts.iter().map(|fact| fact.text.as_str()).collect();
    println!("{texts:#?}");
    let decision = "We decided that the threshold must come from config.toml, not from code";
    assert!(texts.contains(&decision), "{texts:?}");
}
