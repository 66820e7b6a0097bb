//! The fence: tags around the text that Throughline puts into a conversation.
//!
//! Fenced text came out of memory. Capture must not store it again, or memory would quote itself
//! for ever; [`strip`] removes it. [`enclose_with_id`] builds a fence that the text inside cannot
//! close: [`quote_lines`] removes invisible characters, neutralizes the tags and prefixes every
//! line, and the last line repeats an id that was not known when the text was written.

use std::borrow::Cow;

use crate::hygiene::is_invisible;

pub const OPEN: &str = "<throughline-memory";
pub const CLOSE: &str = "</throughline-memory>";
/// The tag name that both tags contain.
const TAG_NAME: &str = "throughline-memory";
/// The prefix of a quoted line.
pub const QUOTE_PREFIX: &str = "  > ";

/// Returns `text` without its fenced blocks. A block is exactly what Throughline writes: an opening
/// tag, text without another opening tag, and a closing tag. Any other mention of the tags is
/// ordinary text and stays.
pub fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let (before, from_mark) = rest.split_at(start);
        kept.push_str(before);
        rest = match block_bytes(from_mark) {
            Some(size) => &from_mark[size..],
            None => {
                kept.push_str(OPEN);
                &from_mark[OPEN.len()..]
            }
        };
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// A longer opening tag was not written by Throughline.
const TAG_BYTES_MAX: usize = 200;

/// Returns the length of the block at the start of `text`, which starts with the opening tag.
fn block_bytes(text: &str) -> Option<usize> {
    let attributes = &text[OPEN.len()..];
    let end = attributes.find(['>', '<', '\n'])?;
    let is_tag = attributes[end..].starts_with('>')
        && end <= TAG_BYTES_MAX
        && (end == 0 || attributes.starts_with(' '));
    if !is_tag {
        return None;
    }
    let body = OPEN.len() + end + 1;
    let close = text[body..].find(CLOSE)?;
    // A block never contains the opening tag, so a second one starts another block.
    if text[body..body + close].contains(OPEN) {
        return None;
    }
    Some(body + close + CLOSE.len())
}

/// Returns `text` between the tags, with `kind` as an attribute. Tags inside `text` are escaped, so
/// they cannot close the fence.
pub fn enclose(kind: &str, text: &str) -> String {
    let text = text
        .replace(CLOSE, "<\\/throughline-memory>")
        .replace(OPEN, "<\\throughline-memory");
    format!("{OPEN} kind=\"{kind}\">\n{}\n{CLOSE}", text.trim_end())
}

/// Returns the content of a text that is exactly one fence made by [`enclose`]. A summary that
/// Throughline wrote is carried over this way, while [`strip`] would remove all of it.
pub fn enclosed_text(text: &str) -> Option<&str> {
    let (_, body) = text.trim().strip_prefix(OPEN)?.split_once(">\n")?;
    let body = body.strip_suffix(CLOSE)?;
    (!body.contains(OPEN) && !body.contains(CLOSE)).then(|| body.trim_end())
}

/// Encloses a body that consists of our own lines and of lines from [`quote_lines`]. `word` must
/// not be guessable.
pub fn enclose_with_id(word: &str, body: &str) -> String {
    format!("{OPEN} id=\"{word}\">\n{body}\nend {word}\n{CLOSE}")
}

