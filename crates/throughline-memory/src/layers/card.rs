//! Cards: what is kept of one file, command, error or fact, and under which key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tokens::estimate;
use crate::{RecordId, Tokens};

/// The size that no card exceeds.
pub const CARD_TOKENS_MAX: Tokens = Tokens(400);

/// What a card is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CardKey {
    /// The session's current task.
    Task,
    /// A path, relative to the workspace where possible.
    File(String),
    /// A program with its subcommand.
    Command(String),
    /// The fingerprint of an error.
    Error(String),
    Fact(String),
    Pattern(String),
    /// A knowledge capsule other than a pattern.
    Capsule(String),
    Record(String),
    /// The digest of a session.
    Digest(String),
    /// The session of a subagent.
    Agent(String),
}

impl CardKey {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Task => ("task", ""),
            Self::File(path) => ("file", path),
            Self::Command(family) => ("cmd", family),
            Self::Error(name) => ("error", name),
            Self::Fact(id) => ("fact", id),
            Self::Pattern(id) => ("pattern", id),
            Self::Capsule(id) => ("capsule", id),
            Self::Record(id) => ("record", id),
            Self::Digest(session) => ("digest", session),
            Self::Agent(session) => ("agent", session),
        }
    }

    /// Returns the path of a file's key.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    /// Parses what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "task" {
            return Some(Self::Task);
        }
        let (kind, rest) = text.split_once(':')?;
        let rest = rest.to_owned();
        Some(match kind {
            "file" => Self::File(rest),
            "cmd" => Self::Command(rest),
            "error" => Self::Error(rest),
            "fact" => Self::Fact(rest),
            "pattern" => Self::Pattern(rest),
            "capsule" => Self::Capsule(rest),
            "record" => Self::Record(rest),
            "digest" => Self::Digest(rest),
            "agent" => Self::Agent(rest),
            _ => return None,
        })
    }
}

impl fmt::Display for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (kind, "") => f.write_str(kind),
            (kind, rest) => write!(f, "{kind}:{rest}"),
        }
    }
}

impl From<CardKey> for String {
    fn from(key: CardKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for CardKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("unknown card key: {text}"))
    }
}

/// The entry for a key: a few lines from redacted records, never the contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    pub text: String,
    pub tokens: Tokens,
    /// The records that the text comes from, so that forgetting one removes the card.
    pub made_of: Vec<RecordId>,
}

impl Card {
    /// Creates a card of whole lines; lines beyond the limit are left out.
    pub fn new(text: &str, made_of: Vec<RecordId>) -> Self {
        let mut kept = String::new();
        for line in text.lines() {
            let end = kept.len();
            if !kept.is_empty() {
                kept.push('\n');
            }
            kept.push_str(line);
            if estimate(&kept) > CARD_TOKENS_MAX {
                kept.truncate(end);
                break;
            }
        }
        Self {
            tokens: estimate(&kept),
            text: kept,
            made_of,
        }
    }

    /// Creates a card of a given size without a text, for replays of touches.
    pub fn of_size(tokens: Tokens) -> Self {
        Self {
            tokens: tokens.min(CARD_TOKENS_MAX),
            ..Self::default()
        }
    }

    /// Returns the card with its first line only.
    pub fn first_line(&self) -> Self {
        let line = self.text.lines().next().unwrap_or_default();
        Self {
            text: line.to_owned(),
            tokens: estimate(line),
            made_of: self.made_of.clone(),
        }
    }
}
