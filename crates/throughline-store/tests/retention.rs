//! What retention keeps and evicts, for any sequence of events.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use jiff::{SignedDuration, Timestamp};
use memory::digest::VERSION;
use memory::{
    Block, Digest, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Workspace,
};
use proptest::prelude::*;
use throughline_store::retention::{
    DeleteAfterStatus, DiskUsage, EvictionPass, EvictionPlan, PlannedEviction, RetainedSession,
    RetentionPolicy, RetentionState, WorkspacePolicy, plan,
};
use throughline_store::{
    Batch, BatchOrigin, Cursor, IncomingEntries, LogChunk, ParseIssues, Query, ReadPhase, Store,
};

const QUIET: SignedDuration = SignedDuration::from_mins(30);
const DAY: SignedDuration = SignedDuration::from_hours(24);

fn start() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

fn keep_all() -> RetentionPolicy {
    RetentionPolicy {
        raw_soft_cap_bytes: u64::MAX,
        raw_hard_cap_bytes: u64::MAX,
        raw_max_age: None,
        delete_after: None,
        distilled_cap_bytes: u64::MAX,
        workspaces: Vec::new(),
    }
}

/// A policy that evicts everything it may.
fn keep_none() -> RetentionPolicy {
    RetentionPolicy {
        raw_soft_cap_bytes: 0,
        ..keep_all()
    }
}

fn name(session: usize) -> SessionId {
    SessionId::of(Flavor::Claude, &format!("s{session}"))
}

struct World {
    dir: tempfile::TempDir,
    store: Store,
    now: Timestamp,
    /// The number of lines in the log of each session.
    lines: BTreeMap<usize, usize>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Self {
            dir,
            store,
            now: start(),
            lines: BTreeMap::new(),
        }
    }

    fn reopen(&mut self) {
        let elsewhere = tempfile::tempdir().unwrap();
        self.store = Store::open(elsewhere.path()).unwrap();
        self.store = Store::open(self.dir.path()).unwrap();
    }

    fn log(session: usize) -> PathBuf {
        PathBuf::from(format!("/logs/s{session}.jsonl"))
    }

    fn text(session: usize, line: usize) -> String {
        let long = if line % 5 == 4 {
            "word ".repeat(2_000)
        } else {
            String::new()
        };
        format!(
            "session{session} line{line} {}",
            "said and done ".repeat(20)
        ) + &long
    }

    /// Appends lines to the log of a session and reads it: the new lines, or all of it again.
    fn ingest(&mut self, session: usize, more: usize, again: bool) {
        let before = self.lines.get(&session).copied().unwrap_or(0);
        let lines = before + more;
        self.lines.insert(session, lines);
        let id = name(session);
        let from = if again { 0 } else { before };
        let mut patch = SessionPatch::new(id.clone(), Flavor::Claude);
        if more > 0 {
            patch.include_time(self.now);
        }
        let message = |line: usize| {
            let name = MessageId::new(format!("s{session}/{line}"));
            let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
            message.blocks = vec![Block::Text(Self::text(session, line))];
            message.line = line as u64;
            message.at = Some(self.now);
            message
        };
        let workspace = Workspace {
            key: format!("example.com/w{}", session % 2),
            root: format!("/work/w{}", session % 2),
        };
        let mut sanitizer = self.store.sanitizer();
        let cleaned = sanitizer.clean(IncomingEntries {
            records: (from..lines)
                .flat_map(|line| memory::record::project_records(message(line)))
                .collect(),
            sessions: vec![(patch, Some(workspace))],
            usage: Vec::new(),
        });
        let text: String = (from..lines)
            .map(|line| Self::text(session, line) + "\n")
            .collect();
        let reading = if again {
            ReadPhase::RereadEnd {
                held: cleaned.ids.iter().copied().collect(),
                restarted: true,
            }
        } else {
            ReadPhase::Appended
        };
        let mut key = [0; 16];
        key[0] = u8::try_from(session).unwrap();
        let path = Self::log(session);
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new(&path),
            cursor: Cursor {
                key,
                ..Cursor::default()
            },
            phase: reading,
            issues: ParseIssues::default(),
            log: Some(LogChunk {
                offset: from as u64,
                size: text.len() as u64,
                text,
            }),
        };
        let batch = Batch::new(&mut sanitizer, cleaned, from);
        let ticket = self.store.append(batch);
        self.store.flush().unwrap();
        ticket.wait().unwrap();
    }

    /// Runs retention as at the end of a sweep, with room for everything.
    fn end_sweep(&self) {
        let retained = self.store.evict(&keep_all(), QUIET, self.now).unwrap();
        assert_eq!(retained.sessions(), 0);
    }

    /// Makes digests of inactive sessions. A digest counts its records.
    fn digest(&self, quiet: SignedDuration) -> usize {
        let pending = self
            .store
            .pending_digests(VERSION, self.now - quiet, self.now)
            .unwrap();
        for one in &pending {
            let mut digest = Digest {
                version: VERSION,
                ..Digest::default()
            };
            self.store
                .each_record(&one.session.id, |_| digest.records += 1)
                .unwrap();
            let digest = match &one.base {
                Some(base) => base.clone().append(digest),
                None => digest,
            };
            let ticket = self.store.put_digest(one, digest, Vec::new(), self.now);
            self.store.flush().unwrap();
            ticket.wait().unwrap();
        }
        pending.len()
    }

    fn live_lines(&self, session: usize) -> BTreeSet<u64> {
        let mut live = BTreeSet::new();
        self.store
            .each_record(&name(session), |record| {
                let line = record.content.split_whitespace().nth(1).unwrap();
                live.insert(line.trim_start_matches("line").parse().unwrap());
                assert!(record.content.starts_with(&format!("session{session} ")));
            })
            .unwrap();
        live
    }

    fn digested(&self, session: usize) -> u64 {
        let stored = self.store.digest(&name(session)).unwrap();
        stored.map_or(0, |stored| stored.digest.records)
    }

    /// Pins a fact from a session, directly in the table of facts.
    fn pin(&self, session: usize) {
        let sql = rusqlite::Connection::open(Store::database_path(self.dir.path())).unwrap();
        sql.busy_timeout(std::time::Duration::from_secs(30))
            .unwrap();
        let fact = format!("pin{session}");
        sql.execute(
            "INSERT OR IGNORE INTO facts (id, kind, text, words, trust, pinned, made, seen)
             VALUES (?1, 'note', ?1, ?1, 2, 1, 0, 0)",
            [&fact],
        )
        .unwrap();
        sql.execute(
            "INSERT OR IGNORE INTO fact_sources (fact, record, session)
             SELECT ?1, x'00', id FROM sessions WHERE name = ?2",
            [fact.as_str(), name(session).as_str()],
        )
        .unwrap();
    }

    fn listed(&self, session: usize) -> memory::Session {
        let mut found = self
            .store
            .sessions_by_prefix(name(session).as_str(), 5)
            .unwrap();
        found.retain(|found| found.id == name(session));
        found.pop().unwrap()
    }

    fn raw_of(&self, session: usize) -> String {
        let mut all = String::new();
        self.store
            .each_log_piece(&name(session), |piece| all.push_str(piece.text))
            .unwrap();
        all
    }

    #[track_caller]
    fn is_sound(&self) {
        let dump = self.store.dump().unwrap();
        assert!(!dump.contains("NOT SHOWN"), "{dump}");
        assert!(!dump.contains("# blocks:"), "{dump}");
        assert!(dump.contains("# bodies: 0 without an owner"), "{dump}");
        assert!(
            dump.contains("# search: 0 without a record, 0 not indexed"),
            "{dump}"
        );
    }
}

