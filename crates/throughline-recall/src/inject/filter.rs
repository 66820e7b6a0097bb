//! Decides which facts and records may be shown to a model, and why the others may not.

use std::collections::{BTreeMap, BTreeSet};

use memory::hygiene::{self, InstructionPattern};
use memory::words::StemmedText;
use memory::{Fact, FactKind, MemoryItem, RecordKind, Trust, directives};
use serde::Serialize;
use store::USEFULNESS_UNKNOWN;

use super::request::PromptRequest;
use crate::query::utterance;
use crate::search::{RankedHit, SENSITIVE_TAG};

/// Two texts that share this much of their words say the same.
const SAME_OVERLAP: f64 = 0.8;
/// A text adds nothing when the session has said this share of its words already.
const COVERED_SHARE: f64 = 0.9;
/// Items that proved less useful than this are not shown again.
const USEFULNESS_MIN: f64 = 0.25;
/// An item that always helped counts one and a half times, one that never did half. With the
/// neutral [`USEFULNESS_UNKNOWN`] of one half, the factor is 1.
const USEFULNESS_BASE: f64 = 0.5;

/// An item that was considered for a prompt, and the decision about it.
#[derive(Clone, Debug, Serialize)]
pub struct ConsideredItem {
    pub item: MemoryItem,
    pub text: String,
    pub score: f64,
    #[serde(rename = "fate")]
    pub decision: ItemDecision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemDecision {
    Injected,
    #[serde(rename = "left")]
    Rejected(RejectReason),
}

/// The reason why an item is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    OwnSession,
    OtherWorkspace,
    OnlyAsks,
    OnlyAnnounces,
    BesideAnswer,
    ShownBefore,
    InPrompt,
    InSession,
    Sensitive,
    Redacted,
    Instruction(InstructionPattern),
    Directs,
    ToolOutput,
    Unhelpful,
    Weak,
    Repeats,
    OverCount,
    OverBudget,
}

impl RejectReason {
    /// Returns whether an item that is rejected for this reason still sets the baseline for the
    /// others. The session has it already, so weaker items must not take its place; items that
    /// could not be an answer, or must never be shown, set no baseline.
    pub(crate) const fn sets_baseline(self) -> bool {
        matches!(self, Self::ShownBefore | Self::InSession)
    }

    pub const fn reason(self) -> &'static str {
        match self {
            Self::OwnSession => "it comes from this session",
            Self::OtherWorkspace => "it belongs to another workspace",
            Self::OnlyAsks => "it is only a question",
            Self::OnlyAnnounces => "it only announces the agent's next step",
            Self::BesideAnswer => "it is shown with its answer",
            Self::ShownBefore => "it was already shown in this session",
            Self::InPrompt => "the prompt already says it",
            Self::InSession => "the session already says it",
            Self::Sensitive => "it may contain a secret",
            Self::Redacted => "it contains nothing but redacted values",
            Self::Instruction(_) => "it looks like an instruction and is not the user's",
            Self::Directs => "it tells the reader what to do and is not the user's",
            Self::ToolOutput => "it is tool output without data that answers the prompt",
            Self::Unhelpful => "it did not help before",
            Self::Weak => "it is not confident enough to be about the prompt",
            Self::Repeats => "a better item says the same",
            Self::OverCount => "enough items are shown already",
            Self::OverBudget => "it does not fit into the token budget",
        }
    }
}

/// Decides which items may be shown for a prompt.
#[derive(Debug)]
pub(crate) struct InjectionFilter<'a> {
    pub(crate) request: &'a PromptRequest,
    pub(crate) prompt_words: &'a StemmedText,
    /// Items that were shown in this session.
    pub(crate) shown_items: &'a BTreeSet<MemoryItem>,
    /// The words of these items: another record may say the same.
    pub(crate) shown_words: &'a [StemmedText],
    /// The latest texts of the session.
    pub(crate) session_words: &'a [StemmedText],
    pub(crate) usefulness: &'a BTreeMap<MemoryItem, f64>,
    pub(crate) fact_similarity_min: f64,
    pub(crate) include_sensitive: bool,
}

