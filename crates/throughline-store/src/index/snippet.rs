//! Snippets: the part of a text that shows why it matched.

use std::ops::Range;

use memchr::memmem;
use serde::{Serialize, Serializer};

/// The longest snippet.
const SNIPPET_BYTES_MAX: usize = 240;
/// How far into a text words are searched; for a later match the beginning of the text is shown.
const SEARCHED_BYTES_MAX: usize = 1 << 20;

/// A part of a text, with the ranges of the matches in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub text: String,
    pub matches: Vec<Range<usize>>,
}

impl Snippet {
    /// Returns the part of at most `bytes` bytes that begins shortly before the first match.
    pub fn shorten(&self, bytes: usize) -> String {
        let text = &self.text;
        if text.len() <= bytes {
            return text.clone();
        }
        let first = self.matches.first().map_or(0, |found| found.start);
        let start = first.saturating_sub(bytes / 3).min(text.len() - bytes);
        let start = text.floor_char_boundary(start);
        let end = text.floor_char_boundary(start + bytes);
        let before = if start > 0 { "…" } else { "" };
        let after = if end < text.len() { "…" } else { "" };
        format!("{before}{}{after}", text[start..end].trim())
    }
}

impl Serialize for Snippet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Returns the window of a text that contains the most of the words, on one line.
pub(crate) fn snippet_around(text: &str, words: &[String]) -> Snippet {
    let looked_at = &text[..text.floor_char_boundary(SEARCHED_BYTES_MAX)];
    let found = matches(looked_at, words);
    let start = best_start(text, &found);
    let end = text.floor_char_boundary((start + SNIPPET_BYTES_MAX).min(text.len()));
    let mut snippet = Snippet {
        text: String::new(),
        matches: Vec::new(),
    };
    if start > 0 {
        snippet.text.push('…');
    }
    let mut at = start;
    for found in found
        .iter()
        .filter(|found| found.start >= start && found.end <= end)
    {
        if found.start < at {
            continue;
        }
        push_flat(&mut snippet.text, &text[at..found.start]);
        let from = snippet.text.len();
        push_flat(&mut snippet.text, &text[found.clone()]);
        snippet.matches.push(from..snippet.text.len());
        at = found.end;
    }
    push_flat(&mut snippet.text, &text[at..end]);
    if end < text.len() {
        snippet.text.push('…');
    }
    snippet
}

/// Appends a text with control characters replaced by spaces: a snippet is one line, and escape
/// sequences from a log must not reach a terminal.
fn push_flat(out: &mut String, text: &str) {
    for c in text.chars() {
        let c = if c.is_control() || is_invisible(c) {
            ' '
        } else {
            c
        };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
}

/// Says whether a character reorders or hides text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns where the words occur as whole words, in the order of the text.
fn matches(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let lower = lowercase_same_length(text);
    let mut found = Vec::new();
    for word in words {
        for part in word
            .split(|c: char| !c.is_alphanumeric())
            .filter(|part| !part.is_empty())
        {
            let part = part.to_lowercase();
            let prefix = word.ends_with('*');
            let whole = |range: &Range<usize>| {
                !lower[..range.start].ends_with(char::is_alphanumeric)
                    && (prefix || !lower[range.end..].starts_with(char::is_alphanumeric))
            };
            let ranges =
                memmem::find_iter(lower.as_bytes(), part.as_bytes()).map(|at| at..at + part.len());
            found.extend(ranges.filter(whole).take(1000));
        }
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    found.dedup();
    found
}

/// Lowers the case of the characters whose length stays the same, so that ranges stay valid.
fn lowercase_same_length(text: &str) -> String {
    // Most texts are ASCII, and whole texts are searched.
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(l), None) if l.len_utf8() == c.len_utf8() => l,
            _ => c,
        }
    };
    text.chars()
        .map(|c| match c.is_ascii() {
            true => c.to_ascii_lowercase(),
            false => lower(c),
        })
        .collect()
}

/// Returns the start of the window with the most matches, at the beginning of a word.
fn best_start(text: &str, found: &[Range<usize>]) -> usize {
    let window = SNIPPET_BYTES_MAX * 3 / 4;
    let best = found
        .iter()
        .enumerate()
        .map(|(i, first)| {
            let inside = &found[i..];
            let count = inside
                .iter()
                .take_while(|m| m.end <= first.start + window)
                .count();
            (count, first.start)
        })
        .max_by_key(|&(count, start)| (count, std::cmp::Reverse(start)));
    let Some((_, first)) = best else { return 0 };
    if first < SNIPPET_BYTES_MAX / 4 {
        return 0;
    }
    let lead = text.floor_char_boundary(first - SNIPPET_BYTES_MAX / 8);
    text[lead..first]
        .find(char::is_whitespace)
        .map_or(lead, |space| {
            let after = lead + space;
            after + text[after..].chars().next().map_or(0, char::len_utf8)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &[&str], expected: &str) {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let snippet = snippet_around(text, &words);
        let mut shown = String::new();
        let mut at = 0;
        for range in &snippet.matches {
            shown += &snippet.text[at..range.start];
            shown += &format!("[{}]", &snippet.text[range.clone()]);
            at = range.end;
        }
        shown += &snippet.text[at..];
        assert_eq!(shown, expected);
    }

    #[test]
    fn whole_words_in_any_case() {
        check(
            "Fix the parser, fixed Parsers",
            &["PARSER", "fix"],
            "[Fix] the [parser], fixed Parsers",
        );
        check("migrations", &["migrat*"], "[migrat]ions");
    }

    #[test]
    fn one_line_that_a_terminal_does_not_obey() {
        check("a\n\n\tb \u{1b}[31mred\u{202e}", &["b"], "a [b] [31mred ");
    }

    #[test]
    fn the_window_moves_to_the_matches() {
        let text = format!("{} here is the needle and more", "hay ".repeat(200));
        let snippet = snippet_around(&text, &["needle".to_owned()]);
        assert!(snippet.text.starts_with('…') && snippet.text.contains("needle and more"));
        assert!(snippet.text.len() <= SNIPPET_BYTES_MAX + 6);
    }

    #[test]
    fn odd_text() {
        check("", &["x"], "");
        check("ẞtraße İ é", &["é"], "ẞtraße İ [é]");
    }
}
