//! Which sessions can be compared: those of the same agent, model and version of the agent, whose
//! signals were named by the same version of the readers.
//!
//! A change of the model or of the agent may change everything, so it splits the time before and
//! after a pattern. Sessions whose model or version occurs on one side only are set aside, and the
//! rates of the others are compared in the mix of the sessions after the activation.

use std::collections::BTreeMap;

use super::rule::RateSample;
use crate::detect::SessionGroup;

/// What a session ran with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionRegime<'a> {
    flavor: &'static str,
    model: Option<&'a str>,
    /// A patch of the agent changes little; another major version may change everything.
    major_version: Option<&'a str>,
    /// Readers of another version may give the same text another name.
    names_version: Option<u32>,
}

impl<'a> SessionRegime<'a> {
    pub(super) fn of(group: &SessionGroup<'a>) -> Self {
        Self {
            flavor: group.flavor.name(),
            model: group.model,
            major_version: group
                .agent_version
                .and_then(|version| version.split('.').next()),
            names_version: group.signals.iter().map(|signal| signal.version).max(),
        }
    }
}

/// A session with the weight that it has in the comparison.
pub(super) struct WeightedSession<'g, 'a> {
    pub(super) group: &'g SessionGroup<'a>,
    pub(super) affected: bool,
    pub(super) weight: f64,
}

/// Returns the two sides of a comparison. The rate before is that of the mix of regimes after.
pub(super) fn compare(
    before: &[WeightedSession<'_, '_>],
    after: &[WeightedSession<'_, '_>],
) -> (RateSample, RateSample) {
    let (old, new) = (by_regime(before), by_regime(after));
    let after = join_all(&new);
    if after.sessions == 0.0 {
        return (join_all(&old), after);
    }
    let (mut rate, mut inverse_size) = (0.0, 0.0);
    for (regime, new) in &new {
        let Some(old) = old.get(regime).filter(|old| old.sessions > 0.0) else {
            return (RateSample::default(), after);
        };
        let share = new.sessions / after.sessions;
        rate += share * old.affected / old.sessions;
        inverse_size += share * share / old.sessions;
    }
    let sessions = 1.0 / inverse_size;
    let before = RateSample {
        sessions,
        affected: sessions * rate,
    };
    (before, after)
}

fn by_regime<'a>(sessions: &[WeightedSession<'_, 'a>]) -> BTreeMap<SessionRegime<'a>, RateSample> {
    let mut samples: BTreeMap<SessionRegime<'a>, RateSample> = BTreeMap::new();
    for one in sessions {
        let sample = samples.entry(SessionRegime::of(one.group)).or_default();
        *sample = sample.joined(RateSample {
            sessions: one.weight,
            affected: one.weight * f64::from(u8::from(one.affected)),
        });
    }
    samples
}

fn join_all(samples: &BTreeMap<SessionRegime<'_>, RateSample>) -> RateSample {
    let joined = |all: RateSample, one: &RateSample| all.joined(*one);
    samples.values().fold(RateSample::default(), joined)
}

/// Returns what else changed with the activation: the usual model, or the agent's version.
pub(super) fn changes_between(
    before: &[&SessionGroup<'_>],
    after: &[&SessionGroup<'_>],
) -> Vec<String> {
    let mut changed = Vec::new();
    type Part = fn(&SessionRegime<'_>) -> Option<String>;
    let parts: [(&str, Part); 2] = [
        ("model", |regime| regime.model.map(str::to_owned)),
        ("agent version", |regime| {
            regime.major_version.map(str::to_owned)
        }),
    ];
    for (what, part) in parts {
        if let (Some(old), Some(new)) = (usual(before, part), usual(after, part))
            && old != new
        {
            changed.push(format!("{what}: {old} → {new}"));
        }
    }
    changed
}

fn usual(
    sessions: &[&SessionGroup<'_>],
    part: fn(&SessionRegime<'_>) -> Option<String>,
) -> Option<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for group in sessions {
        *counts.entry(part(&SessionRegime::of(group))?).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(name, _)| name)
}
