//! Measures the error of [`estimate`] against a real tokenizer, by kind of text.

#![expect(
    clippy::unwrap_used,
    reason = "a sample that is not there fails the test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use throughline_memory::tokens::{Tokens, estimate};

/// Long files are compared in parts of about the size of a record.
const PART_BYTES: usize = 4000;

/// For the speed, the code is repeated up to this size.
const SPEED_BYTES: usize = 20_000_000;

/// The maximum error over all kinds together; single kinds have their own bounds. The samples have
/// fewer rare words than real sessions, so the estimate is a little too high here.
const TOTAL_ERROR_MAX: f64 = 0.04;
const TEXT_ERROR_P50_MAX: f64 = 0.06;
const TEXT_ERROR_P95_MAX: f64 = 0.20;

#[test]
fn error_against_o200k() {
    let kinds = [
        ("code", code(), 0.05),
        (
            "prose",
            parts(&sample("../throughline-testkit/src/corpus/prose.txt")),
            0.05,
        ),
        ("json", sections("testdata/tokens/json.txt"), 0.08),
        ("logs", sections("testdata/tokens/logs.txt"), 0.08),
        ("cjk", sections("testdata/tokens/cjk.txt"), 0.10),
    ];
    let mut all = Errors::default();
    for (kind, texts, total_max) in kinds {
        let errors = Errors::of(&texts);
        println!("{kind:6} {errors}");
        assert!(errors.total().abs() <= total_max, "{kind}: {errors}");
        all.merge(errors);
    }
    println!("all    {all}");
    assert!(all.total().abs() <= TOTAL_ERROR_MAX, "{all}");
    assert!(all.percentile(50) <= TEXT_ERROR_P50_MAX, "{all}");
    assert!(all.percentile(95) <= TEXT_ERROR_P95_MAX, "{all}");
}

/// Prints the speed. A bound on time would fail on a busy machine. Only the code is used, because
/// the branch predictor learns the smaller samples, which then look twice as fast.
#[test]
fn throughput() {
    let text = code().join("\n");
    let text = text.repeat(SPEED_BYTES / text.len() + 1);
    let (wall, before) = (Instant::now(), cpu_seconds());
    let tokens = estimate(&text);
    let seconds = match (before, cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => wall.elapsed().as_secs_f64(),
    };
    let speed = text.len() as f64 / 1e6 / seconds;
    println!("code {speed:.0} MB/s");
    assert!(tokens > Tokens(0));
}

/// Returns the CPU time of this thread, if the system reports it.
fn cpu_seconds() -> Option<f64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = schedstat.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

#[derive(Default)]
struct Errors {
    texts: Vec<f64>,
    real: u64,
    estimated: u64,
}

impl Errors {
    fn of(texts: &[String]) -> Self {
        let tokenizer = bpe_openai::o200k_base();
        let mut errors = Self::default();
        for text in texts {
            let real = tokenizer.count(text.as_str()) as u64;
            let Tokens(estimated) = estimate(text);
            errors
                .texts
                .push(real.abs_diff(estimated) as f64 / real as f64);
            errors.real += real;
            errors.estimated += estimated;
        }
        errors
    }

    fn merge(&mut self, other: Self) {
        self.texts.extend(other.texts);
        self.real += other.real;
        self.estimated += other.estimated;
    }

    fn total(&self) -> f64 {
        (self.estimated as f64 - self.real as f64) / self.real as f64
    }

    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.texts.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:4} texts {:7} tokens: total {:+5.1} %, p50 {:4.1} %, p95 {:4.1} %",
            self.texts.len(),
            self.real,
            100.0 * self.total(),
            100.0 * self.percentile(50),
            100.0 * self.percentile(95),
        )
    }
}

/// Returns the Rust sources of this repository in parts, in a fixed order.
fn code() -> Vec<String> {
    let mut files = Vec::new();
    rust_files(&root().join(".."), &mut files);
    files.sort();
    files
        .iter()
        .flat_map(|path| parts(&fs::read_to_string(path).unwrap()))
        .collect()
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if parts.last().is_some_and(|part| part.len() >= PART_BYTES) {
            parts.push(String::new());
        }
        parts.last_mut().unwrap().push_str(line);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn sections(path: &str) -> Vec<String> {
    sample(path).split("\n----\n").map(str::to_owned).collect()
}

fn sample(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
