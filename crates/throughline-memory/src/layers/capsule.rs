//! Knowledge capsules: what a workspace knows beyond single records, in short form.
//!
//! A capsule holds the most important lines of its sources, in at most [`PERCENT_MAX`] percent of
//! their size. A source that is too short for that gets no capsule: it is used as it is.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CARD_TOKENS_MAX, Card, CardKey};
use crate::tokens::estimate;
use crate::words::StemmedText;
use crate::{RecordId, SessionId, Tokens};

/// The size of a capsule relative to its sources, in percent.
pub const PERCENT_MAX: u64 = 30;
/// The history of a workspace may be as long as its roll-up.
pub const HISTORY_TOKENS_MAX: Tokens = Tokens(1_000);
/// Capsules of one kind that share this much of their words say the same.
const SAME_OVERLAP: f64 = 0.9;
/// How many patterns the entry of a capsule names.
const PATTERNS_MAX: usize = 5;

named_enum! {
    /// What a capsule is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum CapsuleKind {
        /// A problem or success that recurs across sessions.
        Pattern = "pattern",
        /// A skill that agents used.
        Skill = "skill",
        /// An instruction file, or the versions, models and tools of an agent.
        Configuration = "configuration",
        /// What the user wants.
        Preference = "preference",
        /// What the sessions of the workspace worked on.
        History = "history",
    }
}

impl CapsuleKind {
    const fn tokens_max(self) -> Tokens {
        match self {
            Self::History => HISTORY_TOKENS_MAX,
            _ => CARD_TOKENS_MAX,
        }
    }
}

/// A line that a capsule may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapsuleLine {
    pub text: String,
    /// Lines of a higher rank are kept first.
    pub rank: u8,
}

impl CapsuleLine {
    pub fn new(text: impl Into<String>, rank: u8) -> Self {
        Self {
            text: text.into(),
            rank,
        }
    }
}

/// What a capsule is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapsuleSource {
    pub kind: CapsuleKind,
    /// Identifies the capsule among those of its kind in the workspace.
    pub name: String,
    /// The time of the latest source.
    pub at: Timestamp,
    /// The whole source in one line.
    pub summary: String,
    pub lines: Vec<CapsuleLine>,
    /// The size of the sources.
    pub original_tokens: Tokens,
    pub made_of: Vec<RecordId>,
    /// The sessions that the sources come from.
    pub sessions: BTreeSet<SessionId>,
}

/// Knowledge in short form, with its index entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capsule {
    pub kind: CapsuleKind,
    pub name: String,
    /// The time of the latest source.
    pub at: Timestamp,
    /// The names of patterns that occurred in the same sessions.
    pub patterns: Vec<String>,
    pub summary: String,
    pub text: String,
    /// The size of the summary and the text.
    pub tokens: Tokens,
    pub original_tokens: Tokens,
    /// The records that the text comes from.
    pub made_of: Vec<RecordId>,
}

impl Capsule {
    /// Condenses a source. Returns `None` if not even its summary is short enough.
    pub fn condense(source: &CapsuleSource, patterns: &[&str]) -> Option<Self> {
        let allowed = Tokens(source.original_tokens.0 * PERCENT_MAX / 100);
        let limit = allowed.min(source.kind.tokens_max());
        if source.summary.is_empty() || estimate(&source.summary) > limit {
            return None;
        }
        let lines = choose_lines(&source.summary, &source.lines, limit);
        let text = lines.join("\n");
        Some(Self {
            kind: source.kind,
            name: source.name.clone(),
            at: source.at,
            patterns: patterns
                .iter()
                .take(PATTERNS_MAX)
                .map(|&name| name.to_owned())
                .collect(),
            tokens: estimate(&joined(&source.summary, &lines)),
            summary: source.summary.clone(),
            text,
            original_tokens: source.original_tokens,
            made_of: source.made_of.clone(),
        })
    }

    /// Returns the id, which is unique in the workspace.
    pub fn id(&self) -> String {
        format!("{}:{}", self.kind.name(), self.name)
    }

    /// Returns the key under which the layers look the capsule up.
    pub fn card_key(&self) -> CardKey {
        match self.kind {
            CapsuleKind::Pattern => CardKey::Pattern(self.name.clone()),
            _ => CardKey::Capsule(self.id()),
        }
    }

    /// Returns the summary and as many lines as a card holds.
    pub fn card(&self) -> Card {
        Card::new(&self.full_text(), self.made_of.clone())
    }

    /// Returns the summary and the text.
    pub fn full_text(&self) -> String {
        let lines: Vec<&str> = self.text.lines().collect();
        joined(&self.summary, &lines)
    }

    /// Returns the size relative to the sources, in percent.
    pub fn percent(&self) -> f64 {
        let percent = self.tokens.0 as f64 * 100.0 / self.original_tokens.0.max(1) as f64;
        (percent * 10.0).round() / 10.0
    }
}

