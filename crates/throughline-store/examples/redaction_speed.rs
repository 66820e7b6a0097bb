//! Prints how fast the redactor is on texts that were made to be slow.
//!
//! `redaction_speed [MB…]` repeats every shape until the text has 1 and 4 MB, or the sizes given, and prints
//! MB/s for each; the slowest comes last.

use std::time::Instant;

use throughline_store::redact::{Redactor, adversary};

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1, 4] } else { sizes };
    let redactor = Redactor::new([7; 32]);
    redactor.clean("password=warm-up-1Q");
    let mut rows = Vec::new();
    for (name, shape) in adversary::SHAPES {
        let speeds: Vec<f64> = sizes
            .iter()
            .map(|size| {
                let text = adversary::repeated(shape, size << 20);
                let started = Instant::now();
                std::hint::black_box(redactor.clean(&text));
                text.len() as f64 / 1e6 / started.elapsed().as_secs_f64()
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
