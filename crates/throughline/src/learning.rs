//! What the commands of the learning loop share: detecting with the repositories at hand, the
//! catalog of a repository, and the registry of placed patterns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use distill::digest::{DigestOptions, digest_pending};
use learn::detect::{PatternCandidate, detect_patterns};
use memory::{Flavor, Workspace};
use store::Store;

use crate::commands::{App, ingest};
use crate::output::error_with_hint;

/// At most this many repositories are looked at.
const WORKSPACES_MAX: usize = 1_000;

/// Brings the signals of finished sessions up to date, then detects patterns.
pub(crate) fn detect(
    app: &App<'_>,
    store: &Store,
    min_frequency: u64,
) -> anyhow::Result<Vec<PatternCandidate>> {
    let now = app.environment.now;
    let options = DigestOptions {
        quiet_for: app.config.retention.quiet(),
        prices: &app.config.prices(),
        threads: ingest::threads(app),
        stop: &AtomicBool::new(false),
    };
    digest_pending(store, &options, now)?;
    Ok(detect_patterns(store, min_frequency, now)?)
}

/// Returns the folders of the known workspaces that exist here, by key.
pub(crate) fn repository_roots(store: &Store) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let known = store.workspaces_matching("", WORKSPACES_MAX)?;
    let roots = known
        .into_iter()
        .map(|one| (one.key, PathBuf::from(one.root)));
    Ok(roots.filter(|(_, root)| root.is_dir()).collect())
}

/// Finds the repository of `--repo`: a folder, or a part of the address of a workspace. Without it,
/// the repository of the current folder.
pub(crate) fn find_repository(
    app: &App<'_>,
    store: &Store,
    repo: Option<&str>,
) -> anyhow::Result<Workspace> {
    let folder = repo
        .map(|repo| app.environment.cwd.join(repo))
        .filter(|path| path.is_dir());
    let found = match (folder, repo) {
        (Some(folder), _) => app
            .config
            .scope()
            .resolve_alias(capture::git::workspace_of(&folder)),
        (None, Some(part)) => app.find_workspace(store, Some(part))?,
        (None, None) => app.current_workspace(),
    };
    if !Path::new(&found.root).is_dir() {
        return Err(error_with_hint(
            format!("the folder of {} does not exist here", found.key),
            "give the folder of the repository with --repo",
        ));
    }
    Ok(found)
}

pub(crate) fn catalog_dir(app: &App<'_>, root: &Path) -> PathBuf {
    root.join(&app.config.curate.catalog_dir)
}

/// Returns the ids of patterns that were approved here and of which no session tells any more. A
/// pattern that only the team's catalog has is not among them.
pub(crate) fn patterns_without_evidence(
    store: &Store,
    all: &[PatternCandidate],
) -> anyhow::Result<BTreeSet<String>> {
    let found: BTreeSet<&str> = all.iter().map(|candidate| candidate.id.as_str()).collect();
    let approved = store
        .reviews()?
        .into_iter()
        .filter(|review| review.decision == "approve");
    let ids = approved.map(|review| review.pattern);
    Ok(ids.filter(|id| !found.contains(id.as_str())).collect())
}

/// Formats the agents of a pattern.
pub(crate) fn agent_names(flavors: &[Flavor]) -> String {
    let names: Vec<&str> = flavors.iter().map(|flavor| flavor.name()).collect();
    names.join(", ")
}
