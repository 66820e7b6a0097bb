//! What a prompt gets, and why.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, FactKind, MemoryItem};
use serde::Serialize;
use store::{FactFilter, FactScope, Store};

use crate::echo;
use crate::judge::{ConsideredItem, InjectionFilter, ItemDecision, RejectReason, is_duplicate};
use crate::occasion::{self, PromptRequest, Silence};
use crate::offered::{PromptHit, PromptHits};
use crate::origin::{self, PromptProfile};
use crate::pack::{Budget, ContextPack, ContextPackBuilder, PackItem, PackLimit};
use crate::{pack, provenance, stale};

/// Facts that are looked at closely.
const FACTS_MAX: usize = 24;
/// What the session said lately that is compared with what is found.
const SESSION_TEXTS_MAX: usize = 16;
/// What was shown before that is compared too.
const SHOWN_ITEMS_MAX: usize = 40;

/// A hit that is this many points behind the best one that may be shown is worth nothing.
const SCORE_GAP_MAX: f64 = 4.0;
/// A record that is worth less than this share of the best is not shown.
const SCORE_SHARE_MIN: f64 = 0.5;
/// What a rule of the user is worth that is tied to the prompt, whatever the search thinks of it.
const RULE_SCORE: f64 = 0.6;
/// Longest part of a question that is shown beside its answer, in characters.
const QUESTION_CHARS_MAX: usize = 120;
/// Commands that are looked at for a chore.
const COMMANDS_MAX: usize = 40;
/// A prompt that says more than this is about something else than a chore.
const COMMAND_QUESTION_WEIGHT_MAX: f64 = 4.0;
const COMMAND_TASK_WEIGHT_MAX: f64 = 2.0;
/// Stems of the chores that a workspace has commands for.
const CHORES: &[&str] = &[
    "bench",
    "build",
    "compil",
    "deploy",
    "format",
    "install",
    "lint",
    "migrat",
    "release",
    "test",
    "typecheck",
];
/// Longest fact that is shown, in characters.
const FACT_CHARS_MAX: usize = 400;

/// How much is injected, and how sure it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallConfig {
    pub budget: Budget,
    /// Records are shown only when the search is at least this sure of its best.
    pub gate: f64,
    /// Facts must be at least this much like the prompt, unless pinned.
    pub fact_similarity_min: f64,
    /// What may hold a secret is shown too.
    pub include_sensitive: bool,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            gate: 0.5,
            fact_similarity_min: 0.3,
            include_sensitive: false,
        }
    }
}

/// What recall cannot know by itself.
pub struct RecallEnv<'a> {
    pub now: Timestamp,
    /// A word that nobody could know before; see [`Store::injection_name`].
    pub fence_word: &'a str,
    /// Says whether a file has changed since a time.
    pub changed_since: &'a dyn Fn(&Path, Timestamp) -> bool,
}

