//! Which facts and records may be put before a model, and why the others may not.

use std::collections::{BTreeMap, BTreeSet};

use memory::hygiene::{self, Shape};
use memory::words::Words;
use memory::{Fact, FactKind, Item, Kind, Trust, directives};
use serde::Serialize;
use store::USEFULNESS_UNKNOWN;

use crate::echo;
use crate::occasion::Occasion;
use crate::offered::Candidate;

/// The tag of what may hold a secret.
const SENSITIVE: &str = "sensitive";
/// Two texts that share this much of their words are the same to a reader.
const SAME_OVERLAP: f64 = 0.8;
/// A text of which the session has said this share of the words already brings nothing.
const HELD_SHARE: f64 = 0.9;
/// What proved less useful than this is not shown again.
const USEFULNESS_MIN: f64 = 0.25;

/// What was thought of, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Considered {
    pub item: Item,
    pub text: String,
    pub score: f64,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Injected,
    Left(Why),
}

/// Why something is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    OwnSession,
    OtherWorkspace,
    OnlyAsks,
    OnlyAnnounces,
    BesideAnswer,
    Copy,
    ShownBefore,
    InPrompt,
    InSession,
    Sensitive,
    Redacted,
    Instruction(Shape),
    Directs,
    ToolOutput,
    Unhelpful,
    Weak,
    Repeats,
    OverCount,
    OverBudget,
}

impl Why {
    /// Says whether an item that stays out for this reason is still what the others are held
    /// against: the session has it, so weaker ones are not shown in its place. What could be no
    /// answer, or may never be shown, sets no bar.
    pub const fn sets_bar(self) -> bool {
        matches!(self, Self::ShownBefore | Self::InSession)
    }

    pub const fn reason(self) -> &'static str {
        match self {
            Self::OwnSession => "this session said it",
            Self::OtherWorkspace => "it belongs to another workspace",
            Self::OnlyAsks => "it only asks",
            Self::OnlyAnnounces => "it only says what the agent was about to do",
            Self::BesideAnswer => "its answer is shown with it",
            Self::Copy => "it is a copy",
            Self::ShownBefore => "it was shown in this session before",
            Self::InPrompt => "the prompt says it already",
            Self::InSession => "the session says it already",
            Self::Sensitive => "it may hold a secret",
            Self::Redacted => "nothing but redacted values is left of it",
            Self::Instruction(_) => "it reads like an instruction and is not the user's",
            Self::Directs => "it tells its reader what to do and is not the user's",
            Self::ToolOutput => "a tool returned it, and it is no data that answers the prompt",
            Self::Unhelpful => "it did not help before",
            Self::Weak => "it is not sure to be about the prompt",
            Self::Repeats => "something better says the same",
            Self::OverCount => "enough is shown already",
            Self::OverBudget => "it does not fit into the budget",
        }
    }
}

/// What is known when items are judged.
#[derive(Debug)]
pub struct Known<'a> {
    pub occasion: &'a Occasion,
    pub prompt: &'a Words,
    /// What was shown in this session.
    pub shown: &'a BTreeSet<Item>,
    /// What that said: another record may say it again.
    pub shown_words: &'a [Words],
    /// What the session has said lately.
    pub said: &'a [Words],
    pub useful: &'a BTreeMap<Item, f64>,
    pub fact_floor: f64,
    /// The user wants what may be sensitive too.
    pub sensitive: bool,
}

