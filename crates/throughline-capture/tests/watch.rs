//! Watching real folders. No test measures time: each waits until the expected state is reached.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use throughline_capture as capture;

use capture::flavor::ADAPTERS;
use capture::{
    CaptureScope, Root, Sources, SweepControl, SweepReport, WatchOptions, sweep, sweep_paths,
};
use jiff::Timestamp;
use proptest::prelude::*;
use store::{Query, SessionFilter, Store};
use testkit::corpus::{self, Options};

/// A time long before the files were written: no source is complete yet.
const WHILE_WRITING: i64 = 1_000_000_000;
/// A time long after the files were written: all sources are complete.
const LONG_AFTER: i64 = 4_000_000_000;
/// An interval longer than any test: the rescan that follows it never happens.
const NEVER: Duration = Duration::from_secs(100_000);
/// How long a slow machine may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// A folder with agents' logs, and a clock that stands still until it is set.
struct Machine {
    dir: tempfile::TempDir,
    clock: AtomicI64,
}

/// A running watcher.
struct Live<'a> {
    machine: &'a Machine,
    sweeps: &'a Mutex<Vec<SweepReport>>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("logs/claude/-work-proj")).unwrap();
        for home in ["home", "alone", "watched", "swept", "fresh"] {
            let home = dir.path().join(home);
            fs::create_dir(&home).unwrap();
            // The marks of redacted secrets depend on the installation's key. With the same key,
            // stores can be compared.
            fs::write(home.join("redaction.key"), [7; 32]).unwrap();
        }
        let clock = AtomicI64::new(WHILE_WRITING);
        Self { dir, clock }
    }

    fn logs(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("logs")
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs().join("claude/-work-proj").join(name)
    }

    fn sources(&self) -> Sources {
        let root = Root {
            path: self.logs(),
            flavor: None,
        };
        Sources {
            adapters: ADAPTERS.to_vec(),
            roots: vec![root],
            all_roots: true,
            scope: CaptureScope::default(),
            archive: true,
            threads: 2,
        }
    }

    /// Sweeps all logs into a store.
    fn rescan(&self, store: &Store, seconds: i64) {
        let now = Timestamp::from_second(seconds).unwrap();
        let stop = AtomicBool::new(false);
        let control = SweepControl::new(&stop);
        sweep(store, &self.sources(), &control, now).unwrap();
    }

    fn store(&self, name: &str) -> Store {
        Store::open(&self.dir.path().join(name)).unwrap()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.clock.load(Ordering::Relaxed)).unwrap()
    }

    /// Watches while `story` runs, which starts after the first sweep.
    fn watch(
        &self,
        rescan: Duration,
        poll: bool,
        story: impl FnOnce(&Live<'_>),
    ) -> Vec<SweepReport> {
        let (stop, sweeps) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let sources = self.sources();
        let options = WatchOptions {
            rescan_every: rescan,
            poll,
        };
        thread::scope(|scope| {
            // This stops the watcher even if the story panics; otherwise the test would hang.
            let stopping = Stopping(&stop);
            scope.spawn(|| {
                let mut on_sweep = |sweep: &SweepReport| sweeps.lock().unwrap().push(sweep.clone());
                let store = self.store("home");
                let now = || self.now();
                capture::watch(&store, &sources, options, &stop, &mut on_sweep, &now).unwrap();
            });
            let live = Live {
                machine: self,
                sweeps: &sweeps,
            };
            live.until("the first sweep", || !sweeps.lock().unwrap().is_empty());
            story(&live);
            drop(stopping);
        });
        sweeps.into_inner().unwrap()
    }
}

struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Live<'_> {
    #[track_caller]
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            let sweeps = self.sweeps.lock().unwrap();
            assert!(start.elapsed() < DEADLINE, "{what}: {sweeps:#?}");
            drop(sweeps);
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn until_found(&self, word: &str) {
        let store = self.machine.store("home");
        self.until(word, || finds(&store, word) == 1);
    }

    #[track_caller]
    fn until_lost(&self, word: &str) {
        let store = self.machine.store("home");
        self.until(word, || finds(&store, word) == 0);
    }
}