impl std::fmt::Debug for RecallEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The answer with everything that was thought of.
#[derive(Clone, Debug, Serialize)]
pub struct RecallOutcome {
    pub answer: RecallAnswer,
    /// How sure the search was; 0 where it was not asked.
    pub confidence: f64,
    pub keywords: Vec<String>,
    pub considered: Vec<ConsideredItem>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecallAnswer {
    Inject(ContextPack),
    Abstain(Silence),
}

/// Decides what a prompt gets. Writes nothing: the caller records the injection once the prompt is
/// answered.
///
/// `find` searches records; [`crate::offered::find`] does it by [`crate::search()`].
pub fn recall(
    store: &Store,
    occasion: &PromptRequest,
    config: &RecallConfig,
    world: &RecallEnv<'_>,
    find: impl FnOnce(&Store, &PromptRequest, Timestamp) -> store::Result<PromptHits>,
) -> store::Result<RecallOutcome> {
    let (text, words) = match occasion::typed_text(&occasion.prompt) {
        Ok(typed) => typed,
        Err(Silence::TooLittle) => return recall_chore_commands(store, occasion, config, world),
        Err(silence) => return Ok(abstain(silence)),
    };
    // What our own hook put into the prompt is not what the person asks about.
    let occasion = &PromptRequest {
        prompt: text,
        ..occasion.clone()
    };
    let session = occasion.session.as_ref();
    let mut facts = store.facts_about(&words, &occasion.workspaces(), session, FACTS_MAX)?;
    if asks_for_command(&occasion.prompt, &words) {
        add_chore_commands(
            store,
            occasion,
            &words,
            config.fact_similarity_min,
            &mut facts,
        )?;
    }
    let found = find(store, occasion, world.now)?;
    let shown = shown_items(store, occasion)?;
    let shown_words = words_of_shown(store, &shown)?;
    let said = session
        .map(|id| store.last_utterances(id, SESSION_TEXTS_MAX))
        .transpose()?
        .unwrap_or_default();
    let said: Vec<_> = said.iter().map(|text| StemmedText::parse(text)).collect();
    let items: Vec<_> = facts
        .iter()
        .map(|(fact, _)| MemoryItem::Fact(fact.id))
        .chain(found.hits.iter().map(|hit| MemoryItem::Record(hit.id)))
        .collect();
    let useful = store.usefulness(&items)?;
    let known = InjectionFilter {
        request: occasion,
        prompt_words: &words,
        shown_items: &shown,
        shown_words: &shown_words,
        session_words: &said,
        usefulness: &useful,
        fact_similarity_min: config.fact_similarity_min,
        include_sensitive: config.include_sensitive,
    };
    let mut choice = PackSelection {
        store,
        packing: ContextPackBuilder::new(world.fence_word, config.budget),
        chosen: Vec::new(),
        considered: Vec::new(),
    };
    choice.add_facts(&known, facts, world)?;
    let needs = PromptProfile::of(&occasion.prompt, &words);
    choice.add_records(&known, &found, config.gate, &needs, world)?;
    Ok(choice.finish(found.confidence, &words))
}

/// Answers a prompt that says too little to look for: "run the tests" is about nothing but the
/// command that runs them, if that is known.
fn recall_chore_commands(
    store: &Store,
    occasion: &PromptRequest,
    config: &RecallConfig,
    world: &RecallEnv<'_>,
) -> store::Result<RecallOutcome> {
    let text = memory::fence::strip(&occasion.prompt).into_owned();
    let words = StemmedText::parse(&text);
    let mut facts = Vec::new();
    if asks_for_command(&text, &words) {
        add_chore_commands(
            store,
            occasion,
            &words,
            config.fact_similarity_min,
            &mut facts,
        )?;
    }
    if facts.is_empty() {
        return Ok(abstain(Silence::TooLittle));
    }
    let shown = shown_items(store, occasion)?;
    let shown_words = words_of_shown(store, &shown)?;
    let items: Vec<_> = facts
        .iter()
        .map(|(fact, _)| MemoryItem::Fact(fact.id))
        .collect();
    let useful = store.usefulness(&items)?;
    let known = InjectionFilter {
        request: occasion,
        prompt_words: &words,
        shown_items: &shown,
        shown_words: &shown_words,
        session_words: &[],
        usefulness: &useful,
        fact_similarity_min: config.fact_similarity_min,
        include_sensitive: config.include_sensitive,
    };
    let mut choice = PackSelection {
        store,
        packing: ContextPackBuilder::new(world.fence_word, config.budget),
        chosen: Vec::new(),
        considered: Vec::new(),
    };
    choice.add_facts(&known, facts, world)?;
    Ok(choice.finish(0.0, &words))
}

/// Says whether a prompt wants to know how a chore is done, or has it done.
fn asks_for_command(prompt: &str, words: &StemmedText) -> bool {
    let typed = echo::plain_words(prompt);
    let has = |wanted: &str| typed.iter().any(|word| word == wanted);
    let asks = echo::has_question(prompt) && (has("how") || has("command"));
    let first = typed.first().map_or("", String::as_str);
    let does = first == "run" || CHORES.contains(&memory::words::stem(first).as_str());
    let weight_max = if asks {
        COMMAND_QUESTION_WEIGHT_MAX
    } else {
        COMMAND_TASK_WEIGHT_MAX
    };
    (asks || does) && words.stem_weight() < weight_max
}

/// Adds the commands that are known for the chores a prompt names: testing, building, linting.
fn add_chore_commands(
    store: &Store,
    occasion: &PromptRequest,
    words: &StemmedText,
    likeness: f64,
    facts: &mut Vec<(Fact, f64)>,
) -> store::Result<()> {
    let chores: Vec<&str> = CHORES
        .iter()
        .copied()
        .filter(|chore| words.stems.contains(*chore))
        .collect();
    if chores.is_empty() {
        return Ok(());
    }
    let commands = store.facts(&FactFilter {
        scope: FactScope::Workspaces(occasion.workspaces()),
        kind: Some(FactKind::Command),
        history: false,
        limit: COMMANDS_MAX,
    })?;
    for command in commands {
        // What holds everywhere names no workspace; a chore is done by this one's commands.
        let is_here = command.workspace.is_some();
        let stems = StemmedText::parse(&command.text).stems;
        let serves = |chore: &&str| stems.iter().any(|stem| stem.contains(chore));
        if is_here && chores.iter().any(serves) {
            facts.retain(|(fact, _)| fact.id != command.id);
            facts.push((command, likeness));
        }
    }
    Ok(())
}

/// Returns what was put before the session.
pub(crate) fn shown_items(
    store: &Store,
    occasion: &PromptRequest,
) -> store::Result<BTreeSet<MemoryItem>> {
    let session = occasion.session.as_ref();
    let recorded = session
        .map(|id| store.items_injected_into(id))
        .transpose()?;
    let mut shown = recorded.unwrap_or_default();
    shown.extend(&occasion.unrecorded_items);
    Ok(shown)
}

/// Returns what was shown to the session, in words.
fn words_of_shown(store: &Store, shown: &BTreeSet<MemoryItem>) -> store::Result<Vec<StemmedText>> {
    let mut words = Vec::new();
    for item in shown.iter().take(SHOWN_ITEMS_MAX) {
        words.push(StemmedText::parse(&item_text(store, item)?));
    }
    Ok(words)
}

/// Returns the text of an item; nothing where it is gone.
pub(crate) fn item_text(store: &Store, item: &MemoryItem) -> store::Result<String> {
    Ok(match item {
        MemoryItem::Fact(id) => store.fact(*id)?.map(|fact| fact.text).unwrap_or_default(),
        MemoryItem::Record(id) => store
            .read_record(*id)?
            .map(|record| record.content)
            .unwrap_or_default(),
    })
}

fn abstain(silence: Silence) -> RecallOutcome {
    RecallOutcome {
        answer: RecallAnswer::Abstain(silence),
        confidence: 0.0,
        keywords: Vec::new(),
        considered: Vec::new(),
    }
}

struct PackSelection<'a> {
    store: &'a Store,
    packing: ContextPackBuilder,
    chosen: Vec<StemmedText>,
    considered: Vec<ConsideredItem>,
}