#[test]
fn an_evicted_session_leaves_its_digest_and_does_not_come_back() {
    let mut world = World::new();
    world.ingest(1, 8, false);
    world.ingest(2, 3, false);
    world.end_sweep();
    world.now += DAY;
    assert_eq!(world.digest(QUIET), 2);
    let retained = world.store.evict(&keep_none(), QUIET, world.now).unwrap();
    assert_eq!(
        (
            retained.evicted[&EvictionPass::SoftCap],
            retained.sessions()
        ),
        (2, 2)
    );
    assert!(retained.data_loss.is_empty() && retained.freed > 0);
    assert_eq!(world.live_lines(1), BTreeSet::new());
    assert_eq!(world.raw_of(1), "");
    let listed = world.listed(1);
    assert_eq!((listed.records, listed.prompts, listed.evicted), (8, 8, 8));
    assert_eq!(world.digested(1), 8);
    world.is_sound();
    // The whole log is read again, as documents are, and has grown by two lines.
    world.ingest(1, 2, true);
    assert_eq!(world.live_lines(1), BTreeSet::from([8, 9]));
    assert_eq!(
        world.raw_of(1),
        "",
        "a log that is read again is not kept again"
    );
    assert_eq!(world.listed(1).records, 10);
    // The session is digested once it is inactive, together with its evicted records.
    assert_eq!(world.digest(QUIET), 0);
    world.now += DAY;
    assert_eq!(world.digest(QUIET), 1);
    assert_eq!(world.digested(1), 10);
    world.is_sound();
}

#[test]
fn a_session_that_grew_is_not_digested() {
    let mut world = World::new();
    world.ingest(1, 3, false);
    world.now += DAY;
    world.digest(QUIET);
    world.ingest(1, 1, false);
    world.end_sweep();
    world.now += DAY;
    let retained = world.store.evict(&keep_none(), QUIET, world.now).unwrap();
    assert_eq!(retained.sessions(), 0);
    assert_eq!(world.live_lines(1).len(), 4);
}

