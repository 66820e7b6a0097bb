//! A machine with agents' logs and a store, for the tests of sweeps.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test program uses a part; a test that cannot go on should fail"
)]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use throughline_capture as capture;

use capture::flavor::ADAPTERS;
use capture::{CaptureScope, Root, Sources, SweepControl, SweepReport};
use jiff::Timestamp;
use memory::SessionId;
use store::{Query, Store, StoredRecord};
use testkit::corpus::{self, Options};

/// A time long before the files were written: no source is complete yet.
pub(crate) const WHILE_WRITING: i64 = 1_000_000_000;
/// A time long after the files were written: all sources are complete.
pub(crate) const LONG_AFTER: i64 = 4_000_000_000;

/// A folder with agents' logs, and a store.
pub(crate) struct Machine {
    pub(crate) dir: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        // The marks of redacted secrets depend on the installation's key. With the same key, the
        // stores of two machines can be compared.
        fs::create_dir(machine.home()).unwrap();
        fs::write(machine.home().join("redaction.key"), [7; 32]).unwrap();
        machine
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn with_corpus(options: &Options) -> Self {
        let machine = Self::new();
        corpus::write(options, &machine.logs()).unwrap();
        machine
    }

    pub(crate) fn claude_log(&self, name: &str) -> PathBuf {
        let folder = self.logs().join("claude/-work-proj");
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    pub(crate) fn sweep_at(&self, seconds: i64) -> SweepReport {
        self.sweep_with(seconds, &CaptureScope::default())
    }

    pub(crate) fn sweep_with(&self, seconds: i64, scope: &CaptureScope) -> SweepReport {
        let store = Store::open(&self.home()).unwrap();
        let sources = sources(self.logs(), scope);
        let stop = AtomicBool::new(false);
        let control = SweepControl::new(&stop);
        let now = Timestamp::from_second(seconds).unwrap();
        capture::sweep(&store, &sources, &control, now).unwrap()
    }

    /// Returns the whole store as text, with the same name for the folder on every machine.
    pub(crate) fn dump(&self) -> String {
        let dump = Store::open(&self.home()).unwrap().dump().unwrap();
        dump.replace(
            &self
                .dir
                .path()
                .canonicalize()
                .unwrap()
                .display()
                .to_string(),
            "DIR",
        )
        .replace(&self.dir.path().display().to_string(), "DIR")
    }

    pub(crate) fn records(&self, session: &SessionId) -> Vec<StoredRecord> {
        let mut records = Vec::new();
        Store::open(&self.home())
            .unwrap()
            .each_record(session, |record| records.push(record))
            .unwrap();
        records
    }

    pub(crate) fn finds(&self, word: &str) -> usize {
        let query = Query {
            text: word.to_owned(),
            limit: 100,
            ..Query::default()
        };
        Store::open(&self.home())
            .unwrap()
            .search(&query)
            .unwrap()
            .hits
            .len()
    }
}

/// Returns a setup that captures all logs below a folder.
pub(crate) fn sources(logs: PathBuf, scope: &CaptureScope) -> Sources {
    let root = Root {
        path: logs,
        flavor: None,
    };
    Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![root],
        all_roots: true,
        scope: scope.clone(),
        archive: true,
        threads: 2,
    }
}

pub(crate) fn prompt(session: &str, uuid: &str, text: &str) -> String {
    let entry = serde_json::json!({
        "type": "user", "uuid": uuid, "parentUuid": null, "sessionId": session,
        "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/work/proj", "version": "2.1.98",
        "message": {"role": "user", "content": text},
    });
    format!("{entry}\n")
}
