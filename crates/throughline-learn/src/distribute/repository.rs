//! Distribution for a repository of this machine: the plan, and carrying it out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{Flavor, Workspace};
use store::{Review, SessionSignals, Store};

use super::plan::{DistributionPlan, plan_distribution};
use super::proposal::{apply_change, unified_diff};
use super::registry::{
    PatternRegistry, PlacedPattern, load_registry, observe, registry_path, save_registry,
};
use super::targets::RepositoryView;
use super::{DistributeError, FileChange};
use crate::LearnSettings;
use crate::curate::{CatalogError, load_catalog};
use crate::detect::{PatternCandidate, detect_all, short_hash, sound_groups};

/// Why a repository cannot be planned or changed.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Distribute(#[from] DistributeError),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What distributing patterns would change in a repository.
#[derive(Debug)]
pub struct RepositoryPlan {
    pub workspace: String,
    pub root: PathBuf,
    pub plan: DistributionPlan,
    registry: PatternRegistry,
    registry_path: PathBuf,
}

/// Plans the distribution in a repository and notes it in the registry. `flavor` limits it to one
/// agent; without it, all agents that were used there are served.
pub fn plan_repository(
    store: &Store,
    settings: &LearnSettings,
    workspace: &Workspace,
    flavor: Option<Flavor>,
    now: Timestamp,
) -> Result<RepositoryPlan, RepositoryError> {
    let root = Path::new(&workspace.root);
    let sessions = store.session_signals(None)?;
    let registry_path = registry_path(store);
    let mut registry = load_registry(&registry_path)?;
    observe(&mut registry, &sound_groups(&sessions), now);
    let reviews = store.reviews()?;
    for review in reviews.iter().filter(|review| review.decision == "approve") {
        registry.note_approved(&review.pattern, review.at);
    }
    let mut flavors = flavors_in_use(&workspace.key, &sessions);
    flavors.extend(flavor.filter(|flavor| !flavors.contains(flavor)));
    let domains = settings.domains.get(&workspace.key);
    let view = RepositoryView {
        root,
        workspace: &workspace.key,
        domains: domains.map_or(&[], Vec::as_slice),
        flavors: &flavors,
        only: flavor,
    };
    let catalog = load_catalog(&settings.catalog_of(root))?;
    let gone = without_evidence(&reviews, &detect_all(store, &sessions)?);
    let plan = plan_distribution(&view, &catalog, &registry, &gone)?;
    registry.note_planned(&workspace.key, root, &plan.placed, now);
    save_registry(&registry_path, &registry)?;
    Ok(RepositoryPlan {
        workspace: workspace.key.clone(),
        root: root.to_owned(),
        plan,
        registry,
        registry_path,
    })
}

impl RepositoryPlan {
    /// Changes the files and notes it in the registry.
    pub fn apply(&mut self, now: Timestamp) -> Result<(), DistributeError> {
        for change in &self.plan.changes {
            apply_change(&self.root, change)?;
        }
        self.registry
            .note_applied(&self.workspace, &self.plan.changes, now);
        save_registry(&self.registry_path, &self.registry)
    }

    /// Returns the patterns of the repository with their files.
    pub fn placements(&self) -> impl Iterator<Item = &PlacedPattern> {
        let patterns = self.registry.patterns.iter();
        patterns.filter(|placed| placed.workspace == self.workspace)
    }

    /// Returns a hash of all changes. Who does not know the salt cannot compute it.
    pub fn fingerprint(&self, salt: &str) -> String {
        let diffs: Vec<String> = self.plan.changes.iter().map(unified_diff).collect();
        let root = self.root.display();
        short_hash(&format!("{salt}\n{root}\n{}", diffs.concat()))
    }

    pub fn changes(&self) -> &[FileChange] {
        &self.plan.changes
    }
}

fn flavors_in_use(workspace: &str, sessions: &[SessionSignals]) -> Vec<Flavor> {
    let here = sessions
        .iter()
        .filter(|session| session.workspace.as_deref() == Some(workspace));
    let mut flavors: Vec<Flavor> = here.map(|session| session.flavor).collect();
    flavors.sort_by_key(|flavor| flavor.name());
    flavors.dedup();
    flavors
}

/// Returns the ids of patterns that were approved here and that occur in no session any more. A
/// pattern that only the team's catalog has is not among them.
fn without_evidence(reviews: &[Review], all: &[PatternCandidate]) -> BTreeSet<String> {
    let found: BTreeSet<&str> = all.iter().map(|candidate| candidate.id.as_str()).collect();
    let approved = reviews.iter().filter(|review| review.decision == "approve");
    let ids = approved.map(|review| review.pattern.clone());
    ids.filter(|id| !found.contains(id.as_str())).collect()
}
