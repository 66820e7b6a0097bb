//! What holds whatever is asked: pins and preferences.

use std::collections::{BTreeMap, BTreeSet};

use memory::words::StemmedText;
use memory::{FactKind, MemoryItem};
use store::{FactFilter, FactScope, Store};

use crate::judge::{InjectionFilter, is_duplicate};
use crate::occasion::PromptRequest;
use crate::pack::PackItem;
use crate::recall::{RecallConfig, RecallEnv, fact_pack_item, shown_items};

/// Facts that are looked at; pins and preferences come first.
const FACTS_MAX: usize = 40;

/// Which facts a session may be told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatPolicy {
    /// None that it was shown before.
    Never,
    /// All: what it was shown is no longer in its context.
    All,
}

/// Returns the pins and preferences that a session may be shown, pins first.
pub fn standing_facts(
    store: &Store,
    occasion: &PromptRequest,
    config: &RecallConfig,
    world: &RecallEnv<'_>,
    again: RepeatPolicy,
) -> store::Result<Vec<PackItem>> {
    let facts = store.facts(&FactFilter {
        scope: FactScope::Workspaces(occasion.workspaces()),
        kind: None,
        history: false,
        limit: FACTS_MAX,
    })?;
    let shown = match again {
        RepeatPolicy::Never => shown_items(store, occasion)?,
        RepeatPolicy::All => BTreeSet::new(),
    };
    let items: Vec<_> = facts.iter().map(|fact| MemoryItem::Fact(fact.id)).collect();
    let useful = match again {
        RepeatPolicy::Never => store.usefulness(&items)?,
        RepeatPolicy::All => BTreeMap::new(),
    };
    let nothing = StemmedText::default();
    let known = InjectionFilter {
        request: occasion,
        prompt_words: &nothing,
        shown_items: &shown,
        shown_words: &[],
        session_words: &[],
        usefulness: &useful,
        fact_similarity_min: 0.0,
        include_sensitive: config.include_sensitive,
    };
    let mut chosen: Vec<StemmedText> = Vec::new();
    let mut packed = Vec::new();
    for fact in facts {
        let stands = fact.pinned || fact.kind == FactKind::Preference;
        if !stands || is_duplicate(&fact.text, &chosen) {
            continue;
        }
        if let Ok(score) = known.check_fact(&fact, 0.0) {
            chosen.push(StemmedText::parse(&fact.text));
            packed.push(fact_pack_item(store, &fact, score, world)?);
        }
    }
    Ok(packed)
}
