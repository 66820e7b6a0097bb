//! Forgetting, byte by byte.

use std::collections::BTreeSet;
use std::path::Path;

use memory::{
    Block, CallId, Message, MessageId, Origin, Role, SessionPatch, Title, TitleRank, ToolResult,
    Workspace,
};
use proptest::prelude::*;
use rusqlite::{Connection, params};

use super::*;
use crate::texts::{blocks, bodies};
use crate::{
    Batch, BatchOrigin, Cursor, IncomingEntries, LiftOutcome, LogChunk, ParseIssues, ReadPhase,
};

/// Words that occur nowhere else. The index shares the beginnings of neighbouring words, so what is
/// looked for is what comes after.
fn marker(name: &str) -> String {
    format!("qz{name}wvxk")
}

#[track_caller]
fn absent(folder: &Path, name: &str) {
    assert_eq!(places(folder, name), Vec::<String>::new(), "{name}");
}

#[track_caller]
fn present(folder: &Path, name: &str) {
    assert_ne!(places(folder, name), Vec::<String>::new(), "{name}");
}

/// Returns where a marker is: in which file's bytes, in which compressed text.
fn places(folder: &Path, name: &str) -> Vec<String> {
    let mut found = places_of_bytes(folder, name);
    let needle = marker(name)[2..].to_owned();
    let holds = |bytes: &[u8]| {
        let bytes = bytes.to_ascii_lowercase();
        memchr::memmem::find(&bytes, needle.as_bytes()).is_some()
    };
    let connection = Connection::open(Store::database_path(folder)).unwrap();
    let numbers = |sql: &str| -> Vec<Vec<u8>> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    for id in numbers("SELECT CAST(id AS BLOB) FROM blocks") {
        let id: i64 = String::from_utf8(id).unwrap().parse().unwrap();
        if holds(
            blocks::read_whole_block(&connection, id)
                .unwrap()
                .as_bytes(),
        ) {
            found.push(format!("block {id}"));
        }
    }
    for hash in numbers("SELECT hash FROM bodies") {
        if holds(bodies::read_body(&connection, &hash).unwrap().as_bytes()) {
            found.push(format!("body {hash:02x?}"));
        }
    }
    found
}

