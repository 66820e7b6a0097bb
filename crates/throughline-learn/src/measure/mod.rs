//! Does a pattern help? Compares the sessions before and after it became active.
//!
//! The unit is a session that had the opportunity to be affected ([`opportunity`]), among sessions
//! of the same agent, model and version ([`regimes`]). [`rule`] decides from the rates and from the
//! drift of the user's own history, which [`drift`] estimates from signals and dates that nothing
//! was done about. Where the same signal occurs without the pattern, in other repositories or with
//! other agents, it is the control. Patterns are chosen when they are frequent, so the sessions
//! before the decision are a biased baseline: they count half beside later ones, and alone against
//! a stricter threshold.

mod curve;
mod drift;
mod opportunity;
mod placed;
mod regimes;
mod rule;

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::{Flavor, SignalKind};
use serde::Serialize;

pub use self::curve::{CurvePhase, CurvePoint};
pub use self::drift::PlaceboSignals;
pub use self::placed::measure_placed;
pub use self::rule::{
    AffectedCount, ControlEffect, Effect, EffectPower, EffectState, RateSample, judge,
};

use self::regimes::{SessionRegime, WeightedSession, changes_between, compare};
use self::rule::{apply_control, drift_between, power};
use crate::detect::SessionGroup;
use opportunity::{has_opportunity, is_affected};

/// A baseline after the decision needs this many sessions; with fewer, the history counts in full.
const RUN_IN_MIN: usize = 30;
/// What a session before the decision counts beside those after it.
const HISTORY_WEIGHT: f64 = 0.5;

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
    /// When the block was removed again.
    pub ended: Option<Timestamp>,
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
    /// The sessions that are compared.
    pub before: AffectedCount,
    pub after: AffectedCount,
    /// Where the baseline comes from.
    pub baseline: Baseline,
    /// Sessions with a model or a version of the agent that occurs on one side only.
    pub set_aside: u64,
    /// About how many more sessions a halving would need to be seen, and with which chance. `None`
    /// if no number suffices.
    pub sessions_needed: Option<u64>,
    pub sessions_needed_chance: Option<f64>,
    /// The same signal where the pattern is not active.
    pub control: Option<ControlEffect>,
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
    /// Sessions between the decision and the activation; those before it count half.
    RunIn,
    /// All sessions before the activation.
    History,
}

impl Baseline {
    fn history_weight(self) -> f64 {
        match self {
            Self::RunIn => HISTORY_WEIGHT,
            Self::History => 1.0,
        }
    }
}

/// The sessions with opportunity around the activation of a pattern.
struct SessionPhases<'g, 'a> {
    history: Vec<&'g SessionGroup<'a>>,
    run_in: Vec<&'g SessionGroup<'a>>,
    after: Vec<&'g SessionGroup<'a>>,
}

impl<'g, 'a> SessionPhases<'g, 'a> {
    fn new(pattern: &MeasuredPattern<'_>, groups: &'g [SessionGroup<'a>]) -> Self {
        let mut phases = Self {
            history: Vec::new(),
            run_in: Vec::new(),
            after: Vec::new(),
        };
        for group in groups {
            let reads = pattern.active.is_empty() || pattern.since(group.flavor).is_some();
            if group.workspace != pattern.workspace || !reads || !pattern.fits(group) {
                continue;
            }
            let active = pattern
                .since(group.flavor)
                .is_some_and(|at| group.started >= Some(at));
            if active {
                if pattern.ended.is_none_or(|end| group.started < Some(end)) {
                    phases.after.push(group);
                }
            } else if pattern.decided.is_some() && group.started > pattern.decided {
                phases.run_in.push(group);
            } else {
                phases.history.push(group);
            }
        }
        phases
    }

    /// Returns the sessions before the activation.
    fn before(&self) -> Vec<&'g SessionGroup<'a>> {
        [self.history.as_slice(), &self.run_in].concat()
    }

    /// Keeps the sessions whose model and version occur on both sides, and returns how many were
    /// left out. Before the activation nothing is left out.
    fn keep_comparable(&mut self) -> u64 {
        if self.after.is_empty() {
            return 0;
        }
        let regimes = |sessions: &[&SessionGroup<'a>]| -> BTreeSet<SessionRegime<'a>> {
            sessions
                .iter()
                .map(|group| SessionRegime::of(group))
                .collect()
        };
        let (old, new) = (regimes(&self.before()), regimes(&self.after));
        let all = self.before().len() + self.after.len();
        let is_common = |group: &&SessionGroup<'a>| {
            let regime = SessionRegime::of(group);
            old.contains(&regime) && new.contains(&regime)
        };
        self.history.retain(is_common);
        self.run_in.retain(is_common);
        self.after.retain(is_common);
        (all - self.before().len() - self.after.len()) as u64
    }
}

impl MeasuredPattern<'_> {
    fn since(&self, flavor: Flavor) -> Option<Timestamp> {
        let mut active = self.active.iter();
        active
            .find(|(one, _)| *one == flavor)
            .map(|(_, since)| *since)
    }

