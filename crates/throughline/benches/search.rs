//! Benchmarks searches, compared with the bare index, and forgetting.
//!
//!     cargo bench -p throughline --bench search -- [--records 100000] [--rounds 200] [--keep DIR]
//!
//! Fills a store with records of the sizes that agents' logs have, in eight workspaces, and
//! searches all of them for twenty hits: for a rare word, a common word, an identifier and a
//! question, each time with other words. Beside each stands what the index alone needs to name its
//! best twenty, asked in SQL. Then a daemon is asked the same over its socket, for its list of
//! sessions and for a timeline, on one connection. `throughline search` and `throughline context`
//! are run as processes, beside a process that only prints its version. Finally, records and
//! sessions are forgotten. A store that is kept in a folder is used again, and nothing of it is
//! forgotten.
//!
//! The processor time of a thread is measured in steps of 4 ms on some systems, so times are as a
//! clock tells them: run this on an idle machine.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot run should say where; it runs the program"
)]

mod generated;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use memory::{Flavor, SessionId};
use store::foreign::ForeignDatabase;
use store::forget::Selection;
use store::{Query, Store};

use crate::generated::{NOW_SECOND, Random, SESSION_RECORDS, WORDS, fill_like_logs, word};

/// The workspace that prompts are asked in.
const WORKSPACE: &str = "/w3";
/// The facts in the store.
const FACTS: u64 = 200;
/// The number of hits.
const HITS: usize = 20;
/// The number of records and sessions that are forgotten.
const FORGOTTEN: usize = 10;
/// How long a daemon may take to start, on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A kind of query, and how one is made.
type QueryKind = (&'static str, fn(&mut Random) -> String);

const KINDS: [QueryKind; 4] = [
    ("rare word", |random| {
        word(WORDS - 1 - random.below(WORDS / 4))
    }),
    ("common word", |random| word(random.below(100))),
    ("identifier", Random::identifier),
    ("question", |random| {
        format!("how did we {}?", random.words(8).join(" "))
    }),
];

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
    let raw = ForeignDatabase::open(&Store::database_path(home)).unwrap();
    let mut asked = Vec::new();
    for (name, make) in KINDS {
        let queries: Vec<_> = (0..rounds).map(|_| make(&mut random)).collect();
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for query in &queries {
            ours.push(timed(|| search(&store, query)));
            bare.push(timed(|| search_sql(&raw, query)));
        }
        show(name, ours, "raw SQL", bare);
        asked.push((name, queries));
    }
    drop(store);
    ask_daemon(home, &asked);
    run_processes(home, &mut random, rounds.min(100));
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
    let bytes = fill_like_logs(store, random, records, FACTS);
    let took = start.elapsed().as_secs_f64();
    println!(
        "stored and indexed {records} records, {:.0} MB of text, in {took:.1} s: {:.0} records/s",
        bytes as f64 / 1e6,
        records as f64 / took
    );
}

fn search(store: &Store, text: &str) -> recall::RankedHits {
    let ask = recall::RecallQuery {
        query: Query {
            text: text.to_owned(),
            limit: HITS,
            ..Query::default()
        },
        ..recall::RecallQuery::default()
    };
    recall::search(store, &ask, Timestamp::UNIX_EPOCH).unwrap()
}

fn search_sql(raw: &ForeignDatabase, text: &str) {
    let mut any = Vec::new();
    store::terms::words(text, |word| {
        any.push(format!("\"{}\"", store::terms::term(&word)));
    });
    let expression = any.join(" OR ");
    let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20";
    raw.each_row(sql, &[&expression], |_| {}).unwrap();
}

/// Prints percentiles beside those of the floor.
fn show(name: &str, ours: Vec<Duration>, floor_name: &str, floor: Vec<Duration>) {
    let (ours, floor) = (percentiles(ours), percentiles(floor));
    println!(
        "{name:<20} p50 {:.2} p95 {:.2} ms; {floor_name} {:.2} and {:.2}: {:.2}x and {:.2}x",
        ours.0,
        ours.1,
        floor.0,
        floor.1,
        ours.0 / floor.0,
        ours.1 / floor.1
    );
}

/// Asks a daemon over one connection of its socket.
fn ask_daemon(home: &Path, asked: &[(&str, Vec<String>)]) {
    let daemon = Daemon::start(home);
    let mut connection = BufReader::new(UnixStream::connect(&daemon.socket).unwrap());
    let session = SessionId::of(Flavor::Claude, "session-1");
    let session = format!("/sessions/{session}/timeline?limit=50");
    let sessions = "/sessions?limit=50".to_owned();
    let rounds = asked[0].1.len();
    let health = vec!["/health".to_owned(); rounds];
    let mut cases = vec![
        ("http health", health),
        ("http sessions", vec![sessions; rounds]),
        ("http timeline", vec![session; rounds]),
    ];
    let names = [
        "http rare word", "http common word", "http identifier", "http question",
    ];
    for (name, (_, queries)) in names.into_iter().zip(asked) {
        let path = |query: &String| {
            let query = query.replace(' ', "+").replace('?', "%3F");
            format!("/memory/search?q={query}&k={HITS}")
        };
        cases.push((name, queries.iter().map(path).collect()));
    }
    for (name, paths) in cases {
        let mut bytes = 0;
        let ask = |path: &String| timed(|| bytes = bytes.max(get(&mut connection, path)));
        let (p50, p95) = percentiles(paths.iter().map(ask).collect());
        println!("{name:<20} p50 {p50:.2} p95 {p95:.2} ms, at most {bytes} bytes");
    }
}

/// Returns the length of the response's body.
fn get(connection: &mut BufReader<UnixStream>, path: &str) -> usize {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    let mut length = 0;
    let mut is_first = true;
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        assert!(!is_first || line.contains(" 200 "), "{path}: {line}");
        is_first = false;
        let header = line.trim_end().to_lowercase();
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    length
}

/// A daemon that is killed on drop.
struct Daemon {
    process: std::process::Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(home: &Path) -> Self {
        let card = home.join("daemon.json");
        // A daemon that was killed does not delete the file.
        let _none = std::fs::remove_file(&card);
        let null = Stdio::null;
        let mut command = command(home, &["serve", "--port", "0"]);
        let process = command.stdin(null()).stdout(null()).stderr(null()).spawn();
        let start = Instant::now();
        while !card.exists() {
            assert!(start.elapsed() < START_MAX, "the daemon does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self {
            process: process.unwrap(),
            socket: serve::daemon::home::socket_path(home),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throughline"));
    command
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .env("THROUGHLINE_HOME", home)
        .env("THROUGHLINE_DAEMON", "off")
        .env(
            "THROUGHLINE_NOW",
            Timestamp::from_second(NOW_SECOND).unwrap().to_string(),
        );
    command
}

/// Starts a process for each query and for each prompt.
fn run_processes(home: &Path, random: &mut Random, rounds: usize) {
    let run = |arguments: &[&str]| {
        let mut command = command(home, arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        timed(|| command.output().unwrap())
    };
    let (mut searches, mut contexts) = (Vec::new(), Vec::new());
    let mut empty = Vec::new();
    for _ in 0..rounds {
        let prompt = random.words(8).join(" ");
        searches.push(run(&["search", "--", &prompt]));
        contexts.push(run(&["context", "--workspace", WORKSPACE, "--", &prompt]));
        empty.push(run(&["--version"]));
    }
    show("search, process", searches, "--version", empty.clone());
    show("context, process", contexts, "--version", empty);
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

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let _result = std::hint::black_box(work());
    start.elapsed()
}

fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    (
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
    )
}