#[test]
fn a_digest_does_not_keep_a_secret_that_becomes_known_later() {
    let mut world = World::new();
    world.ingest(1, 2, false);
    world.end_sweep();
    world.now += DAY;
    let pending = world
        .store
        .pending_digests(VERSION, world.now - QUIET, world.now)
        .unwrap();
    let value = "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi";
    let digest = Digest {
        version: VERSION,
        said: Some(format!("the value is {value}")),
        ..Digest::default()
    };
    let ticket = world
        .store
        .put_digest(&pending[0], digest, Vec::new(), world.now);
    world.store.flush().unwrap();
    ticket.wait().unwrap();
    world.store.evict(&keep_none(), QUIET, world.now).unwrap();
    assert!(world.store.dump().unwrap().contains(value));
    let id = name(1);
    let mut message = Message::new(MessageId::new("late"), id, Role::User, Origin::Human);
    message.blocks = vec![Block::Text(format!("export DB_PASSWORD={value}"))];
    let incoming = IncomingEntries {
        records: memory::record::project_records(message),
        ..IncomingEntries::default()
    };
    testkit::store::append(&world.store, incoming);
    let dump = world.store.dump().unwrap();
    assert!(
        !dump.contains(value) && dump.contains("the value is [redacted:"),
        "{dump}"
    );
}

