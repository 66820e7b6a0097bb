//! Joins the signals of all sessions into clusters of the same event.

use std::collections::{BTreeMap, BTreeSet};

use memory::{Signal, SignalKind};

use super::quality::SessionGroup;
use crate::similarity::{jaccard, shingles};

/// Names with this similarity mean the same.
const SAME_NAME: f64 = 0.8;
/// A shingle that more names share says nothing about them.
const SHARED_MAX: usize = 200;

/// The occurrences of one event in the sessions of one workspace.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    pub(super) workspace: Option<&'a str>,
    pub(super) kind: SignalKind,
    pub(super) name: String,
    /// The index of each affected session, with its signals.
    pub(super) sessions: BTreeMap<usize, Vec<&'a Signal>>,
}

/// Returns the clusters of the sessions, in the order of workspace, kind and name.
pub(super) fn clusters<'a>(groups: &[SessionGroup<'a>]) -> Vec<Cluster<'a>> {
    type Occurrences<'a> = BTreeMap<usize, Vec<&'a Signal>>;
    let mut all: BTreeMap<(Option<&str>, SignalKind), BTreeMap<String, Occurrences<'a>>> =
        BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        for signal in group
            .signals
            .iter()
            .copied()
            .filter(|signal| may_be_pattern(signal))
        {
            all.entry((group.workspace, cluster_kind(signal)))
                .or_default()
                .entry(cluster_name(signal))
                .or_default()
                .entry(at)
                .or_default()
                .push(signal);
        }
    }
    let mut clusters = Vec::new();
    for ((workspace, kind), names) in all {
        let same = similar_names(kind, &names.keys().map(String::as_str).collect::<Vec<_>>());
        let mut joined: BTreeMap<usize, Vec<(String, Occurrences<'a>)>> = BTreeMap::new();
        for (at, named) in names.into_iter().enumerate() {
            joined.entry(same[at]).or_default().push(named);
        }
        clusters.extend(joined.into_values().map(|members| {
            // The most common name stands for all; of equals the first in the order of names.
            let name = members
                .iter()
                .rev()
                .max_by_key(|(_, sessions)| sessions.len())
                .map_or_else(String::new, |(name, _)| name.clone());
            let mut sessions: BTreeMap<usize, Vec<&Signal>> = BTreeMap::new();
            for (at, signals) in members.into_iter().flat_map(|(_, sessions)| sessions) {
                sessions.entry(at).or_default().extend(signals);
            }
            Cluster {
                workspace,
                kind,
                name,
                sessions,
            }
        }));
    }
    clusters
}

/// Costs and tool mixes describe every session, abandonment has no cause of its own, and an
/// interrupted turn says nothing about what was refused.
fn may_be_pattern(signal: &Signal) -> bool {
    match signal.kind {
        SignalKind::Cost | SignalKind::Mix | SignalKind::Abandon => false,
        SignalKind::Reject => signal.name != "the turn",
        _ => !signal.name.is_empty(),
    }
}

/// A missing thing is one cause, whether a tool, a command or an instruction reports it.
fn cluster_name(signal: &Signal) -> String {
    let name = signal.name.as_str();
    let is_problem = matches!(
        signal.kind,
        SignalKind::Diag | SignalKind::Tool | SignalKind::Instruction
    );
    match name.strip_prefix("shell/path-missing ") {
        Some(path) if is_problem => format!("path-missing {path}"),
        _ => name.to_owned(),
    }
}

fn cluster_kind(signal: &Signal) -> SignalKind {
    let missing = missing_subject(&signal.name).is_some();
    match signal.kind {
        SignalKind::Diag | SignalKind::Instruction if missing => SignalKind::Tool,
        kind => kind,
    }
}

/// Returns the path, program or script that a name reports as missing.
pub(super) fn missing_subject(name: &str) -> Option<&str> {
    [
        "path-missing ", "shell/path-missing ", "shell/command-not-found ", "npm/missing-script ",
        "make/no-rule ",
    ]
    .iter()
    .find_map(|start| name.strip_prefix(start))
}

/// Returns for each name the index of the first name of its cluster. Names join over chains of
/// similar names, so the result does not depend on their order.
fn similar_names(kind: SignalKind, names: &[&str]) -> Vec<usize> {
    let mut first: Vec<usize> = (0..names.len()).collect();
    // Codes, commands and paths are exact; only messages vary in wording.
    let vary = |name: &str| {
        kind == SignalKind::Correction || name.contains("other/") || name.contains("graphql")
    };
    let shingled: Vec<BTreeSet<String>> = names
        .iter()
        .map(|name| {
            if vary(name) {
                shingles(name)
            } else {
                BTreeSet::new()
            }
        })
        .collect();
    let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, set) in shingled.iter().enumerate() {
        for shingle in set {
            holders.entry(shingle).or_default().push(at);
        }
    }
    let pairs: BTreeSet<(usize, usize)> = holders
        .values()
        .filter(|holders| holders.len() <= SHARED_MAX)
        .flat_map(|holders| {
            holders
                .iter()
                .enumerate()
                .flat_map(|(at, one)| holders[at + 1..].iter().map(move |other| (*one, *other)))
        })
        .collect();
    for (one, other) in pairs {
        if jaccard(&shingled[one], &shingled[other]) >= SAME_NAME {
            let (a, b) = (find(&first, one), find(&first, other));
            first[a.max(b)] = a.min(b);
        }
    }
    (0..names.len()).map(|at| find(&first, at)).collect()
}

fn find(first: &[usize], mut at: usize) -> usize {
    while first[at] != at {
        at = first[at];
    }
    at
}
