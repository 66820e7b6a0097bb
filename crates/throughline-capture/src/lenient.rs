//! Fields read for what they should be and passed over when they are something else: one odd value
//! must not cost the object it stands in.

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value, or nothing where something else stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lenient<T>(pub Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

impl Lenient<String> {
    /// Returns the text if there is any.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub fn is(&self, word: &str) -> bool {
        self.0.as_deref() == Some(word)
    }

    pub fn into_text(self) -> Option<String> {
        self.0.filter(|text| !text.trim().is_empty())
    }
}

impl Lenient<bool> {
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

impl Lenient<f64> {
    /// Returns the number as a count; below zero counts nothing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate, and counts stay far below 2^53"
    )]
    pub fn count(self) -> u64 {
        self.0.map_or(0, |number| number as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_value_is_no_value() {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Entry {
            name: Lenient<String>,
            count: Lenient<f64>,
            on: Lenient<bool>,
        }
        let read = |text| serde_json::from_str::<Entry>(text).unwrap();
        let entry = read(r#"{"name":"a","count":-3,"on":true}"#);
        assert!(entry.name.is("a") && entry.count.count() == 0 && entry.on.is_true());
        let entry = read(r#"{"name":{"x":1},"count":"many"}"#);
        assert!(entry.name.text().is_none() && entry.count.0.is_none() && !entry.on.is_true());
    }
}