/// Keeps one of the capsules of a kind that say the same, the latest. It takes over the records and
/// patterns of the others, so that forgetting any of them removes it.
pub fn deduplicate(mut capsules: Vec<Capsule>) -> Vec<Capsule> {
    capsules.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id().cmp(&b.id())));
    let mut kept: Vec<(StemmedText, Capsule)> = Vec::new();
    for capsule in capsules {
        let words = StemmedText::parse(&capsule.full_text());
        let same = kept.iter_mut().find(|(known_words, known)| {
            known.kind == capsule.kind
                && (known.name == capsule.name || known_words.overlap(&words) >= SAME_OVERLAP)
        });
        match same {
            Some((_, known)) => {
                add_missing(&mut known.made_of, capsule.made_of);
                add_missing(&mut known.patterns, capsule.patterns);
                known.patterns.truncate(PATTERNS_MAX);
                known.original_tokens += capsule.original_tokens;
            }
            None => kept.push((words, capsule)),
        }
    }
    let mut kept: Vec<Capsule> = kept.into_iter().map(|(_, capsule)| capsule).collect();
    kept.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.name.cmp(&b.name)));
    kept
}

fn add_missing<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

/// Chooses lines by their rank until the next one does not fit, and returns them in their order.
fn choose_lines<'a>(summary: &str, lines: &'a [CapsuleLine], limit: Tokens) -> Vec<&'a str> {
    let mut by_rank: Vec<usize> = (0..lines.len()).collect();
    by_rank.retain(|at| !lines[*at].text.trim().is_empty());
    by_rank.sort_by(|a, b| lines[*b].rank.cmp(&lines[*a].rank).then(a.cmp(b)));
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    let texts = |chosen: &BTreeSet<usize>| -> Vec<&'a str> {
        chosen.iter().map(|at| lines[*at].text.as_str()).collect()
    };
    for at in by_rank {
        chosen.insert(at);
        if estimate(&joined(summary, &texts(&chosen))) > limit {
            chosen.remove(&at);
            break;
        }
    }
    texts(&chosen)
}

fn joined(summary: &str, lines: &[&str]) -> String {
    let mut text = summary.to_owned();
    for line in lines {
        text.push('\n');
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(name: &str, lines: Vec<CapsuleLine>, original: u64) -> CapsuleSource {
        CapsuleSource {
            kind: CapsuleKind::Skill,
            name: name.to_owned(),
            at: Timestamp::from_second(1_750_000_000).unwrap(),
            summary: "deploy: put a build on the staging server".to_owned(),
            lines,
            original_tokens: Tokens(original),
            made_of: vec![RecordId::from_bytes([1; 16])],
            sessions: BTreeSet::new(),
        }
    }

    #[test]
    fn important_lines_are_kept_in_their_order() {
        let lines = vec![
            CapsuleLine::new("Some words about the history of the staging server.", 1),
            CapsuleLine::new("## Before", 2),
            CapsuleLine::new("- Never deploy from a dirty work tree.", 3),
            CapsuleLine::new("## After", 2),
        ];
        let capsule = Capsule::condense(&source("deploy", lines, 110), &[]).unwrap();
        assert_eq!(
            capsule.text,
            "## Before\n- Never deploy from a dirty work tree.\n## After"
        );
        assert!(capsule.percent() <= 30.0, "{}", capsule.percent());
    }

    #[test]
    fn a_short_source_gets_no_capsule() {
        assert_eq!(
            Capsule::condense(&source("deploy", Vec::new(), 20), &[]),
            None
        );
    }

    #[test]
    fn capsules_that_say_the_same_become_one() {
        let make = |name: &str, record: u8, seconds: i64| Capsule {
            at: Timestamp::from_second(seconds).unwrap(),
            made_of: vec![RecordId::from_bytes([record; 16])],
            ..Capsule::condense(&source(name, Vec::new(), 400), &["go-test/failed"]).unwrap()
        };
        let kept = deduplicate(vec![make("deploy", 1, 10), make("deploy-copy", 2, 20)]);
        assert_eq!(kept.len(), 1);
        assert_eq!(
            (kept[0].name.as_str(), kept[0].made_of.len()),
            ("deploy-copy", 2)
        );
        let other = Capsule {
            kind: CapsuleKind::Configuration,
            ..make("deploy", 1, 10)
        };
        assert_eq!(deduplicate(vec![make("deploy", 1, 10), other]).len(), 2);
    }

    proptest! {
        #[test]
        fn a_capsule_is_within_its_size(
            lines in prop::collection::vec(("[a-zäß決 ]{0,60}", 0_u8..4), 0..60),
            original in 1_u64..20_000,
        ) {
            let lines = lines.into_iter().map(|(text, rank)| CapsuleLine::new(text, rank));
            let source = source("deploy", lines.collect(), original);
            if let Some(capsule) = Capsule::condense(&source, &[]) {
                prop_assert!(capsule.tokens.0 * 100 <= original * PERCENT_MAX);
                prop_assert!(capsule.tokens <= CARD_TOKENS_MAX);
                prop_assert_eq!(estimate(&capsule.full_text()), capsule.tokens);
                prop_assert_eq!(capsule.card().text, capsule.full_text());
            } else {
                prop_assert!(estimate(&source.summary).0 * 100 > original * PERCENT_MAX);
            }
        }
    }
}
