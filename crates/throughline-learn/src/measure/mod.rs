//! Does a pattern help? Compares the sessions before and after it became active.
//!
//! The unit is a session that had the opportunity to be affected ([`opportunity`]). [`rule`]
//! decides from four counts and the drift of the user's own history; [`drift`] estimates it from
//! signals that nobody did anything about. Patterns are chosen when they are frequent, so the
//! sessions before the decision are a biased baseline: they count only if there is nothing better,
//! and then against a stricter threshold.

mod curve;
mod drift;
mod opportunity;
mod placed;
mod rule;

use jiff::Timestamp;
use memory::{Flavor, SignalKind};
use serde::Serialize;

pub use self::curve::{CurvePhase, CurvePoint};
pub use self::drift::drift_variance;
pub use self::placed::measure_placed;
pub use self::rule::{AffectedCount, Effect, EffectState, judge};

use crate::detect::SessionGroup;
use opportunity::{has_opportunity, is_affected};

/// A baseline after the decision needs this many sessions; with fewer, the history counts too.
const RUN_IN_MIN: u64 = 30;

/// A pattern whose effect is measured.
#[derive(Clone, Debug)]
pub struct MeasuredPattern<'a> {
    pub id: &'a str,
    pub kind: SignalKind,
    pub name: &'a str,
    pub workspace: Option<&'a str>,
    /// When the user approved it.
    pub decided: Option<Timestamp>,
    /// When the first session started that could read it, by agent. An agent that is not listed
    /// never read it.
    pub active: &'a [(Flavor, Timestamp)],
    /// What the block costs in each session that reads it.
    pub block_tokens: u64,
}

/// The effect of a pattern, in all and per agent.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    pub id: String,
    pub name: String,
    pub workspace: Option<String>,
    #[serde(flatten)]
    pub effect: Effect,
    /// Whether the baseline is from after the decision, and so free of selection.
    pub baseline: Baseline,
    /// The user should withdraw the pattern.
    pub withdraw: bool,
    /// What changed besides the pattern, so that the comparison says less.
    pub also_changed: Vec<String>,
    pub tokens_per_session: u64,
    pub tokens_spent: u64,
    pub flavors: Vec<FlavorEffect>,
    /// The rate over time.
    pub curve: Vec<CurvePoint>,
}

/// The effect on the sessions of one agent.
#[derive(Clone, Debug, Serialize)]
pub struct FlavorEffect {
    pub flavor: Flavor,
    pub before: AffectedCount,
    pub after: AffectedCount,
}

/// Where the baseline comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// Sessions between the decision and the activation.
    RunIn,
    /// All sessions before the activation.
    History,
}

/// Measures the effect of a pattern. `ended` bounds the sessions after it, for one that was
/// withdrawn.
pub fn measure(
    pattern: &MeasuredPattern<'_>,
    groups: &[SessionGroup<'_>],
    ended: Option<Timestamp>,
) -> Measurement {
    let here: Vec<&SessionGroup<'_>> = groups
        .iter()
        .filter(|group| group.workspace == pattern.workspace)
        .collect();
    let fit = |group: &&&SessionGroup<'_>| has_opportunity(pattern.kind, pattern.name, group);
    let active = |group: &SessionGroup<'_>| {
        let since = pattern
            .active
            .iter()
            .find(|(flavor, _)| *flavor == group.flavor);
        since.is_some_and(|(_, since)| group.started.is_some_and(|at| at >= *since))
    };
    let reads = |group: &SessionGroup<'_>| pattern.active.iter().any(|(f, _)| *f == group.flavor);
    let after: Vec<_> = here
        .iter()
        .filter(fit)
        .filter(|group| active(group) && ended.is_none_or(|end| group.started < Some(end)))
        .copied()
        .collect();
    let earlier: Vec<_> = here
        .iter()
        .filter(fit)
        .filter(|group| !active(group) && (reads(group) || pattern.active.is_empty()))
        .copied()
        .collect();
    let is_run_in =
        |group: &SessionGroup<'_>| pattern.decided.is_some() && group.started > pattern.decided;
    let (run_in, history): (Vec<_>, Vec<_>) =
        earlier.iter().copied().partition(|group| is_run_in(group));
    let is_hit = |group: &SessionGroup<'_>| is_affected(pattern.kind, pattern.name, group);
    let phases = [
        (CurvePhase::History, history.as_slice()),
        (CurvePhase::RunIn, run_in.as_slice()),
        (CurvePhase::Active, after.as_slice()),
    ];
    let curve = curve::curve(&phases, &is_hit);
    let (before, baseline) = if run_in.len() as u64 >= RUN_IN_MIN {
        (run_in, Baseline::RunIn)
    } else {
        (earlier, Baseline::History)
    };
    let count = |sessions: &[&SessionGroup<'_>]| AffectedCount {
        sessions: sessions.len() as u64,
        affected: sessions.iter().filter(|group| is_hit(group)).count() as u64,
    };
    let drift = drift_variance(&here, &[pattern.name]);
    let mut effect = judge(count(&before), count(&after), drift, baseline);
    let also_changed = changes_between(&before, &after);
    if !also_changed.is_empty() && effect.state == EffectState::Helps {
        effect.state = EffectState::Open;
    }
    let flavors = pattern.active.iter().map(|(flavor, _)| {
        let only = |sessions: &[&SessionGroup<'_>]| {
            let of_flavor: Vec<_> = sessions
                .iter()
                .filter(|group| group.flavor == *flavor)
                .copied()
                .collect();
            count(&of_flavor)
        };
        FlavorEffect {
            flavor: *flavor,
            before: only(&before),
            after: only(&after),
        }
    });
    Measurement {
        id: pattern.id.to_owned(),
        name: pattern.name.to_owned(),
        workspace: pattern.workspace.map(str::to_owned),
        withdraw: matches!(effect.state, EffectState::Harms | EffectState::NoEffect),
        baseline,
        also_changed,
        tokens_per_session: pattern.block_tokens,
        tokens_spent: pattern.block_tokens * after.len() as u64,
        flavors: flavors.collect(),
        curve,
        effect,
    }
}

/// Returns what else changed with the activation: the usual model, or the agent's version.
fn changes_between(before: &[&SessionGroup<'_>], after: &[&SessionGroup<'_>]) -> Vec<String> {
    let usual = |sessions: &[&SessionGroup<'_>], of: fn(&SessionGroup<'_>) -> Option<String>| {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        for group in sessions {
            *counts.entry(of(group)?).or_default() += 1;
        }
        counts
            .into_iter()
            .max_by_key(|(_, n)| *n)
            .map(|(name, _)| name)
    };
    let model = |group: &SessionGroup<'_>| group.model.map(str::to_owned);
    // A patch of the agent changes little; another major version may change everything.
    let major = |group: &SessionGroup<'_>| {
        let version = group.agent_version?;
        Some(version.split('.').next()?.to_owned())
    };
    let mut changed = Vec::new();
    for (what, of) in [
        ("model", model as fn(&SessionGroup<'_>) -> Option<String>),
        ("agent version", major),
    ] {
        if let (Some(old), Some(new)) = (usual(before, of), usual(after, of))
            && old != new
        {
            changed.push(format!("{what}: {old} → {new}"));
        }
    }
    changed
}

#[cfg(test)]
mod tests;
