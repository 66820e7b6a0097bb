//! Parses JSON with comments and trailing commas into a tree of positions.
//!
//! The tree holds spans of the text, so that an edit can change single bytes.

use std::ops::Range;

use serde_json::{Map, Value};

/// Deeper nesting is refused, before recursion exhausts the stack.
const DEPTH_MAX: usize = 100;

/// A value and its span.
#[derive(Clone, Debug)]
pub(crate) struct ConfigNode {
    pub(crate) span: Range<usize>,
    pub(crate) kind: ConfigNodeKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ConfigNodeKind {
    Object(Vec<JsonSlot>),
    Array(Vec<JsonSlot>),
    Scalar(Value),
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug)]
pub(crate) struct JsonSlot {
    /// The start of its key, or else of its value.
    pub(crate) start: usize,
    pub(crate) key: Option<String>,
    pub(crate) value: ConfigNode,
    /// The position of the comma after it.
    pub(crate) comma: Option<usize>,
}

/// Why a text is not JSON.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct JsonSyntaxError {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

/// Parses a text.
pub(crate) fn scan(text: &str) -> Result<ConfigNode, JsonSyntaxError> {
    let mut scanner = JsonScanner { text, at: 0 };
    if text.starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    scanner.trivia()?;
    let root = scanner.value(0)?;
    scanner.trivia()?;
    match scanner.peek() {
        None => Ok(root),
        Some(_) => Err(scanner.wrong("unexpected text after the end")),
    }
}

impl ConfigNode {
    pub(crate) fn slots(&self) -> &[JsonSlot] {
        match &self.kind {
            ConfigNodeKind::Object(slots) | ConfigNodeKind::Array(slots) => slots,
            ConfigNodeKind::Scalar(_) => &[],
        }
    }

    /// Returns the member of that name. Of duplicates the last one counts, as it does for the
    /// agents.
    pub(crate) fn member(&self, key: &str) -> Option<&JsonSlot> {
        let ConfigNodeKind::Object(slots) = &self.kind else {
            return None;
        };
        slots
            .iter()
            .rev()
            .find(|slot| slot.key.as_deref() == Some(key))
    }

    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            ConfigNodeKind::Scalar(value) => value.clone(),
            ConfigNodeKind::Array(slots) => {
                slots.iter().map(|slot| slot.value.to_value()).collect()
            }
            ConfigNodeKind::Object(slots) => {
                let member = |slot: &JsonSlot| {
                    let key = slot.key.clone().unwrap_or_default();
                    (key, slot.value.to_value())
                };
                Value::Object(slots.iter().map(member).collect::<Map<_, _>>())
            }
        }
    }
}

struct JsonScanner<'a> {
    text: &'a str,
    at: usize,
}

impl JsonScanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, what: &'static str) -> JsonSyntaxError {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        JsonSyntaxError {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            what,
        }
    }

    /// Skips whitespace and comments.
    fn trivia(&mut self) -> Result<(), JsonSyntaxError> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                self.at += 4 + end.ok_or_else(|| self.wrong("unterminated comment"))?;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<ConfigNode, JsonSyntaxError> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => ConfigNodeKind::Object(self.slots(b'}', depth)?),
            Some(b'[') => ConfigNodeKind::Array(self.slots(b']', depth)?),
            Some(_) => ConfigNodeKind::Scalar(self.scalar()?),
            None => return Err(self.wrong("expected a value")),
        };
        Ok(ConfigNode {
            span: start..self.at,
            kind,
        })
    }

    fn slots(&mut self, close: u8, depth: usize) -> Result<Vec<JsonSlot>, JsonSyntaxError> {
        self.at += 1;
        let mut slots: Vec<JsonSlot> = Vec::new();
        loop {
            self.trivia()?;
            match self.peek() {
                None => return Err(self.wrong("unclosed bracket")),
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(slots);
                }
                Some(_) if slots.last().is_some_and(|slot| slot.comma.is_none()) => {
                    return Err(self.wrong("expected a comma"));
                }
                Some(_) => slots.push(self.slot(close, depth)?),
            }
        }
    }

    fn slot(&mut self, close: u8, depth: usize) -> Result<JsonSlot, JsonSyntaxError> {
        let start = self.at;
        let key = if close == b'}' {
            Some(self.key()?)
        } else {
            None
        };
        let value = self.value(depth + 1)?;
        let end = self.at;
        self.trivia()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        self.at = comma.map_or(end, |comma| comma + 1);
        Ok(JsonSlot {
            start,
            key,
            value,
            comma,
        })
    }

    fn key(&mut self) -> Result<String, JsonSyntaxError> {
        let Value::String(key) = self.scalar()? else {
            return Err(self.wrong("expected a quoted key"));
        };
        self.trivia()?;
        if self.peek() != Some(b':') {
            return Err(self.wrong("expected a colon"));
        }
        self.at += 1;
        self.trivia()?;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<Value, JsonSyntaxError> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with('"') {
            closing_quote(rest).ok_or_else(|| self.wrong("unterminated string"))?
        } else {
            let ends = |c: char| c.is_whitespace() || ",:{}[]\"/".contains(c);
            rest.find(ends).unwrap_or(rest.len())
        };
        let value =
            serde_json::from_str(&rest[..length]).map_err(|_| self.wrong("invalid JSON value"))?;
        self.at += length;
        Ok(value)
    }
}

/// Returns the length of the string literal at the start of a text.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text =
            "\u{feff}// a\n{ /* b */ \"k\" : [1, 2.5e3, \"x\\\"]\", null,], // c\n \"l\": {},}\r\n";
        let root = scan(text).unwrap();
        assert_eq!(
            root.to_value(),
            json!({"k": [1, 2500.0, "x\"]", null], "l": {}})
        );
        let list = &root.member("k").unwrap().value;
        assert_eq!(&text[list.span.clone()], "[1, 2.5e3, \"x\\\"]\", null,]");
    }

    #[test]
    fn syntax_errors_name_their_line() {
        let refused = |text: &str| scan(text).unwrap_err().to_string();
        assert_eq!(
            refused("{\n\"a\": 1\n\"b\": 2}"),
            "line 3: expected a comma"
        );
        assert_eq!(refused("{\"a\": tru}"), "line 1: invalid JSON value");
        assert_eq!(refused("{a: 1}"), "line 1: invalid JSON value");
        assert_eq!(refused("{\"a\": 1"), "line 1: unclosed bracket");
        assert_eq!(refused("{} {}"), "line 1: unexpected text after the end");
        assert_eq!(refused(""), "line 1: expected a value");
        assert_eq!(refused("{\"a\" 1}"), "line 1: expected a colon");
        assert_eq!(refused("{\"a\": \"x}"), "line 1: unterminated string");
        assert_eq!(refused("/* {}"), "line 1: unterminated comment");
        assert!(refused(&"[".repeat(5000)).contains("nested too deeply"));
    }
}
