//! Pins and preferences, which apply to a session whatever it is about.

use std::collections::{BTreeMap, BTreeSet};

use memory::words::StemmedText;
use memory::{FactKind, MemoryItem};
use store::{FactFilter, FactScope, Store};

use super::filter::{InjectionFilter, is_duplicate};
use super::items::fact_pack_item;
use super::pack::PackItem;
use super::request::PromptRequest;
use super::{RecallConfig, RecallEnv, shown_items};

/// Facts that are considered; the store returns pins and preferences first.
const FACTS_MAX: usize = 40;

/// Whether a session is shown facts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatPolicy {
    /// Facts that were shown before are left out.
    Never,
    /// All facts are shown, because compaction removed them from the context.
    All,
}

/// Returns the pins and preferences that may be shown to a session, pins first.
pub fn standing_facts(
    store: &Store,
    request: &PromptRequest,
    config: &RecallConfig,
    env: &RecallEnv<'_>,
    repeat: RepeatPolicy,
) -> store::Result<Vec<PackItem>> {
    let facts = store.facts(&FactFilter {
        scope: FactScope::Workspaces(request.workspaces()),
        kind: None,
        history: false,
        limit: FACTS_MAX,
    })?;
    let shown = match repeat {
        RepeatPolicy::Never => shown_items(store, request)?,
        RepeatPolicy::All => BTreeSet::new(),
    };
    let ids: Vec<_> = facts.iter().map(|fact| MemoryItem::Fact(fact.id)).collect();
    let useful = match repeat {
        RepeatPolicy::Never => store.usefulness(&ids)?,
        RepeatPolicy::All => BTreeMap::new(),
    };
    let no_prompt = StemmedText::default();
    let filter = InjectionFilter {
        request,
        prompt_words: &no_prompt,
        shown_items: &shown,
        shown_words: &[],
        session_words: &[],
        usefulness: &useful,
        fact_similarity_min: 0.0,
        include_sensitive: config.include_sensitive,
    };
    let mut chosen: Vec<StemmedText> = Vec::new();
    let mut items = Vec::new();
    for fact in facts {
        let words = StemmedText::parse(&fact.text);
        let is_standing = fact.pinned || fact.kind == FactKind::Preference;
        if !is_standing || is_duplicate(&words, &chosen) {
            continue;
        }
        if let Ok(score) = filter.check_fact(&fact, 0.0) {
            chosen.push(words);
            items.push(fact_pack_item(store, &fact, score, env)?);
        }
    }
    Ok(items)
}