impl InjectionFilter<'_> {
    /// Returns the score of a fact by its similarity with the prompt and its usefulness, or why it
    /// is rejected.
    pub(crate) fn check_fact(&self, fact: &Fact, similarity: f64) -> Result<f64, RejectReason> {
        let item = MemoryItem::Fact(fact.id);
        if fact.workspace.is_some() && !self.request.may_show_workspace(fact.workspace.as_deref()) {
            return Err(RejectReason::OtherWorkspace);
        }
        let is_sensitive = fact.tags.iter().any(|tag| tag == SENSITIVE_TAG);
        self.check_item(&item, &fact.text, fact.trust, is_sensitive)?;
        // A command that worked reads like an order; an agent ran it in this workspace.
        let may_direct = fact.trust == Trust::User || fact.kind == FactKind::Command;
        if !may_direct && directives::is_directive(&fact.text) {
            return Err(RejectReason::Directs);
        }
        if fact.pinned {
            return Ok(1.0 + similarity);
        }
        let score = self.apply_usefulness(&item, similarity)?;
        if similarity < self.fact_similarity_min {
            return Err(RejectReason::Weak);
        }
        Ok(score)
    }

    /// Returns the factor of a record's usefulness, or why it is rejected. Whether the record is
    /// confident enough depends on the others, so the caller decides that.
    pub(crate) fn check_record(&self, hit: &RankedHit) -> Result<f64, RejectReason> {
        let item = MemoryItem::Record(hit.hit.id);
        let kind = hit.hit.kind;
        if self.request.session.as_ref() == Some(&hit.hit.session) {
            return Err(RejectReason::OwnSession);
        }
        if !self
            .request
            .may_show_workspace(hit.hit.workspace.as_deref())
        {
            return Err(RejectReason::OtherWorkspace);
        }
        if kind == RecordKind::Prompt && utterance::is_bare_question(&hit.text) {
            return Err(RejectReason::OnlyAsks);
        }
        if hit.answered_by.is_some() {
            return Err(RejectReason::BesideAnswer);
        }
        if kind == RecordKind::Assistant && utterance::is_announcement(&hit.text) {
            return Err(RejectReason::OnlyAnnounces);
        }
        self.check_item(&item, &hit.text, hit.trust, hit.sensitive)?;
        self.apply_usefulness(&item, 1.0)
    }

    fn check_item(
        &self,
        item: &MemoryItem,
        text: &str,
        trust: Trust,
        is_sensitive: bool,
    ) -> Result<(), RejectReason> {
        let words = StemmedText::parse(text);
        let is_shown = self
            .shown_items
            .iter()
            .any(|shown| shown.is_same_or_duplicate(item));
        if is_shown || is_duplicate(&words, self.shown_words) {
            return Err(RejectReason::ShownBefore);
        }
        if is_sensitive && !self.include_sensitive {
            return Err(RejectReason::Sensitive);
        }
        if is_only_redacted(text) {
            return Err(RejectReason::Redacted);
        }
        // The user's words may instruct, but people paste: they must not hide characters or imitate
        // the marks of a conversation. Of an agent's words, screening drops directives later.
        let pattern = hygiene::instruction_pattern(text);
        let is_barred = |pattern: &InstructionPattern| match (item, trust) {
            (MemoryItem::Record(_), Trust::Model) => *pattern == InstructionPattern::Hidden,
            (_, Trust::User) => matches!(
                pattern,
                InstructionPattern::Hidden
                    | InstructionPattern::Role
                    | InstructionPattern::Override
                    | InstructionPattern::Send
            ),
            _ => true,
        };
        if let Some(pattern) = pattern.filter(is_barred) {
            return Err(RejectReason::Instruction(pattern));
        }
        if covers(self.prompt_words, &words) {
            return Err(RejectReason::InPrompt);
        }
        if self.session_words.iter().any(|said| covers(said, &words)) {
            return Err(RejectReason::InSession);
        }
        Ok(())
    }

    /// Returns a score times the factor of the item's usefulness, or rejects an item that was
    /// marked as unhelpful.
    fn apply_usefulness(&self, item: &MemoryItem, score: f64) -> Result<f64, RejectReason> {
        let usefulness = self.usefulness.get(item).copied();
        let usefulness = usefulness.unwrap_or(USEFULNESS_UNKNOWN);
        if usefulness < USEFULNESS_MIN {
            return Err(RejectReason::Unhelpful);
        }
        Ok(score * (USEFULNESS_BASE + usefulness))
    }
}

/// How a redacted value begins and ends in a stored text.
const REDACTION_MARK: &str = "[redacted:";
const REDACTION_MARK_END: char = ']';
/// A line with a redacted value and at most this many words says nothing: `KEY=[redacted:…]`.
const LABEL_WORDS_MAX: usize = 3;

/// Returns whether every line of a text is a redacted value, with at most a label.
fn is_only_redacted(text: &str) -> bool {
    if !text.contains(REDACTION_MARK) {
        return false;
    }
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .all(|line| {
            let mut parts = line.split(REDACTION_MARK);
            let label = parts.next().unwrap_or_default();
            let mut words = count_words(label);
            let mut marks = 0;
            for part in parts {
                marks += 1;
                let rest = part
                    .split_once(REDACTION_MARK_END)
                    .map_or("", |(_, rest)| rest);
                words += count_words(rest);
            }
            marks > 0 && words <= LABEL_WORDS_MAX
        })
}

fn count_words(text: &str) -> usize {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).count()
}

/// Returns whether a longer text already says what another one says.
fn covers(longer: &StemmedText, words: &StemmedText) -> bool {
    if words.stems.is_empty() {
        return true;
    }
    let shared = words.stems.intersection(&longer.stems).count();
    shared as f64 / words.stems.len() as f64 >= COVERED_SHARE
}

/// Returns whether a text says the same as one of the others.
pub(crate) fn is_duplicate(words: &StemmedText, others: &[StemmedText]) -> bool {
    let mut others = others.iter();
    others.any(|other| other.overlap(words) >= SAME_OVERLAP)
}

#[cfg(test)]
mod tests {
    use super::is_only_redacted;

    #[test]
    fn texts_of_redacted_values() {
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