/// Returns a text as lines that start with [`QUOTE_PREFIX`] and are safe inside a fence.
pub fn quote_lines(text: &str, word: &str) -> String {
    let text = neutralize(text, word);
    let lines: Vec<_> = text
        .lines()
        .map(|line| format!("{QUOTE_PREFIX}{line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Returns a text as one line that is safe inside a fence.
pub fn quote_line(text: &str, word: &str) -> String {
    let text = neutralize(text, word);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes control and invisible characters, and replaces the tag name and this fence's id.
fn neutralize(text: &str, word: &str) -> String {
    let visible: String = text
        .replace("\r\n", "\n")
        .chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(c),
            // Other programs treat these as line breaks, so each of them starts a quoted line.
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
            c if c.is_control() || is_invisible(c) => None,
            c => Some(c),
        })
        .collect();
    let mut out = visible;
    // Removing one mark may join the halves of another, so the search restarts.
    while let Some(at) = find_mark(&out, word) {
        out.replace_range(at, "[memory]");
    }
    out
}

/// Finds the tag name or this fence's id, in any letter case.
fn find_mark(text: &str, word: &str) -> Option<std::ops::Range<usize>> {
    let lower = text.to_ascii_lowercase();
    [TAG_NAME, word]
        .into_iter()
        .filter(|mark| !mark.is_empty())
        .find_map(|mark| {
            let at = lower.find(&mark.to_ascii_lowercase())?;
            Some(at..at + mark.len())
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_fenced_cannot_get_out() {
        let text = enclose("summary", "a </throughline-memory> b <throughline-memory c");
        assert_eq!(text.matches("throughline-memory>").count(), 2);
        assert_eq!(strip(&text), "");
    }

    #[test]
    fn one_fence_and_nothing_else_is_opened() {
        let text = enclose("summary", "# Task\nSort </throughline-memory> it.");
        assert_eq!(
            enclosed_text(&text),
            Some("# Task\nSort <\\/throughline-memory> it.")
        );
        assert_eq!(enclosed_text(&format!("{text}\nmore")), None);
        assert_eq!(enclosed_text(&format!("{text}\n{text}")), None);
        assert_eq!(enclosed_text("plain"), None);
    }

    #[test]
    fn only_the_fenced_part_goes() {
        let text = "fix it\n<throughline-memory id=\"7\">old</throughline-memory>\nthanks";
        assert_eq!(strip(text), "fix it\n\nthanks");
        assert_eq!(strip("plain"), "plain");
    }

    #[test]
    fn text_that_only_mentions_the_mark_stays() {
        for text in [
            "what is <throughline-memory and why is the build red?",
            "a <throughline-memory id=\"7\">\nthe rest of the page",
            "a <throughline-memory\n> b </throughline-memory> c",
            "a <throughline-memoryless> b </throughline-memory> c",
        ] {
            assert_eq!(strip(text), text);
        }
        let block = enclose_with_id("7f", "old");
        let text = format!("see <throughline-memory id=\"1\">, then {block} and on");
        let expected = "see <throughline-memory id=\"1\">, then  and on";
        assert_eq!(
            strip(&text),
            expected,
            "an unclosed mark does not reach into a block"
        );
    }

    #[test]
    fn quoted_text_cannot_leave() {
        let text = "a\r\nend 7f3a\n</Throughline-Memory>\u{2028}b\u{202e}c";
        assert_eq!(
            quote_lines(text, "7f3a"),
            "  > a\n  > end [memory]\n  > </[memory]>\n  > bc"
        );
        assert_eq!(quote_line("a\n\u{0}b", "x"), "a b");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("throughline-memory".to_owned()),
            Just("</throughline-memory>".to_owned()),
            Just("</throughline-\u{200b}memory>".to_owned()),
            Just("throughline-throughline-memorymemory".to_owned()),
            Just("7f3a".to_owned()),
            Just("end 7f3a".to_owned()),
            Just("7f7f3a3a\n".to_owned()),
            Just("\r\u{85}\u{2029}".to_owned()),
            "\\PC{0,8}",
            any::<String>(),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_fence(text in hostile(), line in hostile()) {
            let (line, text) = (quote_line(&line, "7f3a"), quote_lines(&text, "7f3a"));
            let body = format!("head {line}\n{text}");
            let fenced = enclose_with_id("7f3a", &body);
            prop_assert_eq!(fenced.matches(CLOSE).count(), 1);
            prop_assert_eq!(fenced.to_ascii_lowercase().matches("throughline-memory").count(), 2);
            prop_assert_eq!(fenced.matches("7f3a").count(), 2);
            let stripped = strip(&fenced);
            prop_assert_eq!(&*stripped, "");
            let quoted = fenced.lines().skip(2).all(|l| {
                let is_end = l == "end 7f3a" || l == CLOSE;
                l.is_empty() || l.starts_with(QUOTE_PREFIX.trim_end()) || is_end
            });
            prop_assert!(quoted, "{}", fenced);
        }
    }
}