fn finds(store: &Store, word: &str) -> usize {
    let query = Query {
        text: word.to_owned(),
        limit: 1000,
        ..Query::default()
    };
    store.search(&query).unwrap().hits.len()
}

fn prompt(session: &str, text: &str) -> String {
    let entry = serde_json::json!({
        "type": "user", "uuid": format!("u-{text}"), "parentUuid": null, "sessionId": session,
        "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/work/proj", "version": "2.1.98",
        "message": {"role": "user", "content": text},
    });
    format!("{entry}\n")
}

fn append(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_new_line_is_found() {
    let machine = Machine::new();
    append(&machine.log("a.jsonl"), &prompt("s", "alpha"));
    let sweeps = machine.watch(NEVER, false, |live| {
        append(&machine.log("a.jsonl"), &prompt("s", "beta"));
        live.until_found("beta");
    });
    assert_eq!(sweeps.iter().map(|sweep| sweep.records).sum::<usize>(), 2);
    assert_eq!(sweeps[1].discovered, 1, "{:#?}", sweeps[1]);
}

#[test]
fn new_files_and_folders_are_found() {
    let machine = Machine::new();
    machine.watch(NEVER, false, |live| {
        append(&machine.log("new.jsonl"), &prompt("s", "alpha"));
        live.until_found("alpha");
        let folder = machine.logs().join("claude/-work-other");
        fs::create_dir(&folder).unwrap();
        append(&folder.join("b.jsonl"), &prompt("t", "beta"));
        live.until_found("beta");
        append(&folder.join("b.jsonl"), &prompt("t", "gamma"));
        live.until_found("gamma");
        let aside = machine.dir.path().join("aside");
        fs::create_dir(&aside).unwrap();
        append(&aside.join("c.jsonl"), &prompt("v", "delta"));
        fs::rename(&aside, machine.logs().join("claude/-work-moved")).unwrap();
        live.until_found("delta");
    });
}

#[test]
fn a_root_may_be_created_late_and_again() {
    let machine = Machine::new();
    fs::remove_dir_all(machine.logs()).unwrap();
    machine.watch(NEVER, false, |live| {
        let logs = machine.dir.path().canonicalize().unwrap().join("logs");
        for word in ["alpha", "beta"] {
            let folder = logs.join("claude/-work-proj");
            fs::create_dir_all(&folder).unwrap();
            append(&folder.join(format!("{word}.jsonl")), &prompt("s", word));
            live.until_found(word);
            let later = format!("{word}later");
            append(&folder.join(format!("{word}.jsonl")), &prompt("s", &later));
            live.until_found(&later);
            fs::remove_dir_all(&logs).unwrap();
        }
    });
}

#[test]
fn a_rewritten_log_is_read_again_and_loses_no_records() {
    let machine = Machine::new();
    append(&machine.log("a.jsonl"), &prompt("s", "alpha"));
    machine.watch(NEVER, false, |live| {
        let aside = machine.dir.path().join("aside");
        append(&aside, &prompt("s", "beta"));
        fs::rename(&aside, machine.log("a.jsonl")).unwrap();
        live.until_found("beta");
        live.until_found("alpha");
    });
}

#[test]
fn a_deleted_log_is_noticed_and_its_records_stay() {
    let machine = Machine::new();
    append(&machine.log("a.jsonl"), &prompt("s", "alpha"));
    let sweeps = machine.watch(Duration::from_millis(50), false, |live| {
        fs::remove_file(machine.log("a.jsonl")).unwrap();
        let is_noticed = || {
            live.sweeps
                .lock()
                .unwrap()
                .iter()
                .any(|sweep| sweep.gone == 1)
        };
        live.until("gone", is_noticed);
        live.until_found("alpha");
    });
    assert_eq!(sweeps.len(), 2, "{sweeps:#?}");
}

#[test]
fn a_burst_causes_few_sweeps() {
    let machine = Machine::new();
    let sweeps = machine.watch(NEVER, false, |live| {
        for line in 0..200 {
            append(
                &machine.log(&format!("{}.jsonl", line % 5)),
                &prompt("s", &format!("burst number{line}")),
            );
        }
        let store = machine.store("home");
        live.until("all", || finds(&store, "burst") == 200);
    });
    // The number depends on the machine, but it must be far below one sweep per line.
    assert!(sweeps.len() < 100, "{}", sweeps.len());
}

#[test]
fn polling_finds_changes_without_events() {
    let machine = Machine::new();
    machine.watch(NEVER, true, |live| {
        append(&machine.log("a.jsonl"), &prompt("s", "alpha"));
        live.until_found("alpha");
    });
}

#[test]
fn an_unterminated_line_is_read_when_its_log_is_complete() {
    let machine = Machine::new();
    let line = prompt("s", "alpha");
    append(&machine.log("a.jsonl"), line.trim_end());
    machine.watch(NEVER, false, |live| {
        append(&machine.log("b.jsonl"), &prompt("t", "beta"));
        live.until_found("beta");
        live.until_lost("alpha");
        machine.clock.store(LONG_AFTER, Ordering::Relaxed);
        live.until_found("alpha");
    });
}

#[test]
fn concurrent_watchers_store_everything_once() {
    let machine = Machine::new();
    let stop = AtomicBool::new(false);
    let sources = machine.sources();
    let options = WatchOptions {
        rescan_every: NEVER,
        poll: false,
    };
    thread::scope(|scope| {
        let stopping = Stopping(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                let store = machine.store("home");
                let now = || machine.now();
                capture::watch(&store, &sources, options, &stop, &mut |_| {}, &now).unwrap();
            });
        }
        let store = machine.store("home");
        for line in 0..60 {
            let text = prompt("s", &format!("crowd number{line}"));
            append(&machine.log("a.jsonl"), &text);
            if line % 10 == 9 {
                machine.rescan(&store, machine.now().as_second());
            }
        }
        let start = Instant::now();
        while finds(&store, "crowd") != 60 {
            assert!(start.elapsed() < DEADLINE, "{}", finds(&store, "crowd"));
            thread::sleep(Duration::from_millis(5));
        }
        drop(stopping);
    });
    let (crowd, alone) = (machine.store("home"), machine.store("alone"));
    for store in [&crowd, &alone] {
        machine.rescan(store, machine.now().as_second());
    }
    assert_eq!(texts(&crowd), texts(&alone));
    assert_eq!(crowd.dump().unwrap(), alone.dump().unwrap());
}

