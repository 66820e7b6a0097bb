//! What the commands of the learning loop share.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use distill::digest::{DigestOptions, digest_pending};
use learn::curate::{BloatFinding, EvidenceLevel};
use learn::detect::{PatternCandidate, detect_patterns};
use memory::{Flavor, SignalKind, Workspace};
use store::Store;

use crate::commands::{App, ingest};
use crate::output::error_with_hint;
use crate::output::table::count;

/// Brings the signals of finished sessions up to date, then detects patterns.
pub(crate) fn detect(
    app: &App<'_>,
    store: &Store,
    min_frequency: u64,
) -> anyhow::Result<Vec<PatternCandidate>> {
    update_digests(app, store)?;
    let settings = app.config.learn_settings();
    let now = app.environment.now;
    Ok(detect_patterns(store, &settings, min_frequency, now)?)
}

/// Brings the signals of finished sessions up to date.
pub(crate) fn update_digests(app: &App<'_>, store: &Store) -> anyhow::Result<()> {
    let options = DigestOptions {
        quiet_for: app.config.retention.quiet(),
        prices: &app.config.prices(),
        threads: ingest::threads(app),
        stop: &AtomicBool::new(false),
    };
    digest_pending(store, &options, app.environment.now)?;
    Ok(())
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

/// Formats the agents of a pattern.
pub(crate) fn agent_names(flavors: &[Flavor]) -> String {
    let names: Vec<&str> = flavors.iter().map(|flavor| flavor.name()).collect();
    names.join(", ")
}

/// Says what recurs, where, in one line.
pub(crate) fn problem_line(candidate: &PatternCandidate) -> String {
    let stale = candidate.stale_in.as_ref();
    let named = stale.map_or_else(String::new, |file| format!(" (named in {file})"));
    format!("{}: {}{named}", kind_text(candidate.kind), candidate.name)
}

/// Says what a problem cost, in how many sessions of which agents.
pub(crate) fn cost_line(candidate: &PatternCandidate) -> String {
    format!(
        "{} in {} of {}; cost {} and {}",
        count(candidate.times, "time"),
        count(candidate.sessions, "session"),
        agent_names(&candidate.flavors),
        count(candidate.minutes, "minute"),
        count(candidate.tokens, "token"),
    )
}

/// Says in words what kind of problem or success a candidate is.
pub(crate) const fn kind_text(kind: SignalKind) -> &'static str {
    match kind {
        SignalKind::Diag => "reported by a command",
        SignalKind::Tool => "refused by the agent's tool",
        SignalKind::Reject => "refused by you",
        SignalKind::Correction => "corrected by you",
        SignalKind::Retry => "repeated after it failed",
        SignalKind::Reread => "read again unchanged",
        SignalKind::Overhead => "installing or waiting",
        SignalKind::Fixpair => "problem => repair that worked",
        SignalKind::Instruction => "stale instruction",
        SignalKind::Abandon => "abandoned",
        SignalKind::Cost => "cost of sessions",
        SignalKind::Mix => "tools in use",
    }
}

/// Says in words how far the evidence of a candidate reaches.
pub(crate) const fn level_text(level: EvidenceLevel) -> &'static str {
    match level {
        EvidenceLevel::TooThin => "too little for the catalog",
        EvidenceLevel::Provisional => "enough for the catalog, too little for the agents' files",
        EvidenceLevel::DistributionReady => "enough for the agents' files",
    }
}

/// Formats a text that already says the same as the guidance.
pub(crate) fn similar_line(found: &BloatFinding) -> String {
    let same = match (found.enforced, found.duplicate) {
        (true, _) => "already enforces it",
        (false, true) => "says the same",
        (false, false) => "is similar",
    };
    format!("{} {same}: {}", found.source, found.text)
}
