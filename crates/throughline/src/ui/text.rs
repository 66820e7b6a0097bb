//! Text in cells of a terminal: cleaned, cut, wrapped, and with its matches marked.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::text::sanitize;

/// The width of a tab.
const TAB: &str = "    ";

/// Replaces everything that a terminal would interpret, and tabs by spaces.
pub(super) fn clean(text: &str) -> String {
    sanitize(text).replace('\t', TAB)
}

/// Returns the first line of a text, cut to a width and padded to it.
pub(super) fn fit(text: &str, width: usize) -> String {
    let line = clean(text.trim_start().lines().next().unwrap_or_default());
    let mut out = cut(&line, width);
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(out.width())));
    out
}

/// Cuts a line to a width; an ellipsis stands for the rest.
fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in line.chars() {
        let next = used + c.width().unwrap_or(0);
        if next > width.saturating_sub(1) {
            break;
        }
        used = next;
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Wraps a text at spaces, and words that are too long where the line ends. Returns at most `max`
/// lines.
pub(super) fn wrap(text: &str, width: usize, max: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in clean(text).lines() {
        let mut rest = line.trim_end();
        loop {
            if lines.len() == max {
                return lines;
            }
            let end = line_end(rest, width);
            lines.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start();
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Returns where the first line of a text ends: after its last word that fits.
fn line_end(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut space = None;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && c == ' ' {
            return at;
        }
        if used > width {
            // The first character always fits, so that every line makes progress.
            return space.unwrap_or(at).max(text.ceil_char_boundary(1));
        }
        if c == ' ' && at > 0 {
            space = Some(at);
        }
    }
    text.len()
}

/// Returns the words of a query that are marked in texts.
pub(super) fn marked_words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !store::terms::is_stop(word));
    words.map(str::to_lowercase).collect()
}

/// Returns a line with the beginnings of words that match marked.
pub(super) fn mark(line: &str, words: &[String], style: Style, marked: Style) -> Line<'static> {
    let mut spans = Vec::new();
    let mut done = 0;
    let mut is_start = true;
    for (at, c) in line.char_indices() {
        if at >= done && is_start {
            let lengths = words
                .iter()
                .filter_map(|word| prefix_len(&line[at..], word));
            if let Some(length) = lengths.max() {
                spans.push(Span::styled(line[done..at].to_owned(), style));
                spans.push(Span::styled(line[at..at + length].to_owned(), marked));
                done = at + length;
            }
        }
        is_start = !c.is_alphanumeric();
    }
    spans.push(Span::styled(line[done..].to_owned(), style));
    Line::from(spans)
}

/// Returns whether a line has a match.
pub(super) fn has_match(line: &str, words: &[String]) -> bool {
    mark(line, words, Style::new(), Style::new()).spans.len() > 1
}

/// Returns how many bytes of a text equal a word in lower case.
fn prefix_len(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars();
    let mut letters = text.chars();
    let mut length = 0;
    while let Some(next) = wanted.next() {
        let letter = letters.next()?;
        let mut lower = letter.to_lowercase();
        if lower.next() != Some(next) {
            return None;
        }
        // A letter such as İ has two letters in lower case.
        for more in lower {
            if wanted.next() != Some(more) {
                return None;
            }
        }
        length += letter.len_utf8();
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_their_width() {
        assert_eq!(fit("abc\ndef", 5), "abc  ");
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語です", 6), "日本… ");
        assert_eq!(fit("e\u{301}tude", 3), "e\u{301}t…");
        assert_eq!(fit("a\u{202e}b", 3), "a\u{fffd}b");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn texts_are_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3, 2), ["abc", "def"]);
        assert_eq!(wrap("日本語", 1, 9), ["日", "本", "語"]);
        assert_eq!(wrap("a\n\nb", 5, 9), ["a", "", "b"]);
        assert_eq!(wrap("", 5, 9), Vec::<String>::new());
    }

    #[test]
    fn beginnings_of_words_are_marked() {
        let shown = |line: &str, query: &str| -> String {
            let words = marked_words(query);
            let line = mark(line, &words, Style::new(), Style::new().bold());
            let spans = line.spans.into_iter().map(|span| {
                if span.style == Style::new() {
                    span.content.into_owned()
                } else {
                    format!("[{}]", span.content)
                }
            });
            spans.collect()
        };
        assert_eq!(
            shown("Reordering reo, preorder", "reo the"),
            "[Reo]rdering [reo], preorder"
        );
        assert_eq!(shown("İstanbul é", "İS É"), "[İs]tanbul [é]");
        assert_eq!(shown("", "a"), "");
    }
}
