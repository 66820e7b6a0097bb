//! Selects the items of a context pack: facts first, then the records that are confident enough.

use std::cmp::Ordering;

use memory::words::StemmedText;
use memory::{Fact, FactKind, MemoryItem};
use store::Store;

use super::filter::{ConsideredItem, InjectionFilter, ItemDecision, RejectReason, is_duplicate};
use super::pack::{ContextPackBuilder, PackItem, PackLimit, RecordRoom};
use super::prompt_hits::PromptHits;
use super::request::Silence;
use super::screening::{self, PromptProfile};
use super::{RecallAnswer, RecallConfig, RecallEnv, RecallOutcome, items};
use crate::search::RankedHit;

/// A hit this many points behind the best one scores nothing. One point is the weight of a strong
/// feature; four are what separates a statement from an echo.
const SCORE_GAP_MAX: f64 = 4.0;
/// A hit is shown only with this share of the best hit's score: at most three quarters of
/// [`SCORE_GAP_MAX`] behind it.
const SCORE_SHARE_MIN: f64 = 0.25;
/// The score of a rule that governs the prompt, above the default gate, whatever its rank.
const RULE_SCORE: f64 = 0.6;
/// How much of a text the explanation shows, in characters.
const CONSIDERED_CHARS_MAX: usize = 160;

/// A selection in progress.
pub(super) struct PackSelection<'a> {
    store: &'a Store,
    filter: &'a InjectionFilter<'a>,
    env: &'a RecallEnv<'a>,
    pack: ContextPackBuilder,
    /// The words of the items chosen so far.
    chosen: Vec<StemmedText>,
    considered: Vec<ConsideredItem>,
}

impl<'a> PackSelection<'a> {
    pub(super) fn new(
        store: &'a Store,
        filter: &'a InjectionFilter<'a>,
        env: &'a RecallEnv<'a>,
        config: &RecallConfig,
    ) -> Self {
        Self {
            store,
            filter,
            env,
            pack: ContextPackBuilder::new(env.fence_word, config.budget),
            chosen: Vec::new(),
            considered: Vec::new(),
        }
    }

    /// Adds facts: pins first, then preferences, then by their scores.
    pub(super) fn add_facts(&mut self, facts: Vec<(Fact, f64)>) -> store::Result<()> {
        let mut checked: Vec<_> = facts
            .into_iter()
            .map(|(fact, similarity)| (self.filter.check_fact(&fact, similarity), fact, similarity))
            .collect();
        let rank = |score: &Result<f64, RejectReason>, fact: &Fact| {
            let is_preference = fact.kind == FactKind::Preference;
            (fact.pinned, is_preference, score.unwrap_or(0.0))
        };
        checked.sort_by(|(a, x, _), (b, y, _)| {
            let order = rank(b, y).partial_cmp(&rank(a, x));
            order.unwrap_or(Ordering::Equal).then(x.id.cmp(&y.id))
        });
        for (score, fact, similarity) in checked {
            match score {
                Ok(score) => {
                    let item = items::fact_pack_item(self.store, &fact, score, self.env)?;
                    self.try_add(item, &fact.text);
                }
                Err(reason) => {
                    self.reject(MemoryItem::Fact(fact.id), &fact.text, similarity, reason);
                }
            }
        }
        Ok(())
    }

    /// Adds the records that reach the gate: rules that govern the prompt first, then by their
    /// scores.
    pub(super) fn add_records(
        &mut self,
        hits: &PromptHits,
        gate: f64,
        prompt: &PromptProfile<'_>,
    ) -> store::Result<()> {
        let checked = hits.hits.iter().map(|hit| self.filter.check_record(hit));
        let checked: Vec<_> = checked.collect();
        let baselines = WorkspaceBaseline::of_workspaces(&hits.hits, &checked);
        let mut rated: Vec<_> = hits
            .hits
            .iter()
            .zip(checked)
            .map(|(hit, factor)| {
                let mut baselines = baselines.iter();
                let baseline = baselines.find(|known| known.workspace == hit.hit.workspace);
                let (score, is_enough) =
                    baseline.map_or((0.0, false), |baseline| baseline.rate(hit, gate));
                let decision = match factor {
                    Ok(factor) if is_enough => Ok(score * factor),
                    Ok(_) => Err(RejectReason::Weak),
                    Err(reason) => Err(reason),
                };
                (decision, score, hit)
            })
            .collect();
        rated.sort_by(|(a, _, x), (b, _, y)| {
            let score = |decision: &Result<f64, RejectReason>| decision.unwrap_or(-1.0);
            y.governs_prompt
                .cmp(&x.governs_prompt)
                .then(score(b).total_cmp(&score(a)))
                .then(y.hit.at.cmp(&x.hit.at))
                .then(x.hit.id.cmp(&y.hit.id))
        });
        // More records of a session never take the room of another session.
        let mut further = Vec::new();
        for (decision, score, hit) in rated {
            let item = MemoryItem::Record(hit.hit.id);
            match decision {
                Ok(by_use) => match self.pack.room_for(Some(&hit.hit.session)) {
                    RecordRoom::NewSnippet => self.add_record(hit, by_use, false, prompt)?,
                    RecordRoom::KnownSnippet => further.push((hit, by_use)),
                    // Screening reads the whole turn, so nothing is screened that finds no room.
                    RecordRoom::Full => {
                        self.reject(item, &hit.text, score, RejectReason::OverCount);
                    }
                },
                Err(reason) => self.reject(item, &hit.text, score, reason),
            }
        }
        for (hit, score) in further {
            if self.pack.room_for(Some(&hit.hit.session)) == RecordRoom::KnownSnippet {
                self.add_record(hit, score, true, prompt)?;
            } else {
                let item = MemoryItem::Record(hit.hit.id);
                self.reject(item, &hit.text, score, RejectReason::OverCount);
            }
        }
        Ok(())
    }

