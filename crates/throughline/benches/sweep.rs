//! Benchmarks ingestion, digests, searches and retention, compared with a lower bound on the same
//! machine.
//!
//!     cargo bench --bench sweep -- [--sessions 800] [--seed 1] [--encrypted 1] [--events 50000]
//!         [--program FILE]
//!
//! Generates a corpus with the text lengths of real logs and a few secrets, and measures in one
//! run: reading and parsing the same bytes on one core (the floor), `throughline ingest` as a
//! process of its own, and in this process a first sweep, the digests of all its sessions, a sweep
//! with nothing to do, a sweep after one new line, searches beside the bare index, packing
//! everything for the long term, and evicting half of it. Then it ingests single sessions of half
//! of `--events` and of all of them, without secrets and with a new one in every tenth prompt; 0
//! leaves these out. `--program` measures another binary, such as an earlier one. Figures of a
//! loaded machine are only good as ratios, and processor time (user and system) more than elapsed
//! time.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the figures are the output, and a process is what is measured"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run should say where"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capture::flavor::ADAPTERS;
use capture::{CaptureScope, Root, Sources, SweepControl, SweepReport};
use distill::digest::{DigestOptions, digest_pending};
use jiff::{SignedDuration, Timestamp};
use memory::Prices;
use store::encryption::{self, KeyLocation, NoKeychain};
use store::foreign::ForeignDatabase;
use store::retention::RetentionPolicy;
use store::{Query, Store};
use testkit::corpus::{self, Agent, Options};
use testkit::files_below;
use testkit::floor::{self, Depth, Floor};
use testkit::process::{self, ProcessCost};

/// The chance that a prompt or a tool result of the corpus holds a secret.
const SECRET_RATE: f64 = 0.002;

