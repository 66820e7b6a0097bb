use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use capture::flavor::ADAPTERS;
use capture::hook::{HookHints, parse_payload};
use capture::{CaptureScope, Root, Sources};
use memory::{FactKind, Flavor, SessionId, Tokens, Trust};
use serde_json::{Value, json};
use store::NewFact;

use super::*;
use crate::stages::{StageContext, StageSettings};

mod without_log;

const SESSION: &str = "703ad6e2-1d62-41f4-9458-d210f8be4c06";

struct Test {
    dir: tempfile::TempDir,
    store: Store,
    now: Timestamp,
}

impl Test {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Self {
            store,
            dir,
            now: "2026-11-16T09:00:00Z".parse().unwrap(),
        }
    }

    fn prefers(&self, text: &str) {
        let fact = NewFact {
            workspace: None,
            kind: FactKind::Preference,
            text: text.to_owned(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: true,
            at: self.now,
            sources: Vec::new(),
        };
        self.store.remember(fact).unwrap();
    }

    fn carry_out(&self, follow_ups: Vec<FollowUp>) {
        let root = Root {
            path: samples(),
            flavor: None,
        };
        let sources = Sources {
            adapters: ADAPTERS.to_vec(),
            roots: vec![root],
            all_roots: false,
            scope: CaptureScope::default(),
            archive: false,
            threads: 1,
        };
        let context = StageContext {
            store: &self.store,
            settings: &stage_settings(),
            sources: &sources,
            stop: &Arc::default(),
            now: self.now,
        };
        run_follow_ups(follow_ups, &context).unwrap();
    }

    fn answer(&self, event: &HookEvent) -> HookOutcome {
        answer_event(
            &self.store,
            &ServeSettings::default(),
            &LiveLayers::default(),
            event,
            AnswerMode::Once,
            self.now,
        )
        .unwrap()
    }
}

pub(crate) fn stage_settings() -> StageSettings {
    StageSettings {
        auto_tokens: Some(memory::Tokens(1_000)),
        idle_after: jiff::SignedDuration::from_mins(30),
        prices: memory::Prices::default(),
        threads: 1,
        extract_facts: true,
        extract_facts_with_model: false,
        summary: Some(distill::summary::SummarySettings::default()),
        model_provider: None,
        learn: learn::LearnSettings::default(),
        policy: store::retention::RetentionPolicy {
            raw_soft_cap_bytes: u64::MAX,
            raw_hard_cap_bytes: u64::MAX,
            raw_max_age: None,
            delete_after: None,
            distilled_cap_bytes: u64::MAX,
            workspaces: Vec::new(),
        },
    }
}

fn samples() -> PathBuf {
    testkit::fixture("../samples")
}

fn log() -> PathBuf {
    samples().join(format!("claude/projects/-home-dev-proj/{SESSION}.jsonl"))
}

fn event(payload: &Value) -> HookEvent {
    parse_payload(payload.to_string().as_bytes(), &HookHints::default()).unwrap()
}

fn start(session: &str, source: &str, transcript: &str) -> HookEvent {
    event(&json!({
        "session_id": session, "cwd": "/home/dev/proj", "hook_event_name": "SessionStart",
        "source": source, "transcript_path": transcript,
    }))
}

#[test]
fn only_the_log_that_the_agent_names_is_read() {
    let test = Test::new();
    let stop = event(&json!({
        "session_id": SESSION, "cwd": "/home/dev/proj", "hook_event_name": "PostToolUse",
        "transcript_path": log(),
    }));
    let answered = test.answer(&stop);
    assert_eq!(answered.silence, Some(HookSilence::EventNotAnswered));
    test.carry_out(answered.follow_ups);
    let filter = store::SessionFilter {
        limit: 100,
        ..store::SessionFilter::default()
    };
    let sessions = test.store.sessions(&filter).unwrap();
    let names: Vec<_> = sessions.iter().map(|session| session.id.native()).collect();
    assert_eq!(names, [SESSION]);
}

#[test]
fn the_agents_own_summary_is_kept_once() {
    let test = Test::new();
    let compacted = event(&json!({
        "session_id": SESSION, "cwd": "/home/dev/proj", "hook_event_name": "PostCompact",
        "transcript_path": log(), "compact_summary": "<summary>FAKE-SUMMARY</summary>",
    }));
    for _ in 0..2 {
        test.carry_out(test.answer(&compacted).follow_ups);
    }
    let mut summaries = 0;
    let id = SessionId::of(Flavor::Claude, SESSION);
    test.store
        .each_record(&id, |record| {
            let is_it = record.kind == memory::RecordKind::Summary;
            summaries += usize::from(is_it && record.content.contains("FAKE-SUMMARY"));
        })
        .unwrap();
    assert_eq!(summaries, 1);
}

