//! Prints the statements that are found in prompts, with their kinds, as the product stores them.
//!
//! Each line of the file is a JSON string with a prompt. The share of the printed lines that are
//! facts, counted by hand, is the precision on prompts that nobody has labelled.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for the terminal that cannot go on should fail"
)]

use throughline_distill::facts::stated::statements;

fn main() {
    let path = std::env::args()
        .nth(1)
        .expect("the path of a file with prompts");
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let (mut prompts, mut found) = (0_u32, 0_u32);
    for line in text.lines() {
        let prompt: String = serde_json::from_str(line).expect("a line is a JSON string");
        prompts += 1;
        for (kind, statement) in statements(&prompt) {
            found += 1;
            println!("{}\t{statement}", kind.name());
        }
    }
    println!("{found} statements in {prompts} prompts");
}
