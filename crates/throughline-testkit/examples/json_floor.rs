//! Measures how fast this machine reads and parses the logs below a directory, on one core:
//!
//! ```text
//! cargo run --release -p throughline-testkit --example json_floor -- DIR
//! ```
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::io;
use std::path::PathBuf;

use throughline_testkit::floor::{self, Depth};

/// Best of so many runs: the first one also warms the page cache.
const RUNS: usize = 3;

fn main() -> io::Result<()> {
    let directory = std::env::args().nth(1).map(PathBuf::from);
    let directory = directory.ok_or_else(|| io::Error::other("the directory is missing"))?;
    for depth in [Depth::Lines, Depth::Ignored, Depth::Envelope] {
        let mut best = floor::read_and_parse(&directory, depth)?;
        for _ in 1..RUNS {
            let run = floor::read_and_parse(&directory, depth)?;
            if run.elapsed < best.elapsed {
                best = run;
            }
        }
        println!(
            "{:<8} {} files, {} lines, {:.1} MB in {:.3} s: {:.0} MB/s, {} odd lines",
            format!("{depth:?}").to_lowercase(),
            best.files,
            best.lines,
            best.bytes as f64 / 1e6,
            best.elapsed.as_secs_f64(),
            best.megabytes_per_second(),
            best.odd,
        );
    }
    if let Some(bytes) = floor::peak_rss_bytes() {
        println!("peak memory {:.1} MB", bytes as f64 / 1e6);
    }
    Ok(())
}
