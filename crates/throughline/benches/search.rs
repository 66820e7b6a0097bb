//! Benchmarks searches, compared with the bare index, and forgetting.
//!
//!     cargo bench -p throughline --bench search -- [--records 100000] [--rounds 200] [--keep DIR]
//!
//! Fills a store with agent-like records of about 300 bytes in eight workspaces, and asks in one of
//! them: one word, three words, and eight as a prompt has them. Beside it stands what the index
//! alone needs to name its best twenty, asked in SQL. `throughline context` is run as a hook runs
//! it, a process for each prompt, beside a process that only says its version. Then records and
//! sessions are forgotten. A store that is kept in a folder is used again, and nothing of it is
//! forgotten.
//!
//! Times of questions are processor time where the system tells it (Linux), so that other work on
//! the machine does not count; forgetting waits for the disk and is shown as it took.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot run should say where; it runs the program"
)]

mod generated;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use memory::{Flavor, SessionId};
use store::foreign::ForeignDatabase;
use store::forget::Selection;
use store::{Query, Store};

use crate::generated::{Random, SESSION_RECORDS, fill, word};

/// The workspace that is searched, and its term in the index.
const ASKED: (&str, &str) = ("/w3", "\"@w4\"");
/// The number of records and sessions that are forgotten.
const FORGOTTEN: usize = 10;

fn main() {
    let records = option("--records", 100_000);
    let rounds = usize::try_from(option("--rounds", 200)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let kept = argument("--keep").map(PathBuf::from);
    let home = kept.as_deref().unwrap_or(dir.path());
    let mut random = Random(7);
    let is_made = Store::database_path(home).exists();
    let store = Store::open(home).unwrap();
    if !is_made {
        build(&store, &mut random, records);
    }
    meanings();
    let raw = ForeignDatabase::open(&Store::database_path(home)).unwrap();
    for (name, count) in [("one word", 1), ("three words", 3), ("eight words", 8)] {
        let asked: Vec<_> = (0..rounds).map(|_| random.words(count)).collect();
        let lists = asked.iter().map(|words| worked(|| lists(&store, words)));
        let (lists, ours) = (lists.collect(), asked.iter());
        let ours = ours.map(|words| worked(|| search(&store, words))).collect();
        let bare = asked.iter().map(|words| worked(|| bare(&raw, words)));
        show(name, ours, lists, bare.collect());
    }
    drop(store);
    contexts(home, &mut random, rounds.min(100));
    if kept.is_none() {
        forgetting(home, records);
    }
}

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|given| given != name).nth(1)
}

fn option(name: &str, default: u64) -> u64 {
    let given = argument(name);
    given
        .and_then(|given| given.parse().ok())
        .unwrap_or(default)
}

fn build(store: &Store, random: &mut Random, records: u64) {
    let start = Instant::now();
    let bytes = fill(store, random, records);
    let took = start.elapsed().as_secs_f64();
    println!(
        "stored and indexed {records} records, {:.0} MB of text, in {took:.1} s: {:.0} records/s",
        bytes as f64 / 1e6,
        records as f64 / took
    );
    let start = Instant::now();
    store.rebuild_index(std::sync::Arc::new(|_, _| {})).unwrap();
    let took = start.elapsed().as_secs_f64();
    println!("indexed anew       {:.0} records/s", records as f64 / took);
}

/// The part of a search that is the index: which rows hold each word.
fn lists(store: &Store, words: &[String]) -> u64 {
    let query = query(words);
    let rows = store.lookup(|lookup| {
        let scope = lookup.scope(&query)?.unwrap();
        let within = lookup.scoped_rows(&scope)?.unwrap();
        let mut rows = 0;
        for word in words {
            let term = store::terms::stem::stem(word);
            rows += lookup
                .rows_with_terms(&within, &[&*term], 3000)?
                .unwrap()
                .count;
        }
        Ok(rows)
    });
    rows.unwrap()
}

fn search(store: &Store, words: &[String]) -> recall::RankedHits {
    let ask = recall::RecallQuery {
        query: query(words),
        ..recall::RecallQuery::default()
    };
    recall::search(store, &ask, Timestamp::UNIX_EPOCH).unwrap()
}

fn query(words: &[String]) -> Query {
    Query {
        text: words.join(" "),
        workspace_key: Some(ASKED.0.into()),
        limit: 20,
        ..Query::default()
    }
}