/// Returns the files whose plain bytes hold a marker.
fn places_of_bytes(folder: &Path, name: &str) -> Vec<String> {
    let needle = marker(name)[2..].to_owned();
    let holds = |bytes: &[u8]| {
        let bytes = bytes.to_ascii_lowercase();
        memchr::memmem::find(&bytes, needle.as_bytes()).is_some()
    };
    let mut found = Vec::new();
    for file in managed_files(folder).unwrap() {
        if holds(&std::fs::read(&file.path).unwrap()) {
            found.push(
                file.path
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    found
}

struct Test {
    dir: tempfile::TempDir,
    store: Option<Store>,
}

/// One log line and the message in it.
struct Said {
    session: &'static str,
    uuid: String,
    origin: Origin,
    text: String,
    path: Option<String>,
}

fn said(session: &'static str, uuid: &str, origin: Origin, text: impl Into<String>) -> Said {
    Said {
        session,
        uuid: uuid.to_owned(),
        origin,
        text: text.into(),
        path: None,
    }
}

const NOW: i64 = 1_767_700_000;

impl Test {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("redaction.key"), [7; 32]).unwrap();
        let store = Some(Store::open(dir.path()).unwrap());
        Self { dir, store }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Reads a log, as a sweep would.
    fn read(&self, log: &str, all: &[Said]) {
        self.read_as(log, all, ReadPhase::Appended);
    }

    fn read_as(&self, log: &str, all: &[Said], reading: ReadPhase) {
        let mut incoming = IncomingEntries::default();
        let mut text = String::new();
        for (line, said) in (1..).zip(all) {
            let session = SessionId::of(Flavor::Claude, said.session);
            let at = Timestamp::from_second(1_767_600_000 + line).unwrap();
            let mut patch = SessionPatch::new(session.clone(), Flavor::Claude);
            patch.include_time(at);
            patch.cwd = Some(format!("/code/{}", said.session));
            patch.branch = Some(format!("branch-{}", marker(said.session)));
            if line == 1 {
                patch.title = Some(Title {
                    text: said.text.chars().take(60).collect(),
                    rank: TitleRank::FirstPrompt,
                });
            }
            let workspace = Workspace {
                key: format!("example.com/{}", marker(said.session)),
                root: format!("/code/{}", marker(said.session)),
            };
            incoming.sessions.push((patch, Some(workspace)));
            let mut message = Message::new(
                MessageId::new(&*said.uuid),
                session,
                Role::User,
                said.origin,
            );
            message.at = Some(at);
            message.line = line.cast_unsigned();
            message.branch = Some(format!("branch-{}", marker(said.session)));
            message.blocks = vec![match said.origin {
                Origin::Tool => Block::ToolResult(ToolResult {
                    call: Some(CallId::new("c")),
                    tool: Some("Read".into()),
                    path: said.path.clone(),
                    content: said.text.clone(),
                    ..ToolResult::default()
                }),
                _ => Block::Text(said.text.clone()),
            }];
            incoming
                .records
                .extend(memory::record::project_records(message));
            let entry = serde_json::json!({
                "uuid": said.uuid, "sessionId": said.session, "text": said.text, "path": said.path,
                "echo": {"content": [{"type": "text", "text": said.text}]},
            });
            text += &format!("{entry}\n");
        }
        let mut sanitizer = self.store().sanitizer();
        let cleaned = sanitizer.clean(incoming);
        let size = text.len() as u64;
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(log.as_bytes()).as_bytes()[..16]);
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new(log),
            cursor: Cursor {
                key,
                offset: size,
                archived: size,
                line: all.len() as u64,
                state: Some(format!(
                    "{{\"last\":\"{}\"}}",
                    all.last().map_or("", |s| &s.uuid)
                )),
                ..Cursor::default()
            },
            phase: reading,
            issues: ParseIssues::default(),
            log: Some(LogChunk {
                offset: 0,
                size,
                text,
            }),
        };
        let ticket = self
            .store()
            .append(Batch::new(&mut sanitizer, cleaned, from));
        self.store().flush().unwrap();
        ticket.wait().unwrap();
    }

    fn record(&self, session: &str, name: &str) -> RecordId {
        let mut found = None;
        let session = SessionId::of(Flavor::Claude, session);
        let each = |record: crate::StoredRecord| {
            if record.content.contains(&marker(name)) {
                found = Some(record.id);
            }
        };
        self.store().each_record(&session, each).unwrap();
        found.unwrap()
    }

    fn forget(&self, selection: &Selection) -> ForgetReport {
        let doomed = self.store().plan_forget(selection).unwrap();
        assert!(!doomed.is_empty());
        let now = Timestamp::from_second(NOW).unwrap();
        self.store().forget(doomed, now).unwrap()
    }

    fn fact(&self, id: u8, text: &str, sources: &[(RecordId, &str)]) {
        let connection = Connection::open(self.store().path()).unwrap();
        let sql = "INSERT INTO facts (id, kind, text, words, trust, made, seen)
        VALUES (?1, 'decision', ?2, ?2, 2, 0, 0)";
        connection.execute(sql, params![[id; 16], text]).unwrap();
        for (record, session) in sources {
            let sql = "INSERT INTO fact_sources (fact, record, session)
                SELECT ?1, ?2, id FROM sessions WHERE name = 'claude:' || ?3";
            connection
                .execute(sql, params![[id; 16], record.as_bytes(), session])
                .unwrap();
        }
    }

    /// Ends and opens the store, as the next command would.
    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(Store::open(self.dir.path()).unwrap());
        self.store().flush().unwrap();
    }
}

fn long(name: &str) -> String {
    format!("{}\n", marker(name)) + &"a line of a long result, like many others\n".repeat(300)
}

/// Two sessions that share a long text, with short ones in blocks.
fn two_sessions() -> (Vec<Said>, Vec<Said>) {
    let mut red = vec![
        said(
            "red",
            "r1",
            Origin::Human,
            format!("please look at {} for me", marker("prompt")),
        ),
        said(
            "red",
            "r2",
            Origin::Tool,
            format!("{} is what it holds", marker("short")),
        ),
        said("red", "r3", Origin::Tool, long("long")),
        said("red", "r4", Origin::Tool, long("common")),
    ];
    red[1].path = Some(format!("/code/red/{}.rs", marker("path")));
    let filler = (0..40).map(|n| {
        let text = format!("step {n} of the work, with nothing special about it at all");
        said("red", &format!("f{n}"), Origin::Model, text)
    });
    red.extend(filler);
    let blue = vec![
        said(
            "blue",
            "b1",
            Origin::Human,
            format!("another matter: {}", marker("other")),
        ),
        said("blue", "b2", Origin::Tool, long("common")),
    ];
    (red, blue)
}