#[test]
fn discovering_a_path_agrees_with_discovering_all() {
    let machine = Machine::new();
    corpus::write(
        &Options {
            sessions: 9,
            ..Options::default()
        },
        &machine.logs(),
    )
    .unwrap();
    append(&machine.log("a.jsonl"), &prompt("s", "alpha"));
    let deep: PathBuf = (0..14).map(|_| "deep").collect();
    fs::create_dir_all(machine.log("").join(&deep)).unwrap();
    append(
        &machine.log("").join(deep).join("c.jsonl"),
        &prompt("s", "x"),
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        let outside = machine.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        append(&outside.join("b.jsonl"), &prompt("s", "outside"));
        symlink(outside.join("b.jsonl"), machine.log("escape.jsonl")).unwrap();
        symlink(&outside, machine.logs().join("claude/escape")).unwrap();
        symlink("a.jsonl", machine.log("inside.jsonl")).unwrap();
        symlink("loop.jsonl", machine.log("loop.jsonl")).unwrap();
    }
    let sources = machine.sources();
    let all = sources.discover().sources;
    let at = |path: &Path| {
        let paths = BTreeSet::from([path.to_owned()]);
        sources.discover_paths(&paths).sources
    };
    let mut paths = vec![machine.logs()];
    let mut singly = BTreeSet::new();
    while let Some(path) = paths.pop() {
        let found = at(&path);
        assert!(found.is_subset(&all), "{}", path.display());
        if path.is_dir() && path.components().count() < 40 {
            let entries = fs::read_dir(&path).unwrap();
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            singly.extend(found);
        }
    }
    assert!(all.len() > 9);
    assert_eq!(singly, all);
    assert_eq!(at(&machine.logs()), all);
    assert_eq!(at(machine.dir.path()), all);
    assert_eq!(at(&machine.log("nothing.jsonl")), BTreeSet::new());
}

