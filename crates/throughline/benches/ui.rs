//! Benchmarks the interactive UI: searches for every key of a query, and the program in a terminal.
//!
//!     cargo bench -p throughline --bench ui -- [--records 100000] [--rounds 60] [--keep DIR]
//!
//! Fills a store with records of the sizes that agents' logs have. Queries are typed key by key,
//! each prefix a search as the UI runs it, beside the same prefix asked of FTS5 in SQL. Then the
//! program itself runs in a pseudo-terminal of 200 by 50, on this store and on an empty one: the
//! time until its first frame, until a key is echoed, until the screen rests after a key, and for a
//! frame that is redrawn.
//!
//! Times of searches are processor time where the system tells it (Linux), so that other work on
//! the machine does not count; what happens in the terminal is shown as it took.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot run should say where; it runs the program"
)]

mod generated;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serve::requests::AccessScope;
use serve::requests::search::SearchOptions;
use store::foreign::ForeignDatabase;
use store::{Query, Store};

use crate::generated::{NOW_SECOND, Random, fill_like_logs};

/// Facts in the store.
const FACTS: u64 = 2000;
/// The screen rests when nothing was drawn for this long.
const REST: Duration = Duration::from_millis(120);
/// Starts, keys and frames that are measured in the terminal.
const STARTS: usize = 20;
const FRAMES: usize = 60;
/// The words that are typed into the terminal.
const TYPED_WORDS: usize = 30;

fn main() {
    let records = option("--records", 100_000);
    let rounds = usize::try_from(option("--rounds", 60)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let kept = argument("--keep").map(PathBuf::from);
    let home = kept.as_deref().unwrap_or(dir.path());
    let mut random = Random(7);
    let is_made = Store::database_path(home).exists();
    let store = Store::open(home).unwrap();
    if !is_made {
        fill_like_logs(&store, &mut random, records, FACTS);
    }
    typing(&store, &mut random, rounds);
    drop(store);
    let empty = tempfile::tempdir().unwrap();
    drop(Store::open(empty.path()).unwrap());
    in_terminal(home, empty.path(), &mut random);
}

/// Measures the program in a terminal, on a store and on an empty one.
fn in_terminal(home: &Path, empty: &Path, random: &mut Random) {
    let first_frames = |home: &Path| (0..STARTS).map(|_| RunningUi::start(home).1).collect();
    show(
        "first frame",
        first_frames(home),
        "empty store",
        first_frames(empty),
    );
    let mut ui = RunningUi::start(home).0;
    let mut blank = RunningUi::start(empty).0;
    let frames = |ui: &mut RunningUi| (0..FRAMES).map(|at| ui.redraw(at)).collect();
    show("frame", frames(&mut ui), "empty store", frames(&mut blank));
    let (mut echoes, mut rests, mut blanks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TYPED_WORDS {
        for letter in random.words(1)[0].chars() {
            let (echo, rest) = ui.press(letter.encode_utf8(&mut [0; 4]));
            echoes.push(echo);
            rests.push(rest);
            blanks.push(blank.press(letter.encode_utf8(&mut [0; 4])).1);
        }
        ui.press("\x15");
        blank.press("\x15");
    }
    show("key -> echo", echoes, "empty store", blanks.clone());
    show("key -> results", rests, "empty store", blanks);
    for (name, ui) in [("", &ui), (", empty store", &blank)] {
        println!(
            "memory{name:<12} {:.1} MB of its own, {:.1} MB of mapped files",
            ui.memory_mb("RssAnon"),
            ui.memory_mb("RssFile")
        );
    }
}

/// The program in a pseudo-terminal.
struct RunningUi {
    child: Child,
    keyboard: File,
    /// When each part of the output came.
    output: Receiver<Instant>,
}

impl RunningUi {
    /// Starts the program and waits until the screen rests. Returns when its first frame was there.
    fn start(home: &Path) -> (Self, Duration) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, window(200)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let side = File::from(rustix::fs::open(&name, flags, Mode::empty()).unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_throughline"));
        command
            .arg("ui")
            .current_dir(home)
            .env("THROUGHLINE_HOME", home)
            .env("TERM", "xterm-256color")
            .stdin(Stdio::from(side.try_clone().unwrap()))
            .stdout(Stdio::from(side.try_clone().unwrap()))
            .stderr(Stdio::from(side));
        let mut screen = File::from(master);
        let keyboard = screen.try_clone().unwrap();
        let (sender, output) = channel();
        let started = Instant::now();
        let child = command.spawn().unwrap();
        drop(command);
        let (first_frame, shown) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let mut chunk = [0; 1 << 16];
            while let Ok(count @ 1..) = screen.read(&mut chunk) {
                let now = Instant::now();
                // The foot of the screen ends the frame.
                if text.len() < 1 << 20 {
                    text.extend_from_slice(&chunk[..count]);
                    if text.windows(4).any(|part| part == b"keys") {
                        first_frame.send(now).ok();
                        text = vec![0; 1 << 20];
                    }
                }
                if sender.send(now).is_err() {
                    return;
                }
            }
        });
        let first = shown.recv().unwrap();
        let ui = Self {
            child,
            keyboard,
            output,
        };
        ui.rest(first);
        (ui, first - started)
    }

    /// Presses a key. Returns the time until something is drawn, and until the screen rests.
    fn press(&mut self, key: &str) -> (Duration, Duration) {
        let start = Instant::now();
        self.keyboard.write_all(key.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
        let first = self
            .output
            .recv_timeout(Duration::from_secs(5))
            .unwrap_or(start);
        (first - start, self.rest(first) - start)
    }

    /// Changes the width, so that everything is redrawn.
    fn redraw(&mut self, at: usize) -> Duration {
        let start = Instant::now();
        let columns = if at.is_multiple_of(2) { 199 } else { 200 };
        tcsetwinsize(&self.keyboard, window(columns)).unwrap();
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::WINCH).unwrap();
        let first = self
            .output
            .recv_timeout(Duration::from_secs(5))
            .unwrap_or(start);
        self.rest(first) - start
    }

    /// Waits until the screen rests and returns when something was drawn last.
    fn rest(&self, mut last: Instant) -> Instant {
        loop {
            match self.output.recv_timeout(REST) {
                Ok(at) => last = at,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return last,
            }
        }
    }

    /// Returns a figure of the process's memory. The pages of the store are mapped, and belong to
    /// the system's cache.
    fn memory_mb(&self, figure: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(figure));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kilobytes.unwrap_or(0.0) / 1000.0
    }
}

