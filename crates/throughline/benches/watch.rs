//! Benchmarks `watch`: its idle cost, and how soon a new line is found.
//!
//!     cargo bench --bench watch -- [--files 20000] [--idle-seconds 60] [--lines 50]
//!
//! Generates many small logs, watches them, and measures the processor time of this process while
//! nothing happens (with the rescans that fall into it), that of one rescan, and then the time from
//! writing a line to its being found by a search on another connection.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(
    clippy::disallowed_methods,
    reason = "a watcher needs the time, and a benchmark is a binary"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run should say where"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use capture::flavor::ADAPTERS;
use capture::{CaptureScope, Root, Sources, SweepControl, SweepReport, WatchOptions};
use jiff::Timestamp;
use store::{Query, Store};

/// Logs of one project are in one folder.
const LOGS_PER_FOLDER: usize = 100;
/// The kernel counts processor time in these, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() {
    let option = |name: &str, default: u64| {
        let arguments: Vec<_> = std::env::args().collect();
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let files = usize::try_from(option("--files", 20_000)).unwrap();
    let idle = Duration::from_secs(option("--idle-seconds", 60));
    let dir = tempfile::tempdir().unwrap();
    let (logs, home) = (dir.path().join("logs"), dir.path().join("home"));
    let paths = make_logs(&logs, files);
    println!(
        "watched           {files} logs in {} folders",
        files.div_ceil(LOGS_PER_FOLDER)
    );

    let stop = AtomicBool::new(false);
    let (reports, swept) = channel();
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut report = |sweep: &SweepReport| reports.send(sweep.records).unwrap();
            watch(&logs, &home, &stop, &mut report);
        });
        let started = Instant::now();
        let records = swept.recv().unwrap();
        println!(
            "first sweep       {:.2} s, {records} records",
            started.elapsed().as_secs_f64()
        );
        idle_cost(idle);
        rescan_cost(&logs, &home);
        latency(&paths, &home, &swept, option("--lines", 50));
        let asked = Instant::now();
        stop.store(true, Ordering::Relaxed);
        watching.join().unwrap();
        println!("stop              {:.0} ms", ms(asked.elapsed()));
    });
}

fn make_logs(logs: &Path, files: usize) -> Vec<PathBuf> {
    (0..files)
        .map(|file| {
            let folder = logs.join(format!("claude/-work-{}", file / LOGS_PER_FOLDER));
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("{file}.jsonl"));
            append(
                &path,
                &format!("session-{file}"),
                &format!("log number {file}"),
            );
            path
        })
        .collect()
}

fn watch(logs: &Path, home: &Path, stop: &AtomicBool, on_sweep: &mut dyn FnMut(&SweepReport)) {
    let (store, options) = (Store::open(home).unwrap(), WatchOptions::default());
    let sources = sources(logs);
    capture::watch(&store, &sources, options, stop, on_sweep, &Timestamp::now).unwrap();
}

fn sources(logs: &Path) -> Sources {
    let root = Root {
        path: logs.to_owned(),
        flavor: None,
    };
    Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![root],
        all_roots: true,
        scope: CaptureScope::default(),
        archive: true,
        threads: 1 + std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    }
}

fn append(path: &Path, session: &str, text: &str) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    // Agents write each line with a single call.
    let entry = serde_json::json!({
        "type": "user", "uuid": text, "parentUuid": null, "sessionId": session, "cwd": "/b",
        "timestamp": "2026-01-05T09:00:00Z", "message": {"role": "user", "content": text},
    });
    file.write_all(format!("{entry}\n").as_bytes()).unwrap();
}

fn idle_cost(idle: Duration) {
    let Some(before) = cpu_seconds() else {
        println!("idle              not measured: no /proc here");
        return;
    };
    std::thread::sleep(idle);
    let spent = cpu_seconds().unwrap_or(before) - before;
    println!(
        "idle              {spent:.2} s of processor time in {} s ({:.3} %)",
        idle.as_secs(),
        spent / idle.as_secs_f64() * 100.0
    );
}

fn rescan_cost(logs: &Path, home: &Path) {
    const TIMES: u32 = 20;
    let (sources, never) = (sources(logs), AtomicBool::new(false));
    let control = SweepControl::new(&never);
    let store = Store::open(home).unwrap();
    let (started, before) = (Instant::now(), cpu_seconds().unwrap_or_default());
    for _ in 0..TIMES {
        capture::sweep(&store, &sources, &control, Timestamp::now()).unwrap();
    }
    let spent = (cpu_seconds().unwrap_or_default() - before) / f64::from(TIMES);
    println!(
        "rescan            {:.0} ms, {:.0} ms of processor time",
        ms(started.elapsed() / TIMES),
        spent * 1e3
    );
}

/// Returns the processor time of this process so far, in user and system mode.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in brackets, may hold spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn latency(paths: &[PathBuf], home: &Path, swept: &Receiver<usize>, lines: u64) {
    let store = Store::open(home).unwrap();
    let mut times = Vec::new();
    for line in 0..lines {
        let at = usize::try_from(line).unwrap() * 7919 % paths.len();
        let word = format!("fresh{line}");
        let query = Query {
            text: word.clone(),
            limit: 1,
            ..Query::default()
        };
        append(&paths[at], &format!("session-{at}"), &word);
        let written = Instant::now();
        while store.search(&query).unwrap().hits.is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        times.push(written.elapsed());
        // The next line is a burst of its own.
        let _reported = swept.recv_timeout(Duration::from_secs(5)).unwrap();
    }
    times.sort_unstable();
    println!(
        "line to hit       p50 {:.0} ms, p95 {:.0} ms, worst {:.0} ms, over {lines} lines",
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
        ms(times[times.len() - 1]),
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
