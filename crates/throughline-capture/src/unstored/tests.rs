use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use memory::RecordKind;
use serde_json::json;

use super::*;
use crate::{Sources, SweepControl, sweep};

const SESSION: &str = "5f1c0f3e-0000-4000-8000-000000000001";

/// A log of Claude Code that grows, and a store that reads it now and then.
struct Test {
    dir: tempfile::TempDir,
    store: Store,
    now: Timestamp,
    text: String,
    entries: usize,
}

impl Test {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("projects/-w")).unwrap();
        Self {
            store: Store::open(&dir.path().join("memory")).unwrap(),
            dir,
            now: "2026-11-16T09:00:00Z".parse().unwrap(),
            text: String::new(),
            entries: 0,
        }
    }

    fn path(&self) -> std::path::PathBuf {
        let name = format!("projects/-w/{SESSION}.jsonl");
        self.dir.path().join(name)
    }

    fn say(&mut self, role: &str, text: &str) {
        self.entries += 1;
        let line = json!({
            "type": role, "uuid": format!("u{}", self.entries), "sessionId": SESSION,
            "cwd": "/w", "timestamp": "2026-11-16T08:59:00Z", "version": "2.1.0",
            "message": {"role": role, "id": format!("m{}", self.entries), "content": text},
        });
        writeln!(self.text, "{line}").unwrap();
        std::fs::write(self.path(), &self.text).unwrap();
    }

    fn sweep(&self) {
        let root = Root {
            path: self.path(),
            flavor: Some(Flavor::Claude),
        };
        let sources = Sources {
            adapters: vec![adapter_for(Flavor::Claude).unwrap()],
            roots: vec![root],
            all_roots: false,
            scope: CaptureScope::default(),
            archive: false,
            threads: 1,
        };
        let stop = AtomicBool::new(false);
        let control = SweepControl::new(&stop);
        sweep(&self.store, &sources, &control, self.now).unwrap();
    }

    fn unread(&self) -> (Vec<String>, bool) {
        let log = SessionLog {
            path: &self.path(),
            flavor: Flavor::Claude,
            session: &SessionId::of(Flavor::Claude, SESSION),
            workspace: &Workspace {
                key: "/w".to_owned(),
                root: "/w".to_owned(),
            },
        };
        let unread =
            read_unstored_records(&self.store, &log, &CaptureScope::default(), self.now).unwrap();
        let is_said =
            |record: &&Record| matches!(record.kind, RecordKind::Prompt | RecordKind::Assistant);
        let records = unread.records.iter().filter(is_said);
        let texts = records.map(|record| record.content.clone()).collect();
        (texts, unread.complete)
    }
}

#[test]
fn only_what_no_sweep_has_read_is_returned() {
    let mut test = Test::new();
    test.say("user", "first request");
    assert_eq!(test.unread(), (vec!["first request".to_owned()], true));
    test.sweep();
    assert_eq!(test.unread(), (vec![], true));
    test.say("assistant", "done");
    test.say("user", "second request");
    let texts = vec!["done".to_owned(), "second request".to_owned()];
    assert_eq!(test.unread(), (texts, true));
}

#[test]
fn a_line_that_is_being_written_is_left() {
    let mut test = Test::new();
    test.say("user", "first request");
    let text = format!("{}{{\"type\":\"user\",\"mess", test.text);
    std::fs::write(test.path(), text).unwrap();
    assert_eq!(test.unread(), (vec!["first request".to_owned()], true));
}

#[test]
fn of_a_long_end_the_last_part_is_read_and_the_gap_is_told() {
    let mut test = Test::new();
    test.say("user", "first request");
    test.sweep();
    for _ in 0..40 {
        test.say("assistant", &"long ".repeat(1_000));
    }
    test.say("user", "last request");
    let (texts, complete) = test.unread();
    assert!(!complete);
    assert_eq!(texts.last().unwrap(), "last request");
    let bytes: usize = texts.iter().map(String::len).sum();
    assert!(bytes as u64 <= TAIL_BYTES_MAX);
    assert!(texts.len() > 10, "{}", texts.len());
}

#[test]
fn a_log_that_is_gone_holds_nothing_new() {
    let mut test = Test::new();
    test.say("user", "first request");
    test.sweep();
    std::fs::remove_file(test.path()).unwrap();
    assert_eq!(test.unread(), (vec![], true));
}

#[test]
fn a_denied_workspace_is_not_read() {
    let mut test = Test::new();
    test.say("user", "first request");
    let log = SessionLog {
        path: &test.path(),
        flavor: Flavor::Claude,
        session: &SessionId::of(Flavor::Claude, SESSION),
        workspace: &Workspace {
            key: "/w".to_owned(),
            root: "/w".to_owned(),
        },
    };
    let scope = CaptureScope {
        denied: vec!["/w".to_owned()],
        ..CaptureScope::default()
    };
    let unread = read_unstored_records(&test.store, &log, &scope, test.now).unwrap();
    assert!(unread.records.is_empty() && !unread.complete);
}
