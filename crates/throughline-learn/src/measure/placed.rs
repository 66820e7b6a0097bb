//! Measures the patterns of the registry.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::Flavor;
use store::{Review, Store};

use super::{MeasuredPattern, Measurement, measure};
use crate::LearnSettings;
use crate::curate::load_catalog;
use crate::detect::sound_groups;
use crate::distribute::{
    PlacedPattern, RepositoryError, load_registry, observe, registry_path, save_registry,
};

/// Measures the distributed patterns whose ids start with `id`, or all, after looking at their
/// files. A pattern that its catalog no longer has is left out.
pub fn measure_placed(
    store: &Store,
    settings: &LearnSettings,
    id: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Measurement>, RepositoryError> {
    let path = registry_path(store);
    let mut registry = load_registry(&path)?;
    if registry.patterns.is_empty() {
        return Ok(Vec::new());
    }
    let sessions = store.session_signals(None)?;
    let groups = sound_groups(&sessions);
    observe(&mut registry, &groups, now);
    save_registry(&path, &registry)?;
    let mut placements: BTreeMap<(&str, &str), Vec<&PlacedPattern>> = BTreeMap::new();
    for placed in &registry.patterns {
        let key = (placed.pattern.as_str(), placed.workspace.as_str());
        placements.entry(key).or_default().push(placed);
    }
    let reviews = store.reviews()?;
    let mut found = Vec::new();
    for ((pattern, workspace), placed) in placements {
        let Some(first) = placed.first() else {
            continue;
        };
        let catalog = load_catalog(&settings.catalog_of(&first.root))?;
        if let Some(entry) = catalog.into_iter().find(|entry| entry.id == pattern) {
            found.push((entry, workspace, placed));
        }
    }
    let names: Vec<&str> = found
        .iter()
        .map(|(entry, ..)| entry.signal.as_str())
        .collect();
    let mut measured = Vec::new();
    for (entry, workspace, placed) in &found {
        if id.is_some_and(|id| !entry.id.starts_with(id)) {
            continue;
        }
        let active = active_since(placed);
        // While one file has the block, its readers still see the pattern.
        let has_ended = placed.iter().all(|placed| placed.ended.is_some());
        let ended = placed.iter().filter_map(|placed| placed.ended).max();
        let pattern = MeasuredPattern {
            id: &entry.id,
            kind: entry.kind,
            name: &entry.signal,
            workspace: Some(workspace),
            decided: decided_at(&reviews, &entry.id),
            active: &active,
            ended: ended.filter(|_| has_ended),
            block_tokens: placed.iter().map(|placed| placed.tokens).max().unwrap_or(0),
        };
        measured.push(measure(&pattern, &groups, &names));
    }
    Ok(measured)
}

fn active_since(placed: &[&PlacedPattern]) -> Vec<(Flavor, Timestamp)> {
    let mut active: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (flavor, since) in placed.iter().flat_map(|placed| &placed.active) {
        let known = active.entry(flavor).or_insert(*since);
        *known = (*known).min(*since);
    }
    let known = |(name, since)| Some((Flavor::from_name(name)?, since));
    active.into_iter().filter_map(known).collect()
}

fn decided_at(reviews: &[Review], pattern: &str) -> Option<Timestamp> {
    let approved = |review: &&Review| review.pattern == pattern && review.decision == "approve";
    reviews.iter().find(approved).and_then(|review| review.at)
}
