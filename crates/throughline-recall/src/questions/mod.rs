//! Questions about past work: which sessions touched a file and why ([`blame()`]), how a command
//! was run ([`how()`]), and how an error was resolved ([`fix()`]).

pub mod blame;
pub mod fix;
pub mod how;

pub use self::blame::{Blame, blame};
pub use self::fix::{ErrorHistory, ErrorOccurrence, ErrorResolution, fix};
pub use self::how::{CommandHistory, CommandRun, how};

/// Returns the first line of a text that says something, cut to `chars_max` characters.
fn first_line(text: &str, chars_max: usize) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.contains(char::is_alphanumeric))
        .unwrap_or_default();
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}
