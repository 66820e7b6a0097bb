//! Prints how fast the redactor is on texts that were made to be slow.
//!
//! `redaction_speed [KIB…]` repeats every shape until the text has 1 and 4 MiB, or the sizes given,
//! and prints MB/s for each; the slowest comes last.

use std::time::Instant;

use throughline_redact::Redactor;

#[path = "../src/tests/slow_texts.rs"]
mod slow_texts;

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![1024, 4096]
    } else {
        sizes
    };
    let redactor = Redactor::new([7; 32]);
    redactor.clean("password=warm-up-1Q");
    let mut rows = Vec::new();
    for (name, shape) in slow_texts::SLOW_PATTERNS {
        let speeds: Vec<f64> = sizes
            .iter()
            .map(|size| {
                let text = slow_texts::repeat_to_len(shape, size << 10);
                let started = Clock::start();
                std::hint::black_box(redactor.clean(&text));
                text.len() as f64 / 1e6 / started.seconds().max(1e-9)
            })
            .collect();
        rows.push((name, speeds));
    }
    rows.sort_by(|a, b| {
        let slowest = |speeds: &[f64]| speeds.iter().copied().fold(f64::MAX, f64::min);
        slowest(&b.1).total_cmp(&slowest(&a.1))
    });
    for (name, speeds) in rows {
        let speeds: Vec<String> = speeds.iter().map(|speed| format!("{speed:>9.1}")).collect();
        println!("{name:<28}{} MB/s", speeds.join(""));
    }
}

/// The time this thread has run, where the system tells it, so that other work does not count.
struct Clock {
    wall: Instant,
    cpu_ns: Option<u64>,
}

impl Clock {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu_ns: cpu_ns(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.cpu_ns, cpu_ns()) {
            (Some(before), Some(after)) => (after - before) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn cpu_ns() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok()
}
