//! Stores of an earlier version, which evicted by age alone.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use memory::digest::VERSION;
use memory::{
    Block, Digest, Flavor, Message, MessageId, Origin, RecordId, Role, SessionId, SessionPatch,
};
use rusqlite::{Connection, params};

use super::RetentionPolicy;
use crate::open::connection;
use crate::{
    Batch, BatchOrigin, BatchReport, Cursor, IncomingEntries, LogChunk, ParseIssues, Query,
    ReadPhase, Store, UNREAD_HEAD,
};

/// The format that the earlier version wrote.
const OLD_FORMAT: i64 = 8;
const QUIET: SignedDuration = SignedDuration::from_mins(30);
const LINES: usize = 3;

fn now() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

fn name(session: u8) -> SessionId {
    SessionId::of(Flavor::Claude, &format!("s{session}"))
}

fn incoming(session: u8, lines: usize) -> IncomingEntries {
    let message = |line: usize| {
        let id = MessageId::new(format!("s{session}/{line}"));
        let mut message = Message::new(id, name(session), Role::User, Origin::Human);
        message.blocks = vec![Block::Text(format!("marmalade{session} line{line}"))];
        message.line = line as u64;
        message
    };
    let mut patch = SessionPatch::new(name(session), Flavor::Claude);
    patch.include_time("2025-01-05T09:00:00Z".parse().unwrap());
    IncomingEntries {
        records: (0..lines)
            .flat_map(|line| memory::record::project_records(message(line)))
            .collect(),
        sessions: vec![(patch, None)],
        usage: Vec::new(),
    }
}

fn ids(session: u8) -> Vec<RecordId> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.sanitizer().clean(incoming(session, LINES)).ids
}

/// Writes an evicted session as the earlier version stored it.
fn write_evicted(old: &Connection, session: u8, pass: &str, gone: bool) {
    let digest = Digest {
        version: VERSION,
        records: LINES as u64,
        said: Some(format!("the quince jelly{session} has set")),
        ..Digest::default()
    };
    let json = serde_json::to_string(&digest).unwrap();
    let marks: Vec<u8> = ids(session)
        .iter()
        .flat_map(|id| id.as_bytes()[..8].to_vec())
        .collect();
    old.execute(
        "INSERT INTO sessions (id, name, flavor, title, title_rank, started, ended, records,
            prompts, revision)
         VALUES (?1, ?2, 'claude', ?3, 1, 0, 0, 3, 3, 1)",
        params![
            session,
            name(session).as_str(),
            format!("Pickling day {session}")
        ],
    )
    .unwrap();
    old.execute(
        "INSERT INTO sources (id, key, flavor, path, device, inode, size, mtime, ctime, offset,
            line, head, tail, settled, gone)
         VALUES (?1, ?2, 'claude', ?3, 1, 1, 9, 1, 1, 9, 3, zeroblob(16), zeroblob(16), 1, ?4)",
        params![
            session,
            [session; 16],
            format!("/logs/s{session}.jsonl"),
            gone
        ],
    )
    .unwrap();
    old.execute(
        "INSERT INTO source_sessions (source, session) VALUES (?1, ?1)",
        [session],
    )
    .unwrap();
    old.execute(
        "INSERT INTO digests (session, version, revision, made, outcome, trust, data, base)
         VALUES (?1, ?2, 1, 0, 'unclear', 1, ?3, ?3)",
        params![session, VERSION, json],
    )
    .unwrap();
    old.execute(
        "INSERT INTO evictions (session, at, pass, records, prompts, tool_calls, errors, lost, ids)
         VALUES (?1, 0, ?2, 3, 3, 0, 0, 0, ?3)",
        params![session, pass, marks],
    )
    .unwrap();
}

/// Reads the log of a session from its start.
fn reread(store: &Store, session: u8, lines: usize) -> BatchReport {
    let path = PathBuf::from(format!("/logs/s{session}.jsonl"));
    let mut sanitizer = store.sanitizer();
    let cleaned = sanitizer.clean(incoming(session, lines));
    let from = BatchOrigin {
        flavor: Flavor::Claude,
        path: &path,
        cursor: Cursor {
            key: [session; 16],
            ..Cursor::default()
        },
        phase: ReadPhase::RereadEnd {
            held: cleaned.ids.iter().copied().collect(),
            restarted: true,
        },
        issues: ParseIssues::default(),
        log: Some(LogChunk {
            offset: 0,
            size: 9,
            text: format!("the log of s{session}\n"),
        }),
    };
    let ticket = store.append(Batch::new(&mut sanitizer, cleaned, from));
    store.flush().unwrap();
    ticket.wait().unwrap()
}

