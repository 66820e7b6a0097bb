//! Fields read for what they should be and passed over when they are something else: one odd value
//! must not cost the object it stands in.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
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

/// Reads a field, or takes its default where something else stands in its place.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// Reads the items of a list that are what they should be.
pub fn each<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let items: Vec<Box<RawValue>> = or_default(deserializer)?;
    let read = items
        .iter()
        .filter_map(|item| serde_json::from_str(item.get()).ok());
    Ok(read.collect())
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

    #[derive(serde::Deserialize, Default, PartialEq, Debug)]
    #[serde(default)]
    struct Fields {
        #[serde(deserialize_with = "super::or_default")]
        name: Option<String>,
        #[serde(deserialize_with = "super::each")]
        counts: Vec<u64>,
    }

    #[track_caller]
    fn check(json: &str, name: Option<&str>, counts: &[u64]) {
        let fields: Fields = serde_json::from_str(json).unwrap();
        assert_eq!((fields.name.as_deref(), &*fields.counts), (name, counts));
    }

    #[test]
    fn an_odd_value_costs_only_itself() {
        check(r#"{"name":"a","counts":[1,2]}"#, Some("a"), &[1, 2]);
        check(r#"{"name":{"a":1},"counts":[1,"x",3]}"#, None, &[1, 3]);
        check(r#"{"name":null,"counts":"x"}"#, None, &[]);
        check("{}", None, &[]);
    }
}