#[test]
fn the_summary_is_current_before_a_compaction() {
    let test = Test::new();
    let before = event(&json!({
        "session_id": SESSION, "cwd": "/home/dev/proj", "hook_event_name": "PreCompact",
        "transcript_path": log(), "trigger": "auto",
    }));
    let answered = test.answer(&before);
    assert_eq!(answered.silence, Some(HookSilence::EventNotAnswered));
    test.carry_out(answered.follow_ups);
    let id = SessionId::of(Flavor::Claude, SESSION);
    assert!(test.store.summary(&id).unwrap().is_some());
}

#[test]
fn the_summary_is_current_when_a_turn_and_a_session_end() {
    let mut test = Test::new();
    let text = std::fs::read_to_string(log()).unwrap();
    let path = test.dir.path().join("projects/-home-dev-proj");
    std::fs::create_dir_all(&path).unwrap();
    let path = path.join(format!("{SESSION}.jsonl"));
    let id = SessionId::of(Flavor::Claude, SESSION);
    let payload = |name: &str| {
        event(&json!({
            "session_id": SESSION, "cwd": "/home/dev/proj", "hook_event_name": name,
            "transcript_path": path,
        }))
    };
    let say = |role: &str, text: &str| {
        let line = json!({
            "type": role, "uuid": text, "sessionId": SESSION, "cwd": "/home/dev/proj",
            "timestamp": "2026-11-16T08:59:00Z", "version": "2.1.325",
            "message": {"role": role, "id": text, "content": [{"type": "text", "text": text}]},
        });
        format!("{line}\n")
    };
    // Long enough for a summary.
    let long = say(
        "assistant",
        &"a rather long line about the refactor ".repeat(900),
    );
    std::fs::write(&path, format!("{text}{long}")).unwrap();
    test.carry_out(test.answer(&payload("Stop")).follow_ups);
    let version = test.store.summary(&id).unwrap().unwrap().info.version;
    let events = test.store.events(&store::EventFilter {
        name: Some("threshold.exceeded".to_owned()),
        limit: 10,
        ..store::EventFilter::default()
    });
    let is_due = |event: &store::StoredEvent| event.figures["of"] == "conversation";
    assert!(events.unwrap().iter().any(is_due));
    // A few words more, which make no summary due.
    for (event, request) in [("Stop", "now the docs"), ("SessionEnd", "now the tests")] {
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{}", say("user", request))).unwrap();
        test.now = test.now.checked_add(jiff::Span::new().seconds(10)).unwrap();
        test.carry_out(test.answer(&payload(event)).follow_ups);
        let stored = test.store.summary(&id).unwrap().unwrap();
        let state = memory::Summary::parse(&stored.text);
        let state = state.get("Current state").unwrap();
        assert!(state.contains(request), "{event}: {state}");
        assert!(stored.info.version > version);
    }
}

#[test]
fn what_is_put_back_fits_every_agent() {
    let mut test = Test::new();
    test.carry_out(vec![
        FollowUp::Read {
            flavor: Flavor::Claude,
            log: Some(log()),
        },
        FollowUp::Summarize(SessionId::of(Flavor::Claude, SESSION)),
    ]);
    let id = SessionId::of(Flavor::Claude, SESSION);
    let path = test.store.summary(&id).unwrap().unwrap().path;
    let long = "語 and a rather long line about the storage refactor\n".repeat(2_000);
    std::fs::write(path, format!("# Current state\n{long}\n# Task\n{long}")).unwrap();
    for at in 0..40 {
        test.prefers(&format!("rule {at} {}", "about it ".repeat(9 + at % 7)));
    }
    let claude = start(SESSION, "compact", "/c/log.jsonl");
    let mut codex = start(SESSION, "compact", "/c/rollout-1.jsonl");
    codex.session = Some(id);
    for event in [claude, codex] {
        // Else it would be the second delivery of one event.
        test.now += jiff::SignedDuration::from_mins(1);
        let answered = test.answer(&event);
        let text = answered.answer.context.clone().unwrap();
        assert!(event.dialect.context_limit().fits(&text), "{}", text.len());
        assert!(text.contains("storage refactor"), "{text}");
        assert!(
            answered
                .answer
                .render(&event)
                .contains("hookSpecificOutput")
        );
    }
}

