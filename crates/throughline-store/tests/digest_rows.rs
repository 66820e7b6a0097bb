//! Evicted sessions are found by title and digest, whatever changes either.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::{SignedDuration, Timestamp};
use memory::digest::{CappedList, VERSION};
use memory::session::{Title, TitleRank};
use memory::{
    Block, Digest, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Workspace,
};
use throughline_store::forget::Selection;
use throughline_store::retention::RetentionPolicy;
use throughline_store::{ExportFilter, IncomingEntries, Query, Store};

const QUIET: SignedDuration = SignedDuration::from_mins(30);

fn now() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

fn name(session: u8) -> SessionId {
    SessionId::of(Flavor::Claude, &format!("s{session}"))
}

/// What a log says about a session.
struct Told<'a> {
    session: u8,
    prompts: &'a [&'a str],
    title: Option<&'a str>,
    workspace: Option<&'a str>,
}

fn ingest(store: &Store, told: &Told<'_>) {
    let id = name(told.session);
    let message = |(line, text): (usize, &&str)| {
        let name = MessageId::new(format!("s{}/{text}", told.session));
        let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
        message.blocks = vec![Block::Text((*text).to_owned())];
        message.line = line as u64;
        message
    };
    let mut patch = SessionPatch::new(id.clone(), Flavor::Claude);
    patch.include_time(now() - SignedDuration::from_hours(24));
    patch.title = told.title.map(|text| Title {
        text: text.to_owned(),
        rank: TitleRank::Custom,
    });
    let workspace = told.workspace.map(|key| Workspace {
        key: key.to_owned(),
        root: String::new(),
    });
    let incoming = IncomingEntries {
        records: (told.prompts.iter().enumerate().map(message))
            .flat_map(memory::record::project_records)
            .collect(),
        sessions: vec![(patch, workspace)],
        usage: Vec::new(),
    };
    let path = PathBuf::from(format!("/logs/s{}.jsonl", told.session));
    let mut origin = testkit::store::origin(&path);
    origin.cursor.key = [told.session; 16];
    testkit::store::append_from(store, incoming, origin);
}

/// Makes a digest of every session from its prompts, then evicts it.
fn evict(store: &Store) {
    for pending in store
        .pending_digests(VERSION, now() - QUIET, now())
        .unwrap()
    {
        let mut asked = Vec::new();
        store
            .each_record(&pending.session.id, |record| asked.push(record.content))
            .unwrap();
        let digest = Digest {
            version: VERSION,
            asked: CappedList::keep_first(asked, 6),
            ..Digest::default()
        };
        let digest = match pending.base.clone() {
            Some(base) => base.append(digest),
            None => digest,
        };
        let ticket = store.put_digest(&pending, digest, Vec::new(), now());
        store.flush().unwrap();
        ticket.wait().unwrap();
    }
    let none = RetentionPolicy {
        raw_soft_cap_bytes: 0,
        raw_hard_cap_bytes: u64::MAX,
        raw_max_age: None,
        delete_after: None,
        distilled_cap_bytes: u64::MAX,
        workspaces: Vec::new(),
    };
    store.evict(&none, QUIET, now()).unwrap();
    store.evict(&none, QUIET, now()).unwrap();
    is_sound(store);
}

fn found_in(store: &Store, text: &str, workspace: Option<&str>) -> Vec<SessionId> {
    let query = Query {
        text: text.to_owned(),
        workspace_key: workspace.map(str::to_owned),
        limit: 9,
        ..Query::default()
    };
    let hits = store.search(&query).unwrap().hits;
    assert!(hits.iter().all(|hit| hit.digest_only), "{hits:?}");
    hits.into_iter().map(|hit| hit.session).collect()
}

fn found(store: &Store, text: &str) -> Vec<SessionId> {
    found_in(store, text, None)
}

#[track_caller]
fn is_sound(store: &Store) {
    let dump = store.dump().unwrap();
    let whole = "# search: 0 without a record, 0 not indexed";
    assert!(
        dump.contains(whole) && !dump.contains("NOT SHOWN"),
        "{dump}"
    );
    assert!(store.health(true).unwrap().is_sound());
}

fn two_evicted(dir: &Path) -> Store {
    let store = Store::open(dir).unwrap();
    let first = Told {
        session: 1,
        prompts: &["polish the brass sextant", "oil the capstan"],
        title: Some("Harbour chores"),
        workspace: None,
    };
    ingest(&store, &first);
    let second = Told {
        session: 2,
        prompts: &["mend the mizzen sail"],
        title: None,
        workspace: Some("example.com/sails"),
    };
    ingest(&store, &second);
    evict(&store);
    store
}

