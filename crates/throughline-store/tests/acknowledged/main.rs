//! Every acknowledged record is in the store, whatever happens to the process that wrote it.
//!
//! The writers are this test program, started again: [`writes_until_killed`] writes to a given
//! folder, and prints each id after its ticket has resolved.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should fail; writers are processes of their own"
)]

mod power;

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use memory::{Block, Flavor, Message, MessageId, Origin, RecordId, Role, SessionId};
use throughline_store::encryption::NoKeychain;
use throughline_store::{IncomingEntries, OpenMode, SessionFilter, Store};

/// How many writers are killed in an ordinary run; `THROUGHLINE_KILLS` asks for more.
const KILLS: u64 = 12;
const FOLDER: &str = "THROUGHLINE_TEST_FOLDER";
const NAME: &str = "THROUGHLINE_TEST_NAME";
/// How many batches a writer writes: more than it finishes before it is killed, unless a test says
/// otherwise.
const BATCHES: &str = "THROUGHLINE_TEST_BATCHES";

fn write(store: &Store, session: &str, number: u64) -> Vec<RecordId> {
    let id = SessionId::of(Flavor::Claude, session);
    let mut incoming = IncomingEntries::default();
    for part in 0..8 {
        let name = MessageId::new(format!("{session}/{number}/{part}"));
        let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
        let words = "and some words more ".repeat(if part == 5 { 600 } else { 3 });
        message.blocks = vec![Block::Text(format!("{session} {number} {part} {words}"))];
        message.at = Timestamp::from_second(1_767_600_000).ok();
        incoming
            .records
            .extend(memory::record::project_records(message));
    }
    let mut origin = testkit::store::origin(Path::new(session));
    let hash = blake3::hash(session.as_bytes());
    origin.cursor.key.copy_from_slice(&hash.as_bytes()[..16]);
    origin.cursor.offset = number;
    testkit::store::append_from(store, incoming, origin)
}

/// Does nothing unless another test has started it.
#[test]
fn writes_until_killed() {
    let (Ok(folder), Ok(name)) = (std::env::var(FOLDER), std::env::var(NAME)) else {
        return;
    };
    let batches = std::env::var(BATCHES).map_or(u64::MAX, |batches| batches.parse().unwrap());
    let store = Store::open(Path::new(&folder)).unwrap();
    println!("\nopen");
    for number in 0..batches {
        for id in write(&store, &name, number) {
            println!("\nack {id}");
        }
    }
}

