//! Tolerant reading of foreign JSON: one field of an unexpected type must not cost the object that
//! contains it.
//!
//! The hot formats use the types of [`scalar`], which cost one pass over the line. [`Lenient`] and
//! the `deserialize_with` functions below take any type, at the price of a second pass over the
//! field. Fields that are large or change their type between versions stay a [`RawValue`] in the
//! wire types and are read with [`parse`] or [`parse_or_default`] when they are needed.
//!
//! A wire type that borrows from its line states so once, with `bound(deserialize = "'de: 'a")`,
//! instead of `borrow` on every field. A `Cow` is the exception: without `borrow` on the field,
//! serde would copy its text.

mod scalar;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::value::RawValue;

pub use scalar::{EncodedSize, Flag, Number, Scalar, Text};

/// Reads a raw value; `None` if it is absent or has another shape.
pub fn parse<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Reads a raw value; the default if it is absent or has another shape.
pub fn parse_or_default<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    parse(raw).unwrap_or_default()
}

/// Reads a list of raw values one by one and drops the items that have another shape.
pub fn parse_items<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Vec<T> {
    let items: Vec<&RawValue> = parse_or_default(raw);
    items
        .into_iter()
        .filter_map(|item| parse(Some(item)))
        .collect()
}

/// A field that is `None` where the JSON holds a value of another type.
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
    /// Returns the text unless it is absent or empty.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub fn is(&self, word: &str) -> bool {
        self.0.as_deref() == Some(word)
    }

    /// Returns the text unless it is absent or blank.
    pub fn into_text(self) -> Option<String> {
        self.0.filter(|text| !text.trim().is_empty())
    }
}

impl Lenient<Text<'_>> {
    pub fn as_deref(&self) -> Option<&str> {
        self.0.as_ref()?.0.as_deref()
    }
}

impl Lenient<bool> {
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

impl Lenient<f64> {
    /// Returns the number as a count, and 0 for a negative or absent one.
    pub fn count(self) -> u64 {
        Number(self.0).count()
    }
}

/// Reads a field, or its default where the JSON holds a value of another type. For use with
/// `#[serde(deserialize_with)]`.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// Reads the items of a list that have the expected type and drops the others. For use with
/// `#[serde(deserialize_with)]`.
pub fn valid_items<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
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
    fn a_value_of_another_type_is_none() {
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
        #[serde(deserialize_with = "super::valid_items")]
        counts: Vec<u64>,
    }

    #[track_caller]
    fn check(json: &str, name: Option<&str>, counts: &[u64]) {
        let fields: Fields = serde_json::from_str(json).unwrap();
        assert_eq!((fields.name.as_deref(), &*fields.counts), (name, counts));
    }

    #[test]
    fn a_value_of_another_type_costs_only_itself() {
        check(r#"{"name":"a","counts":[1,2]}"#, Some("a"), &[1, 2]);
        check(r#"{"name":{"a":1},"counts":[1,"x",3]}"#, None, &[1, 3]);
        check(r#"{"name":null,"counts":"x"}"#, None, &[]);
        check("{}", None, &[]);
    }
}
