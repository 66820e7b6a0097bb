//! Which facts and records may be put before a model, and why the others may not.

use std::collections::{BTreeMap, BTreeSet};

use memory::hygiene::{self, InstructionPattern};
use memory::words::StemmedText;
use memory::{Fact, FactKind, MemoryItem, RecordKind, Trust, directives};
use serde::Serialize;
use store::USEFULNESS_UNKNOWN;

use crate::echo;
use crate::occasion::PromptRequest;
use crate::offered::PromptHit;

/// The tag of what may hold a secret.
const SENSITIVE_TAG: &str = "sensitive";
/// Two texts that share this much of their words are the same to a reader.
const SAME_OVERLAP: f64 = 0.8;
/// A text of which the session has said this share of the words already brings nothing.
const COVERED_SHARE: f64 = 0.9;
/// What proved less useful than this is not shown again.
const USEFULNESS_MIN: f64 = 0.25;

/// What was thought of, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct ConsideredItem {
    pub item: MemoryItem,
    pub text: String,
    pub score: f64,
    pub fate: ItemDecision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemDecision {
    Injected,
    Left(RejectReason),
}

/// Why something is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
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
    /// Says whether an item that stays out for this reason is still what the others are held
    /// against: the session has it, so weaker ones are not shown in its place. What could be no
    /// answer, or may never be shown, sets no bar.
    pub const fn sets_baseline(self) -> bool {
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
pub struct InjectionFilter<'a> {
    pub request: &'a PromptRequest,
    pub prompt_words: &'a StemmedText,
    /// What was shown in this session.
    pub shown_items: &'a BTreeSet<MemoryItem>,
    /// What that said: another record may say it again.
    pub shown_words: &'a [StemmedText],
    /// What the session has said lately.
    pub session_words: &'a [StemmedText],
    pub usefulness: &'a BTreeMap<MemoryItem, f64>,
    pub fact_similarity_min: f64,
    /// The user wants what may be sensitive too.
    pub include_sensitive: bool,
}

impl InjectionFilter<'_> {
    /// Returns the score of a fact with what experience says, or why it stays out.
    pub fn check_fact(&self, fact: &Fact, likeness: f64) -> Result<f64, RejectReason> {
        let item = MemoryItem::Fact(fact.id);
        if fact.workspace.is_some() && !self.request.may_show_workspace(fact.workspace.as_deref()) {
            return Err(RejectReason::OtherWorkspace);
        }
        self.check_item(&item, &fact.text, fact.trust, &fact.tags)?;
        // A command that worked is an order by its grammar; an agent ran it in this workspace.
        let may_direct = fact.trust == Trust::User || fact.kind == FactKind::Command;
        if !may_direct && directives::is_directive(&fact.text) {
            return Err(RejectReason::Directs);
        }
        if fact.pinned {
            return Ok(1.0 + likeness);
        }
        let score = self.apply_usefulness(&item, likeness)?;
        if likeness < self.fact_similarity_min {
            return Err(RejectReason::Weak);
        }
        Ok(score)
    }

    /// Returns how much experience speaks for a record, or why it stays out. Whether it is sure
    /// enough to be about the prompt depends on the others and is decided by the caller.
    pub fn check_record(&self, candidate: &PromptHit) -> Result<f64, RejectReason> {
        let item = MemoryItem::Record(candidate.id);
        if self.request.session.as_ref() == Some(&candidate.session) {
            return Err(RejectReason::OwnSession);
        }
        if !self
            .request
            .may_show_workspace(candidate.workspace.as_deref())
        {
            return Err(RejectReason::OtherWorkspace);
        }
        if candidate.copy {
            return Err(RejectReason::Copy);
        }
        if candidate.kind == RecordKind::Prompt && echo::is_bare_question(&candidate.text) {
            return Err(RejectReason::OnlyAsks);
        }
        if candidate.is_answered {
            return Err(RejectReason::BesideAnswer);
        }
        if candidate.kind == RecordKind::Assistant && echo::is_announcement(&candidate.text) {
            return Err(RejectReason::OnlyAnnounces);
        }
        self.check_item(&item, &candidate.text, candidate.trust, &candidate.tags)?;
        self.apply_usefulness(&item, 1.0)
    }

    fn check_item(
        &self,
        item: &MemoryItem,
        text: &str,
        trust: Trust,
        tags: &[String],
    ) -> Result<(), RejectReason> {
        let same = self
            .shown_items
            .iter()
            .any(|shown| shown.is_same_or_duplicate(item));
        if same || is_duplicate(text, self.shown_words) {
            return Err(RejectReason::ShownBefore);
        }
        if !self.include_sensitive && tags.iter().any(|tag| tag == SENSITIVE_TAG) {
            return Err(RejectReason::Sensitive);
        }
        if is_only_redacted(text) {
            return Err(RejectReason::Redacted);
        }
        // What the user said may be an instruction. It still must not hide characters or imitate
        // the marks of a conversation: people paste.
        // Of what an agent wrote, sentences that direct are left out later.
        let shape = hygiene::instruction_pattern(text);
        let pasted = matches!(
            shape,
            Some(
                InstructionPattern::Hidden
                    | InstructionPattern::Role
                    | InstructionPattern::Override
                    | InstructionPattern::Send
            )
        );
        let is_barred = match (item, trust) {
            (MemoryItem::Record(_), Trust::Model) => shape == Some(InstructionPattern::Hidden),
            (_, Trust::User) => pasted,
            _ => true,
        };
        if let Some(shape) = shape
            && is_barred
        {
            return Err(RejectReason::Instruction(shape));
        }
        let words = StemmedText::parse(text);
        if covers(self.prompt_words, &words) {
            return Err(RejectReason::InPrompt);
        }
        if self.session_words.iter().any(|said| covers(said, &words)) {
            return Err(RejectReason::InSession);
        }
        Ok(())
    }

    /// What helped before counts more, what was marked as unhelpful stays away.
    fn apply_usefulness(&self, item: &MemoryItem, score: f64) -> Result<f64, RejectReason> {
        let useful = self
            .usefulness
            .get(item)
            .copied()
            .unwrap_or(USEFULNESS_UNKNOWN);
        if useful < USEFULNESS_MIN {
            return Err(RejectReason::Unhelpful);
        }
        Ok(score * (0.5 + useful))
    }
}

/// How a redacted value begins and ends.
const REDACTION_MARK: &str = "[redacted:";
const REDACTION_MARK_END: char = ']';
/// A line with a redacted value and no more words than these tells nothing, as in `KEY=[redacted:…]`.
const LABEL_WORDS_MAX: usize = 3;

/// Says whether every line of a text is a redacted value, with a label at most.
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

/// Says whether a longer text says what another one says.
fn covers(longer: &StemmedText, words: &StemmedText) -> bool {
    if words.stems.is_empty() {
        return true;
    }
    let shared = words.stems.intersection(&longer.stems).count();
    shared as f64 / words.stems.len() as f64 >= COVERED_SHARE
}

/// Says whether a text is the same as one of those already chosen.
pub fn is_duplicate(text: &str, chosen: &[StemmedText]) -> bool {
    if chosen.is_empty() {
        return false;
    }
    let words = StemmedText::parse(text);
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
