//! Text for a terminal: colors, and the removal of what a terminal would interpret.

use std::ops::Range;

use memory::RecordKind;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const MATCH: &str = "\x1b[1;31m";
const USER: &str = "\x1b[1;32m";
const AGENT: &str = "\x1b[1;36m";
const TOOL: &str = "\x1b[33m";
const WARNING: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// Highlights text with terminal codes if colors are enabled.
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

    /// Colors a heading by who speaks: the user, the agent or a tool.
    pub(crate) fn speaker(self, kind: RecordKind, text: &str) -> String {
        let code = match kind {
            RecordKind::Prompt | RecordKind::Approval => USER,
            RecordKind::Assistant | RecordKind::Thinking | RecordKind::Summary => AGENT,
            RecordKind::ToolUse | RecordKind::ToolResult | RecordKind::Artifact => TOOL,
            RecordKind::Error => MATCH,
        };
        self.wrap(code, text)
    }

    /// Colors the word before a message that says what the message is, as cargo and git do.
    pub(crate) fn message(self, text: &str) -> String {
        const LABELS: &[(&str, &str)] =
            &[("error:", MATCH), ("warning:", WARNING), ("hint:", AGENT)];
        let label = LABELS.iter().find(|(label, _)| text.starts_with(label));
        match label {
            Some((label, code)) => self.wrap(code, label) + &text[label.len()..],
            None => text.to_owned(),
        }
    }

    /// Highlights the given parts of a text.
    pub(crate) fn highlight(self, text: &str, parts: &[Range<usize>]) -> String {
        let mut out = String::new();
        let mut end = 0;
        for part in parts {
            out.push_str(&text[end..part.start]);
            out.push_str(&self.wrap(MATCH, &text[part.clone()]));
            end = part.end;
        }
        out.push_str(&text[end..]);
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

/// Replaces control characters and invisible formatting characters, so that a log cannot move the
/// cursor, write the clipboard or reorder the text.
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

/// Returns where a text contains a word that is given in lower case.
pub(crate) fn find_ignoring_case(text: &str, word: &str) -> Vec<Range<usize>> {
    let lower = text.to_lowercase();
    // Letters whose lower case has another length would shift the positions.
    if lower.len() != text.len() {
        return Vec::new();
    }
    let found = lower.match_indices(word);
    let ranges = found.map(|(start, part)| start..start + part.len());
    let is_whole = |range: &Range<usize>| text.get(range.clone()).is_some();
    ranges.filter(is_whole).collect()
}

/// Puts a text on one line: every run of whitespace becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    sanitize(&words.join(" "))
}

/// Indents every line.
pub(crate) fn indent(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            sanitize("a\x1b]52;c;x\x07\tb\n\u{202e}"),
            "a\u{fffd}]52;c;x\u{fffd}\tb\n\u{fffd}"
        );
    }

    #[test]
    fn labels_of_messages_are_colored() {
        let shown = |color, text: &str| TextStyle { color }.message(text);
        assert_eq!(shown(true, "error: x"), "\x1b[1;31merror:\x1b[0m x");
        assert_eq!(shown(true, "Ingested 1 record."), "Ingested 1 record.");
        assert_eq!(shown(false, "hint: x"), "hint: x");
    }

    #[test]
    fn matches_are_highlighted_only_with_colors() {
        let shown = |color| TextStyle { color }.highlight("ab c", std::slice::from_ref(&(1..2)));
        assert_eq!(shown(false), "ab c");
        assert_eq!(shown(true), "a\x1b[1;31mb\x1b[0m c");
    }
}
