//! Fields read for what they should be and passed over when they are something else: one odd
//! value must not cost the line it stands on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text, borrowed from the line unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// Returns the text if there is any.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub fn is(&self, word: &str) -> bool {
        self.0.as_deref() == Some(word)
    }

    pub fn into_cow(self) -> Cow<'a, str> {
        self.0.unwrap_or_default()
    }

    pub fn into_string(self) -> String {
        self.into_cow().into_owned()
    }
}

/// A flag; all but `true` is false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

/// A number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Number(pub Option<f64>);

impl Number {
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

/// How many bytes a base64 text stands for; the text itself is not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodedSize(pub u64);

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
        Ok(Self(matches!(
            Scalar::deserialize(deserializer)?,
            Scalar::True
        )))
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

enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    True,
    Other,
}

impl<'de> Scalar<'de> {
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
    fn odd_values_are_no_values() {
        for json in ["null", "7", "[1]", r#"{"a":1}"#, "true"] {
            assert_eq!(serde_json::from_str::<Text<'_>>(json).unwrap(), Text(None));
        }
        assert!(!serde_json::from_str::<Flag>(r#""true""#).unwrap().0);
        assert_eq!(serde_json::from_str::<Number>("-3").unwrap().count(), 0);
    }

    #[test]
    fn a_plain_text_is_borrowed() {
        let text: Text<'_> = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(text.0, Some(Cow::Borrowed("plain"))));
    }

    #[test]
    fn an_image_is_measured() {
        let size: EncodedSize = serde_json::from_str(r#""aGVsbG8=""#).unwrap();
        assert_eq!(size, EncodedSize(5));
    }
}
