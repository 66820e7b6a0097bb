//! Facts: short durable statements.
//!
//! A fact is a preference, a decision, a correction, a command that works, an outcome, or a note.
//! A pinned fact is never evicted. [`relation`] compares a new statement with an old one: it may
//! repeat it, contradict it, or be unrelated. The comparison prefers precision to recall, because
//! keeping two contradicting facts does less harm than replacing a valid one.

mod alternatives;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::alternatives::are_alternatives;
use crate::words::{StemmedText, split_words, stem};
use crate::{RecordId, Trust};

/// The maximum length of a fact in words.
pub const WORDS_MAX: usize = 40;

/// A fact as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    pub id: FactId,
    /// The key of the workspace that the fact applies to; `None` means all workspaces.
    pub workspace: Option<String>,
    pub kind: FactKind,
    pub text: String,
    pub tags: Vec<String>,
    pub trust: Trust,
    pub pinned: bool,
    pub made: Timestamp,
    /// When the fact was last stated.
    pub seen: Timestamp,
    /// How often the fact was stated.
    pub times: u64,
    /// The fact that replaced this one.
    pub superseded: Option<FactId>,
    /// The records that the fact was extracted from.
    pub sources: Vec<RecordId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactKind {
    /// How the user wants things done. Only the user can state one.
    Preference,
    Decision,
    /// What the user corrected.
    Correction,
    /// A command that works.
    Command,
    Outcome,
    Note,
}

impl FactKind {
    pub const ALL: &[Self] = &[
        Self::Preference,
        Self::Decision,
        Self::Correction,
        Self::Command,
        Self::Outcome,
        Self::Note,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Correction => "correction",
            Self::Command => "command",
            Self::Outcome => "outcome",
            Self::Note => "note",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for FactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Identifies a fact. The id is a hash of the workspace and the stemmed words, so stating the same
/// fact again yields the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId([u8; 16]);

impl FactId {
    pub fn from_text(workspace: Option<&str>, text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(workspace.unwrap_or_default().as_bytes());
        hasher.update(b"\0");
        let words = StemmedText::parse(text);
        // A text that consists of stop words only is hashed as it is.
        let said = if words.stems.is_empty() {
            text.to_owned()
        } else {
            words.to_line()
        };
        hasher.update(said.as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(id)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the first eight digits, the short form that is printed.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RecordId::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FactId({self})")
    }
}

impl FromStr for FactId {
    type Err = crate::id::InvalidRecordId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|id: RecordId| Self(*id.as_bytes()))
    }
}

impl Serialize for FactId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a new statement relates to an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactRelation {
    Unrelated,
    /// Both say the same.
    Repeats,
    /// Both cannot be true.
    Contradicts,
}

/// Compares a new statement with an old one.
pub fn relation(new: &str, old: &str) -> FactRelation {
    ParsedStatement::parse(new).relation(&ParsedStatement::parse(old))
}

/// A statement parsed once, so that it can be compared with many others.
#[derive(Debug)]
pub struct ParsedStatement {
    words: StemmedText,
    choice: Option<StatedChoice>,
    assignment: Option<(StemmedText, String)>,
}

impl ParsedStatement {
    pub fn parse(text: &str) -> Self {
        Self {
            words: StemmedText::parse(text),
            choice: parse_choice(text),
            assignment: parse_assignment(text),
        }
    }

    /// Compares this statement with an old one.
    pub fn relation(&self, old: &Self) -> FactRelation {
        let (a, b) = (&self.words, &old.words);
        if a.stems.is_empty() || b.stems.is_empty() {
            return FactRelation::Unrelated;
        }
        if a.stems == b.stems {
            return if a.negated == b.negated && self.agrees_on_choice(old) {
                FactRelation::Repeats
            } else {
                FactRelation::Contradicts
            };
        }
        if self.gives_other_answer(old) {
            return FactRelation::Contradicts;
        }
        if a.negated == b.negated && adds_only_words(a, b) {
            return FactRelation::Repeats;
        }
        FactRelation::Unrelated
    }