#[test]
fn an_empty_memory_says_nothing() {
    let test = Test::new();
    for source in ["startup", "resume", "clear", "compact"] {
        let answered = test.answer(&start("s", source, "/c/log.jsonl"));
        assert_eq!(answered.answer, HookAnswer::default());
        assert_eq!(
            answered.silence,
            Some(HookSilence::NothingRelevant),
            "{source}"
        );
    }
}

#[test]
fn an_injection_is_recorded_once_however_often_it_is_told_of() {
    let test = Test::new();
    test.prefers("use tabs");
    let answered = test.answer(&start("s", "startup", "/c/log.jsonl"));
    assert!(answered.answer.context.unwrap().contains("use tabs"));
    for _ in 0..2 {
        test.carry_out(answered.follow_ups.clone());
    }
    let recorded = test.store.injections(None, 10).unwrap();
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].items.len(), 1);
    assert!(recorded[0].tokens > Tokens(0));
}

#[test]
fn of_many_deliveries_one_is_answered() {
    let test = Test::new();
    test.prefers("use tabs");
    let event = start("s", "startup", "/c/log.jsonl");
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let twice = duplicates::is_duplicate(test.dir.path(), &event, test.now);
                answered.fetch_add(usize::from(!twice), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(answered.into_inner(), 1);
    let later = test.now + jiff::SignedDuration::from_secs(6);
    assert!(!duplicates::is_duplicate(test.dir.path(), &event, later));
    let other = start("s", "resume", "/c/log.jsonl");
    assert!(!duplicates::is_duplicate(test.dir.path(), &other, later));
}

#[test]
fn what_waits_is_lost_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let session = |at: usize| SessionId::of(Flavor::Claude, &format!("s{}", at % 3));
    let drained = AtomicUsize::new(0);
    let count = |after: Vec<FollowUp>| -> std::io::Result<()> {
        drained.fetch_add(after.len(), Ordering::Relaxed);
        Ok(())
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let home = dir.path();
            scope.spawn(move || {
                for at in 0..50 {
                    let name = SessionId::new(format!("claude:{thread}-{at}"));
                    put_surely(home, &session(at), &[FollowUp::Summarize(name)]);
                }
            });
        }
        for _ in 0..20 {
            let _busy = pending::drain(dir.path(), count);
        }
    });
    // A file that was put aside while another waits has its turn the next time.
    for _ in 0..2 {
        pending::drain(dir.path(), count).unwrap();
    }
    assert_eq!(drained.into_inner(), 200);
}