#[test]
fn near_identical_facts_become_one() {
    let world = World::new();
    let sql = rusqlite::Connection::open(Store::database_path(world.dir.path())).unwrap();
    let fact = |id: &str, text: &str, trust: i64, pinned: bool| {
        sql.execute(
            "INSERT INTO facts (id, kind, text, words, trust, pinned, made, seen, times)
             VALUES (CAST(?1 AS BLOB), 'decision', ?2, ?2, ?3, ?4, 1, 1, 2)",
            rusqlite::params![id, text, trust, pinned],
        )
        .unwrap();
    };
    fact("a", "Use tabs in the parser.", 2, false);
    fact("b", "use tabs in parser", 2, false);
    fact("c", "do not use tabs in the parser", 2, false);
    fact("d", "use tabs in parser", 1, false);
    fact("e", "use tabs in parser!", 2, true);
    assert_eq!(world.store.consolidate_facts().unwrap(), 1);
    assert_eq!(world.store.consolidate_facts().unwrap(), 0);
    let merged: (i64, String) = sql
        .query_row(
            "SELECT times,
                (SELECT CAST(superseded AS TEXT) FROM facts WHERE id = CAST('b' AS BLOB))
             FROM facts WHERE id = CAST('a' AS BLOB)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(merged, (4, "a".to_owned()));
    // After a year superseded facts are deleted.
    let later = start() + DAY * 400;
    assert_eq!(world.store.delete_unreferenced(later).unwrap(), 1);
    assert_eq!(world.store.delete_unreferenced(later).unwrap(), 0);
}

#[test]
fn empty_tables_do_not_count_against_a_limit() {
    let world = World::new();
    let usage = world.store.disk_usage(world.now).unwrap();
    assert!(usage.raw_bytes < 64 << 10, "{usage:?}");
}

#[test]
fn overflow_says_what_was_lost_and_pins_stay() {
    let mut world = World::new();
    world.ingest(1, 3, false);
    world.ingest(2, 3, false);
    world.end_sweep();
    world.pin(2);
    let policy = RetentionPolicy {
        raw_hard_cap_bytes: 1,
        ..keep_none()
    };
    let retained = world.store.evict(&policy, QUIET, world.now).unwrap();
    assert_eq!(retained.data_loss, [name(1)]);
    assert_eq!(
        (
            retained.evicted[&EvictionPass::Overflow],
            retained.sessions()
        ),
        (1, 1)
    );
    assert!(retained.over_hard_cap_bytes > 0);
    assert_eq!(world.live_lines(2).len(), 3);
    world.is_sound();
}

#[test]
fn a_packed_session_reads_as_before() {
    let mut world = World::new();
    world.ingest(1, 40, false);
    world.ingest(2, 2, false);
    world.now += 40 * DAY;
    let before = (world.store.dump().unwrap(), world.raw_of(1));
    let find = |world: &World| {
        let query = Query {
            text: "session1 line39".to_owned(),
            limit: 5,
            ..Query::default()
        };
        world.store.search(&query).unwrap().hits.len()
    };
    assert_eq!(find(&world), 1);
    let never = AtomicBool::new(false);
    let packed = world
        .store
        .run_due_tasks(world.now, None, &never, &|_| {})
        .unwrap()
        .packed;
    assert_eq!(packed.sessions, 2);
    assert!(packed.ratio() <= 0.3, "{packed:?}");
    let strip = |dump: &str| -> String {
        dump.lines()
            .filter(|line| {
                !line.starts_with("archive | ")
                    && !line.starts_with("cons")
                    && !line.starts_with("clean_up")
            })
            .collect()
    };
    assert_eq!(strip(&world.store.dump().unwrap()), strip(&before.0));
    assert_eq!(world.raw_of(1), before.1);
    assert_eq!(find(&world), 1);
    world.is_sound();
    // The task is done for a week; then only changed sessions are packed.
    assert_eq!(world.store.due_tasks(world.now).unwrap(), []);
    world.ingest(2, 1, false);
    world.now += 40 * DAY;
    let packed = world
        .store
        .run_due_tasks(world.now, None, &never, &|_| {})
        .unwrap()
        .packed;
    assert_eq!(packed.sessions, 1);
    assert_eq!(world.live_lines(2).len(), 3);
    world.end_sweep();
    // Packed sessions are evicted like any other.
    world.digest(QUIET);
    world.store.evict(&keep_none(), QUIET, world.now).unwrap();
    assert_eq!(
        (world.live_lines(1).len(), world.raw_of(1)),
        (0, String::new())
    );
    world.is_sound();
}

#[test]
fn freed_space_goes_back_to_the_file_system() {
    let mut world = World::new();
    // Texts that do not compress make the file large.
    let noise = |seed: u64| -> String {
        let mut state = seed + 1;
        let mut letter = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
        };
        (0..2_000_000)
            .map(|at| if at % 80 == 79 { ' ' } else { letter() })
            .collect()
    };
    for session in 0..18 {
        let id = name(session);
        let mut message = Message::new(
            MessageId::new(format!("{session}")),
            id.clone(),
            Role::User,
            Origin::Human,
        );
        message.blocks = vec![Block::Text(noise(session as u64))];
        let mut patch = SessionPatch::new(id, Flavor::Claude);
        patch.include_time(world.now);
        let mut sanitizer = world.store.sanitizer();
        let cleaned = sanitizer.clean(IncomingEntries {
            records: memory::record::project_records(message),
            sessions: vec![(patch, None)],
            usage: Vec::new(),
        });
        let mut key = [9; 16];
        key[0] = u8::try_from(session).unwrap();
        let path = World::log(session);
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: &path,
            cursor: Cursor {
                key,
                ..Cursor::default()
            },
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: None,
        };
        let ticket = world
            .store
            .append(Batch::new(&mut sanitizer, cleaned, from));
        world.store.flush().unwrap();
        ticket.wait().unwrap();
    }
    world.end_sweep();
    world.now += DAY;
    world.digest(QUIET);
    let before = world.store.disk_usage(world.now).unwrap();
    let retained = world.store.evict(&keep_none(), QUIET, world.now).unwrap();
    assert!(retained.given_back, "{retained:?}");
    let path = Store::database_path(world.dir.path());
    let file = std::fs::metadata(path).unwrap().len();
    let after = world.store.disk_usage(world.now).unwrap();
    assert_eq!(after.raw_bytes, retained.final_usage);
    assert!(
        file <= after.raw_bytes + after.distilled_bytes + (1 << 20),
        "{file} {after:?}"
    );
    assert!(
        retained.freed > before.raw_bytes * 9 / 10,
        "{before:?} {retained:?}"
    );
}

fn held(session: usize, days_ago: i64, state: RetentionState) -> RetainedSession {
    RetainedSession {
        session: name(session),
        workspace: Some(format!("example.com/w{}", session % 2)),
        last: start() - DAY * i32::try_from(days_ago).unwrap(),
        captured: Some(start() - DAY * i32::try_from(days_ago).unwrap()),
        bytes: 100,
        state,
        pinned: false,
        only_copy: false,
    }
}

fn usage(raw_bytes: u64) -> DiskUsage {
    DiskUsage {
        raw_bytes,
        ..DiskUsage::default()
    }
}

fn gone(eviction: &EvictionPlan) -> Vec<String> {
    let show =
        |evict: &PlannedEviction| format!("{} {}", evict.session.native(), evict.pass.name());
    eviction.sessions.iter().map(show).collect()
}

#[test]
fn the_oldest_digested_go_until_the_cap_holds() {
    let all = [
        held(1, 3, RetentionState::Undigested),
        held(2, 2, RetentionState::Digested),
        held(3, 1, RetentionState::Digested),
        held(4, 0, RetentionState::Live { digested: true }),
    ];
    let policy = RetentionPolicy {
        raw_soft_cap_bytes: 300,
        ..keep_all()
    };
    assert_eq!(
        gone(&plan(&usage(400), &all, &policy, start())),
        ["s2 soft_cap"]
    );
    let tight = RetentionPolicy {
        raw_soft_cap_bytes: 0,
        raw_hard_cap_bytes: 50,
        ..keep_all()
    };
    let eviction = plan(&usage(400), &all, &tight, start());
    assert_eq!(
        gone(&eviction),
        ["s2 soft_cap", "s3 soft_cap", "s1 overflow", "s4 overflow"]
    );
    let lost: Vec<_> = eviction
        .sessions
        .iter()
        .map(|evict| evict.data_loss)
        .collect();
    assert_eq!(lost, [false, false, true, false]);
}