    fn add_record(
        &mut self,
        hit: &RankedHit,
        score: f64,
        is_further: bool,
        prompt: &PromptProfile<'_>,
    ) -> store::Result<()> {
        match screening::screen_text(self.store, hit, prompt)? {
            Ok(text) => {
                let shown = text.clone();
                let item =
                    items::record_pack_item(self.store, hit, text, score, is_further, self.env)?;
                self.try_add(item, &shown);
            }
            Err(reason) => {
                self.reject(MemoryItem::Record(hit.hit.id), &hit.text, score, reason);
            }
        }
        Ok(())
    }

    fn try_add(&mut self, item: PackItem, text: &str) {
        let (id, score) = (item.item, item.score);
        let words = StemmedText::parse(text);
        if is_duplicate(&words, &self.chosen) {
            return self.reject(id, text, score, RejectReason::Repeats);
        }
        match self.pack.add(item) {
            Ok(()) => {
                self.chosen.push(words);
                self.log_decision(id, text, score, ItemDecision::Injected);
            }
            Err(PackLimit::Count) => self.reject(id, text, score, RejectReason::OverCount),
            Err(PackLimit::Budget) => self.reject(id, text, score, RejectReason::OverBudget),
        }
    }

    fn reject(&mut self, item: MemoryItem, text: &str, score: f64, reason: RejectReason) {
        self.log_decision(item, text, score, ItemDecision::Rejected(reason));
    }

    fn log_decision(&mut self, item: MemoryItem, text: &str, score: f64, decision: ItemDecision) {
        let text = memory::fence::quote_line(text, "");
        self.considered.push(ConsideredItem {
            item,
            text: text.chars().take(CONSIDERED_CHARS_MAX).collect(),
            score,
            decision,
        });
    }

    pub(super) fn finish(self, confidence: f64, words: &StemmedText) -> RecallOutcome {
        let is_weak =
            |item: &ConsideredItem| item.decision == ItemDecision::Rejected(RejectReason::Weak);
        let silence = if self.considered.is_empty() {
            Silence::NothingFound
        } else if self.considered.iter().all(is_weak) {
            Silence::NotSure
        } else {
            Silence::NothingLeft
        };
        let pack = self.pack.finish();
        RecallOutcome {
            answer: pack.map_or(RecallAnswer::Abstain(silence), RecallAnswer::Inject),
            confidence,
            keywords: words.stems.iter().cloned().collect(),
            considered: self.considered,
        }
    }
}

/// The best record of a workspace that may be shown, against which the others are measured.
///
/// A stored question is the best hit for the same question, and it is never shown. If the others
/// were measured against it, asking a question once would silence memory.
#[derive(Debug)]
struct WorkspaceBaseline {
    workspace: Option<String>,
    score: f64,
    confidence: f64,
}

impl WorkspaceBaseline {
    fn of_workspaces(hits: &[RankedHit], checked: &[Result<f64, RejectReason>]) -> Vec<Self> {
        let mut baselines: Vec<Self> = Vec::new();
        for (hit, checked) in hits.iter().zip(checked) {
            let counts = checked.map_or_else(RejectReason::sets_baseline, |_| true);
            let (score, confidence) = if counts && hit.answer_confidence.is_none() {
                (hit.hit.score, hit.confidence)
            } else {
                (f64::NEG_INFINITY, 0.0)
            };
            let mut known = baselines.iter_mut();
            match known.find(|known| known.workspace == hit.hit.workspace) {
                Some(known) if known.score < score => {
                    (known.score, known.confidence) = (score, confidence);
                }
                Some(_) => {}
                None => baselines.push(Self {
                    workspace: hit.hit.workspace.clone(),
                    score,
                    confidence,
                }),
            }
        }
        baselines
    }

    /// Returns the score of a hit between 0 and 1, and whether it is enough to be shown.
    fn rate(&self, hit: &RankedHit, gate: f64) -> (f64, bool) {
        let gap = self.score - hit.hit.score;
        let share = if gap.is_finite() {
            (1.0 - gap / SCORE_GAP_MAX).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let by_rank = self.confidence * share;
        let by_question = hit.answer_confidence.unwrap_or(0.0);
        let is_enough = (self.confidence >= gate && share >= SCORE_SHARE_MIN)
            || (hit.answer_confidence.is_some() && by_question >= gate)
            || hit.governs_prompt;
        let by_rule = if hit.governs_prompt { RULE_SCORE } else { 0.0 };
        (by_rank.max(by_question).max(by_rule), is_enough)
    }
}