impl Drop for RunningUi {
    fn drop(&mut self) {
        self.keyboard.write_all(b"\x03").ok();
        self.child.wait().ok();
    }
}

fn window(columns: u16) -> Winsize {
    Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Types queries of one to three words, key by key.
fn typing(store: &Store, random: &mut Random, rounds: usize) {
    let raw = ForeignDatabase::open(store.path()).unwrap();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let mut by_letters: Vec<Vec<Duration>> = vec![Vec::new(); 6];
    for round in 0..rounds {
        let text = random.words(1 + round % 3).join(" ");
        for end in 1..=text.len() {
            let typed = &text[..end];
            if typed.ends_with(' ') {
                continue;
            }
            let took = worked(|| search(store, typed));
            let letters = typed.len() - typed.rfind(' ').map_or(0, |at| at + 1);
            by_letters[letters.min(6) - 1].push(took);
            ours.push(took);
            bare.push(worked(|| ask_index(&raw, typed)));
        }
    }
    for (at, times) in by_letters.into_iter().enumerate() {
        if !times.is_empty() {
            let (p50, p95) = percentiles(times);
            println!("search, {} letters   p50 {p50:.2} p95 {p95:.2} ms", at + 1);
        }
    }
    show("key -> search", ours, "raw SQL", bare);
}

fn search(store: &Store, typed: &str) -> usize {
    let query = Query {
        text: typed.to_owned(),
        limit: 40,
        ..Query::default()
    };
    let options = SearchOptions {
        include_sensitive: true,
        typing: true,
        ..SearchOptions::default()
    };
    let now = Timestamp::from_second(NOW_SECOND).unwrap();
    let scope = AccessScope::unrestricted();
    let found = serve::requests::search::search(store, &scope, &query, options, now).unwrap();
    found.hits.len()
}

/// Asks FTS5 itself for the latest rows with the words, the last one as a prefix.
fn ask_index(raw: &ForeignDatabase, typed: &str) {
    let words: Vec<_> = typed
        .split(' ')
        .map(|word| format!("\"{}\"", store::terms::stem::stem(word)))
        .collect();
    let expression = format!("{} *", words.join(" AND "));
    let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid DESC LIMIT 40";
    raw.each_row(sql, &[&expression], |_| {}).unwrap();
}

fn show(name: &str, ours: Vec<Duration>, other: &str, bare: Vec<Duration>) {
    let (ours, bare) = (percentiles(ours), percentiles(bare));
    println!(
        "{name:<18} p50 {:.2} p95 {:.2} ms; {other} {:.2} and {:.2}: {:.2}x and {:.2}x",
        ours.0,
        ours.1,
        bare.0,
        bare.1,
        ours.0 / bare.0,
        ours.1 / bare.1
    );
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

/// Returns how long the processor worked on it; how long it took, where the system does not tell.
fn worked<T>(work: impl FnOnce() -> T) -> Duration {
    let before = processor_time();
    let start = Instant::now();
    let _result = std::hint::black_box(work());
    let took = start.elapsed();
    let after = processor_time();
    after
        .zip(before)
        .map_or(took, |(after, before)| after - before)
}

fn processor_time() -> Option<Duration> {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
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
