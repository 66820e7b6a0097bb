//! Decides what a prompt gets from memory without asking for it, and why.
//!
//! [`request`] turns away prompts that no person typed; [`prompt_hits`] searches the records,
//! [`rules`] finds rules of the user that govern the prompt, [`chores`] commands for it. [`filter`]
//! decides of each fact and record whether it may be shown, [`screening`] which part of its text.
//! [`selection`] chooses among them, [`items`] renders them with their provenance ([`labels`],
//! [`stale`]), and [`pack`] fits them into the budget and fences them as data.
//!
//! [`standing`] are the pins and preferences that a session gets when it starts. [`usage`] finds
//! out later which of the shown items were used.

mod chores;
mod excerpt;
pub(crate) mod filter;
mod items;
pub mod labels;
pub(crate) mod pack;
pub(crate) mod prompt_hits;
pub(crate) mod request;
mod rules;
mod screening;
mod selection;
mod stale;
pub(crate) mod standing;
pub(crate) mod usage;

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, MemoryItem};
use serde::Serialize;
use store::Store;

use self::filter::{ConsideredItem, InjectionFilter};
use self::pack::{Budget, ContextPack};
use self::prompt_hits::PromptHits;
use self::request::{PromptRequest, Silence};
use self::screening::PromptProfile;
use self::selection::PackSelection;
use crate::gate::CONFIDENCE_MIN;

/// Facts that are considered.
const FACTS_MAX: usize = 24;
/// The last texts of the session that items are compared with, so that it is told nothing it said.
const SESSION_TEXTS_MAX: usize = 16;
/// Items shown before that items are compared with.
const SHOWN_ITEMS_MAX: usize = 40;

/// How much is injected, and how confident it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallConfig {
    pub budget: Budget,
    /// Records are shown only if the search is at least this confident in the best of them.
    pub gate: f64,
    /// Facts must be at least this similar to the prompt, unless they are pinned.
    pub fact_similarity_min: f64,
    /// Shows items that may contain a secret too.
    pub include_sensitive: bool,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            gate: CONFIDENCE_MIN,
            fact_similarity_min: 0.3,
            include_sensitive: false,
        }
    }
}

/// What recall needs from its caller, because it reads no clock and no file.
pub struct RecallEnv<'a> {
    pub now: Timestamp,
    /// A word that no stored text can contain; see [`Store::injection_name`].
    pub fence_word: &'a str,
    /// Returns whether a file has changed since a time.
    pub changed_since: &'a dyn Fn(&Path, Timestamp) -> bool,
}