#[test]
fn age_alone_evicts_nothing() {
    let all: Vec<_> = (0..40)
        .map(|n| held(n, 100 + n as i64, RetentionState::Digested))
        .collect();
    let policy = RetentionPolicy {
        raw_soft_cap_bytes: 4_000,
        raw_max_age: Some(DAY * 90),
        ..keep_all()
    };
    assert_eq!(
        gone(&plan(&usage(4_000), &all, &policy, start())),
        Vec::<String>::new()
    );
    // Above the cap, sessions that were captured long ago are evicted before sessions with old
    // dates.
    let mut all = all;
    all[39].captured = Some(start() - DAY);
    let over = plan(&usage(4_100), &all, &policy, start());
    assert_eq!(gone(&over), ["s38 age"]);
    let young = RetentionPolicy {
        raw_max_age: None,
        ..policy
    };
    let over = plan(&usage(4_100), &all, &young, start());
    assert_eq!(gone(&over), ["s39 soft_cap"]);
}

#[test]
fn what_was_just_read_stays_and_the_only_copy_goes_last() {
    let just_read = RetainedSession {
        captured: None,
        ..held(1, 900, RetentionState::Undigested)
    };
    let only_copy = RetainedSession {
        only_copy: true,
        ..held(2, 800, RetentionState::Digested)
    };
    let all = [
        just_read,
        only_copy,
        held(3, 2, RetentionState::Digested),
        held(4, 200, RetentionState::Digested),
    ];
    let policy = RetentionPolicy {
        raw_soft_cap_bytes: 0,
        raw_hard_cap_bytes: 0,
        raw_max_age: Some(DAY * 90),
        ..keep_all()
    };
    let eviction = plan(&usage(400), &all, &policy, start());
    assert_eq!(gone(&eviction), ["s4 age", "s3 soft_cap", "s2 soft_cap"]);
    assert_eq!(eviction.over_hard_cap_bytes, 100);
}

#[test]
fn a_workspace_may_have_a_policy_of_its_own() {
    let all: Vec<_> = (0..6)
        .map(|n| held(n, 10 + n as i64, RetentionState::Digested))
        .collect();
    let own = |cap, delete_after| WorkspacePolicy {
        workspace: "w1".to_owned(),
        raw_soft_cap_bytes: cap,
        raw_max_age: None,
        delete_after,
    };
    let capped = RetentionPolicy {
        workspaces: vec![own(Some(150), None)],
        ..keep_all()
    };
    let eviction = plan(&usage(600), &all, &capped, start());
    assert_eq!(gone(&eviction), ["s5 workspace_cap", "s3 workspace_cap"]);
    let kept = RetentionPolicy {
        delete_after: Some(DAY * 5),
        workspaces: vec![own(None, Some(None))],
        ..keep_all()
    };
    let eviction = plan(&usage(600), &all, &kept, start());
    assert_eq!(
        gone(&eviction),
        ["s4 delete_after", "s2 delete_after", "s0 delete_after"]
    );
    let only_there = RetentionPolicy {
        workspaces: vec![own(None, Some(Some(DAY * 14)))],
        ..keep_all()
    };
    let eviction = plan(&usage(600), &all, &only_there, start());
    assert_eq!(gone(&eviction), ["s5 delete_after"]);
}

#[test]
fn a_clock_that_jumps_does_not_empty_the_store() {
    let all: Vec<_> = (0..200)
        .map(|n| held(n, n as i64 % 20, RetentionState::Digested))
        .collect();
    let policy = RetentionPolicy {
        delete_after: Some(DAY * 90),
        ..keep_all()
    };
    let at = |days: i32| plan(&usage(1), &all, &policy, start() + DAY * days);
    assert_eq!(at(0).age, DeleteAfterStatus::Done);
    assert_eq!(
        (at(365).age, at(365).sessions.len()),
        (DeleteAfterStatus::ClockAhead, 0)
    );
    let quarter = at(100);
    assert_eq!(
        (quarter.age, quarter.sessions.len()),
        (DeleteAfterStatus::HeldBack(180), 20)
    );
    let ancient = RetentionPolicy {
        delete_after: Some(-DAY * 400),
        ..keep_all()
    };
    assert_eq!(
        plan(&usage(1), &all, &ancient, start() - DAY * 365).age,
        DeleteAfterStatus::ClockBehind
    );
    let paused = DiskUsage {
        age_held_back: Some(start() + DAY * 100 - SignedDuration::from_hours(1)),
        ..usage(1)
    };
    assert_eq!(
        plan(&paused, &all, &policy, start() + DAY * 100).age,
        DeleteAfterStatus::Paused
    );
    // A clock that was behind at capture makes no session older than its own log says.
    let mut recent = held(1, 10, RetentionState::Digested);
    recent.captured = Some(start() - DAY * 900);
    assert_eq!(plan(&usage(1), &[recent], &policy, start()).sessions, []);
}