impl PackSelection<'_> {
    /// Pins first, then preferences, then what is most like the prompt.
    fn add_facts(
        &mut self,
        known: &InjectionFilter<'_>,
        facts: Vec<(Fact, f64)>,
        world: &RecallEnv<'_>,
    ) -> store::Result<()> {
        let mut judged: Vec<_> = facts
            .into_iter()
            .map(|(fact, likeness)| (known.check_fact(&fact, likeness), fact, likeness))
            .collect();
        let rank = |verdict: &Result<f64, RejectReason>, fact: &Fact| {
            let preference = fact.kind == FactKind::Preference;
            (fact.pinned, preference, verdict.unwrap_or(0.0))
        };
        judged.sort_by(|(a, x, _), (b, y, _)| {
            let order = rank(b, y).partial_cmp(&rank(a, x));
            order
                .unwrap_or(std::cmp::Ordering::Equal)
                .then(x.id.cmp(&y.id))
        });
        for (verdict, fact, likeness) in judged {
            let item = MemoryItem::Fact(fact.id);
            match verdict {
                Ok(score) => {
                    let packed = fact_pack_item(self.store, &fact, score, world)?;
                    self.try_add(packed, &fact.text);
                }
                Err(why) => self.reject(item, &fact.text, likeness, why),
            }
        }
        Ok(())
    }

    fn add_records(
        &mut self,
        known: &InjectionFilter<'_>,
        found: &PromptHits,
        gate: f64,
        needs: &PromptProfile<'_>,
        world: &RecallEnv<'_>,
    ) -> store::Result<()> {
        let verdicts: Vec<_> = found
            .hits
            .iter()
            .map(|hit| known.check_record(hit))
            .collect();
        let bars = WorkspaceBaseline::of_workspaces(&found.hits, &verdicts);
        let mut judged: Vec<_> = found
            .hits
            .iter()
            .zip(verdicts)
            .map(|(hit, verdict)| {
                let bar = bars.iter().find(|bar| bar.workspace == hit.workspace);
                let (score, is_sure) = bar.map_or((0.0, false), |bar| bar.rate(hit, gate));
                let verdict = match verdict {
                    Ok(factor) if is_sure => Ok(score * factor),
                    Ok(_) => Err(RejectReason::Weak),
                    Err(why) => Err(why),
                };
                (verdict, score, hit)
            })
            .collect();
        // A rule that governs the prompt comes before whatever else is known.
        judged.sort_by(|(a, _, x), (b, _, y)| {
            let score = |verdict: &Result<f64, RejectReason>| verdict.unwrap_or(-1.0);
            y.governs_prompt
                .cmp(&x.governs_prompt)
                .then(score(b).total_cmp(&score(a)))
                .then(y.at.cmp(&x.at))
                .then(x.id.cmp(&y.id))
        });
        for (verdict, score, hit) in judged {
            let item = MemoryItem::Record(hit.id);
            match verdict {
                Ok(_) if self.packing.is_full_of_records() => {
                    self.reject(item, &hit.text, score, RejectReason::OverCount);
                }
                Ok(score) => match origin::screen_text(self.store, hit, needs)? {
                    Ok(text) => {
                        let packed = record_pack_item(self.store, hit, &text, score, world)?;
                        self.try_add(packed, &text);
                    }
                    Err(why) => self.reject(item, &hit.text, score, why),
                },
                Err(why) => self.reject(item, &hit.text, score, why),
            }
        }
        Ok(())
    }

    fn try_add(&mut self, packed: PackItem, text: &str) {
        let (item, score) = (packed.item, packed.score);
        if is_duplicate(text, &self.chosen) {
            return self.reject(item, text, score, RejectReason::Repeats);
        }
        match self.packing.add(packed) {
            Ok(()) => {
                self.chosen.push(StemmedText::parse(text));
                self.log_decision(item, text, score, ItemDecision::Injected);
            }
            Err(PackLimit::Count) => self.reject(item, text, score, RejectReason::OverCount),
            Err(PackLimit::Budget) => self.reject(item, text, score, RejectReason::OverBudget),
        }
    }

    fn reject(&mut self, item: MemoryItem, text: &str, score: f64, why: RejectReason) {
        self.log_decision(item, text, score, ItemDecision::Left(why));
    }

    fn log_decision(&mut self, item: MemoryItem, text: &str, score: f64, fate: ItemDecision) {
        self.considered.push(ConsideredItem {
            item,
            text: memory::fence::quote_line(text, "")
                .chars()
                .take(160)
                .collect(),
            score,
            fate,
        });
    }

    fn finish(self, confidence: f64, words: &StemmedText) -> RecallOutcome {
        let weak = self
            .considered
            .iter()
            .all(|c| c.fate == ItemDecision::Left(RejectReason::Weak));
        let silence = match (self.considered.is_empty(), weak) {
            (true, _) => Silence::NothingFound,
            (false, true) => Silence::NotSure,
            (false, false) => Silence::NothingLeft,
        };
        RecallOutcome {
            answer: self
                .packing
                .finish()
                .map_or(RecallAnswer::Abstain(silence), RecallAnswer::Inject),
            confidence,
            keywords: words.stems.iter().cloned().collect(),
            considered: self.considered,
        }
    }
}