#[test]
fn an_evicted_session_is_found_by_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let store = two_evicted(dir.path());
    assert_eq!(found(&store, "sextant"), [name(1)]);
    assert_eq!(found(&store, "harbour chores"), [name(1)]);
    assert_eq!(
        found_in(&store, "mizzen", Some("example.com/sails")),
        [name(2)]
    );
    assert_eq!(found_in(&store, "sextant", Some("example.com/sails")), []);
    assert!(store.digest_text(&name(1)).unwrap().is_some());
    // `since` and `until` filter by the time of the session.
    let since = |since: Timestamp| Query {
        text: "sextant".to_owned(),
        since: Some(since),
        limit: 9,
        ..Query::default()
    };
    assert_eq!(store.search(&since(now())).unwrap().hits.len(), 0);
    let day_before = now() - SignedDuration::from_hours(48);
    assert_eq!(store.search(&since(day_before)).unwrap().hits.len(), 1);
}

#[test]
fn a_title_or_a_workspace_that_becomes_known_later_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = two_evicted(dir.path());
    let later = Told {
        session: 1,
        prompts: &[],
        title: Some("Dockside errands"),
        workspace: Some("example.com/dock"),
    };
    ingest(&store, &later);
    assert_eq!(found(&store, "errands"), [name(1)]);
    assert_eq!(found(&store, "harbour"), []);
    assert_eq!(
        found_in(&store, "sextant", Some("example.com/dock")),
        [name(1)]
    );
    is_sound(&store);
    // The session continues, and is evicted again.
    let more = Told {
        prompts: &["scrape the barnacles"],
        ..later
    };
    ingest(&store, &more);
    evict(&store);
    assert_eq!(found(&store, "barnacles"), [name(1)]);
    assert_eq!(found(&store, "sextant"), [name(1)]);
}

#[test]
fn new_records_and_digests_do_not_take_each_others_rows() {
    let dir = tempfile::tempdir().unwrap();
    let store = two_evicted(dir.path());
    let third = Told {
        session: 3,
        prompts: &["caulk the hull", "tar the rope"],
        title: None,
        workspace: None,
    };
    ingest(&store, &third);
    is_sound(&store);
    assert_eq!(found(&store, "sextant"), [name(1)]);
    evict(&store);
    assert_eq!(found(&store, "hull"), [name(3)]);
    let rebuilt = store.rebuild_index(Arc::new(|_, _| {})).unwrap();
    assert_eq!(rebuilt, 0, "there are no records");
    is_sound(&store);
    for (word, session) in [("sextant", 1), ("mizzen", 2), ("hull", 3)] {
        assert_eq!(found(&store, word), [name(session)]);
    }
}

#[test]
fn a_forgotten_session_leaves_no_word() {
    for by_query in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = two_evicted(dir.path());
        let selection = if by_query {
            Selection {
                query: Some("brass sextant".to_owned()),
                ..Selection::default()
            }
        } else {
            Selection {
                sessions: vec![name(1)],
                ..Selection::default()
            }
        };
        let doomed = store.plan_forget(&selection).unwrap();
        assert_eq!(store.forget(doomed, now()).unwrap().sessions, 1);
        assert_eq!(found(&store, "sextant"), []);
        assert_eq!(found(&store, "mizzen"), [name(2)]);
        is_sound(&store);
        drop(store);
        for file in std::fs::read_dir(dir.path()).unwrap() {
            let file = file.unwrap().path();
            let Ok(bytes) = std::fs::read(&file) else {
                continue;
            };
            for word in ["sextant", "capstan", "arbour"] {
                let has = bytes
                    .windows(word.len())
                    .any(|part| part == word.as_bytes());
                assert!(!has, "{word} in {}", file.display());
            }
        }
    }
}

#[test]
fn an_export_brings_them_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = two_evicted(dir.path());
    let export = |store: &Store| {
        let mut out = Vec::new();
        store
            .export(&ExportFilter::default(), &mut out, &|_, _| {})
            .unwrap();
        out
    };
    let first = export(&store);
    let elsewhere = tempfile::tempdir().unwrap();
    let key = "redaction.key";
    std::fs::copy(dir.path().join(key), elsewhere.path().join(key)).unwrap();
    let copy = Store::open(elsewhere.path()).unwrap();
    let stop = AtomicBool::new(false);
    copy.import(
        &mut first.as_slice(),
        throughline_store::ImportTrust::Signed,
        &stop,
        &|_| {},
    )
    .unwrap();
    assert_eq!(found(&copy, "sextant"), [name(1)]);
    assert_eq!(found(&copy, "mizzen"), [name(2)]);
    is_sound(&copy);
    assert_eq!(
        String::from_utf8(export(&copy)).unwrap(),
        String::from_utf8(first).unwrap()
    );
}
