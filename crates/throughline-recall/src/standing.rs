//! What holds whatever is asked: pins and preferences.

use std::collections::{BTreeMap, BTreeSet};

use memory::words::Words;
use memory::{FactKind, Item};
use store::{FactFilter, FactScope, Store};

use crate::judge::{Known, repeats};
use crate::occasion::Occasion;
use crate::pack::Packed;
use crate::recall::{Config, World, packed_fact, shown};

/// Facts that are looked at; pins and preferences come first.
const FACTS_MAX: usize = 40;

/// Which facts a session may be told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// None that it was shown before.
    Never,
    /// All: what it was shown is no longer in its context.
    All,
}

/// Returns the pins and preferences that a session may be shown, pins first.
pub fn standing(
    store: &Store,
    occasion: &Occasion,
    config: &Config,
    world: &World<'_>,
    again: Again,
) -> store::Result<Vec<Packed>> {
    let facts = store.facts(&FactFilter {
        scope: FactScope::Workspaces(occasion.workspaces()),
        kind: None,
        history: false,
        limit: FACTS_MAX,
    })?;
    let shown = match again {
        Again::Never => shown(store, occasion)?,
        Again::All => BTreeSet::new(),
    };
    let items: Vec<_> = facts.iter().map(|fact| Item::Fact(fact.id)).collect();
    let useful = match again {
        Again::Never => store.usefulness(&items)?,
        Again::All => BTreeMap::new(),
    };
    let nothing = Words::default();
    let known = Known {
        occasion,
        prompt: &nothing,
        shown: &shown,
        shown_words: &[],
        said: &[],
        useful: &useful,
        fact_floor: 0.0,
        sensitive: config.sensitive,
    };
    let mut chosen: Vec<Words> = Vec::new();
    let mut packed = Vec::new();
    for fact in facts {
        let stands = fact.pinned || fact.kind == FactKind::Preference;
        if !stands || repeats(&fact.text, &chosen) {
            continue;
        }
        if let Ok(score) = known.fact(&fact, 0.0) {
            chosen.push(Words::of(&fact.text));
            packed.push(packed_fact(store, &fact, score, world)?);
        }
    }
    Ok(packed)
}