impl Known<'_> {
    /// Returns the score of a fact with what experience says, or why it stays out.
    pub fn fact(&self, fact: &Fact, likeness: f64) -> Result<f64, Why> {
        let item = Item::Fact(fact.id);
        if fact.workspace.is_some() && !self.occasion.allows(fact.workspace.as_deref()) {
            return Err(Why::OtherWorkspace);
        }
        self.common(&item, &fact.text, fact.trust, &fact.tags)?;
        // A command that worked is an order by its grammar; an agent ran it in this workspace.
        let may_direct = fact.trust == Trust::User || fact.kind == FactKind::Command;
        if !may_direct && directives::is_directive(&fact.text) {
            return Err(Why::Directs);
        }
        if fact.pinned {
            return Ok(1.0 + likeness);
        }
        let score = self.with_experience(&item, likeness)?;
        if likeness < self.fact_floor {
            return Err(Why::Weak);
        }
        Ok(score)
    }

    /// Returns how much experience speaks for a record, or why it stays out. Whether it is sure
    /// enough to be about the prompt depends on the others and is decided by the caller.
    pub fn record(&self, candidate: &Candidate) -> Result<f64, Why> {
        let item = Item::Record(candidate.id);
        if self.occasion.session.as_ref() == Some(&candidate.session) {
            return Err(Why::OwnSession);
        }
        if !self.occasion.allows(candidate.workspace.as_deref()) {
            return Err(Why::OtherWorkspace);
        }
        if candidate.copy {
            return Err(Why::Copy);
        }
        if candidate.kind == Kind::Prompt && echo::asks(&candidate.text) {
            return Err(Why::OnlyAsks);
        }
        if candidate.is_answered {
            return Err(Why::BesideAnswer);
        }
        if candidate.kind == Kind::Assistant && echo::is_chatter(&candidate.text) {
            return Err(Why::OnlyAnnounces);
        }
        self.common(&item, &candidate.text, candidate.trust, &candidate.tags)?;
        self.with_experience(&item, 1.0)
    }

    fn common(&self, item: &Item, text: &str, trust: Trust, tags: &[String]) -> Result<(), Why> {
        let same = self.shown.iter().any(|shown| shown.is_same(item));
        if same || repeats(text, self.shown_words) {
            return Err(Why::ShownBefore);
        }
        if !self.sensitive && tags.iter().any(|tag| tag == SENSITIVE) {
            return Err(Why::Sensitive);
        }
        if is_only_redacted(text) {
            return Err(Why::Redacted);
        }
        // What the user said may be an instruction. It still must not hide characters or imitate
        // the marks of a conversation: people paste.
        // Of what an agent wrote, sentences that direct are left out later.
        let shape = hygiene::shape(text);
        let pasted = matches!(
            shape,
            Some(Shape::Hidden | Shape::Role | Shape::Override | Shape::Send)
        );
        let is_barred = match (item, trust) {
            (Item::Record(_), Trust::Model) => shape == Some(Shape::Hidden),
            (_, Trust::User) => pasted,
            _ => true,
        };
        if let Some(shape) = shape
            && is_barred
        {
            return Err(Why::Instruction(shape));
        }
        let words = Words::of(text);
        if holds(self.prompt, &words) {
            return Err(Why::InPrompt);
        }
        if self.said.iter().any(|said| holds(said, &words)) {
            return Err(Why::InSession);
        }
        Ok(())
    }

    /// What helped before counts more, what was marked as unhelpful stays away.
    fn with_experience(&self, item: &Item, score: f64) -> Result<f64, Why> {
        let useful = self.useful.get(item).copied().unwrap_or(USEFULNESS_UNKNOWN);
        if useful < USEFULNESS_MIN {
            return Err(Why::Unhelpful);
        }
        Ok(score * (0.5 + useful))
    }
}

/// How a redacted value begins and ends.
const MARK: &str = "[redacted:";
const MARK_END: char = ']';
/// A line with a redacted value and no more words than these tells nothing, as in `KEY=[redacted:…]`.
const LABEL_WORDS_MAX: usize = 3;

/// Says whether every line of a text is a redacted value, with a label at most.
fn is_only_redacted(text: &str) -> bool {
    if !text.contains(MARK) {
        return false;
    }
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .all(|line| {
            let mut parts = line.split(MARK);
            let label = parts.next().unwrap_or_default();
            let mut words = count_words(label);
            let mut marks = 0;
            for part in parts {
                marks += 1;
                let rest = part.split_once(MARK_END).map_or("", |(_, rest)| rest);
                words += count_words(rest);
            }
            marks > 0 && words <= LABEL_WORDS_MAX
        })
}

fn count_words(text: &str) -> usize {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).count()
}

/// Says whether a longer text says what another one says.
fn holds(longer: &Words, words: &Words) -> bool {
    if words.stems.is_empty() {
        return true;
    }
    let shared = words.stems.intersection(&longer.stems).count();
    shared as f64 / words.stems.len() as f64 >= HELD_SHARE
}

/// Says whether a text is the same as one of those already chosen.
pub fn repeats(text: &str, chosen: &[Words]) -> bool {
    if chosen.is_empty() {
        return false;
    }
    let words = Words::of(text);
    chosen
        .iter()
        .any(|other| other.overlap(&words) >= SAME_OVERLAP)
}

#[cfg(test)]
mod tests {
    use super::is_only_redacted;

    #[test]
    fn a_text_of_redacted_values_tells_nothing() {
        assert!(is_only_redacted("[redacted:github-token:1f3a9c]"));
        assert!(is_only_redacted(
            "API_KEY=[redacted:api-key:1f3a9c]\n\nexport DB: [redacted:url-password:aa00bb]\n"
        ));
        assert!(!is_only_redacted(
            "the staging token [redacted:github-token:1f3a9c] expires in May"
        ));
        assert!(!is_only_redacted(
            "[redacted:github-token:1f3a9c]\nrotate it every month"
        ));
        assert!(!is_only_redacted("no secret here"));
    }
}
