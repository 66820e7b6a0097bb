//! What a prompt gets, and why.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use memory::words::Words;
use memory::{Fact, FactKind, Item};
use serde::Serialize;
use store::{FactFilter, FactScope, Store};

use crate::echo;
use crate::judge::{Considered, Fate, Known, Why, repeats};
use crate::occasion::{self, Occasion, Silence};
use crate::offered::{Candidate, Candidates};
use crate::origin::{self, PromptNeeds};
use crate::pack::{Budget, ContextPack, Packed, Packing, Refused};
use crate::{pack, provenance, stale};

/// Facts that are looked at closely.
const FACTS_MAX: usize = 24;
/// What the session said lately that is compared with what is found.
const SAID_MAX: usize = 16;
/// What was shown before that is compared too.
const SHOWN_MAX: usize = 40;

/// A hit that is this many points behind the best one that may be shown is worth nothing.
const BEHIND_MAX: f64 = 4.0;
/// A record that is worth less than this share of the best is not shown.
const SHARE_MIN: f64 = 0.5;
/// What a rule of the user is worth that is tied to the prompt, whatever the search thinks of it.
const TIED_SCORE: f64 = 0.6;
/// Longest part of a question that is shown beside its answer, in characters.
const ASKED_CHARS_MAX: usize = 120;
/// Commands that are looked at for a chore.
const COMMANDS_MAX: usize = 40;
/// A prompt that says more than this is about something else than a chore.
const ASKED_WEIGHT_MAX: f64 = 4.0;
const DONE_WEIGHT_MAX: f64 = 2.0;
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
pub struct Config {
    pub budget: Budget,
    /// Records are shown only when the search is at least this sure of its best.
    pub gate: f64,
    /// Facts must be at least this much like the prompt, unless pinned.
    pub fact_floor: f64,
    /// What may hold a secret is shown too.
    pub sensitive: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            gate: 0.5,
            fact_floor: 0.3,
            sensitive: false,
        }
    }
}

/// What recall cannot know by itself.
pub struct World<'a> {
    pub now: Timestamp,
    /// A word that nobody could know before; see [`Store::injection_name`].
    pub word: &'a str,
    /// Says whether a file has changed since a time.
    pub changed_since: &'a dyn Fn(&Path, Timestamp) -> bool,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The answer with everything that was thought of.
#[derive(Clone, Debug, Serialize)]
pub struct Recalled {
    pub answer: Answer,
    /// How sure the search was; 0 where it was not asked.
    pub confidence: f64,
    pub keywords: Vec<String>,
    pub considered: Vec<Considered>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Inject(ContextPack),
    Abstain(Silence),
}

/// Decides what a prompt gets. Writes nothing: the caller records the injection once the prompt is
/// answered.
///
/// `find` searches records; [`crate::offered::find`] does it by [`crate::search()`].
pub fn recall(
    store: &Store,
    occasion: &Occasion,
    config: &Config,
    world: &World<'_>,
    find: impl FnOnce(&Store, &Occasion, Timestamp) -> store::Result<Candidates>,
) -> store::Result<Recalled> {
    let (text, words) = match occasion::typed(&occasion.prompt) {
        Ok(typed) => typed,
        Err(Silence::TooLittle) => return recall_commands(store, occasion, config, world),
        Err(silence) => return Ok(silent(silence)),
    };
    // What our own hook put into the prompt is not what the person asks about.
    let occasion = &Occasion {
        prompt: text,
        ..occasion.clone()
    };
    let session = occasion.session.as_ref();
    let mut facts = store.facts_about(&words, &occasion.workspaces(), session, FACTS_MAX)?;
    if asks_for_command(&occasion.prompt, &words) {
        add_commands(store, occasion, &words, config.fact_floor, &mut facts)?;
    }
    let found = find(store, occasion, world.now)?;
    let shown = shown(store, occasion)?;
    let shown_words = words_of(store, &shown)?;
    let said = session
        .map(|id| store.last_said(id, SAID_MAX))
        .transpose()?
        .unwrap_or_default();
    let said: Vec<_> = said.iter().map(|text| Words::of(text)).collect();
    let items: Vec<_> = facts
        .iter()
        .map(|(fact, _)| Item::Fact(fact.id))
        .chain(found.hits.iter().map(|hit| Item::Record(hit.id)))
        .collect();
    let useful = store.usefulness(&items)?;
    let known = Known {
        occasion,
        prompt: &words,
        shown: &shown,
        shown_words: &shown_words,
        said: &said,
        useful: &useful,
        fact_floor: config.fact_floor,
        sensitive: config.sensitive,
    };
    let mut choice = Choice {
        store,
        packing: Packing::new(world.word, config.budget),
        chosen: Vec::new(),
        considered: Vec::new(),
    };
    choice.facts(&known, facts, world)?;
    let needs = PromptNeeds::of(&occasion.prompt, &words);
    choice.records(&known, &found, config.gate, &needs, world)?;
    Ok(choice.finish(found.confidence, &words))
}

