//! What a cluster cost, and whether it is a candidate.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use memory::{Flavor, SignalKind};

use super::cluster::{Cluster, missing_subject};
use super::quality::SessionGroup;
use super::{
    CROSS_FLAVOR_SESSIONS, DetectOptions, EVIDENCE_MAX, Evidence, InstructionFile,
    PatternCandidate, short_hash,
};

const MS_PER_MINUTE: u64 = 60 * 1000;
/// Reading and writing this many tokens takes about as long as a minute of work.
const TOKENS_PER_MINUTE: f64 = 2_000.0;

/// Returns a cost as one number, in minutes.
pub(super) fn impact(minutes: u64, tokens: u64) -> f64 {
    minutes as f64 + tokens as f64 / TOKENS_PER_MINUTE
}

/// Returns the candidate that a cluster is, if it occurs often enough.
pub(super) fn candidate(
    cluster: &Cluster<'_>,
    groups: &[SessionGroup<'_>],
    options: &DetectOptions,
) -> Option<PatternCandidate> {
    let sessions = cluster.sessions.len() as u64;
    let mut by_flavor: BTreeMap<&str, (Flavor, usize)> = BTreeMap::new();
    let mut days = BTreeSet::new();
    let mut evidence = Vec::new();
    let (mut ms, mut tokens, mut times, mut overcome) = (0, 0, 0, 0);
    for (at, signals) in &cluster.sessions {
        let group = &groups[*at];
        by_flavor
            .entry(group.flavor.name())
            .or_insert((group.flavor, 0))
            .1 += 1;
        days.extend(group.started.map(|at| at.to_zoned(TimeZone::UTC).date()));
        let session_ms: u64 = signals.iter().map(|signal| signal.ms).sum();
        ms += session_ms;
        tokens += signals.iter().map(|signal| signal.tokens).sum::<u64>();
        let occurrences: u64 = signals.iter().map(|signal| signal.times).sum();
        times += occurrences;
        let was_overcome = signals.iter().all(|signal| signal.overcome);
        overcome += u64::from(was_overcome);
        let first = signals.first()?;
        evidence.push(Evidence {
            session: group.id.clone(),
            flavor: group.flavor,
            record: first.first_record,
            at: group.started,
            times: occurrences,
            minutes: session_ms / MS_PER_MINUTE,
            overcome: was_overcome,
            text: first.text.clone(),
        });
    }
    let session_ids = evidence.iter().map(|one| one.session.clone()).collect();
    evidence.sort_by(|a, b| {
        (b.minutes.cmp(&a.minutes))
            .then(b.times.cmp(&a.times))
            .then_with(|| a.session.cmp(&b.session))
    });
    evidence.truncate(EVIDENCE_MAX);
    let stale_in = stale_instruction(cluster, &options.instruction_files)
        .or_else(|| said_by_session(cluster).then(|| "an instruction file".to_owned()));
    let often = by_flavor
        .values()
        .filter(|(_, n)| *n >= CROSS_FLAVOR_SESSIONS);
    let candidate = PatternCandidate {
        id: candidate_id(cluster.kind, &cluster.name, cluster.workspace),
        kind: if stale_in.is_some() {
            SignalKind::Instruction
        } else {
            cluster.kind
        },
        name: cluster.name.clone(),
        version: memory::signal::VERSION,
        workspace: cluster.workspace.map(str::to_owned),
        sessions,
        times,
        overcome,
        cross_flavor: often.count() >= 2,
        flavors: by_flavor.values().map(|(flavor, _)| *flavor).collect(),
        days: days.len() as u64,
        minutes: ms / MS_PER_MINUTE,
        tokens,
        log_odds: pooled_log_odds(cluster, groups),
        first: groups[*cluster.sessions.keys().next()?].started,
        last: groups[*cluster.sessions.keys().next_back()?].started,
        stale_in,
        evidence,
        session_ids,
    };
    candidate
        .reaches(options.min_frequency)
        .then_some(candidate)
}

fn candidate_id(kind: SignalKind, name: &str, workspace: Option<&str>) -> String {
    short_hash(&format!(
        "{kind}\n{name}\n{}",
        workspace.unwrap_or_default()
    ))
}

/// Says whether a session itself read the instruction that names the missing thing.
fn said_by_session(cluster: &Cluster<'_>) -> bool {
    let mut signals = cluster.sessions.values().flatten();
    signals.any(|signal| signal.kind == SignalKind::Instruction)
}

/// Returns the instruction file that names the missing thing.
fn stale_instruction(cluster: &Cluster<'_>, files: &[InstructionFile]) -> Option<String> {
    let missing = missing_subject(&cluster.name).filter(|missing| missing.len() > 2)?;
    let is_inner = |c: char| c.is_alphanumeric() || "_-/".contains(c);
    let names = |file: &&InstructionFile| {
        file.text.match_indices(missing).any(|(at, _)| {
            let before = file.text[..at].chars().next_back();
            let after = file.text[at + missing.len()..].chars().next();
            !before.is_some_and(is_inner) && !after.is_some_and(is_inner)
        })
    };
    let mut here = files
        .iter()
        .filter(|file| Some(file.workspace.as_str()) == cluster.workspace);
    here.find(names).map(|file| file.path.clone())
}

/// Returns how often sessions are affected, as log odds. Each agent gets a prior of half a session
/// on either side, so that a few sessions do not look certain.
fn pooled_log_odds(cluster: &Cluster<'_>, groups: &[SessionGroup<'_>]) -> f64 {
    let mut by_flavor: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let here = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.workspace == cluster.workspace);
    for (at, group) in here {
        let (hit, all) = by_flavor.entry(group.flavor.name()).or_default();
        *all += 1.0;
        *hit += f64::from(u8::from(cluster.sessions.contains_key(&at)));
    }
    let total: f64 = by_flavor.values().map(|(_, all)| all).sum();
    let pooled: f64 = by_flavor
        .values()
        .map(|(hit, all)| ((hit + 0.5) / (all - hit + 0.5)).ln() * all / total.max(1.0))
        .sum();
    (pooled * 100.0).round() / 100.0
}