fn writer(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "writes_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(NAME, name)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Reads the ids that a writer acknowledged before it ended.
fn acknowledged(said: impl BufRead) -> Vec<RecordId> {
    let lines = said.lines();
    // A killed writer may leave a part of an id, which does not parse.
    let lines = lines.map_while(Result::ok);
    lines
        .filter_map(|line| line.strip_prefix("ack ")?.parse().ok())
        .collect()
}

/// Checks that every id is stored, and none twice.
#[track_caller]
fn check(folder: &Path, ids: &HashSet<RecordId>) {
    let store = Store::open(folder).unwrap();
    let health = store.health(true).unwrap();
    assert!(health.is_sound(), "{health:?}");
    let mut texts = HashSet::new();
    let mut found = 0;
    let all = SessionFilter {
        limit: usize::MAX,
        ..Default::default()
    };
    let mut missing = ids.clone();
    for session in store.sessions(&all).unwrap() {
        let read = store.each_record(&session.id, |record| {
            missing.remove(&record.id);
            texts.insert(record.content);
            found += 1;
        });
        read.unwrap();
    }
    assert!(
        missing.is_empty(),
        "{} acknowledged and lost",
        missing.len()
    );
    assert_eq!(texts.len(), found, "something is there twice");
}

#[test]
fn killed_writers_lose_nothing_they_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let kills = std::env::var("THROUGHLINE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut ids = HashSet::new();
    for kill in 0..kills {
        // Sometimes two writers run at once.
        let writers = if kill % 4 == 3 { 2 } else { 1 };
        let mut children: Vec<_> = (0..writers)
            .map(|n| writer(dir.path(), &format!("w{kill}-{n}")).spawn().unwrap())
            .collect();
        let readers: Vec<_> = children
            .iter_mut()
            .map(|child| {
                let said = child.stdout.take().unwrap();
                std::thread::spawn(move || acknowledged(BufReader::new(said)))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20 + kill * 37 % 200));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for reader in readers {
            ids.extend(reader.join().unwrap());
        }
        if kill % 50 == 49 {
            check(dir.path(), &ids);
        }
    }
    check(dir.path(), &ids);
    println!(
        "soak: kill -9 of a writer | {kills} kills | {} acknowledged, 0 lost, 0 twice",
        ids.len()
    );
}

#[test]
fn many_processes_write_at_once() {
    let (writers, batches) = if std::env::var("THROUGHLINE_SOAK").is_ok() {
        (32, 125)
    } else {
        (8, 6)
    };
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..writers)
        .map(|n| {
            let mut command = writer(dir.path(), &format!("w{n}"));
            command.env(BATCHES, batches.to_string()).spawn().unwrap()
        })
        .collect();
    let mut ids = HashSet::new();
    for child in &mut children {
        ids.extend(acknowledged(BufReader::new(child.stdout.take().unwrap())));
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(ids.len(), writers * batches * 8);
    check(dir.path(), &ids);
    println!(
        "soak: processes at once | {writers} writers, {} records | all acknowledged, none dropped",
        ids.len()
    );
}

#[cfg(unix)]
#[test]
fn a_stopped_writer_is_waited_for() {
    let signal = |child: &Child, name: &str| {
        let sent = Command::new("kill")
            .args([name, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    for round in 0..5 {
        let mut stuck = writer(dir.path(), &format!("stuck{round}"))
            .spawn()
            .unwrap();
        // After the first id the writer is in the middle of writing, which is most of its work.
        let mut said = BufReader::new(stuck.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ack ") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0);
        }
        std::thread::sleep(Duration::from_millis(17 * round));
        signal(&stuck, "-STOP");
        // The stopped writer may hold the write lock; others wait for it, and continue when it
        // does.
        let mut other = writer(dir.path(), &format!("other{round}"));
        let mut other = other.env(BATCHES, "2").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        // Reading needs no lock.
        let reading = Store::open_with(dir.path(), OpenMode::ReadOnly, &NoKeychain).unwrap();
        reading.dump().unwrap();
        signal(&stuck, "-CONT");
        let ids = acknowledged(BufReader::new(other.stdout.take().unwrap()));
        assert!(other.wait().unwrap().success());
        assert_eq!(ids.len(), 16);
        stuck.kill().unwrap();
        let mut all: HashSet<_> = acknowledged(said).into_iter().collect();
        stuck.wait().unwrap();
        all.extend(ids);
        check(dir.path(), &all);
    }
}

#[test]
fn the_log_shrinks_again_after_a_long_reading() {
    let writes = if std::env::var("THROUGHLINE_SOAK").is_ok() {
        2500
    } else {
        40
    };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    write(&store, "s", 0);
    let reader = rusqlite::Connection::open(Store::database_path(dir.path())).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let seen = |sql: &str| {
        reader
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(seen("SELECT count(*) FROM records"), 8);
    let before = store.health(false).unwrap().log_bytes;
    for number in 1..=writes {
        write(&store, "s", number);
    }
    let grown = store.health(false).unwrap();
    assert!(grown.log_bytes > before);
    // The old snapshot is unchanged.
    assert_eq!(seen("SELECT count(*) FROM records"), 8);
    reader.execute_batch("COMMIT").unwrap();
    write(&store, "s", writes + 1);
    write(&store, "s", writes + 2);
    let after = store.health(false).unwrap();
    assert!(!after.exceeds_wal_limit(), "{} bytes", after.log_bytes);
    drop(reader);
    drop(store);
    let left = std::fs::metadata(dir.path().join("throughline.db-wal")).map_or(0, |log| log.len());
    assert_eq!(left, 0);
    println!(
        "soak: a reading kept open | {} records | \
         log {} MB (reported above 64), then {} MB, then 0",
        writes * 8,
        grown.log_bytes >> 20,
        after.log_bytes >> 20
    );
}

#[test]
fn nothing_is_held_while_records_are_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    write(&store, "s", 0);
    let all = SessionFilter {
        all_kinds: true,
        limit: 10,
        ..SessionFilter::default()
    };
    let session = store.sessions(&all).unwrap().remove(0).id;
    let other = rusqlite::Connection::open(Store::database_path(dir.path())).unwrap();
    let mut handed_out = 0;
    let count = |_| {
        handed_out += 1;
        let sql = "INSERT INTO workspaces (key) VALUES (hex(randomblob(8)))";
        other.execute_batch(sql).unwrap();
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = other.query_row(sql, [], |row| row.get(0)).unwrap();
        assert!(!busy, "the log cannot be emptied");
    };
    store.each_record(&session, count).unwrap();
    assert_eq!(handed_out, 8);
}