#[test]
fn old_logs_are_still_there_after_a_year() {
    let mut world = World::new();
    world.now -= DAY * 500;
    for session in 0..12 {
        world.ingest(session, 2, false);
    }
    world.now = start();
    let policy = RetentionPolicy {
        raw_max_age: Some(DAY * 90),
        ..keep_all()
    };
    for _ in 0..12 {
        world.now += DAY * 30;
        world.digest(QUIET);
        let retained = world.store.evict(&policy, QUIET, world.now).unwrap();
        assert_eq!(retained.sessions(), 0);
    }
    // The age counts from capture, and so does the user's own limit.
    let deleting = |days: i32| RetentionPolicy {
        delete_after: Some(DAY * days),
        ..keep_all()
    };
    let evict = |days| {
        world
            .store
            .evict(&deleting(days), QUIET, world.now)
            .unwrap()
    };
    // There was no activity in 180 days, so the clock is taken to be wrong.
    assert_eq!(evict(300).age, DeleteAfterStatus::ClockAhead);
    world.now -= DAY * 190;
    assert_eq!(
        world
            .store
            .evict(&deleting(200), QUIET, world.now)
            .unwrap()
            .sessions(),
        0
    );
    assert!((0..12).all(|session| world.live_lines(session).len() == 2));
}

#[test]
fn nothing_goes_in_the_sweep_that_read_it() {
    let mut world = World::new();
    world.ingest(1, 3, false);
    world.now += DAY * 200;
    world.digest(QUIET);
    let policy = RetentionPolicy {
        raw_soft_cap_bytes: 0,
        raw_hard_cap_bytes: 0,
        raw_max_age: Some(DAY),
        delete_after: Some(DAY),
        ..keep_all()
    };
    let first = world.store.evict(&policy, QUIET, world.now).unwrap();
    assert_eq!(first.sessions(), 0);
    assert!(first.over_hard_cap_bytes > 0);
    assert_eq!(world.live_lines(1).len(), 3);
    let second = world.store.evict(&policy, QUIET, world.now).unwrap();
    assert_eq!(second.sessions(), 1);
    world.is_sound();
}

#[test]
fn digested_sessions_are_packed_at_their_age() {
    let mut world = World::new();
    // A log from a machine whose clock is years ahead would never be old enough by its own dates.
    world.now += DAY * 3000;
    world.ingest(1, 40, false);
    world.now = start();
    world.digest(QUIET);
    world.end_sweep();
    world.now += DAY * 91;
    let never = AtomicBool::new(false);
    let house = |age: i32| {
        let age = Some(DAY * age);
        let house = world.store.run_due_tasks(world.now, age, &never, &|_| {});
        house.unwrap().packed.sessions
    };
    assert_eq!(house(90), 1);
    assert_eq!(world.live_lines(1).len(), 40);
    world.is_sound();
}

/// An event in a generated history.
#[derive(Clone, Debug)]
enum Event {
    Grow {
        session: usize,
        lines: usize,
        again: bool,
    },
    Digest,
    Pin(usize),
    Evict {
        soft: u64,
        hard: u64,
        age_days: Option<i32>,
        delete_after_days: Option<i32>,
    },
    /// Only the first few planned sessions are evicted, then the process dies.
    EvictAndDie {
        soft: u64,
        first: usize,
    },
    Pack,
    Pass {
        hours: i64,
    },
    Reopen,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let caps = prop_oneof![Just(0_u64), Just(200_000), Just(400_000), Just(u64::MAX)];
    let event = prop_oneof![
        4 => (0..5_usize, 0..6_usize, any::<bool>())
            .prop_map(|(session, lines, again)| Event::Grow { session, lines, again }),
        3 => Just(Event::Digest),
        1 => (0..5_usize).prop_map(Event::Pin),
        3 => (caps.clone(), caps.clone(),
              prop::option::of(1..200_i32), prop::option::of(1..200_i32))
            .prop_map(|(soft, hard, age_days, delete_after_days)| Event::Evict {
                soft,
                hard: hard.max(soft),
                age_days,
                delete_after_days,
            }),
        1 => (caps, 0..3_usize).prop_map(|(soft, first)| Event::EvictAndDie { soft, first }),
        1 => Just(Event::Pack),
        3 => (-9000..9000_i64).prop_map(|hours| Event::Pass { hours }),
        2 => (1..3_i64).prop_map(|hours| Event::Pass { hours }),
        1 => Just(Event::Reopen),
    ];
    prop::collection::vec(event, 1..25)
}

