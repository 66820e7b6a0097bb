//! Questions people ask of what was done: who touched this file and why, how did we run that,
//! have we seen this error and what made it go away.

pub mod blame;
pub mod fix;
pub mod how;

pub use self::blame::{Blame, blame};
pub use self::fix::{ErrorHistory, ErrorOccurrence, ErrorResolution, fix};
pub use self::how::{CommandHistory, CommandRun, how};

/// Returns the first sentence or line of a text, shortened to what a listing can show.
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
