//! Identifiers. They are deterministic, so reading a log twice yields the same ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// Identifies a log entry: the agent's own id, or an [`IdChain`] link if it has none.
    MessageId
}
text_id! {
    /// Identifies one response of a model API, which a log may split into several entries.
    ApiId
}
text_id! {
    /// Joins the result of a tool call to the call.
    CallId
}
text_id! {
    /// Identifies a session across agents: `<flavor>:<the agent's own id>`.
    SessionId
}

impl MessageId {
    /// The prefix of ids of entries that come from an agent's prompt history.
    pub const HISTORY_PREFIX: &str = "history/";

    /// The prefix of ids of records that a program submitted under an id of its own.
    pub const SUBMITTED_PREFIX: &str = "given/";

    /// Says whether the id was derived from the preceding entries or from the position in the log,
    /// because the agent assigns no ids of its own.
    pub fn is_derived(&self) -> bool {
        let is_link = |part: &str| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            part.len() == 32 && part.bytes().all(is_digit)
        };
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let first = self.0.split(['/', '-']).next().unwrap_or_default();
        let position = self.0.rsplit_once('/').map(|(_, position)| position);
        is_link(first)
            || position.is_some_and(|position| !position.is_empty() && is_number(position))
    }

    /// Says whether the entry comes from a prompt history, which knows neither its session nor its
    /// position.
    pub fn is_from_history(&self) -> bool {
        self.0.starts_with(Self::HISTORY_PREFIX)
    }
}

impl SessionId {
    pub fn of(flavor: crate::Flavor, native: &str) -> Self {
        Self(format!("{}:{native}", flavor.name()))
    }

    /// Returns the id the agent itself uses.
    pub fn native(&self) -> &str {
        self.0
            .split_once(':')
            .map_or(self.0.as_str(), |(_, native)| native)
    }
}

/// Returns the usual form of a UUID, in lower case with hyphens, if the text is one.
pub fn parse_uuid(text: &str) -> Option<String> {
    let is_valid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_valid.then(|| text.to_ascii_lowercase())
}

/// Identifies a record. The first twelve bytes are a hash of its content, the last four a hash of
/// its session, so the duplicates that a fork or a resume makes are adjacent in the key order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// The number of leading bytes that duplicates of a record share.
    pub const SHARED_BYTES: usize = 12;

    /// Derives the id. `content` is the hash of the text as it is stored.
    pub fn from_parts(
        session: &str,
        message: &str,
        ordinal: u32,
        kind: &str,
        content: &[u8; 32],
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        hash_field(&mut hasher, message.as_bytes());
        hasher.update(&ordinal.to_le_bytes());
        hash_field(&mut hasher, kind.as_bytes());
        hasher.update(content);
        let mut id = [0; 16];
        id[..Self::SHARED_BYTES]
            .copy_from_slice(&hasher.finalize().as_bytes()[..Self::SHARED_BYTES]);
        let session = blake3::hash(session.as_bytes());
        id[Self::SHARED_BYTES..].copy_from_slice(&session.as_bytes()[..16 - Self::SHARED_BYTES]);
        Self(id)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the lowest and the highest id that a duplicate of this record can have.
    pub fn duplicate_range(&self) -> (Self, Self) {
        let (mut low, mut high) = (self.0, self.0);
        low[Self::SHARED_BYTES..].fill(0);
        high[Self::SHARED_BYTES..].fill(0xff);
        (Self(low), Self(high))
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({self})")
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRecordId;

impl FromStr for RecordId {
    type Err = InvalidRecordId;

    fn from_str(text: &str) -> Result<Self, InvalidRecordId> {
        if text.len() != 32 || !text.is_ascii() {
            return Err(InvalidRecordId);
        }
        let mut id = [0; 16];
        for (byte, digits) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| InvalidRecordId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| InvalidRecordId)?;
        }
        Ok(Self(id))
    }
}

impl Serialize for RecordId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = text.parse();
        parsed.map_err(|_: InvalidRecordId| serde::de::Error::custom("not a record id"))
    }
}

/// Derives ids for a log whose entries have none: each id hashes all entries before it.
///
/// A resumed or forked log that repeats the entries of its parent gets the parent's ids, while the
/// same text later in the log gets another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IdChain([u8; 16]);

impl IdChain {
    /// Appends an entry and returns its id. `parts` must not contain timestamps, because agents
    /// update them when they replay a log.
    pub fn link(&mut self, parts: &[&str]) -> MessageId {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        for part in parts {
            hash_field(&mut hasher, part.as_bytes());
        }
        self.0.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        MessageId(RecordId(self.0).to_string())
    }
}

fn hash_field(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_record_lie_side_by_side() {
        let of = |session: &str| RecordId::from_parts(session, "m", 0, "prompt", &[7; 32]);
        let (a, b) = (of("a"), of("b"));
        let (low, high) = a.duplicate_range();
        assert_ne!(a, b);
        assert!(low <= b && b <= high);
    }

    #[test]
    fn same_entry_other_text_is_another_record() {
        let of = |content: u8| RecordId::from_parts("s", "m", 0, "prompt", &[content; 32]);
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn record_id_reads_back() {
        let id = RecordId::from_bytes(*b"0123456789abcdef");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("zz".parse::<RecordId>(), Err(InvalidRecordId));
    }

    #[test]
    fn uuids_are_recognised() {
        let uuid = "3F2504E0-4F89-41D3-9A0C-0305E82C3301";
        assert_eq!(parse_uuid(uuid), Some(uuid.to_ascii_lowercase()));
        for other in [
            "",
            "3f2504e04f8941d39a0c0305e82c3301",
            "3f2504e0-4f89-41d3-9a0c-0305e82c330g",
        ] {
            assert_eq!(parse_uuid(other), None);
        }
    }

    #[test]
    fn chain_names_a_replay_alike_and_a_repetition_apart() {
        let names = |texts: &[&str]| {
            let mut chain = IdChain::default();
            texts
                .iter()
                .map(|text| chain.link(&[text]))
                .collect::<Vec<_>>()
        };
        let original = names(&["go", "ok", "go"]);
        assert_eq!(names(&["go", "ok"]), original[..2]);
        assert_ne!(original[0], original[2]);
    }
}
