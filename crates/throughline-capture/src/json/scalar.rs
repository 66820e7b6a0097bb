//! Fields that hold a text, a number or a flag, read in one pass over the line.
//!
//! A field of another type reads as absent; its value is skipped, not stored.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text, borrowed from the line unless it contains escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// Returns the text unless it is absent or empty.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns the text, empty if it is absent.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub fn is(&self, word: &str) -> bool {
        self.0.as_deref() == Some(word)
    }

    /// Returns a copy of the text unless it is absent or empty.
    pub fn to_text(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }

    pub fn into_cow(self) -> Cow<'a, str> {
        self.0.unwrap_or_default()
    }

    pub fn into_string(self) -> String {
        self.into_cow().into_owned()
    }
}

/// A flag; every value but `true` reads as false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

/// A number, or `None` for a value of another type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Number(pub Option<f64>);

impl Number {
    /// Returns the number as a count, and 0 for a negative or absent one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate, and counts stay far below 2^53"
    )]
    pub fn count(self) -> u64 {
        self.0.map_or(0, |number| number as u64)
    }
}

/// The size in bytes of what a base64 text encodes; the text itself is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodedSize(pub u64);

/// A JSON value, reduced to the types that have no parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    True,
    /// `false`, `null`, a list or an object.
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Self(Some(text)),
            _ => Self(None),
        })
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar::deserialize(deserializer)?;
        Ok(Self(matches!(scalar, Scalar::True)))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Scalar::deserialize(deserializer)? {
            Scalar::Number(number) => Self(Some(number)),
            _ => Self(None),
        })
    }
}

impl<'de> Deserialize<'de> for EncodedSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => {
                let padding = text.bytes().rev().take_while(|&byte| byte == b'=').count();
                Self((text.len().saturating_sub(padding) * 3 / 4) as u64)
            }
            _ => Self(0),
        })
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(if flag { Scalar::True } else { Scalar::Other })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_absent() {
        for json in ["null", "7", "[1]", r#"{"a":1}"#, "true"] {
            assert_eq!(serde_json::from_str::<Text<'_>>(json).unwrap(), Text(None));
        }
        assert!(!serde_json::from_str::<Flag>(r#""true""#).unwrap().0);
        assert_eq!(serde_json::from_str::<Number>("-3").unwrap().count(), 0);
    }

    #[test]
    fn a_text_without_escapes_is_borrowed() {
        let text: Text<'_> = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(text.0, Some(Cow::Borrowed("plain"))));
    }

    #[test]
    fn base64_is_measured_without_its_padding() {
        let size: EncodedSize = serde_json::from_str(r#""aGVsbG8=""#).unwrap();
        assert_eq!(size, EncodedSize(5));
    }
}