/// Others may hold the lock for longer than a hook waits.
fn put_surely(home: &Path, session: &SessionId, after: &[FollowUp]) {
    while let Err(error) = pending::enqueue(home, session, after) {
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn what_is_not_carried_out_goes_on_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let session = SessionId::of(Flavor::Claude, "s");
    pending::enqueue(dir.path(), &session, &[FollowUp::Renew]).unwrap();
    let failed = pending::drain(dir.path(), |_| Err(std::io::Error::other("no")));
    assert!(failed.is_err());
    let mut heard = Vec::new();
    let drained = pending::drain(dir.path(), |after| {
        heard.extend(after);
        std::io::Result::Ok(())
    });
    assert_eq!(drained.unwrap(), 1);
    assert_eq!(heard, [FollowUp::Renew]);
}

#[test]
fn the_queue_has_its_limits() {
    let dir = tempfile::tempdir().unwrap();
    for odd in ["", "a b", "../../etc/passwd", &"x".repeat(400)] {
        let put = pending::enqueue(dir.path(), &SessionId::new(odd), &[FollowUp::Renew]);
        assert!(put.is_err(), "{odd}");
    }
    let mut refused = 0;
    for at in 0..pending::SESSIONS_MAX + 10 {
        let session = SessionId::of(Flavor::Claude, &at.to_string());
        refused += usize::from(pending::enqueue(dir.path(), &session, &[FollowUp::Renew]).is_err());
    }
    assert!((10..20).contains(&refused), "{refused}");
    let session = SessionId::of(Flavor::Claude, "0");
    let many = (0..20_000).map(|at| FollowUp::Summarize(SessionId::new(format!("claude:{at}"))));
    let many: Vec<_> = many.collect();
    assert!(pending::enqueue(dir.path(), &session, &many).is_err());
}

#[test]
fn a_daemon_replies_with_what_is_to_be_printed() {
    let test = Test::new();
    test.prefers("use tabs");
    let respond = |payload: &[u8]| {
        let settings = ServeSettings::default();
        wire::reply_to_payload(
            &test.store,
            &settings,
            &LiveLayers::default(),
            payload,
            &HookHints::default(),
            test.now,
        )
    };
    let payload = json!({
        "session_id": "s", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup",
        "timestamp": "2026-11-16T09:00:00Z",
        "transcript_path": "/home/dev/.gemini/tmp/w/chats/s.jsonl",
    });
    let (reply, after, _) = respond(payload.to_string().as_bytes());
    assert!(reply.answer.starts_with("{\"hookSpecificOutput\""));
    assert!(reply.answer.contains("use tabs"));
    assert!(matches!(reply.shown.as_slice(), [FollowUp::Injected(_)]));
    assert!(after.is_empty());
    let (again, after, _) = respond(payload.to_string().as_bytes());
    assert_eq!(again.answer, "{}");
    assert_eq!(again.silence.as_deref(), Some("duplicate event"));
    assert!(after.is_empty() && again.shown.is_empty());
    let (reply, after, _) = respond(b"?");
    assert_eq!((reply.answer.as_str(), after.len()), ("", 0));
    assert!(reply.silence.is_some());
}

#[test]
fn what_a_daemon_took_note_of_and_did_not_answer_is_answered_all_the_same() {
    let test = Test::new();
    test.prefers("use tabs");
    let settings = ServeSettings::default();
    let payload = json!({
        "session_id": "s", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup",
    });
    let payload = payload.to_string();
    let hints = HookHints::default();
    let (unheard, ..) = wire::reply_to_payload(
        &test.store,
        &settings,
        &LiveLayers::default(),
        payload.as_bytes(),
        &hints,
        test.now,
    );
    assert!(unheard.answer.contains("use tabs"));
    let event = parse_payload(payload.as_bytes(), &hints).unwrap();
    let again = answer_event(
        &test.store,
        &settings,
        &LiveLayers::default(),
        &event,
        AnswerMode::Again,
        test.now,
    )
    .unwrap();
    assert!(again.answer.context.unwrap().contains("use tabs"));
}

#[test]
fn the_last_changes_are_put_back_after_a_compaction() {
    let test = Test::new();
    let session = "4c5420d7-85c7-46b9-b34d-eaf1c42847fd";
    let log = samples().join(format!("claude/projects/-home-dev-proj/{session}.jsonl"));
    test.carry_out(vec![FollowUp::Read {
        flavor: Flavor::Claude,
        log: Some(log),
    }]);
    let id = SessionId::of(Flavor::Claude, session);
    let steps = test.store.steps(&id).unwrap();
    let is_change = |step: &&store::SessionStep| step.kind == memory::RecordKind::Artifact;
    let last = steps.iter().rev().find(is_change).unwrap();
    let record = test.store.read_record(last.id).unwrap().unwrap();
    let answered = test.answer(&start(session, "compact", "/c/log.jsonl"));
    let text = answered.answer.context.unwrap();
    let path = last.path.as_deref().unwrap();
    let name = path.strip_prefix("/home/dev/proj/").unwrap_or(path);
    let head = format!("{name}, used ");
    assert!(text.contains(&head), "{text}");
    let longest = record.content.lines().map(str::trim);
    let longest = longest.max_by_key(|line| line.len()).unwrap();
    let beginning: String = longest.chars().take(40).collect();
    assert!(text.contains(&beginning), "{beginning}\n{text}");
}

#[test]
fn the_part_that_is_quickly_made_has_what_holds_and_counts_as_shown() {
    let test = Test::new();
    test.prefers("run the tests with unittest -q");
    let settings = ServeSettings::default();
    let part = |event: &HookEvent| {
        let answered = answer_event(
            &test.store,
            &settings,
            &LiveLayers::default(),
            event,
            AnswerMode::FactsOnly,
            test.now,
        )
        .unwrap();
        let shown = |follow_up: &FollowUp| match follow_up {
            FollowUp::Injected(injected) => !injected.items().is_empty(),
            _ => false,
        };
        assert!(
            answered.follow_ups.iter().any(shown),
            "{:?}",
            answered.follow_ups
        );
        answered.answer.context.unwrap()
    };
    let begins = start("other", "startup", "/nowhere.jsonl");
    assert!(part(&begins).contains("unittest -q"));
    let asks = event(&json!({
        "session_id": "other", "cwd": "/home/dev/proj", "hook_event_name": "UserPromptSubmit",
        "prompt": "How do we run the tests in this repository?",
    }));
    assert!(part(&asks).contains("unittest -q"));
    // It may be asked for before the whole answer, which is then not taken for a second delivery.
    assert!(test.answer(&asks).answer.context.is_some());
}
