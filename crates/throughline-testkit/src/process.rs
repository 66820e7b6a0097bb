//! What a process has cost: time, processor time, and memory by kind.

use std::fs;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// How often a running process is looked at. A peak that is shorter may be missed.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);
/// The unit of processor time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// The cost of a process that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCost {
    pub elapsed: Duration,
    /// User and system time, where the system tells.
    pub cpu: Option<Duration>,
    pub peak: ResidentMemory,
}

/// The memory of a process: its own pages, and pages of files that are mapped. The system can drop
/// the latter at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentMemory {
    pub anonymous_bytes: u64,
    pub mapped_bytes: u64,
}

impl ResidentMemory {
    /// Returns what a process holds now, where the system tells.
    pub fn of_process(id: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        Some(Self {
            anonymous_bytes: status_bytes(&status, "RssAnon:")?,
            mapped_bytes: status_bytes(&status, "RssFile:")? + status_bytes(&status, "RssShmem:")?,
        })
    }

    /// Returns the larger of each.
    pub fn max(self, other: Self) -> Self {
        Self {
            anonymous_bytes: self.anonymous_bytes.max(other.anonymous_bytes),
            mapped_bytes: self.mapped_bytes.max(other.mapped_bytes),
        }
    }
}

/// Waits for a process and returns what it has cost since this was called. The process must
/// succeed.
pub fn wait_and_measure(mut child: Child) -> io::Result<ProcessCost> {
    let start = Instant::now();
    let mut cost = ProcessCost::default();
    // A process that has ended and was not waited for still has its times.
    while let Some((state, cpu)) = state_and_cpu(child.id()) {
        cost.cpu = Some(cpu);
        if state == 'Z' {
            break;
        }
        cost.peak = cost
            .peak
            .max(ResidentMemory::of_process(child.id()).unwrap_or_default());
        std::thread::sleep(SAMPLE_INTERVAL);
    }
    cost.elapsed = start.elapsed();
    let status = child.wait()?;
    if !status.success() {
        return Err(io::Error::other(format!("the process failed: {status}")));
    }
    Ok(cost)
}

/// Returns the processor time of this process so far, where the system tells.
pub fn own_cpu() -> Option<Duration> {
    state_and_cpu(std::process::id()).map(|(_, cpu)| cpu)
}

fn state_and_cpu(id: u32) -> Option<(char, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ticks = ticks(11)? + ticks(12)?;
    let cpu = Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND);
    Some((fields.first()?.chars().next()?, cpu))
}

/// Returns a size from the text of `/proc/<id>/status`.
pub(crate) fn status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_status() {
        let status = "VmHWM:\t  2048 kB\nRssAnon:\t      12 kB\n";
        assert_eq!(status_bytes(status, "RssAnon:"), Some(12 << 10));
        assert_eq!(status_bytes(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(status_bytes(status, "RssFile:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_runs() {
        let memory = ResidentMemory::of_process(std::process::id()).unwrap();
        assert!(memory.anonymous_bytes > 0 && memory.mapped_bytes > 0);
        let (state, cpu) = state_and_cpu(std::process::id()).unwrap();
        assert!("RS".contains(state));
        assert!(own_cpu().unwrap() >= cpu);
    }
}
