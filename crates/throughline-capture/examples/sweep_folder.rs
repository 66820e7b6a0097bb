//! Reads all logs below a folder into a new store, for profilers and quick comparisons:
//!
//! ```text
//! cargo run --release -p throughline-capture --example sweep_folder -- LOGS STORE
//! ```
//!
//! It runs the sweep alone, without the stages that follow it in `throughline ingest`.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use store::Store;
use throughline_capture::flavor::ADAPTERS;
use throughline_capture::{CaptureScope, Root, Sources, SweepControl, sweep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut folders = std::env::args().skip(1).map(PathBuf::from);
    let (Some(logs), Some(home)) = (folders.next(), folders.next()) else {
        return Err("usage: sweep_folder LOGS STORE".into());
    };
    let store = Store::open(&home)?;
    let sources = Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![Root {
            path: logs,
            flavor: None,
        }],
        all_roots: true,
        scope: CaptureScope::default(),
        archive: true,
        threads: 1 + std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let stop = AtomicBool::new(false);
    let now = Timestamp::from_second(4_000_000_000)?;
    let report = sweep(&store, &sources, &SweepControl::new(&stop), now)?;
    println!(
        "{} records from {:.1} MB",
        report.records,
        report.read_bytes as f64 / 1e6
    );
    Ok(())
}