fn of_records(ids: &[RecordId]) -> Selection {
    Selection {
        records: ids.to_vec(),
        ..Selection::default()
    }
}

fn of_session(session: &str) -> Selection {
    Selection {
        sessions: vec![SessionId::of(Flavor::Claude, session)],
        ..Selection::default()
    }
}

/// The dump without what a forgetting is expected to change: the lines that name it, the figures
/// and the title of its session, and the tables of what was forgotten.
fn remaining(test: &Test, gone: &[&str]) -> String {
    let dump = test.store().dump().unwrap();
    let mut section = "";
    let mut lines = Vec::new();
    for line in dump.lines() {
        if line.starts_with("# ") {
            section = line;
        }
        let is_expected = ["# sessions", "# fact_sources", "# tombstones"].contains(&section)
            || gone.iter().any(|name| line.contains(&marker(name)));
        if !is_expected {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[test]
fn every_table_has_its_place() {
    let test = Test::new();
    let connection = Connection::open(test.store().path()).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT LIKE 'search!_%' ESCAPE '!' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql).unwrap();
    let tables: BTreeSet<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let known = erase::TABLE_EFFECTS
        .iter()
        .map(|(table, _)| (*table).to_owned());
    assert_eq!(tables, known.collect(), "what does forgetting do to it?");
}

#[test]
fn a_record_is_gone_from_every_byte() {
    for (name, stays) in [
        ("prompt", &["short", "long", "common", "path", "other"][..]),
        ("short", &["prompt", "long", "common", "other"]),
        ("long", &["prompt", "short", "common", "path", "other"]),
    ] {
        let test = Test::new();
        let (red, blue) = two_sessions();
        test.read("/logs/red.jsonl", &red);
        test.read("/logs/blue.jsonl", &blue);
        let id = test.record("red", name);
        test.fact(1, &format!("derived from {}", marker(name)), &[(id, "red")]);
        present(test.folder(), name);
        let before = remaining(&test, &[name]);
        let forgotten = test.forget(&of_records(&[id]));
        assert_eq!((forgotten.records, forgotten.facts), (1, 1));
        assert_eq!(forgotten.traces, Traces::Gone);
        absent(test.folder(), name);
        for name in stays {
            present(test.folder(), name);
        }
        assert_eq!(remaining(&test, &[name]), before);
        assert_eq!(test.store().health(true).unwrap().damaged, Some(0));
    }
}

#[test]
fn what_another_session_has_stays_there() {
    let test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    test.forget(&of_records(&[test.record("red", "common")]));
    present(test.folder(), "common");
    test.forget(&of_records(&[test.record("blue", "common")]));
    absent(test.folder(), "common");
    present(test.folder(), "other");
}

#[test]
fn a_session_is_gone_with_all_that_names_it() {
    let mut test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    let id = test.record("red", "short");
    test.fact(1, &format!("fact {}", marker("fact")), &[(id, "red")]);
    test.fact(2, &format!("stated {}", marker("stated")), &[]);
    let forgotten = test.forget(&of_session("red"));
    assert_eq!((forgotten.sessions, forgotten.facts), (1, 1));
    for name in ["prompt", "short", "long", "path", "red", "fact"] {
        absent(test.folder(), name);
    }
    for name in ["common", "other", "blue", "stated"] {
        present(test.folder(), name);
    }
    // Unchanged, grown, rewritten, moved: nothing of it comes back.
    test.reopen();
    let mut grown = red;
    grown.push(said("red", "r9", Origin::Human, marker("later")));
    test.read("/logs/red.jsonl", &grown);
    test.read_as("/logs/red.jsonl", &grown[2..], ReadPhase::RereadStart);
    test.read("/elsewhere/red.jsonl", &grown);
    test.reopen();
    for name in ["prompt", "short", "long", "path", "red", "fact", "later"] {
        absent(test.folder(), name);
    }
    absent(test.folder(), "elsewhere");
    let dump = test.store().dump().unwrap();
    assert!(!dump.contains("claude:red"), "{dump}");
}

#[test]
fn a_record_does_not_come_back() {
    let mut test = Test::new();
    let (mut red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    let ids = ["prompt", "short", "long"].map(|name| test.record("red", name));
    test.forget(&of_records(&ids));
    let after = test.store().dump().unwrap();
    test.reopen();
    test.read("/logs/red.jsonl", &red);
    let again = test.store().dump().unwrap();
    assert_eq!(after.lines().count(), again.lines().count());
    // A resume repeats it under another session, a history without any.
    red.push(said("red", "r9", Origin::Human, marker("later")));
    test.read("/moved/red.jsonl", &red);
    let fork = two_sessions().0.into_iter().map(|line| Said {
        session: "fork",
        ..line
    });
    test.read("/logs/fork.jsonl", &fork.collect::<Vec<_>>());
    let typed = format!("please look at {} for me", marker("prompt"));
    let history = [
        said(
            "history/x/2026-01-05",
            "history/1/abc",
            Origin::Human,
            typed,
        ),
        said(
            "history/x/2026-01-05",
            "history/2/def",
            Origin::Human,
            marker("typed"),
        ),
    ];
    test.read("/logs/history.jsonl", &history);
    test.reopen();
    for name in ["prompt", "short", "long"] {
        absent(test.folder(), name);
    }
    for name in ["later", "common", "typed", "fork"] {
        present(test.folder(), name);
    }
}

#[test]
fn what_a_fork_repeated_goes_too() {
    let test = Test::new();
    let (red, _) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    let mut fork: Vec<_> = two_sessions()
        .0
        .into_iter()
        .map(|line| Said {
            session: "tine",
            ..line
        })
        .collect();
    fork.push(said("tine", "t9", Origin::Human, marker("own")));
    test.read("/logs/tine.jsonl", &fork);
    let doomed = test.store().plan_forget(&of_session("red")).unwrap();
    assert_eq!(
        (doomed.sessions.len(), doomed.records.len()),
        (1, red.len())
    );
    test.forget(&of_session("red"));
    absent(test.folder(), "prompt");
    present(test.folder(), "own");
}

#[test]
fn forgetting_a_fork_leaves_what_it_repeated() {
    let test = Test::new();
    let (red, _) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    let mut fork: Vec<_> = two_sessions()
        .0
        .into_iter()
        .map(|line| Said {
            session: "tine",
            ..line
        })
        .collect();
    fork.push(said("tine", "t9", Origin::Human, marker("own")));
    test.read("/logs/tine.jsonl", &fork);
    test.forget(&of_session("tine"));
    absent(test.folder(), "own");
    present(test.folder(), "prompt");
}

#[test]
fn filters_hold_together() {
    let test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    let doomed = |selection: Selection| {
        let doomed = test.store().plan_forget(&selection).unwrap();
        (doomed.sessions.len(), doomed.records.len())
    };
    assert_eq!(doomed(Selection::default()), (0, 0));
    let before = |second: i64| Timestamp::from_second(1_767_600_000 + second).ok();
    let workspace = Some(format!("example.com/{}", marker("red")));
    assert_eq!(
        doomed(Selection {
            workspace: workspace.clone(),
            ..Selection::default()
        }),
        (1, 0)
    );
    assert_eq!(
        doomed(Selection {
            before: before(3),
            ..Selection::default()
        }),
        (1, 2)
    );
    assert_eq!(
        doomed(Selection {
            before: before(3),
            workspace: workspace.clone(),
            ..Selection::default()
        }),
        (0, 2)
    );
    let query = |words: &str| Selection {
        query: Some(words.into()),
        ..Selection::default()
    };
    assert_eq!(doomed(query("step work")), (0, 40));
    assert_eq!(
        doomed(query("step zeppelin")),
        (0, 0),
        "all words, not some"
    );
    assert_eq!(
        doomed(Selection {
            workspace,
            ..query(&marker("common"))
        }),
        (0, 1)
    );
    assert_eq!(
        doomed(Selection {
            workspace: Some("nowhere".into()),
            ..Selection::default()
        }),
        (0, 0)
    );
}

#[test]
fn a_workspace_goes_with_its_facts() {
    let test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    test.fact(2, &format!("stated {}", marker("stated")), &[]);
    let connection = Connection::open(test.store().path()).unwrap();
    let sql = "UPDATE facts SET workspace = (SELECT id FROM workspaces WHERE key LIKE '%red%')";
    connection.execute(sql, []).unwrap();
    drop(connection);
    let workspace = Some(format!("/code/{}", marker("red")));
    let forgotten = test.forget(&Selection {
        workspace,
        ..Selection::default()
    });
    assert_eq!((forgotten.sessions, forgotten.facts), (1, 1));
    for name in ["prompt", "red", "stated"] {
        absent(test.folder(), name);
    }
    present(test.folder(), "other");
}

/// A process killed after the deletion leaves terms in the index and the log; the next open ends
/// it.
#[test]
fn the_next_open_goes_on() {
    let test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    let doomed = test.store().plan_forget(&of_session("red")).unwrap();
    test.store()
        .erase(doomed, Timestamp::from_second(NOW).unwrap())
        .unwrap();
    let killed = tempfile::tempdir().unwrap();
    for file in managed_files(test.folder()).unwrap() {
        let name = file.path.file_name().unwrap();
        std::fs::copy(&file.path, killed.path().join(name)).unwrap();
    }
    present(test.folder(), "prompt");
    let store = Store::open(killed.path()).unwrap();
    store.flush().unwrap();
    absent(killed.path(), "prompt");
    assert!(!store.health(false).unwrap().traces);
}

#[test]
fn a_reader_keeps_the_log_and_is_told() {
    let mut test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    let reader = Connection::open(test.store().path()).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM records")
        .unwrap();
    let doomed = test.store().plan_forget(&of_session("red")).unwrap();
    test.store()
        .erase(doomed, Timestamp::from_second(NOW).unwrap())
        .unwrap();
    let cleared = traces::remove_traces(test.store().path(), None, traces::NO_WAIT).unwrap();
    assert_eq!(cleared.traces, Traces::Waiting);
    assert!(test.store().health(false).unwrap().traces);
    drop(reader);
    test.reopen();
    absent(test.folder(), "prompt");
    assert!(!test.store().health(false).unwrap().traces);
}

#[test]
fn copies_beside_the_store_go() {
    let test = Test::new();
    let (red, _) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    // In the order of their names.
    let folders = ["before-restore-20260101T000000Z", "quarantine", "safety"];
    let copies = folders.map(|folder| {
        let folder = test.folder().join(folder);
        std::fs::create_dir(&folder).unwrap();
        let copy = folder.join("throughline.db");
        std::fs::write(&copy, marker("prompt")).unwrap();
        copy
    });
    std::fs::write(test.folder().join("safety/lock"), "").unwrap();
    let theirs = test.folder().join("mine.txt");
    std::fs::write(&theirs, "notes").unwrap();
    let forgotten = test.forget(&of_session("red"));
    assert_eq!(forgotten.copies_removed, copies);
    assert!(!test.folder().join(folders[0]).exists());
    assert!(theirs.exists());
    absent(test.folder(), "prompt");
}

#[test]
fn a_lifted_tombstone_lets_it_back_in() {
    let mut test = Test::new();
    let (red, blue) = two_sessions();
    test.read("/logs/red.jsonl", &red);
    test.read("/logs/blue.jsonl", &blue);
    test.forget(&of_session("red"));
    test.forget(&of_records(&[test.record("blue", "other")]));
    let listed = test.store().tombstones().unwrap();
    assert_eq!(listed.len(), 2);
    let bytes = std::fs::read(test.store().path()).unwrap();
    assert!(memchr::memmem::find(&bytes, b"claude:red").is_none());
    assert_eq!(
        test.store().lift_tombstone("claude:green").unwrap(),
        LiftOutcome::Unknown
    );
    assert!(matches!(
        test.store().lift_tombstone("claude:red").unwrap(),
        LiftOutcome::Lifted(_)
    ));
    let left = test.store().tombstones().unwrap();
    assert_eq!(left.len(), 1);
    test.read("/logs/red.jsonl", &red);
    present(test.folder(), "prompt");
    assert!(matches!(
        test.store().lift_tombstone(&left[0].id).unwrap(),
        LiftOutcome::Lifted(_)
    ));
    test.reopen();
    test.read("/logs/blue.jsonl", &blue);
    present(test.folder(), "other");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 64 }))]

    /// Whatever is forgotten, in whatever order, is nowhere; whatever is not is still there.
    #[test]
    fn any_set_is_gone(picked in proptest::collection::vec((0..12_usize, any::<bool>()), 1..8)) {
        let test = Test::new();
        let names: Vec<_> = (0..12).map(|n| format!("word{}", char::from(b'a' + n))).collect();
        let sessions = ["red", "blue", "green"];
        let log = |session: usize| -> Vec<Said> {
            (0..4).map(|n| {
                let name = &names[session * 4 + n];
                let text = if n % 2 == 0 {
                    format!("{} in a short text in a block with its neighbours", marker(name))
                } else {
                    long(name)
                };
                let origin = if n == 0 { Origin::Human } else { Origin::Tool };
                said(sessions[session], name, origin, text)
            }).collect()
        };
        for (at, session) in sessions.iter().enumerate() {
            test.read(&format!("/logs/{session}.jsonl"), &log(at));
        }
        let mut gone = BTreeSet::new();
        for (at, whole) in picked {
            let session = sessions[at / 4];
            if gone.contains(&at) {
                continue;
            }
            if whole {
                test.forget(&of_session(session));
                gone.extend(at / 4 * 4..at / 4 * 4 + 4);
            } else {
                test.forget(&of_records(&[test.record(session, &names[at])]));
                gone.insert(at);
            }
        }
        for (at, session) in sessions.iter().enumerate() {
            test.read_as(&format!("/logs/{session}.jsonl"), &log(at), ReadPhase::RereadStart);
        }
        for (at, name) in names.iter().enumerate() {
            prop_assert_eq!(places(test.folder(), name).is_empty(), gone.contains(&at), "{}", name);
        }
        prop_assert_eq!(test.store().health(true).unwrap().damaged, Some(0));
    }
}