#[test]
fn a_write_ahead_log_stands_for_its_database() {
    let machine = Machine::new();
    let folder = machine.logs().join("opencode");
    fs::create_dir_all(&folder).unwrap();
    let database = folder.join("opencode.db");
    fs::write(&database, "").unwrap();
    let sources = machine.sources();
    for beside in ["opencode.db", "opencode.db-wal", "opencode.db-shm"] {
        let changed = BTreeSet::from([folder.join(beside)]);
        let found = sources.discover_paths(&changed).sources;
        let paths: Vec<_> = found.iter().map(|source| &source.path).collect();
        assert_eq!(paths, [&database], "{beside}");
    }
}

/// A change to a log between two sweeps, or a sweep.
#[derive(Clone, Copy, Debug)]
enum Step {
    Append,
    /// Write other text into the same file.
    Rewrite,
    /// Put another file in its place.
    Replace,
    Empty,
    Delete,
    /// Rename it to another name of a log, and start a new file.
    Rotate,
    /// Rename it out of the tree, and start a new file.
    RotateAway,
    /// Sweep the paths that have changed since the last sweep.
    SweepChanged,
    /// Sweep all roots.
    Rescan,
}

/// What the logs hold now, and every text that one of them held at a sweep: none of these may be
/// lost. A text that was gone before the next sweep was never seen.
#[derive(Default)]
struct Model {
    tree: BTreeMap<PathBuf, Vec<String>>,
    memory: BTreeSet<String>,
}

impl Model {
    fn record_seen(&mut self, path: &Path) {
        let holds = self.tree.get(path).into_iter().flatten();
        self.memory.extend(holds.cloned());
    }
}

/// Applies changes to a tree of three logs, with one store that sweeps the changed paths and one
/// that sweeps all roots at the same moments.
struct Play {
    machine: Machine,
    watched: Store,
    swept: Store,
    model: Model,
    changed: BTreeSet<PathBuf>,
    count: usize,
}

impl Play {
    fn new() -> Self {
        let machine = Machine::new();
        Self {
            watched: machine.store("watched"),
            swept: machine.store("swept"),
            machine,
            model: Model::default(),
            changed: BTreeSet::new(),
            count: 0,
        }
    }

    fn apply(&mut self, step: Step, log: usize, lines: usize) {
        let path = self.machine.log(["a.jsonl", "m.jsonl", "z.jsonl"][log]);
        let exists = self.model.tree.contains_key(&path);
        match step {
            Step::Append => self.write(&path, lines),
            Step::Rewrite => {
                if exists {
                    self.empty(&path);
                }
                self.write(&path, lines);
            }
            Step::Replace => {
                self.delete(&path);
                self.write(&path, lines);
            }
            Step::Empty if exists => self.empty(&path),
            Step::Delete => self.delete(&path),
            Step::Rotate | Step::RotateAway if exists => {
                let name = format!("rotated-{}.jsonl", self.count);
                let texts = self.model.tree.remove(&path).unwrap();
                if matches!(step, Step::Rotate) {
                    let to = self.machine.log(&name);
                    fs::rename(&path, &to).unwrap();
                    self.changed.insert(to.clone());
                    self.model.tree.insert(to, texts);
                } else {
                    fs::rename(&path, self.machine.dir.path().join(name)).unwrap();
                }
                self.write(&path, lines);
            }
            Step::Empty | Step::Rotate | Step::RotateAway => {}
            Step::SweepChanged => self.sweep_changed(),
            Step::Rescan => {
                self.sweep_changed();
                self.machine.rescan(&self.watched, WHILE_WRITING);
            }
        }
    }

    fn write(&mut self, path: &Path, lines: usize) {
        for _ in 0..lines {
            self.count += 1;
            // Each text has its own length, so that a change shows even if the clock of the file
            // system does not advance between two writes.
            let text = format!("text{} {}", self.count, "x".repeat(self.count));
            append(path, &prompt("s", &text));
            let texts = self.model.tree.entry(path.to_owned()).or_default();
            texts.push(text);
        }
        self.changed.insert(path.to_owned());
    }

    fn empty(&mut self, path: &Path) {
        fs::write(path, "").unwrap();
        self.model.tree.insert(path.to_owned(), Vec::new());
        self.changed.insert(path.to_owned());
    }

    fn delete(&mut self, path: &Path) {
        if self.model.tree.remove(path).is_some() {
            fs::remove_file(path).unwrap();
            self.changed.insert(path.to_owned());
        }
    }

