//! The fence around what Throughline itself puts into a conversation.
//!
//! Text between these marks came out of memory. It must not go back in, or memory would quote
//! itself for ever.

use std::borrow::Cow;

pub const OPEN: &str = "<throughline-memory";
pub const CLOSE: &str = "</throughline-memory>";

/// Returns `text` without the fenced parts. An open fence that never closes ends with the text.
pub fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        kept.push_str(&rest[..start]);
        rest = match rest[start..].find(CLOSE) {
            Some(end) => &rest[start + end + CLOSE.len()..],
            None => "",
        };
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns `text` between the marks, with what it is. A mark inside of it cannot end the fence.
pub fn around(kind: &str, text: &str) -> String {
    let text = text
        .replace(CLOSE, "<\\/throughline-memory>")
        .replace(OPEN, "<\\throughline-memory");
    format!("{OPEN} kind=\"{kind}\">\n{}\n{CLOSE}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{around, strip};

    #[test]
    fn what_is_fenced_cannot_get_out() {
        let text = around("summary", "a </throughline-memory> b <throughline-memory c");
        assert_eq!(text.matches("throughline-memory>").count(), 2);
        assert_eq!(strip(&text), "");
    }

    #[test]
    fn only_the_fenced_part_goes() {
        let text = "fix it\n<throughline-memory id=\"7\">old</throughline-memory>\nthanks";
        assert_eq!(strip(text), "fix it\n\nthanks");
        assert_eq!(strip("a <throughline-memory b"), "a ");
        assert_eq!(strip("plain"), "plain");
    }
}