fn main() {
    let option = |name: &str, default: u64| {
        let arguments: Vec<_> = std::env::args().collect();
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let sessions = usize::try_from(option("--sessions", 800)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (logs, home) = (dir.path().join("logs"), dir.path().join("home"));
    let options = Options {
        sessions,
        seed: option("--seed", 1),
        secret_rate: SECRET_RATE,
        ..Options::default()
    };
    let is_encrypted = option("--encrypted", 0) > 0;
    if is_encrypted {
        encrypt(&home, &dir.path().join("key"));
    }
    let made = corpus::write(&options, &logs).unwrap();
    let mb = made.bytes as f64 / 1e6;
    println!(
        "corpus            {} sessions, {} lines, {mb:.1} MB",
        made.sessions, made.lines
    );

    let parsed = measure_floor(&logs);
    println!(
        "floor             {:.0} MB/s read and parsed on one core, {:.2} s of processor time",
        parsed.megabytes_per_second(),
        floor_cpu(&parsed).as_secs_f64(),
    );
    if !is_encrypted {
        ingest_in_process_of_its_own(&logs, &dir.path().join("ingested"), &parsed);
    }

    let cpu = process::own_cpu();
    let (sweep, took) = timed(|| run_sweep(&logs, &home));
    let cpu = cpu.zip(process::own_cpu()).map(|(a, b)| b - a);
    let rate = |count: f64| count / took.as_secs_f64();
    println!(
        "first sweep       {:.2} s, {:.1} MB/s, {:.0} records/s, {:.1}x the floor's time; {}",
        took.as_secs_f64(),
        rate(mb),
        rate(sweep.records as f64),
        took.as_secs_f64() / parsed.elapsed.as_secs_f64(),
        describe_cpu(cpu, &parsed),
    );
    let stored = size_below(&home) as f64 / 1e6;
    println!("store / source    {:.2} ({stored:.1} MB)", stored / mb);

    let swept = took;
    digests(&home, sweep.read_bytes, swept);

    let (idle, took) = timed(|| run_sweep(&logs, &home));
    assert_eq!(idle.ingested, 0);
    println!(
        "nothing to do     {:.1} ms for {} logs",
        ms(took),
        idle.discovered
    );
    append_line(&logs);
    let (one, took) = timed(|| run_sweep(&logs, &home));
    assert_eq!(one.records, 1);
    println!("one new line      {:.1} ms", ms(took));
    searches(&home, is_encrypted);
    packs(&home);
    searches(&home, is_encrypted);
    evicts(&home);
    let events = option("--events", 50_000);
    if events > 0 && !is_encrypted {
        long_sessions(dir.path(), events);
    }
}

/// Reads and parses the corpus a few times, and returns the fastest reading.
fn measure_floor(logs: &Path) -> Floor {
    let read = || floor::read_and_parse(logs, Depth::Envelope).unwrap();
    (0..3).map(|_| read()).min_by_key(floor_cpu).unwrap()
}

fn floor_cpu(floor: &Floor) -> Duration {
    floor.cpu.unwrap_or(floor.elapsed)
}

fn describe_cpu(cpu: Option<Duration>, floor: &Floor) -> String {
    cpu.map_or_else(
        || "processor time unknown".to_owned(),
        |cpu| {
            let ratio = cpu.as_secs_f64() / floor_cpu(floor).as_secs_f64();
            format!(
                "{:.2} s of processor time, {ratio:.1}x the floor's",
                cpu.as_secs_f64()
            )
        },
    )
}

/// Runs `throughline ingest`, with the digests and facts that follow the sweep.
fn ingest_in_process_of_its_own(logs: &Path, home: &Path, floor: &Floor) {
    let cost = ingest(logs, home);
    let (stored, mb) = (size_below(home) as f64 / 1e6, floor.bytes as f64 / 1e6);
    println!(
        "ingest            {:.2} s; {}",
        cost.elapsed.as_secs_f64(),
        describe_cpu(cost.cpu, floor)
    );
    println!(
        "peak memory       {:.0} MB anonymous, {:.0} MB of mapped files",
        cost.peak.anonymous_bytes as f64 / 1e6,
        cost.peak.mapped_bytes as f64 / 1e6
    );
    println!("store / source    {:.2} ({stored:.1} MB)", stored / mb);
}

fn ingest(logs: &Path, home: &Path) -> ProcessCost {
    let arguments: Vec<_> = std::env::args().collect();
    let at = arguments
        .iter()
        .position(|argument| argument == "--program");
    let program = at.and_then(|at| arguments.get(at + 1)).map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_throughline")),
        PathBuf::from,
    );
    let child = Command::new(program)
        .arg("--home")
        .arg(home)
        .arg("ingest")
        .arg("--root")
        .arg(logs)
        .env("HOME", logs)
        .env("THROUGHLINE_DAEMON", "off")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    process::wait_and_measure(child).unwrap()
}

/// Ingests single long sessions: half as long and whole, without secrets and with them.
fn long_sessions(dir: &Path, events: u64) {
    let measure = |events: u64, prompts_per_secret: u64| {
        let name = format!("session-{events}-{prompts_per_secret}");
        let (logs, home) = (dir.join(&name), dir.join(format!("{name}-home")));
        let options = Options {
            sessions: 1,
            agents: vec![Agent::Claude],
            lines: Some(events),
            prompts_per_secret,
            ..Options::default()
        };
        let made = corpus::write(&options, &logs).unwrap();
        let cost = ingest(&logs, &home);
        let seconds = cost.cpu.unwrap_or(cost.elapsed).as_secs_f64();
        println!(
            "one session       {} events, {:.1} MB, {} secrets: {seconds:.2} s of processor time, \
             {:.0} MB anonymous",
            made.lines,
            made.bytes as f64 / 1e6,
            made.planted,
            cost.peak.anonymous_bytes as f64 / 1e6
        );
        std::fs::remove_dir_all(&logs).unwrap();
        std::fs::remove_dir_all(&home).unwrap();
        seconds
    };
    let (half, whole) = (measure(events / 2, 0), measure(events, 0));
    let (half_secret, whole_secret) = (measure(events / 2, 10), measure(events, 10));
    println!(
        "twice the events  {:.2}x the processor time, {:.2}x with secrets; \
         secrets cost {:.2}x and {:.2}x",
        whole / half,
        whole_secret / half_secret,
        half_secret / half,
        whole_secret / whole
    );
}

/// Digests every session, and compares the time with that of the sweep.
fn digests(home: &Path, logs_bytes: u64, swept: Duration) {
    let store = Store::open(home).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let terms = DigestOptions {
        quiet_for: QUIET,
        prices: &Prices::default(),
        threads,
        stop: &AtomicBool::new(false),
    };
    let (made, took) = timed(|| digest_pending(&store, &terms, now()).unwrap());
    assert!(made.failed.is_empty());
    let usage = store.disk_usage(now()).unwrap();
    let each = usage.distilled_bytes as f64 / made.analyzed.max(1) as f64;
    println!(
        "digests           {:.2} s for {} sessions, {:.2}x the sweep's time",
        took.as_secs_f64(),
        made.analyzed,
        took.as_secs_f64() / swept.as_secs_f64()
    );
    println!(
        "digest / source   {:.4} ({each:.0} bytes of digest, usage and row per session)",
        usage.distilled_bytes as f64 / logs_bytes as f64,
    );
}

/// Packs every session.
fn packs(home: &Path) {
    let store = Store::open(home).unwrap();
    let before = store.disk_usage(now()).unwrap().raw_bytes;
    let stop = AtomicBool::new(false);
    let (packed, took) = timed(|| {
        store
            .pack_old_sessions(now(), None, &stop, &|_| {})
            .unwrap()
    });
    let after = store.disk_usage(now()).unwrap().raw_bytes;
    println!(
        "packed / text     {:.3} ({:.1} of {:.1} MB, {} sessions, {:.1} s)",
        packed.ratio(),
        packed.packed_bytes as f64 / 1e6,
        packed.text_bytes as f64 / 1e6,
        packed.sessions,
        took.as_secs_f64()
    );
    println!(
        "store, packed     {:.1} MB in use before, {:.1} MB after",
        before as f64 / 1e6,
        after as f64 / 1e6
    );
}

/// Evicts the older half, and measures the space that the file system gets back.
fn evicts(home: &Path) {
    let store = Store::open(home).unwrap();
    let before = (store.disk_usage(now()).unwrap().raw_bytes, size_below(home));
    let policy = RetentionPolicy {
        raw_soft_cap_bytes: before.0 / 2,
        raw_hard_cap_bytes: u64::MAX,
        raw_max_age: None,
        delete_after: None,
        distilled_cap_bytes: u64::MAX,
        workspaces: Vec::new(),
    };
    // Sessions captured since the last run are not evicted, so run once without a limit.
    let roomy = RetentionPolicy {
        raw_soft_cap_bytes: u64::MAX,
        ..policy.clone()
    };
    store.evict(&roomy, QUIET, now()).unwrap();
    let (retained, took) = timed(|| store.evict(&policy, QUIET, now()).unwrap());
    drop(store);
    println!(
        "evicted to half   {} sessions, {:.1} MB freed, {:.1} MB in use (cap {:.1}), \
         file {:.1} to {:.1} MB, {:.2} s",
        retained.sessions(),
        retained.freed as f64 / 1e6,
        retained.final_usage as f64 / 1e6,
        before.0 as f64 / 2e6,
        before.1 as f64 / 1e6,
        size_below(home) as f64 / 1e6,
        took.as_secs_f64()
    );
}

const QUIET: SignedDuration = SignedDuration::from_mins(30);

fn now() -> Timestamp {
    Timestamp::from_second(4_000_000_000).unwrap()
}

/// Creates an empty encrypted store.
fn encrypt(home: &Path, key: &Path) {
    drop(Store::open(home).unwrap());
    let place = KeyLocation::File(key.to_owned());
    encryption::encrypt(home, &place, &NoKeychain, &mut |_| Ok(())).unwrap();
}

fn run_sweep(logs: &Path, home: &Path) -> SweepReport {
    let store = Store::open(home).unwrap();
    let root = Root {
        path: logs.to_owned(),
        flavor: None,
    };
    let sources = Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![root],
        all_roots: true,
        scope: CaptureScope::default(),
        archive: true,
        threads: 1 + std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let stop = AtomicBool::new(false);
    let control = SweepControl::new(&stop);
    capture::sweep(&store, &sources, &control, now()).unwrap()
}

/// Appends a prompt to a log of Claude Code.
fn append_line(logs: &Path) {
    let path = files_below(&logs.join(".claude"))
        .into_iter()
        .next()
        .unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    let entry = serde_json::json!({
        "type": "user", "uuid": "bench", "parentUuid": null, "sessionId": "bench", "cwd": "/b",
        "timestamp": "2026-01-05T09:00:00Z",
        "message": {"role": "user", "content": "one more line"},
    });
    writeln!(file, "{entry}").unwrap();
}

/// Compares searches with the bare index: the same expression, rows only, best twenty. That of an
/// encrypted store is out of reach.
fn searches(home: &Path, is_encrypted: bool) {
    let store = Store::open(home).unwrap();
    let words = frequent_words(home);
    let common = |n: usize| {
        words
            .iter()
            .step_by(7)
            .skip(n)
            .take(n)
            .cloned()
            .collect::<Vec<_>>()
    };
    for (name, count) in [("one word", 1), ("three words", 3), ("eight words", 8)] {
        let mut ours = Vec::new();
        let mut bare = Vec::new();
        let raw =
            (!is_encrypted).then(|| ForeignDatabase::open(&Store::database_path(home)).unwrap());
        for round in 0..50 {
            let terms: Vec<_> = common(8)
                .iter()
                .chain(&words)
                .skip(round * 3 % 40)
                .take(count)
                .cloned()
                .collect();
            let query = Query {
                text: terms.join(" "),
                limit: 20,
                ..Query::default()
            };
            let ask = recall::RecallQuery {
                query,
                ..recall::RecallQuery::default()
            };
            let now = Timestamp::from_second(4_000_000_000).unwrap();
            ours.push(timed(|| recall::search(&store, &ask, now).unwrap()).1);
            let quoted: Vec<_> = terms
                .iter()
                .map(|term| format!("\"{}\"", stem(term)))
                .collect();
            let expression = quoted.join(" OR ");
            let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20";
            let look = |raw: &ForeignDatabase| raw.each_row(sql, &[&expression], |_| {}).unwrap();
            bare.push(timed(|| raw.as_ref().map(look)).1);
        }
        let (ours, bare) = (percentiles(ours), percentiles(bare));
        println!(
            "search {name:<11} p50 {:.2} p95 {:.2} ms; bare index p50 {:.2} p95 {:.2} ms",
            ours.0, ours.1, bare.0, bare.1
        );
    }
}

fn stem(word: &str) -> String {
    store::terms::stem::stem(&word.to_lowercase()).into_owned()
}

/// Returns words that occur in many records: found by search, not taken from compressed texts.
fn frequent_words(home: &Path) -> Vec<String> {
    let store = Store::open(home).unwrap();
    let query = Query {
        text: "test*".to_owned(),
        limit: 200,
        ..Query::default()
    };
    let long = |word: &&str| word.len() > 4 && word.chars().all(char::is_alphabetic);
    let hits = store.search(&query).unwrap().hits;
    hits.iter()
        .flat_map(|hit| hit.snippet.text.split_whitespace().filter(long).take(2))
        .map(str::to_owned)
        .collect()
}

fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    (
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
    )
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn size_below(folder: &Path) -> u64 {
    files_below(folder)
        .iter()
        .map(|file| std::fs::metadata(file).unwrap().len())
        .sum()
}