/// Answers a prompt that says too little to look for: "run the tests" is about nothing but the
/// command that runs them, if that is known.
fn recall_commands(
    store: &Store,
    occasion: &Occasion,
    config: &Config,
    world: &World<'_>,
) -> store::Result<Recalled> {
    let text = memory::fence::strip(&occasion.prompt).into_owned();
    let words = Words::of(&text);
    let mut facts = Vec::new();
    if asks_for_command(&text, &words) {
        add_commands(store, occasion, &words, config.fact_floor, &mut facts)?;
    }
    if facts.is_empty() {
        return Ok(silent(Silence::TooLittle));
    }
    let shown = shown(store, occasion)?;
    let shown_words = words_of(store, &shown)?;
    let items: Vec<_> = facts.iter().map(|(fact, _)| Item::Fact(fact.id)).collect();
    let useful = store.usefulness(&items)?;
    let known = Known {
        occasion,
        prompt: &words,
        shown: &shown,
        shown_words: &shown_words,
        said: &[],
        useful: &useful,
        fact_floor: config.fact_floor,
        sensitive: config.sensitive,
    };
    let mut choice = Choice {
        store,
        packing: Packing::new(world.word, config.budget),
        chosen: Vec::new(),
        considered: Vec::new(),
    };
    choice.facts(&known, facts, world)?;
    Ok(choice.finish(0.0, &words))
}

/// Says whether a prompt wants to know how a chore is done, or has it done.
fn asks_for_command(prompt: &str, words: &Words) -> bool {
    let typed = echo::plain_words(prompt);
    let has = |wanted: &str| typed.iter().any(|word| word == wanted);
    let asks = echo::has_question(prompt) && (has("how") || has("command"));
    let first = typed.first().map_or("", String::as_str);
    let does = first == "run" || CHORES.contains(&memory::words::stem(first).as_str());
    let weight_max = if asks {
        ASKED_WEIGHT_MAX
    } else {
        DONE_WEIGHT_MAX
    };
    (asks || does) && words.weight() < weight_max
}

/// Adds the commands that are known for the chores a prompt names: testing, building, linting.
fn add_commands(
    store: &Store,
    occasion: &Occasion,
    words: &Words,
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
        let stems = Words::of(&command.text).stems;
        let serves = |chore: &&str| stems.iter().any(|stem| stem.contains(chore));
        if is_here && chores.iter().any(serves) {
            facts.retain(|(fact, _)| fact.id != command.id);
            facts.push((command, likeness));
        }
    }
    Ok(())
}

/// Returns what was put before the session.
pub(crate) fn shown(store: &Store, occasion: &Occasion) -> store::Result<BTreeSet<Item>> {
    let session = occasion.session.as_ref();
    let recorded = session.map(|id| store.injected_into(id)).transpose()?;
    let mut shown = recorded.unwrap_or_default();
    shown.extend(&occasion.shown);
    Ok(shown)
}

/// Returns what was shown to the session, in words.
fn words_of(store: &Store, shown: &BTreeSet<Item>) -> store::Result<Vec<Words>> {
    let mut words = Vec::new();
    for item in shown.iter().take(SHOWN_MAX) {
        words.push(Words::of(&text_of(store, item)?));
    }
    Ok(words)
}

/// Returns the text of an item; nothing where it is gone.
pub(crate) fn text_of(store: &Store, item: &Item) -> store::Result<String> {
    Ok(match item {
        Item::Fact(id) => store.fact(*id)?.map(|fact| fact.text).unwrap_or_default(),
        Item::Record(id) => store
            .record(*id)?
            .map(|record| record.content)
            .unwrap_or_default(),
    })
}

