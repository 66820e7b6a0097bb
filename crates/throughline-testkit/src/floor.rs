//! The floor that ingest is compared with: reading and parsing every line, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::process;

/// How far the lines are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Read from disk and cut into lines.
    Lines,
    /// The whole line is checked and nothing kept.
    Ignored,
    /// What every adapter needs to choose by: the type and the time, bodies unparsed.
    Envelope,
}

/// The bytes that were read and parsed on one core, and the time it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Floor {
    pub files: u64,
    pub bytes: u64,
    pub lines: u64,
    /// Lines that are not what the depth asks for.
    pub odd: u64,
    pub elapsed: Duration,
    /// The processor time, where the system tells.
    pub cpu: Option<Duration>,
}

impl Floor {
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.elapsed.as_secs_f64()
    }
}

/// Reads every file below a directory and parses each line.
pub fn read_and_parse(directory: &Path, depth: Depth) -> io::Result<Floor> {
    let (start, cpu) = (Instant::now(), thread_cpu());
    let mut floor = Floor::default();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        } else {
            floor.read(&path, depth)?;
        }
    }
    floor.elapsed = start.elapsed();
    floor.cpu = cpu.zip(thread_cpu()).map(|(before, after)| after - before);
    Ok(floor)
}

impl Floor {
    fn read(&mut self, path: &PathBuf, depth: Depth) -> io::Result<()> {
        let text = fs::read_to_string(path)?;
        self.files += 1;
        self.bytes += text.len() as u64;
        for line in text.lines() {
            self.lines += 1;
            let parsed = match depth {
                Depth::Lines => true,
                Depth::Ignored => serde_json::from_str::<IgnoredAny>(line).is_ok(),
                Depth::Envelope => serde_json::from_str::<Envelope<'_>>(line).is_ok(),
            };
            self.odd += u64::from(!parsed);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed for the sake of parsing")]
#[serde(bound(deserialize = "'de: 'a"))]
struct Envelope<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<&'a str>,
    #[serde(default)]
    timestamp: Option<&'a RawValue>,
    #[serde(default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    params: Option<&'a RawValue>,
}

/// Returns the most memory this process has held, where the system tells.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    process::status_bytes(&status, "VmHWM:")
}

/// Returns the processor time of this thread, where the system tells.
fn thread_cpu() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = stat.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{self, Options};

    #[test]
    fn counts_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            sessions: 7,
            ..Options::default()
        };
        let stats = corpus::write(&options, directory.path()).unwrap();
        for depth in [Depth::Lines, Depth::Ignored, Depth::Envelope] {
            let floor = read_and_parse(directory.path(), depth).unwrap();
            assert_eq!(
                (floor.files, floor.bytes, floor.odd),
                (stats.files, stats.bytes, 0)
            );
        }
    }
}