    fn fits(&self, group: &SessionGroup<'_>) -> bool {
        has_opportunity(self.kind, self.name, group)
    }

    fn affects(&self, group: &SessionGroup<'_>) -> bool {
        is_affected(self.kind, self.name, group)
    }

    fn count(&self, sessions: &[&SessionGroup<'_>]) -> AffectedCount {
        AffectedCount {
            sessions: sessions.len() as u64,
            affected: sessions.iter().filter(|group| self.affects(group)).count() as u64,
        }
    }

    /// Counts the same signal before and after the activation where the pattern is not active: in
    /// other repositories, and with agents that do not read it.
    fn control(&self, groups: &[SessionGroup<'_>]) -> Option<(AffectedCount, AffectedCount)> {
        let since = self.active.iter().map(|(_, since)| *since).min()?;
        let elsewhere: Vec<_> = groups
            .iter()
            .filter(|group| group.workspace != self.workspace || self.since(group.flavor).is_none())
            .filter(|group| group.started.is_some() && self.fits(group))
            .collect();
        // A signal that never occurs elsewhere cannot be a control: its rate cannot change there.
        elsewhere.iter().find(|group| self.affects(group))?;
        let (before, after): (Vec<_>, Vec<_>) = elsewhere
            .into_iter()
            .partition(|group| group.started < Some(since));
        Some((self.count(&before), self.count(&after)))
    }
}

/// Measures the effect of a pattern. `patterns` are the names of all distributed patterns, whose
/// signals are no placebos.
pub fn measure(
    pattern: &MeasuredPattern<'_>,
    groups: &[SessionGroup<'_>],
    patterns: &[&str],
) -> Measurement {
    let mut phases = SessionPhases::new(pattern, groups);
    let is_hit = |group: &SessionGroup<'_>| pattern.affects(group);
    let curve = curve::curve(
        &[
            (CurvePhase::History, phases.history.as_slice()),
            (CurvePhase::RunIn, phases.run_in.as_slice()),
            (CurvePhase::Active, phases.after.as_slice()),
        ],
        &is_hit,
    );
    let tokens_spent = pattern.block_tokens * phases.after.len() as u64;
    let also_changed = changes_between(&phases.before(), &phases.after);
    let set_aside = phases.keep_comparable();
    let baseline = match phases.run_in.len() >= RUN_IN_MIN {
        true => Baseline::RunIn,
        false => Baseline::History,
    };
    let before = phases.before();
    let mut old = weigh(pattern, &phases.history, baseline.history_weight());
    old.extend(weigh(pattern, &phases.run_in, 1.0));
    let samples = compare(&old, &weigh(pattern, &phases.after, 1.0));
    let here: Vec<&SessionGroup<'_>> = groups
        .iter()
        .filter(|group| group.workspace == pattern.workspace)
        .collect();
    let placebos = PlaceboSignals::of_sessions(&here, patterns);
    let drift = drift_between(samples.0, samples.1, &placebos);
    let power = power(samples.0, samples.1, &placebos, baseline);
    let mut effect = judge(samples.0, samples.1, drift, baseline);
    let control = pattern
        .control(groups)
        .and_then(|control| apply_control(&mut effect, samples, control));
    let of_flavor = |sessions: &[&SessionGroup<'_>], flavor: Flavor| {
        let mut only = sessions.to_vec();
        only.retain(|group| group.flavor == flavor);
        pattern.count(&only)
    };
    let flavors = pattern.active.iter().map(|(flavor, _)| FlavorEffect {
        flavor: *flavor,
        before: of_flavor(&before, *flavor),
        after: of_flavor(&phases.after, *flavor),
    });
    Measurement {
        id: pattern.id.to_owned(),
        name: pattern.name.to_owned(),
        workspace: pattern.workspace.map(str::to_owned),
        withdraw: matches!(effect.state, EffectState::Harms | EffectState::NoEffect),
        effect,
        before: pattern.count(&before),
        after: pattern.count(&phases.after),
        baseline,
        set_aside,
        sessions_needed: power.map(|power| power.sessions_needed),
        sessions_needed_chance: power.map(|power| power.chance),
        control,
        also_changed,
        tokens_per_session: pattern.block_tokens,
        tokens_spent,
        flavors: flavors.collect(),
        curve,
    }
}

/// Returns sessions with the weight that each of them has.
fn weigh<'g, 'a>(
    pattern: &MeasuredPattern<'_>,
    sessions: &[&'g SessionGroup<'a>],
    weight: f64,
) -> Vec<WeightedSession<'g, 'a>> {
    let weighted = sessions.iter().map(|group| WeightedSession {
        group,
        affected: pattern.affects(group),
        weight,
    });
    weighted.collect()
}

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;