/// A log of both sessions, such as a history of prompts.
fn shared_log() -> Vec<Said> {
    let (mut red, blue) = two_sessions();
    red.truncate(4);
    red.extend(blue);
    red
}

#[test]
fn a_text_that_two_generations_share_does_not_stop_forgetting() {
    let test = Test::new();
    test.read("/logs/history.jsonl", &shared_log());
    // The log changed and changed back: its second generation has the same text.
    test.read_as("/logs/history.jsonl", &shared_log(), ReadPhase::RereadStart);
    let generations = "SELECT count(*) FROM raw GROUP BY body HAVING count(*) = 2";
    let connection = Connection::open(test.store().path()).unwrap();
    let twice = connection.prepare(generations).unwrap().exists([]).unwrap();
    assert!(twice, "two generations share a text");
    drop(connection);
    let forgotten = test.forget(&of_session("red"));
    assert_eq!((forgotten.sessions, forgotten.unreadable), (1, 0));
    for name in ["prompt", "short", "long"] {
        absent(test.folder(), name);
    }
    present(test.folder(), "other");
    assert!(test.store().health(true).unwrap().is_sound());
}

#[test]
fn unreadable_texts_are_forgotten_with_the_rest() {
    for damage in [
        "DELETE FROM bodies",
        "UPDATE bodies SET data = x'00'",
        "UPDATE blocks SET data = x'28b52ffd00'",
        "DELETE FROM blocks; DELETE FROM bodies",
    ] {
        let (red, blue) = two_sessions();
        let mut test = Test::new();
        test.read("/logs/red.jsonl", &red);
        test.read("/logs/blue.jsonl", &blue);
        test.read("/logs/history.jsonl", &shared_log());
        let record = test.record("red", "short");
        let connection = Connection::open(test.store().path()).unwrap();
        // What the damage takes away leaves no bytes of its own behind.
        connection
            .pragma_update(None, "secure_delete", true)
            .unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        assert!(!test.store().health(true).unwrap().is_sound(), "{damage}");
        let one = test.forget(&of_records(&[record]));
        assert!(one.records >= 1, "{damage}: {one:?}");
        let forgotten = test.forget(&of_session("red"));
        assert_eq!(forgotten.sessions, 1, "{damage}");
        assert!(one.unreadable + forgotten.unreadable > 0, "{damage}");
        for name in ["prompt", "short", "long"] {
            let found = places_of_bytes(test.folder(), name);
            assert_eq!(found, Vec::<String>::new(), "{damage}: {name}");
        }
        test.store = None;
        crate::repair(test.folder()).unwrap();
        test.reopen();
        assert!(test.store().health(true).unwrap().is_sound(), "{damage}");
    }
}
