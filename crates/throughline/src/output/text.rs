//! Text from logs, made fit for a terminal.

use std::ops::Range;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const MATCH: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// How text is set off, or not at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub(crate) color: bool,
}

impl TextStyle {
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap(BOLD, text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap(DIM, text)
    }

    /// Sets off the given parts of a text.
    pub(crate) fn highlight(self, text: &str, parts: &[Range<usize>]) -> String {
        let mut out = String::new();
        let mut at = 0;
        for part in parts {
            out.push_str(&text[at..part.start]);
            out.push_str(&self.wrap(MATCH, &text[part.clone()]));
            at = part.end;
        }
        out.push_str(&text[at..]);
        out
    }

    fn wrap(self, style: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("{style}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }
}

/// Takes out what a terminal would obey or hide: a log must not move the cursor, write the
/// clipboard or reorder what is read.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => '\u{fffd}',
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => {
                '\u{fffd}'
            }
            c => c,
        })
        .collect()
}

/// Indents every line.
pub(crate) fn indent(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded() {
        assert_eq!(
            sanitize("a\x1b]52;c;x\x07\tb\n\u{202e}"),
            "a\u{fffd}]52;c;x\u{fffd}\tb\n\u{fffd}"
        );
    }

    #[test]
    fn matches_are_set_off_only_in_colour() {
        let shown = |color| TextStyle { color }.highlight("ab c", std::slice::from_ref(&(1..2)));
        assert_eq!(shown(false), "ab c");
        assert_eq!(shown(true), "a\x1b[1;31mb\x1b[0m c");
    }
}
