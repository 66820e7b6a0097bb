//! Judges the labelled sentences of a file as the product does, and prints the figures.
//!
//! Each line holds a label, a tab and a sentence; the label `-` marks a sentence that states no
//! fact. With `--errors` the sentences that are judged wrongly are printed too.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for the terminal that cannot go on should fail"
)]

use throughline_distill::facts::stated::statements;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"))
        .expect("the path of a file with labelled sentences");
    let prints_errors = arguments.iter().any(|argument| argument == "--errors");
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let (mut found, mut missed, mut invented, mut sentences) = (0_u32, 0_u32, 0_u32, 0_u32);
    for (label, sentence) in text.lines().filter_map(|line| line.split_once('\t')) {
        sentences += 1;
        let error = match (label == "-", statements(sentence).is_empty()) {
            (true, true) => continue,
            (false, false) => {
                found += 1;
                continue;
            }
            (true, false) => {
                invented += 1;
                "invented"
            }
            (false, true) => {
                missed += 1;
                "missed"
            }
        };
        if prints_errors {
            println!("{error}: {sentence}");
        }
    }
    println!(
        "{sentences} sentences, precision {:.3}, recall {:.3}",
        f64::from(found) / f64::from(found + invented),
        f64::from(found) / f64::from(found + missed)
    );
}