/// The expected state: for each session the lines that are stored, those that a digest covers, and
/// those that were reported as lost.
#[derive(Default)]
struct Model {
    pinned: HashSet<usize>,
    /// How many of the first lines a digest covers.
    told: BTreeMap<usize, usize>,
    /// Lines that are allowed to be gone.
    gone: BTreeMap<usize, BTreeSet<u64>>,
    /// Sessions that were read since the last retention run.
    just_read: HashSet<usize>,
}

fn run(events: &[Event]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    let mut model = Model::default();
    for event in events {
        let before: BTreeMap<usize, BTreeSet<u64>> = world
            .lines
            .keys()
            .map(|session| (*session, world.live_lines(*session)))
            .collect();
        let mut lost = Vec::new();
        let mut overflow = false;
        let raw_bytes = world.store.disk_usage(world.now).unwrap().raw_bytes;
        let mut must_stay = true;
        let mut stamped = false;
        match event {
            Event::Grow {
                session,
                lines,
                again,
            } => {
                world.ingest(*session, *lines, *again);
                if *lines > 0 {
                    model.just_read.insert(*session);
                }
            }
            Event::Digest => {
                let pending = world
                    .store
                    .pending_digests(VERSION, world.now - QUIET, world.now)
                    .unwrap();
                for session in world.lines.keys() {
                    if pending.iter().any(|one| one.session.id == name(*session)) {
                        model.told.insert(*session, world.lines[session]);
                    }
                }
                world.digest(QUIET);
            }
            Event::Pin(session) => {
                if world.lines.contains_key(session) {
                    world.pin(*session);
                    model.pinned.insert(*session);
                }
            }
            Event::Evict {
                soft,
                hard,
                age_days,
                delete_after_days,
            } => {
                must_stay = raw_bytes <= *soft && delete_after_days.is_none();
                stamped = true;
                let policy = RetentionPolicy {
                    raw_soft_cap_bytes: *soft,
                    raw_hard_cap_bytes: *hard,
                    raw_max_age: age_days.map(|days| DAY * days),
                    delete_after: delete_after_days.map(|days| DAY * days),
                    ..keep_all()
                };
                let retained = world.store.evict(&policy, QUIET, world.now).unwrap();
                overflow = retained.evicted[&EvictionPass::Overflow] > 0;
                lost = retained.data_loss;
            }
            Event::EvictAndDie { soft, first } => {
                must_stay = raw_bytes <= *soft;
                let policy = RetentionPolicy {
                    raw_soft_cap_bytes: *soft,
                    ..keep_all()
                };
                let (_, mut eviction) = world
                    .store
                    .plan_eviction(&policy, QUIET, world.now)
                    .unwrap();
                eviction.sessions.truncate(*first);
                world
                    .store
                    .apply_eviction(&eviction, QUIET, world.now)
                    .unwrap();
                world.reopen();
            }
            Event::Pack => {
                world
                    .store
                    .pack_old_sessions(world.now, None, &AtomicBool::new(false), &|_| {})
                    .unwrap();
            }
            Event::Pass { hours } => world.now += SignedDuration::from_hours(*hours),
            Event::Reopen => world.reopen(),
        }
        let missing = check(&world, &mut model, &before, &lost, overflow)?;
        prop_assert!(
            !must_stay || missing == 0,
            "{missing} lines went below the cap"
        );
        if stamped {
            model.just_read.clear();
        }
    }
    world.is_sound();
    Ok(())
}