/// What the records of a workspace are held against: the best of them that may be shown.
///
/// A stored question is the best hit for the same question, and it is never shown. Were the
/// others held against it, asking once would make memory silent.
#[derive(Debug)]
struct WorkspaceBaseline {
    workspace: Option<String>,
    points: f64,
    confidence: f64,
}

impl WorkspaceBaseline {
    fn of_workspaces(hits: &[PromptHit], verdicts: &[Result<f64, RejectReason>]) -> Vec<Self> {
        let mut bars: Vec<Self> = Vec::new();
        for (hit, verdict) in hits.iter().zip(verdicts) {
            let counts = verdict.map_or_else(RejectReason::sets_baseline, |_| true);
            let known = bars.iter().any(|bar| bar.workspace == hit.workspace);
            let (points, confidence) = if counts && hit.answer_confidence.is_none() {
                (hit.score, hit.confidence)
            } else {
                (f64::NEG_INFINITY, 0.0)
            };
            let bar = Self {
                workspace: hit.workspace.clone(),
                points,
                confidence,
            };
            if !known {
                bars.push(bar);
                continue;
            }
            let best = bars.iter_mut().find(|bar| bar.workspace == hit.workspace);
            if let Some(best) = best.filter(|best| best.points < points) {
                *best = bar;
            }
        }
        bars
    }