    fn sweep_changed(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        for path in &changed {
            self.model.record_seen(path);
        }
        let now = Timestamp::from_second(WHILE_WRITING).unwrap();
        let stop = AtomicBool::new(false);
        let control = SweepControl::new(&stop);
        let sources = self.machine.sources();
        sweep_paths(&self.watched, &sources, &changed, &control, now).unwrap();
        self.machine.rescan(&self.swept, WHILE_WRITING);
    }
}

/// Returns the lines of a store's dump, without what depends on the moment at which a log was read
/// again: the order of records that it has lost, its earlier versions, the cursor of a log that is
/// gone, and which log of a session gives it its title.
fn sorted_dump(store: &Store) -> Vec<String> {
    let dump = store.dump().unwrap();
    let is_there = |line: &&str| {
        let path = line.split(" | ").find(|cell| cell.ends_with(".jsonl"));
        path.is_none_or(|path| Path::new(path).exists())
    };
    let without_title = |line: &str| {
        let is_session = line.starts_with("claude:");
        let cells = line.split(" | ").enumerate();
        let cells = cells.filter(|(at, _)| !is_session || *at != 3);
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(" | ")
    };
    let is_current = |line: &&str| !line.contains(".jsonl | 0 | ");
    let lines = dump.lines().filter(is_there).filter(is_current);
    let mut lines: Vec<_> = lines.map(without_title).collect();
    lines.sort();
    lines
}

/// Returns the texts of all records, and checks that none is there twice.
fn texts(store: &Store) -> BTreeSet<String> {
    let filter = SessionFilter {
        limit: 1000,
        ..SessionFilter::default()
    };
    let mut texts = BTreeSet::new();
    for session in store.sessions(&filter).unwrap() {
        let each = |record: store::StoredRecord| {
            assert!(texts.insert(record.content.clone()), "{}", record.content);
        };
        store.each_record(&session.id, each).unwrap();
    }
    texts
}

/// Each case sweeps several times, so the default number is small; `PROPTEST_CASES` raises it.
#[expect(clippy::disallowed_methods, reason = "the variable is proptest's own")]
fn config() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let usual = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if asked {
        usual
    } else {
        ProptestConfig { cases: 32, ..usual }
    }
}

fn steps() -> impl Strategy<Value = Vec<(Step, usize, usize)>> {
    use Step::{Append, Delete, Empty, Replace, Rescan, Rewrite, Rotate, RotateAway, SweepChanged};
    let step = prop_oneof![
        4 => Just(Append),
        2 => Just(Rewrite),
        1 => Just(Replace),
        1 => Just(Empty),
        1 => Just(Delete),
        1 => Just(Rotate),
        1 => Just(RotateAway),
        5 => Just(SweepChanged),
        1 => Just(Rescan),
    ];
    prop::collection::vec((step, 0_usize..3, 1_usize..4), 1..24)
}

proptest! {
    #![proptest_config(config())]

    /// Sweeping changed paths ends in the same store as sweeping all roots at the same moments. The
    /// store holds what [`Model`] says, including all that one sweep of the final tree finds.
    #[test]
    fn sweeping_changes_equals_sweeping_everything(steps in steps()) {
        let mut play = Play::new();
        for (step, log, lines) in steps {
            play.apply(step, log, lines);
        }
        play.sweep_changed();
        let remembered = play.model.memory.clone();
        prop_assert_eq!(texts(&play.watched), remembered.clone());

        // The first rescan notices which logs are gone. The second reads the logs again that may
        // hold what others have lost.
        for _ in 0..2 {
            play.machine.rescan(&play.watched, WHILE_WRITING);
            play.machine.rescan(&play.swept, WHILE_WRITING);
        }
        prop_assert_eq!(texts(&play.watched), remembered.clone());
        prop_assert_eq!(sorted_dump(&play.watched), sorted_dump(&play.swept));

        let fresh = play.machine.store("fresh");
        play.machine.rescan(&fresh, LONG_AFTER);
        let present: BTreeSet<_> = play.model.tree.values().flatten().cloned().collect();
        prop_assert_eq!(texts(&fresh), present.clone());
        prop_assert!(present.is_subset(&remembered));
    }
}
