//! Measures what forgetting costs in a store of 100,000 records, and the ways to clean its index.
//!
//! ```text
//! cargo run --release -p throughline-store --example forget_cost [-- RECORDS]
//! ```
#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and may stop"
)]

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use memory::{Block, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Workspace};
use rusqlite::{Connection, params};
use throughline_store::forget::Selection;
use throughline_store::{
    Batch, BatchOrigin, Cursor, IncomingEntries, LogChunk, ParseIssues, Query, ReadPhase, Store,
};

/// The number of records per session.
const SESSION: usize = 250;

fn main() {
    let records = std::env::args().nth(1);
    let records: usize = records.map_or(100_000, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let store = Store::open(dir.path()).unwrap();
    let mut words = Words(1);
    for session in 0..records / SESSION {
        append(&store, session, &mut words);
    }
    store.flush().unwrap();
    let size = std::fs::metadata(store.path()).unwrap().len() >> 20;
    println!(
        "{records} records, {size} MB, made in {:.0?}",
        started.elapsed()
    );
    let now = Timestamp::from_second(1_767_700_000).unwrap();
    for nth in 0..5 {
        let found = store
            .search(&Query {
                text: format!("unique{nth}x7"),
                limit: 1,
                ..Query::default()
            })
            .unwrap();
        let selection = Selection {
            records: vec![found.hits[0].id],
            ..Selection::default()
        };
        forget(&store, "a record", &selection, now);
    }
    for nth in 10..13 {
        let sessions = vec![SessionId::of(Flavor::Claude, &format!("s{nth}"))];
        forget(
            &store,
            "a session",
            &Selection {
                sessions,
                ..Selection::default()
            },
            now,
        );
    }
    index_ways(records);
}

fn forget(store: &Store, what: &str, selection: &Selection, now: Timestamp) {
    let started = Instant::now();
    let doomed = store.plan_forget(selection).unwrap();
    let forgotten = store.forget(doomed, now).unwrap();
    println!(
        "{what}: {} records in {:.0?}",
        forgotten.records,
        started.elapsed()
    );
}

/// Compares ways to remove the terms of one row from a full-text index.
fn index_ways(rows: usize) {
    let ways = [
        (
            "contentless_delete, optimize",
            "content='', contentless_delete=1",
            false,
        ),
        ("contentless, secure-delete", "content=''", true),
    ];
    for (name, options, secure) in ways {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("t.db")).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = wal; PRAGMA secure_delete = ON; PRAGMA cache_size = -32000;
                 CREATE VIRTUAL TABLE t USING fts5(text, {options});
                 INSERT INTO t (t, rank) VALUES ('hashsize', 16000000);
                 INSERT INTO t (t, rank) VALUES ('secure-delete', {});
                 BEGIN",
                i32::from(secure)
            ))
            .unwrap();
        let mut words = Words(1);
        let mut texts = Vec::new();
        for row in 0..rows {
            let text = words.text(row);
            connection
                .execute(
                    "INSERT INTO t (rowid, text) VALUES (?1, ?2)",
                    params![row, text],
                )
                .unwrap();
            texts.push(text);
        }
        connection
            .execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        for rows in [&[7_usize][..], &(1000..1000 + SESSION).collect::<Vec<_>>()] {
            let started = Instant::now();
            connection.execute_batch("BEGIN").unwrap();
            for row in rows {
                if secure {
                    let sql = "INSERT INTO t (t, rowid, text) VALUES ('delete', ?1, ?2)";
                    connection.execute(sql, params![row, texts[*row]]).unwrap();
                } else {
                    connection
                        .execute("DELETE FROM t WHERE rowid = ?1", [row])
                        .unwrap();
                }
            }
            if !secure {
                connection
                    .execute("INSERT INTO t (t) VALUES ('optimize')", [])
                    .unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            let written = started.elapsed();
            connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .unwrap();
            let bytes = std::fs::read(dir.path().join("t.db")).unwrap();
            let word = format!("nique{}x7", rows[0]);
            let left = memchr::memmem::find(&bytes, word.as_bytes()).is_some();
            println!(
                "index: {name}: {} rows in {written:.0?}, {:.0?} with the checkpoint, \
                 word left: {left}",
                rows.len(),
                started.elapsed()
            );
        }
    }
}

fn append(store: &Store, session: usize, words: &mut Words) {
    let id = SessionId::of(Flavor::Claude, &format!("s{session}"));
    let mut incoming = IncomingEntries::default();
    let mut log = String::new();
    for n in 0..SESSION {
        let text = words.text(session * SESSION + n);
        let name = MessageId::new(format!("{session}/{n}"));
        let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
        message.at = Timestamp::from_second(1_767_600_000).ok();
        message.line = n as u64 + 1;
        log += &format!("{{\"type\":\"user\",\"text\":\"{text}\"}}\n");
        message.blocks = vec![Block::Text(text)];
        incoming
            .records
            .extend(memory::record::project_records(message));
    }
    let workspace = Workspace {
        key: format!("example.com/w{}", session % 20),
        root: format!("/work/w{}", session % 20),
    };
    let patch = SessionPatch::new(id, Flavor::Claude);
    incoming.sessions.push((patch, Some(workspace)));
    let mut sanitizer = store.sanitizer();
    let cleaned = sanitizer.clean(incoming);
    let size = log.len() as u64;
    let mut key = [0; 16];
    key[..8].copy_from_slice(&session.to_le_bytes());
    let path = format!("/logs/s{session}.jsonl");
    let from = BatchOrigin {
        flavor: Flavor::Claude,
        path: Path::new(&path),
        cursor: Cursor {
            key,
            offset: size,
            archived: size,
            line: SESSION as u64,
            ..Cursor::default()
        },
        phase: ReadPhase::Appended,
        issues: ParseIssues::default(),
        log: Some(LogChunk {
            offset: 0,
            size,
            text: log,
        }),
    };
    drop(store.append(Batch::new(&mut sanitizer, cleaned, from)));
}

/// Generates texts from a vocabulary in which few words are common and most are rare.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn text(&mut self, nth: usize) -> String {
        let mut text = format!("unique{nth}x7");
        for _ in 0..40 + self.next() % 80 {
            let common = self.next() % 200;
            let word = if self.next().is_multiple_of(3) {
                self.next() % 40_000
            } else {
                common
            };
            text += &format!(" {}", spelled(word));
        }
        text
    }
}

fn spelled(mut number: u64) -> String {
    let mut word = String::from("w");
    loop {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word + "en";
        }
    }
}