    /// Returns what a hit is worth, and whether that is enough.
    fn rate(&self, hit: &PromptHit, gate: f64) -> (f64, bool) {
        let share = if self.points.is_finite() && hit.score.is_finite() {
            (1.0 - (self.points - hit.score) / SCORE_GAP_MAX).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let by_rank = self.confidence * share;
        let by_question = hit.answer_confidence.unwrap_or(0.0);
        let is_sure = (self.confidence >= gate && share >= SCORE_SHARE_MIN)
            || (hit.answer_confidence.is_some() && by_question >= gate)
            || hit.governs_prompt;
        let tied = if hit.governs_prompt { RULE_SCORE } else { 0.0 };
        (by_rank.max(by_question).max(tied), is_sure)
    }
}

/// What the user stated stands in our own line as guidance; what anybody else did is quoted.
pub(crate) fn fact_pack_item(
    store: &Store,
    fact: &Fact,
    score: f64,
    world: &RecallEnv<'_>,
) -> store::Result<PackItem> {
    let introduction = provenance::fact_introduction(fact.kind, fact.trust);
    let pinned = if fact.pinned { "pinned, " } else { "" };
    let who = provenance::speaker_label(fact.trust);
    let when = provenance::format_date(Some(fact.seen), world.now);
    let end = || store.fact_session_end(fact.id);
    let note = stale_note(&fact.text, None, Some(fact.seen), &end, world)?;
    let source = format!("[{pinned}{who}, {when}{note}]");
    let text = pack::truncate_chars(&fact.text, FACT_CHARS_MAX);
    let (head, quoted) = if fact.trust == memory::Trust::User {
        (format!("{introduction}: {text} {source}"), String::new())
    } else {
        (format!("{introduction} {source}:"), text)
    };
    Ok(PackItem {
        item: MemoryItem::Fact(fact.id),
        head,
        quoted,
        tokens: memory::Tokens::default(),
        score,
    })
}

fn record_pack_item(
    store: &Store,
    hit: &PromptHit,
    text: &str,
    score: f64,
    world: &RecallEnv<'_>,
) -> store::Result<PackItem> {
    let who = provenance::speaker_label(hit.trust);
    let what = provenance::kind_label(hit.kind);
    let session = provenance::session_label(&hit.session);
    let title = hit.title.as_deref().map_or(String::new(), |title| {
        let title: String = title.chars().take(60).collect();
        format!(" \"{title}\"")
    });
    let path = hit
        .path
        .as_deref()
        .map_or(String::new(), |path| format!(" of {path}"));
    let when = provenance::format_date(hit.at, world.now);
    let end = || store.session_end(&hit.session);
    let note = stale_note(text, hit.path.as_deref(), hit.at, &end, world)?;
    let asked = hit.asked.as_deref().map_or(String::new(), |asked| {
        let asked = pack::truncate_chars(asked, QUESTION_CHARS_MAX);
        format!(" to \"{asked}\"")
    });
    Ok(PackItem {
        item: MemoryItem::Record(hit.id),
        head: format!("Evidence: {what}{asked}{path} [{who}, {session}{title}, {when}{note}]:"),
        quoted: text.to_owned(),
        tokens: memory::Tokens::default(),
        score,
    })
}

fn stale_note(
    text: &str,
    path: Option<&str>,
    at: Option<Timestamp>,
    session_end: &dyn Fn() -> store::Result<Option<Timestamp>>,
    world: &RecallEnv<'_>,
) -> store::Result<String> {
    let files = stale::changed_files(text, path, at, session_end, world.changed_since)?;
    if files.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "; may be stale: {} changed since",
        files.join(", ")
    ))
}
