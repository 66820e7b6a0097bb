//! Converts JSON arguments to text that people read and the index tokenizes.
//!
//! `{"command":"cargo test","timeout":5}` becomes two lines, `command: cargo test` and
//! `timeout: 5`. Strings are decoded, so `\n` is a line break and not a stray `n`. Each value
//! follows its name, because the redactor uses the name to recognize a secret.

use std::fmt::Write;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Returns the readable form of a JSON text. Text that is not JSON is returned unchanged.
pub fn flatten(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = ValueWriter {
        out: &mut text,
        name: "",
        depth: 0,
    };
    match value.deserialize(&mut reader).and_then(|()| reader.end()) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => json.to_owned(),
    }
}

/// Writes the next JSON value as lines while it is parsed, without an intermediate tree.
struct ValueWriter<'a> {
    out: &'a mut String,
    name: &'a str,
    depth: usize,
}

impl ValueWriter<'_> {
    fn line(self, value: impl std::fmt::Display) {
        let indent = 2 * self.depth.saturating_sub(1);
        let _infallible = match self.name {
            "" => writeln!(self.out, "{:indent$}{value}", ""),
            name => writeln!(self.out, "{:indent$}{name}: {value}", ""),
        };
    }
}

impl<'de> DeserializeSeed<'de> for ValueWriter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueWriter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.line(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.line(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.line(value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.line(value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.line(value);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if !self.name.is_empty() {
            ValueWriter {
                out: self.out,
                name: "",
                depth: self.depth,
            }
            .line(format_args!("{}:", self.name));
        }
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            map.next_value_seed(ValueWriter {
                out: self.out,
                name: &name,
                depth: self.depth + 1,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        // A list of words, such as a command with its arguments, goes on one line.
        let start = self.out.len();
        let indent = 2 * self.depth.saturating_sub(1);
        let mut items = 0;
        if !self.name.is_empty() {
            let _infallible = writeln!(self.out, "{:indent$}{}:", "", self.name);
        }
        let body = self.out.len();
        while seq
            .next_element_seed(ValueWriter {
                out: self.out,
                name: "",
                depth: self.depth,
            })?
            .is_some()
        {
            items += 1;
        }
        let words = &self.out[body..];
        if items > 0 && words.lines().count() == items {
            let joined = words
                .lines()
                .map(str::trim_start)
                .collect::<Vec<_>>()
                .join(" ");
            self.out.truncate(start);
            ValueWriter {
                out: self.out,
                name: self.name,
                depth: self.depth,
            }
            .line(joined);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, text: &str) {
        assert_eq!(flatten(json), text);
    }

    #[test]
    fn names_and_decoded_values() {
        check(
            r#"{"command":"echo \"hi\"\nls","timeout":5}"#,
            "command: echo \"hi\"\nls\ntimeout: 5",
        );
    }

    #[test]
    fn words_of_a_command_stand_on_one_line() {
        check(
            r#"{"command":["bash","-lc","cargo test"]}"#,
            "command: bash -lc cargo test",
        );
    }

    #[test]
    fn nested_values_are_indented() {
        check(
            concat!(
                r#"{"todos":[{"content":"a","status":"done"},{"content":"b"}],"#,
                r#""x":{"y":null,"z":true}}"#
            ),
            "todos:\n  content: a\n  status: done\n  content: b\nx:\n  z: true",
        );
    }

    #[test]
    fn text_and_broken_json_stay() {
        check("*** Begin Patch", "*** Begin Patch");
        check(r#"{"a":"#, r#"{"a":"#);
        check(r#""just a string""#, "just a string");
        check(&"[".repeat(5000), &"[".repeat(5000));
    }
}