fn silent(silence: Silence) -> Recalled {
    Recalled {
        answer: Answer::Abstain(silence),
        confidence: 0.0,
        keywords: Vec::new(),
        considered: Vec::new(),
    }
}

struct Choice<'a> {
    store: &'a Store,
    packing: Packing,
    chosen: Vec<Words>,
    considered: Vec<Considered>,
}

impl Choice<'_> {
    /// Pins first, then preferences, then what is most like the prompt.
    fn facts(
        &mut self,
        known: &Known<'_>,
        facts: Vec<(Fact, f64)>,
        world: &World<'_>,
    ) -> store::Result<()> {
        let mut judged: Vec<_> = facts
            .into_iter()
            .map(|(fact, likeness)| (known.fact(&fact, likeness), fact, likeness))
            .collect();
        let rank = |verdict: &Result<f64, Why>, fact: &Fact| {
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
            let item = Item::Fact(fact.id);
            match verdict {
                Ok(score) => {
                    let packed = packed_fact(self.store, &fact, score, world)?;
                    self.offer(packed, &fact.text);
                }
                Err(why) => self.leave(item, &fact.text, likeness, why),
            }
        }
        Ok(())
    }

    fn records(
        &mut self,
        known: &Known<'_>,
        found: &Candidates,
        gate: f64,
        needs: &PromptNeeds<'_>,
        world: &World<'_>,
    ) -> store::Result<()> {
        let verdicts: Vec<_> = found.hits.iter().map(|hit| known.record(hit)).collect();
        let bars = Bar::of_workspaces(&found.hits, &verdicts);
        let mut judged: Vec<_> = found
            .hits
            .iter()
            .zip(verdicts)
            .map(|(hit, verdict)| {
                let bar = bars.iter().find(|bar| bar.workspace == hit.workspace);
                let (score, is_sure) = bar.map_or((0.0, false), |bar| bar.rate(hit, gate));
                let verdict = match verdict {
                    Ok(factor) if is_sure => Ok(score * factor),
                    Ok(_) => Err(Why::Weak),
                    Err(why) => Err(why),
                };
                (verdict, score, hit)
            })
            .collect();
        // A rule that governs the prompt comes before whatever else is known.
        judged.sort_by(|(a, _, x), (b, _, y)| {
            let score = |verdict: &Result<f64, Why>| verdict.unwrap_or(-1.0);
            y.is_tied
                .cmp(&x.is_tied)
                .then(score(b).total_cmp(&score(a)))
                .then(y.at.cmp(&x.at))
                .then(x.id.cmp(&y.id))
        });
        for (verdict, score, hit) in judged {
            let item = Item::Record(hit.id);
            match verdict {
                Ok(_) if self.packing.is_full() => {
                    self.leave(item, &hit.text, score, Why::OverCount);
                }
                Ok(score) => match origin::screen(self.store, hit, needs)? {
                    Ok(text) => {
                        let packed = packed_record(self.store, hit, &text, score, world)?;
                        self.offer(packed, &text);
                    }
                    Err(why) => self.leave(item, &hit.text, score, why),
                },
                Err(why) => self.leave(item, &hit.text, score, why),
            }
        }
        Ok(())
    }

    fn offer(&mut self, packed: Packed, text: &str) {
        let (item, score) = (packed.item, packed.score);
        if repeats(text, &self.chosen) {
            return self.leave(item, text, score, Why::Repeats);
        }
        match self.packing.add(packed) {
            Ok(()) => {
                self.chosen.push(Words::of(text));
                self.consider(item, text, score, Fate::Injected);
            }
            Err(Refused::Count) => self.leave(item, text, score, Why::OverCount),
            Err(Refused::Budget) => self.leave(item, text, score, Why::OverBudget),
        }
    }

    fn leave(&mut self, item: Item, text: &str, score: f64, why: Why) {
        self.consider(item, text, score, Fate::Left(why));
    }

    fn consider(&mut self, item: Item, text: &str, score: f64, fate: Fate) {
        self.considered.push(Considered {
            item,
            text: memory::fence::quote_line(text, "")
                .chars()
                .take(160)
                .collect(),
            score,
            fate,
        });
    }

    fn finish(self, confidence: f64, words: &Words) -> Recalled {
        let weak = self
            .considered
            .iter()
            .all(|c| c.fate == Fate::Left(Why::Weak));
        let silence = match (self.considered.is_empty(), weak) {
            (true, _) => Silence::NothingFound,
            (false, true) => Silence::NotSure,
            (false, false) => Silence::NothingLeft,
        };
        Recalled {
            answer: self
                .packing
                .finish()
                .map_or(Answer::Abstain(silence), Answer::Inject),
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
struct Bar {
    workspace: Option<String>,
    points: f64,
    confidence: f64,
}

impl Bar {
    fn of_workspaces(hits: &[Candidate], verdicts: &[Result<f64, Why>]) -> Vec<Self> {
        let mut bars: Vec<Self> = Vec::new();
        for (hit, verdict) in hits.iter().zip(verdicts) {
            let counts = verdict.map_or_else(Why::sets_bar, |_| true);
            let known = bars.iter().any(|bar| bar.workspace == hit.workspace);
            let (points, confidence) = if counts && hit.unit_confidence.is_none() {
                (hit.points, hit.confidence)
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
    fn rate(&self, hit: &Candidate, gate: f64) -> (f64, bool) {
        let share = if self.points.is_finite() && hit.points.is_finite() {
            (1.0 - (self.points - hit.points) / BEHIND_MAX).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let by_rank = self.confidence * share;
        let by_question = hit.unit_confidence.unwrap_or(0.0);
        let is_sure = (self.confidence >= gate && share >= SHARE_MIN)
            || (hit.unit_confidence.is_some() && by_question >= gate)
            || hit.is_tied;
        let tied = if hit.is_tied { TIED_SCORE } else { 0.0 };
        (by_rank.max(by_question).max(tied), is_sure)
    }
}

/// What the user stated stands in our own line as guidance; what anybody else did is quoted.
pub(crate) fn packed_fact(
    store: &Store,
    fact: &Fact,
    score: f64,
    world: &World<'_>,
) -> store::Result<Packed> {
    let introduction = provenance::introduction(fact.kind, fact.trust);
    let pinned = if fact.pinned { "pinned, " } else { "" };
    let who = provenance::speaker(fact.trust);
    let when = provenance::when(Some(fact.seen), world.now);
    let end = || store.fact_session_end(fact.id);
    let note = changed(&fact.text, None, Some(fact.seen), &end, world)?;
    let source = format!("[{pinned}{who}, {when}{note}]");
    let text = pack::cut(&fact.text, FACT_CHARS_MAX);
    let (head, quoted) = if fact.trust == memory::Trust::User {
        (format!("{introduction}: {text} {source}"), String::new())
    } else {
        (format!("{introduction} {source}:"), text)
    };
    Ok(Packed {
        item: Item::Fact(fact.id),
        head,
        quoted,
        tokens: memory::Tokens::default(),
        score,
    })
}

fn packed_record(
    store: &Store,
    hit: &Candidate,
    text: &str,
    score: f64,
    world: &World<'_>,
) -> store::Result<Packed> {
    let who = provenance::speaker(hit.trust);
    let what = provenance::what(hit.kind);
    let session = provenance::session(&hit.session);
    let title = hit.title.as_deref().map_or(String::new(), |title| {
        let title: String = title.chars().take(60).collect();
        format!(" \"{title}\"")
    });
    let path = hit
        .path
        .as_deref()
        .map_or(String::new(), |path| format!(" of {path}"));
    let when = provenance::when(hit.at, world.now);
    let end = || store.session_end(&hit.session);
    let note = changed(text, hit.path.as_deref(), hit.at, &end, world)?;
    let asked = hit.asked.as_deref().map_or(String::new(), |asked| {
        let asked = pack::cut(asked, ASKED_CHARS_MAX);
        format!(" to \"{asked}\"")
    });
    Ok(Packed {
        item: Item::Record(hit.id),
        head: format!("Evidence: {what}{asked}{path} [{who}, {session}{title}, {when}{note}]:"),
        quoted: text.to_owned(),
        tokens: memory::Tokens::default(),
        score,
    })
}

fn changed(
    text: &str,
    path: Option<&str>,
    at: Option<Timestamp>,
    session_end: &dyn Fn() -> store::Result<Option<Timestamp>>,
    world: &World<'_>,
) -> store::Result<String> {
    let files = stale::changed(text, path, at, session_end, world.changed_since)?;
    if files.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "; may be stale: {} changed since",
        files.join(", ")
    ))
}