fn check(
    world: &World,
    model: &mut Model,
    before: &BTreeMap<usize, BTreeSet<u64>>,
    lost: &[SessionId],
    overflow: bool,
) -> Result<usize, TestCaseError> {
    let mut all_missing = 0;
    for (session, lines) in &world.lines {
        let live = world.live_lines(*session);
        let gone = model.gone.entry(*session).or_default();
        let was: BTreeSet<u64> = before.get(session).cloned().unwrap_or_default();
        let missing: BTreeSet<u64> = was.difference(&live).copied().collect();
        if !missing.is_empty() {
            all_missing += missing.len();
            prop_assert!(!model.pinned.contains(session), "a pinned session went");
            prop_assert!(
                !model.just_read.contains(session),
                "a session went that was just read"
            );
            let told = model.told.get(session).copied().unwrap_or(0) as u64;
            let untold = missing.iter().any(|line| *line >= told);
            prop_assert!(
                !untold || lost.contains(&name(*session)),
                "lost without a word: {missing:?}"
            );
            prop_assert!(!untold || overflow);
            gone.extend(missing);
        }
        // Evicted lines do not come back, and all others are stored.
        let all: BTreeSet<u64> = (0..*lines as u64).collect();
        let expected: BTreeSet<u64> = all.difference(gone).copied().collect();
        prop_assert_eq!(&live, &expected);
        let listed = world.listed(*session);
        prop_assert_eq!(listed.records, *lines as u64);
        prop_assert_eq!(listed.evicted, gone.len() as u64);
    }
    Ok(all_missing)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn raw_never_goes_before_its_digest(events in events()) {
        run(&events)?;
    }

    #[test]
    fn a_plan_keeps_its_word(
        sessions in prop::collection::vec(
            (0..400_i64, 0..4_u8, any::<[bool; 3]>(), 1..1000_u64), 0..60),
        soft in 0..20_000_u64,
        extra in 0..20_000_u64,
        age in prop::option::of(1..300_i32),
        delete_after in prop::option::of(1..300_i32),
        shift in -800..800_i32,
    ) {
        let sessions = sessions.iter().enumerate();
        let all = sessions.map(|(n, (days, state, flags, bytes))| RetainedSession {
            bytes: *bytes,
            pinned: flags[0],
            only_copy: flags[1],
            captured: flags[2].then(|| start() - DAY * (i32::try_from(*days).unwrap() / 2)),
            ..held(n, *days, match state {
                0 => RetentionState::Live { digested: false },
                1 => RetentionState::Live { digested: true },
                2 => RetentionState::Undigested,
                _ => RetentionState::Digested,
            })
        });
        let all: Vec<_> = all.collect();
        let raw: u64 = all.iter().map(|held| held.bytes).sum();
        let policy = RetentionPolicy {
            raw_soft_cap_bytes: soft,
            raw_hard_cap_bytes: soft + extra,
            raw_max_age: age.map(|days| DAY * days),
            delete_after: delete_after.map(|days| DAY * days),
            ..keep_all()
        };
        let eviction = plan(&usage(raw), &all, &policy, start() + DAY * shift);
        let names: HashSet<_> = eviction.sessions.iter().map(|evict| &evict.session).collect();
        prop_assert_eq!(names.len(), eviction.sessions.len(), "nothing goes twice");
        let of = |name: &SessionId| all.iter().find(|held| held.session == *name).unwrap();
        for evict in &eviction.sessions {
            let held = of(&evict.session);
            prop_assert!(!held.pinned);
            prop_assert!(held.captured.is_some(), "what was just read stays");
            let is_digested = held.state == RetentionState::Digested;
            prop_assert!(evict.pass == EvictionPass::Overflow || is_digested);
            prop_assert!(evict.pass != EvictionPass::DeleteAfter || delete_after.is_some());
            let is_by_age = evict.pass == EvictionPass::DeleteAfter;
            prop_assert!(is_by_age || raw > soft, "below the soft cap");
        }
        let planned = eviction.sessions.iter();
        let by_age = planned.filter(|evict| evict.pass == EvictionPass::DeleteAfter);
        prop_assert!(by_age.count() <= 10.max(all.len() / 10));
        let left = raw - eviction.sessions.iter().map(|evict| evict.bytes).sum::<u64>();
        prop_assert_eq!(eviction.over_hard_cap_bytes, left.saturating_sub(soft + extra));
        let overflow = eviction.sessions.iter().any(|evict| evict.pass == EvictionPass::Overflow);
        let stays = |held: &&RetainedSession| {
            !held.pinned && held.captured.is_some() && !names.contains(&held.session)
        };
        let digested = |held: &&RetainedSession| held.state == RetentionState::Digested;
        let staying = || all.iter().filter(stays);
        prop_assert!(!overflow || !staying().any(|held| digested(&held)), "the digested go first");
        // Within a pass the sessions that the agent still has go first, the oldest of them first.
        for pass in [EvictionPass::Age, EvictionPass::SoftCap] {
            let order: Vec<_> = eviction
                .sessions
                .iter()
                .filter(|evict| evict.pass == pass)
                .map(|evict| (of(&evict.session).only_copy, evict.last))
                .collect();
            prop_assert!(order.is_sorted());
        }
        let is_capped = |evict: &PlannedEviction| {
            matches!(evict.pass, EvictionPass::Age | EvictionPass::SoftCap)
        };
        let copy_went = eviction
            .sessions
            .iter()
            .any(|evict| is_capped(evict) && of(&evict.session).only_copy);
        let kept_elsewhere = |held: &RetainedSession| {
            held.state == RetentionState::Digested && !held.only_copy
        };
        prop_assert!(!copy_went || !staying().any(kept_elsewhere), "the only copy goes last");
    }
}