fn evicted(store: &Store, session: u8) -> (u64, u64) {
    let found = store.sessions_by_prefix(name(session).as_str(), 1).unwrap();
    (found[0].records, found[0].evicted)
}

fn raw_of(store: &Store, session: u8) -> String {
    let mut all = String::new();
    store
        .each_log_piece(&name(session), |piece| all.push_str(piece.text))
        .unwrap();
    all
}

fn found(store: &Store, text: &str) -> Vec<(SessionId, bool)> {
    let query = Query {
        text: text.to_owned(),
        limit: 9,
        ..Query::default()
    };
    let hits = store.search(&query).unwrap().hits.into_iter();
    hits.map(|hit| (hit.session, hit.digest_only)).collect()
}

#[track_caller]
fn is_sound(store: &Store) {
    let dump = store.dump().unwrap();
    let whole = "# search: 0 without a record, 0 not indexed";
    assert!(dump.contains(whole), "{dump}");
    assert!(store.health(true).unwrap().is_sound());
}

#[test]
fn a_store_that_has_evicted_by_age_reads_back_what_the_agents_still_have() {
    let dir = tempfile::tempdir().unwrap();
    let old = connection::create_at_format(&Store::database_path(dir.path()), OLD_FORMAT).unwrap();
    write_evicted(&old, 1, "age", false);
    write_evicted(&old, 2, "soft_cap", false);
    write_evicted(&old, 3, "age", true);
    write_evicted(&old, 4, "age", false);
    drop(old);
    let store = Store::open(dir.path()).unwrap();
    let cursors = store.cursors().unwrap();
    let unread = [1_u8, 2, 3, 4].map(|session| cursors[&[session; 16]].head == UNREAD_HEAD);
    assert_eq!(unread, [true, false, false, true]);
    // Until then all sessions are found by title and by digest.
    assert_eq!(found(&store, "pickling").len(), 4);
    assert_eq!(found(&store, "jelly3"), [(name(3), true)]);
    is_sound(&store);

    assert_eq!(reread(&store, 1, LINES).records, LINES);
    assert_eq!(evicted(&store, 1), (3, 0));
    assert_eq!(raw_of(&store, 1), "the log of s1\n");
    assert_eq!(found(&store, "marmalade1").len(), LINES);
    assert_eq!(found(&store, "jelly1"), []);
    let pending = store
        .pending_digests(VERSION, now() - QUIET, now())
        .unwrap();
    assert_eq!((pending.len(), &pending[0].base), (1, &None));
    is_sound(&store);
    // Records that a cap evicted do not come back.
    assert_eq!(reread(&store, 2, LINES).records, 0);
    assert_eq!(evicted(&store, 2), (3, 3));
    assert_eq!(raw_of(&store, 2), "");
    // Of a log that has lost its end, the remaining records come back.
    assert_eq!(reread(&store, 4, 2).records, 2);
    assert_eq!(evicted(&store, 4), (3, 1));
    assert_eq!(found(&store, "jelly4"), [(name(4), true)]);
    is_sound(&store);
}

#[test]
fn what_came_back_and_is_evicted_again_stays_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let old = connection::create_at_format(&Store::database_path(dir.path()), OLD_FORMAT).unwrap();
    write_evicted(&old, 1, "age", false);
    drop(old);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(reread(&store, 1, LINES).records, LINES);
    for pending in store
        .pending_digests(VERSION, now() - QUIET, now())
        .unwrap()
    {
        let digest = Digest {
            version: VERSION,
            ..Digest::default()
        };
        let ticket = store.put_digest(&pending, digest, Vec::new(), now());
        store.flush().unwrap();
        ticket.wait().unwrap();
    }
    let full = RetentionPolicy {
        raw_soft_cap_bytes: 0,
        raw_hard_cap_bytes: u64::MAX,
        raw_max_age: Some(SignedDuration::from_hours(1)),
        delete_after: None,
        distilled_cap_bytes: u64::MAX,
        workspaces: Vec::new(),
    };
    assert_eq!(store.evict(&full, QUIET, now()).unwrap().sessions(), 0);
    let later = now() + SignedDuration::from_hours(2);
    assert_eq!(store.evict(&full, QUIET, later).unwrap().sessions(), 1);
    for _ in 0..3 {
        assert_eq!(reread(&store, 1, LINES).records, 0);
        assert_eq!(evicted(&store, 1), (3, 3));
    }
    is_sound(&store);
}