    /// Tells "use pnpm, not npm" from "use npm, not pnpm", whose words are the same.
    fn agrees_on_choice(&self, old: &Self) -> bool {
        match (&self.choice, &old.choice) {
            (Some(new), Some(old)) => new.rejected.is_empty() || new.chosen == old.chosen,
            _ => true,
        }
    }

    /// Says whether both statements answer the same question differently.
    fn gives_other_answer(&self, old: &Self) -> bool {
        let by_choice = match (&self.choice, &old.choice) {
            (Some(new), Some(old)) => new.excludes(old),
            _ => false,
        };
        by_choice
            || match (&self.assignment, &old.assignment) {
                (Some((a, x)), Some((b, y))) => a == b && x != y,
                _ => false,
            }
    }
}

/// Says whether one text is the other plus a few words, none of which is a value.
fn adds_only_words(a: &StemmedText, b: &StemmedText) -> bool {
    let within = a.stems.is_subset(&b.stems) || b.stems.is_subset(&a.stems);
    let is_value = |stem: &&String| stem.contains(|c: char| !c.is_alphabetic());
    let differs: Vec<_> = a.stems.symmetric_difference(&b.stems).collect();
    within && a.overlap(b) >= 0.75 && !differs.iter().any(is_value)
}

/// A statement of the form "use X for Y, not Z".
#[derive(Debug)]
struct StatedChoice {
    chosen: String,
    rejected: Vec<String>,
    /// The words that say what X is for; often empty.
    purpose: StemmedText,
    negated: bool,
}

impl StatedChoice {
    fn excludes(&self, old: &Self) -> bool {
        if self.negated || old.negated {
            return false;
        }
        let same_purpose = self.purpose.stems == old.purpose.stems;
        let rejects = self.rejected.contains(&old.chosen) && self.chosen != old.chosen;
        let instead = self.chosen != old.chosen
            && !old.rejected.contains(&self.chosen)
            && are_alternatives(&self.chosen, &old.chosen)
            || old.rejected.contains(&self.chosen) && old.chosen != self.chosen;
        let purpose_is_open = self.purpose.stems.is_empty() || old.purpose.stems.is_empty();
        rejects && (same_purpose || purpose_is_open) || instead && same_purpose
    }
}

const CHOICE_VERBS: &[&str] = &[
    "use", "uses", "using", "prefer", "prefers", "choose", "with",
];
const REJECTION_WORDS: &[&str] = &["not", "over", "than", "of"];
const PURPOSE_WORDS: &[&str] = &["for", "in", "to", "when", "as", "on"];

fn parse_choice(text: &str) -> Option<StatedChoice> {
    let words: Vec<_> = split_words(text).collect();
    let verb = words
        .iter()
        .position(|word| CHOICE_VERBS.contains(&word.as_str()))?;
    let negated = words[..verb]
        .iter()
        .any(|word| ["not", "never", "don", "dont", "avoid"].contains(&word.as_str()));
    let rest = &words[verb + 1..];
    let chosen = rest.first()?.clone();
    let mut rejected = Vec::new();
    let mut purpose = words[..verb].join(" ");
    let mut at = 1;
    while at < rest.len() {
        let word = rest[at].as_str();
        if REJECTION_WORDS.contains(&word) && at + 1 < rest.len() {
            rejected.push(rest[at + 1].clone());
            at += 2;
        } else {
            if !matches!(word, "instead" | "rather") && !PURPOSE_WORDS.contains(&word) {
                purpose += " ";
                purpose += word;
            }
            at += 1;
        }
    }
    Some(StatedChoice {
        chosen,
        rejected,
        purpose: StemmedText {
            negated: false,
            ..StemmedText::parse(&purpose)
        },
        negated,
    })
}

/// Phrases between a subject and the single value it can have.
#[rustfmt::skip]
const ASSIGNMENT_PHRASES: &[&str] = &[
    " run with ", " runs with ", " are run with ", " is run with ", " run via ", " listens on ",
    " listen on ", " is deployed to ", " are deployed to ", " deploys to ", " defaults to ",
    " is set to ", " lives in ", " live in ", " lives at ",
];

/// Splits "the tests run with X" into subject and value. A plain "is" counts only before a number,
/// because most subjects can be several things at once.
fn parse_assignment(text: &str) -> Option<(StemmedText, String)> {
    let text = text.to_lowercase();
    let split_at = |phrase: &str| {
        let (thing, value) = text.split_once(phrase)?;
        let value = value.trim().trim_end_matches(['.', '!']).to_owned();
        let phrase: String = phrase.split_whitespace().map(stem).collect();
        Some((StemmedText::parse(&format!("{thing} {phrase}")), value))
    };
    let plain = |found: &(StemmedText, String)| !found.0.negated && found.0.stems.len() > 1;
    ASSIGNMENT_PHRASES
        .iter()
        .find_map(|phrase| split_at(phrase))
        .filter(plain)
        .or_else(|| {
            split_at(" is ").filter(|(thing, value)| {
                let number = value.trim_start_matches(['v', '$']);
                thing.stems.len() > 1
                    && number.starts_with(|c: char| c.is_ascii_digit())
                    && value.split_whitespace().count() <= 2
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(new: &str, old: &str, expected: FactRelation) {
        assert_eq!(relation(new, old), expected, "{new:?} after {old:?}");
    }

    #[test]
    fn the_same_in_other_words() {
        use FactRelation::Repeats;
        check("Always use pnpm.", "use pnpm", Repeats);
        check(
            "run the tests with nextest", "Tests: run with nextest", Repeats,
        );
        check(
            "We never commit generated protobuf files",
            "never commit the generated protobuf file",
            Repeats,
        );
        check(
            "please always run cargo clippy before every commit",
            "always run cargo clippy before commit",
            Repeats,
        );
    }

    #[test]
    fn the_opposite_replaces() {
        use FactRelation::Contradicts;
        check("use pnpm", "use npm", Contradicts);
        check("Use pnpm, not npm", "use npm", Contradicts);
        check("use npm, not pnpm", "use pnpm, not npm", Contradicts);
        check(
            "we use tabs for indentation",
            "we use spaces for indentation",
            Contradicts,
        );
        check("don't use tabs", "use tabs", Contradicts);
        check(
            "The tests run with cargo nextest",
            "tests run with cargo test",
            Contradicts,
        );
        check(
            "The default port is 9090", "the default port is 8080", Contradicts,
        );
        check(
            "the server listens on 9000", "The server listens on 8000", Contradicts,
        );
        check("use vitest instead of jest", "use jest", Contradicts);
    }

    #[test]
    fn what_is_not_sure_lives_side_by_side() {
        use FactRelation::Unrelated;
        check("use serde", "use tokio", Unrelated);
        check("use pnpm in web", "use npm in docs", Unrelated);
        check("the parser is recursive", "the parser is fast", Unrelated);
        check(
            "the client uses port 80", "the client uses retries", Unrelated,
        );
        check("", "use npm", Unrelated);
        check("deploy with fly", "run the tests with nextest", Unrelated);
        check(
            "cache entries expire after 10 minutes",
            "cache entries expire after 10 minutes in 2 regions",
            Unrelated,
        );
    }

    #[test]
    fn a_name_does_not_depend_on_order_or_case() {
        let id = |text: &str| FactId::from_text(Some("w"), text);
        assert_eq!(id("Use pnpm always"), id("always use PNPM!"));
        assert_ne!(id("use pnpm"), FactId::from_text(None, "use pnpm"));
        assert_ne!(id("use pnpm"), id("don't use pnpm"));
        let one = id("use pnpm");
        assert_eq!(one.to_string().parse(), Ok(one));
    }
}