fn bare(raw: &ForeignDatabase, words: &[String]) {
    let any: Vec<_> = words
        .iter()
        .map(|word| format!("\"{}\"", store::terms::stem::stem(word)))
        .collect();
    let expression = format!("{} AND ({})", ASKED.1, any.join(" OR "));
    let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20";
    raw.each_row(sql, &[&expression], |_| {}).unwrap();
}

fn show(name: &str, ours: Vec<Duration>, lists: Vec<Duration>, bare: Vec<Duration>) {
    let (ours, lists, bare) = (percentiles(ours), percentiles(lists), percentiles(bare));
    println!(
        "{name:<18} p50 {:.2} p95 {:.2} ms, of it the index {:.2} and {:.2}; \
         raw SQL {:.2} and {:.2}: {:.2}x and {:.2}x",
        ours.0,
        ours.1,
        lists.0,
        lists.1,
        bare.0,
        bare.1,
        ours.0 / bare.0,
        ours.1 / bare.1
    );
}

/// Starts a process for each prompt, as hooks do.
fn contexts(home: &Path, random: &mut Random, rounds: usize) {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_throughline"));
        command.args(arguments).env("HOME", home);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        let process = format!("/proc/{}", child.id());
        // Its output ends when it does; it still has its account then.
        std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        let worked = processor_time(&process);
        child.wait().unwrap();
        worked.unwrap_or(start.elapsed())
    };
    let (mut ours, mut empty) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let prompt = random.words(8).join(" ");
        let folder = home.to_str().unwrap();
        ours.push(run(&[
            "context", "--home", folder, "--workspace", ASKED.0, "--", &prompt,
        ]));
        empty.push(run(&["--version"]));
    }
    let (ours, empty) = (percentiles(ours), percentiles(empty));
    println!(
        "context            p50 {:.2} p95 {:.2} ms; an empty process {:.2} and {:.2}: \
         {:.1}x and {:.1}x",
        ours.0,
        ours.1,
        empty.0,
        empty.1,
        ours.0 / empty.0,
        ours.1 / empty.1
    );
}

fn forgetting(home: &Path, records: u64) {
    let store = Store::open(home).unwrap();
    let now = Timestamp::from_second(1_790_000_000).unwrap();
    let (mut singles, mut sessions) = (Vec::new(), Vec::new());
    for nth in 0..FORGOTTEN as u64 {
        let id = |session: u64| SessionId::of(Flavor::Claude, &format!("session-{session}"));
        let (one, other) = (nth * 7 + 1, records / SESSION_RECORDS - 1 - nth * 5);
        let mut found = None;
        let note = |record: store::StoredRecord| found = found.take().or(Some(record.id));
        store.each_record(&id(one), note).unwrap();
        let record = Selection {
            records: found.into_iter().collect(),
            ..Selection::default()
        };
        let session = Selection {
            sessions: vec![id(other)],
            ..Selection::default()
        };
        for (selection, times) in [(record, &mut singles), (session, &mut sessions)] {
            times.push(timed(|| {
                let doomed = store.plan_forget(&selection).unwrap();
                store.forget(doomed, now).unwrap()
            }));
        }
    }
    for (name, times) in [("forget a record", singles), ("forget a session", sessions)] {
        let (p50, p95) = percentiles(times);
        println!("{name:<18} p50 {p50:.0} p95 {p95:.0} ms");
    }
}

/// Measures the lookup of word vectors.
fn meanings() {
    let meanings = recall::embedding::EmbeddingTable::load().unwrap();
    // As many as take longer than a step of the clock.
    let words: Vec<_> = (0..40_000).cycle().take(800_000).map(word).collect();
    let bytes: usize = words.iter().map(String::len).sum();
    let mut vector = [0.0; recall::embedding::DIMS];
    let took = worked(|| {
        for word in &words {
            meanings.add_word(word, &mut vector);
        }
    });
    println!(
        "meanings           {:.1} MB/s",
        bytes as f64 / 1e6 / took.as_secs_f64()
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let _result = std::hint::black_box(work());
    start.elapsed()
}

/// Returns how long the processor worked; how long it took, where the system does not tell.
fn worked<T>(work: impl FnOnce() -> T) -> Duration {
    let before = processor_time("/proc/thread-self");
    let took = timed(work);
    let after = processor_time("/proc/thread-self");
    after
        .zip(before)
        .map_or(took, |(after, before)| after - before)
}

fn processor_time(process: &str) -> Option<Duration> {
    let account = std::fs::read_to_string(format!("{process}/schedstat")).ok()?;
    let nanoseconds = account.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    (
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
    )
}