impl std::fmt::Debug for RecallEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecallEnv")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The answer to a prompt, with everything that was considered for it.
#[derive(Clone, Debug, Serialize)]
pub struct RecallOutcome {
    pub answer: RecallAnswer,
    /// The confidence of the search; 0 if there was none.
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
/// `find` searches the records, as [`find_prompt_hits`](crate::find_prompt_hits) does.
pub fn recall(
    store: &Store,
    request: &PromptRequest,
    config: &RecallConfig,
    env: &RecallEnv<'_>,
    find: impl FnOnce(&Store, &PromptRequest, Timestamp) -> store::Result<PromptHits>,
) -> store::Result<RecallOutcome> {
    let (prompt, words) = match request::typed_text(&request.prompt) {
        Ok(typed) => typed,
        Err(Silence::TooLittle) => return recall_chore_commands(store, request, config, env),
        Err(silence) => return Ok(abstain(silence)),
    };
    // Context that a hook injected is not part of what the person asks.
    let request = &PromptRequest {
        prompt,
        ..request.clone()
    };
    let session = request.session.as_ref();
    let mut facts = store.facts_about(&words, &request.workspaces(), session, FACTS_MAX)?;
    let prompt = &request.prompt;
    let similarity = config.fact_similarity_min;
    chores::add_chore_commands(store, request, prompt, &words, similarity, &mut facts)?;
    let hits = find(store, request, env.now)?;
    let session_texts = session.map(|id| store.last_utterances(id, SESSION_TEXTS_MAX));
    let session_texts = session_texts.transpose()?.unwrap_or_default();
    let found = FoundItems {
        facts,
        hits,
        session_texts,
    };
    select_items(store, request, config, env, &words, found)
}

/// Answers a prompt without keywords: "run the tests" can only be answered by the command that runs
/// them.
fn recall_chore_commands(
    store: &Store,
    request: &PromptRequest,
    config: &RecallConfig,
    env: &RecallEnv<'_>,
) -> store::Result<RecallOutcome> {
    let prompt = memory::fence::strip(&request.prompt);
    let words = StemmedText::parse(&prompt);
    let mut facts = Vec::new();
    let similarity = config.fact_similarity_min;
    chores::add_chore_commands(store, request, &prompt, &words, similarity, &mut facts)?;
    if facts.is_empty() {
        return Ok(abstain(Silence::TooLittle));
    }
    let found = FoundItems {
        facts,
        ..FoundItems::default()
    };
    select_items(store, request, config, env, &words, found)
}

fn abstain(silence: Silence) -> RecallOutcome {
    RecallOutcome {
        answer: RecallAnswer::Abstain(silence),
        confidence: 0.0,
        keywords: Vec::new(),
        considered: Vec::new(),
    }
}

/// Everything that was found for a prompt.
#[derive(Default)]
struct FoundItems {
    /// Facts, each with its similarity to the prompt.
    facts: Vec<(Fact, f64)>,
    hits: PromptHits,
    /// The latest texts of the session.
    session_texts: Vec<String>,
}

fn select_items(
    store: &Store,
    request: &PromptRequest,
    config: &RecallConfig,
    env: &RecallEnv<'_>,
    words: &StemmedText,
    found: FoundItems,
) -> store::Result<RecallOutcome> {
    let FoundItems {
        facts,
        hits,
        session_texts,
    } = found;
    let shown_items = shown_items(store, request)?;
    let shown_words = words_of_shown(store, &shown_items)?;
    let session_words = session_texts.iter().map(|text| StemmedText::parse(text));
    let items: Vec<_> = facts
        .iter()
        .map(|(fact, _)| MemoryItem::Fact(fact.id))
        .chain(hits.hits.iter().map(|hit| MemoryItem::Record(hit.hit.id)))
        .collect();
    let filter = InjectionFilter {
        request,
        prompt_words: words,
        shown_items: &shown_items,
        shown_words: &shown_words,
        session_words: &session_words.collect::<Vec<_>>(),
        usefulness: &store.usefulness(&items)?,
        fact_similarity_min: config.fact_similarity_min,
        include_sensitive: config.include_sensitive,
    };
    let mut selection = PackSelection::new(store, &filter, env, config);
    selection.add_facts(facts)?;
    let prompt = PromptProfile::of(&request.prompt, words);
    selection.add_records(&hits, config.gate, &prompt)?;
    Ok(selection.finish(hits.confidence, words))
}

/// Returns the items that were shown to the session.
fn shown_items(store: &Store, request: &PromptRequest) -> store::Result<BTreeSet<MemoryItem>> {
    let session = request.session.as_ref();
    let recorded = session
        .map(|id| store.items_injected_into(id))
        .transpose()?;
    let mut items = recorded.unwrap_or_default();
    items.extend(&request.unrecorded_items);
    Ok(items)
}

fn words_of_shown(store: &Store, items: &BTreeSet<MemoryItem>) -> store::Result<Vec<StemmedText>> {
    let mut words = Vec::new();
    for item in items.iter().take(SHOWN_ITEMS_MAX) {
        words.push(StemmedText::parse(&item_text(store, item)?));
    }
    Ok(words)
}

/// Returns the text of an item, empty if the item is gone.
fn item_text(store: &Store, item: &MemoryItem) -> store::Result<String> {
    Ok(match item {
        MemoryItem::Fact(id) => store.fact(*id)?.map(|fact| fact.text).unwrap_or_default(),
        MemoryItem::Record(id) => store
            .read_record(*id)?
            .map(|record| record.content)
            .unwrap_or_default(),
    })
}
