//! JSON objects with their fields in the order given, as the agents write them.

use std::fmt::{Display, Write};

/// An object under construction.
#[derive(Clone, Debug, Default)]
pub struct Object(String);

impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, quoted(value))
    }

    /// Adds a field whose value is JSON already: a number, a literal, another object.
    pub fn raw(mut self, key: &str, value: impl Display) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}\"{key}\":{value}");
        self
    }

    /// Adds the fields of another object.
    pub fn append(mut self, more: &Self) -> Self {
        if !self.0.is_empty() && !more.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&more.0);
        self
    }

    pub fn object(self, key: &str, value: Self) -> Self {
        self.raw(key, value)
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{{}}}", self.0)
    }
}

pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns an array of values that are JSON already.
pub fn array<T: Display>(values: &[T]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", values.join(","))
}
