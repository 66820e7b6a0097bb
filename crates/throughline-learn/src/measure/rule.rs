//! The decision: from the rates before and after, and the drift.
//!
//! The ratio of the two rates is estimated on the logarithmic scale, with the variance that chance
//! and drift explain. A claim that a pattern helps and a proposal to withdraw it weigh drift
//! differently: a wrong claim costs trust, a wrong withdrawal a working pattern. Early looks need
//! more than late ones, because who looks often enough finds something. The simulation in
//! `tests.rs` has the resulting error rates.

use serde::Serialize;

use super::Baseline;
use super::drift::PlaceboSignals;

/// With fewer sessions before or after the activation nothing is decided.
const SESSIONS_MIN: f64 = 20.0;
/// With fewer sessions a pattern without an effect is not flagged.
const FUTILE_SESSIONS_MIN: f64 = 70.0;
/// Each window gets this many sessions at the common rate, so that no rate is zero.
const PRIOR_SESSIONS: f64 = 2.0;
/// The number of deviations that a claim needs.
const CLAIM: f64 = 2.2;
/// The history before a decision is a biased baseline: patterns are chosen when they are frequent.
const CLAIM_FROM_HISTORY: f64 = 2.6;
/// The number of deviations that a withdrawal needs.
const WITHDRAWAL: f64 = 0.8;
/// How strongly drift counts in a claim, and in a withdrawal.
const CLAIM_DRIFT: f64 = 1.4;
const WITHDRAWAL_DRIFT: f64 = 0.3;
/// A ratio above this is not worth the tokens.
const USELESS_RATIO: f64 = 0.85;
/// A pattern to withdraw with a higher ratio does harm.
const HARM_RATIO: f64 = 1.25;
/// What a look needs more when it sees [`SESSIONS_MIN`] sessions; it falls with their number.
const EARLY_LOOK: f64 = 0.5;
/// How sure the ratio of ratios must be, in deviations, before a control contradicts nothing.
const CONTROL: f64 = 0.85;
/// The effect whose detection the power is about: half as many affected sessions.
const HALVING: f64 = std::f64::consts::LN_2;
/// The chances of seeing a halving that `measure` tells the sessions for, with their quantiles.
const POWERS: [(f64, f64); 2] = [(0.8, 0.84), (0.5, 0.0)];
const POWER_SESSIONS_MAX: u64 = 2_000;

/// How many sessions had the opportunity, and how many were affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AffectedCount {
    pub sessions: u64,
    pub affected: u64,
}

/// The sessions on one side of a comparison, possibly weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    pub sessions: f64,
    pub affected: f64,
}

impl From<AffectedCount> for RateSample {
    fn from(count: AffectedCount) -> Self {
        Self {
            sessions: count.sessions as f64,
            affected: count.affected as f64,
        }
    }
}

impl RateSample {
    pub(super) fn joined(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            affected: self.affected + other.affected,
        }
    }
}

memory::named_enum! {
    /// What the comparison says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum EffectState {
        TooEarly = "too early",
        Helps = "helps",
        NoEffect = "no effect",
        Harms = "harms",
        Open = "open",
    }
}

/// The estimated effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    pub state: EffectState,
    /// The rate after over the rate before, with its 95 % interval. Drift is included.
    pub ratio: f64,
    pub ratio_low: f64,
    pub ratio_high: f64,
    /// The variance of the logarithm of the ratio that drift explains.
    pub drift: f64,
}

/// Decides about the effect. `drift` is the variance of the logarithm of the ratio between such
/// windows.
pub fn judge(before: RateSample, after: RateSample, drift: f64, baseline: Baseline) -> Effect {
    let ratio = LogRatio::estimate(before, after);
    let early = 1.0 + EARLY_LOOK * SESSIONS_MIN / after.sessions.max(1.0);
    let claim = claim_threshold(baseline) * early;
    let claimed = ratio.deviations_from(1.0, CLAIM_DRIFT * drift);
    let useless = ratio.deviations_from(USELESS_RATIO, WITHDRAWAL_DRIFT * drift);
    let state = if after.sessions < SESSIONS_MIN || before.sessions < SESSIONS_MIN {
        EffectState::TooEarly
    } else if claimed < -claim {
        EffectState::Helps
    } else if claimed > claim {
        EffectState::Harms
    } else if after.sessions >= FUTILE_SESSIONS_MIN && useless > WITHDRAWAL * early {
        match ratio.mean > HARM_RATIO.ln() {
            true => EffectState::Harms,
            false => EffectState::NoEffect,
        }
    } else {
        EffectState::Open
    };
    let (low, high) = ratio.interval(drift);
    Effect {
        state,
        ratio: ratio.mean.exp(),
        ratio_low: low,
        ratio_high: high,
        drift,
    }
}

/// The rate of the same signal where the pattern is not active, and what it says about the effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ControlEffect {
    pub before: AffectedCount,
    pub after: AffectedCount,
    /// The ratio with the pattern over the ratio without it, with its 95 % interval.
    pub ratio_of_ratios: f64,
    pub ratio_low: f64,
    pub ratio_high: f64,
    /// The control contradicts what the ratio alone says.
    pub contradicts: bool,
}

/// Compares the change with the pattern to the change without it, and leaves the effect open where
/// both changed alike. A control with few sessions says nothing.
pub(super) fn apply_control(
    effect: &mut Effect,
    (before, after): (RateSample, RateSample),
    control: (AffectedCount, AffectedCount),
) -> Option<ControlEffect> {
    let (old, new) = (RateSample::from(control.0), RateSample::from(control.1));
    if old.sessions < SESSIONS_MIN || new.sessions < SESSIONS_MIN {
        return None;
    }
    let (with, without) = (
        LogRatio::estimate(before, after),
        LogRatio::estimate(old, new),
    );
    let both = LogRatio {
        mean: with.mean - without.mean,
        chance: with.chance + without.chance,
    };
    let supported = match effect.state {
        EffectState::Helps => both.deviations_from(1.0, 0.0) < -CONTROL,
        EffectState::Harms => both.deviations_from(1.0, 0.0) > CONTROL,
        EffectState::NoEffect => both.mean > USELESS_RATIO.ln(),
        EffectState::TooEarly | EffectState::Open => true,
    };
    if !supported {
        effect.state = EffectState::Open;
    }
    let (ratio_low, ratio_high) = both.interval(effect.drift);
    Some(ControlEffect {
        before: control.0,
        after: control.1,
        ratio_of_ratios: both.mean.exp(),
        ratio_low,
        ratio_high,
        contradicts: !supported,
    })
}

const fn claim_threshold(baseline: Baseline) -> f64 {
    match baseline {
        Baseline::RunIn => CLAIM,
        Baseline::History => CLAIM_FROM_HISTORY,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of sessions are small and not negative"
)]
pub(super) fn drift_between(
    before: RateSample,
    after: RateSample,
    placebos: &PlaceboSignals,
) -> f64 {
    placebos.variance(before.sessions as u64, after.sessions as u64)
}

/// The logarithm of the ratio of two rates, with the variance that chance explains.
#[derive(Clone, Copy, Debug)]
struct LogRatio {
    mean: f64,
    chance: f64,
}

impl LogRatio {
    fn estimate(before: RateSample, after: RateSample) -> Self {
        let sessions = (before.sessions + after.sessions).max(1.0);
        let rate = ((before.affected + after.affected) / sessions).clamp(0.01, 0.99);
        let smooth = |sample: RateSample| {
            (sample.affected + PRIOR_SESSIONS * rate) / (sample.sessions + PRIOR_SESSIONS)
        };
        let shrunk = |sample: RateSample| {
            sample.sessions.max(1.0) / (sample.sessions + PRIOR_SESSIONS).powi(2)
        };
        Self {
            mean: (smooth(after) / smooth(before)).ln(),
            chance: (1.0 - rate) / rate * (shrunk(before) + shrunk(after)),
        }
    }

    /// Returns by how many deviations the ratio is above `other`.
    fn deviations_from(&self, other: f64, drift: f64) -> f64 {
        (self.mean - other.ln()) / (self.chance + drift).sqrt().max(1e-6)
    }

    /// Returns the 95 % interval of the ratio.
    fn interval(&self, drift: f64) -> (f64, f64) {
        let reach = 1.96 * (self.chance + drift).sqrt();
        ((self.mean - reach).exp(), (self.mean + reach).exp())
    }
}

/// How many more sessions it would take to see a halving.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EffectPower {
    pub sessions_needed: u64,
    /// The chance with which that many sessions would show a halving.
    pub chance: f64,
}

/// Returns how many more sessions it would take to see a halving, with a good chance or else with
/// an even one. `None` if no number of sessions suffices.
pub(super) fn power(
    before: RateSample,
    after: RateSample,
    placebos: &PlaceboSignals,
    baseline: Baseline,
) -> Option<EffectPower> {
    let rate = (before.affected / before.sessions.max(1.0)).clamp(0.01, 0.99);
    let enough = |more: u64, quantile: f64| {
        let sessions = after.sessions + more as f64;
        let halved = RateSample {
            sessions,
            affected: sessions * rate / 2.0,
        };
        let chance = LogRatio::estimate(before, halved).chance;
        let drift = drift_between(before, halved, placebos);
        let early = 1.0 + EARLY_LOOK * SESSIONS_MIN / sessions.max(1.0);
        let deviation = (chance + CLAIM_DRIFT * drift).sqrt();
        sessions >= SESSIONS_MIN
            && HALVING / deviation >= claim_threshold(baseline) * early + quantile
    };
    if before.sessions < SESSIONS_MIN {
        return None;
    }
    POWERS.into_iter().find_map(|(chance, quantile)| {
        let mut more = (0..POWER_SESSIONS_MAX).step_by(10);
        let sessions_needed = more.find(|more| enough(*more, quantile))?;
        Some(EffectPower {
            sessions_needed,
            chance,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIFT: f64 = 0.05;

    /// Signals that hardly drift.
    fn steady() -> PlaceboSignals {
        let signal = |shift: usize| (0..400).map(|at| (at + shift).is_multiple_of(3)).collect();
        PlaceboSignals::new((0..20).map(signal))
    }

    fn sample((affected, sessions): (u32, u32)) -> RateSample {
        RateSample {
            sessions: f64::from(sessions),
            affected: f64::from(affected),
        }
    }

    #[track_caller]
    fn check(before: (u32, u32), after: (u32, u32), state: EffectState) {
        let effect = judge(sample(before), sample(after), DRIFT, Baseline::RunIn);
        assert_eq!(effect.state, state, "{effect:?}");
        assert!(effect.ratio_low <= effect.ratio && effect.ratio <= effect.ratio_high);
    }

    #[test]
    fn clear_cases_are_clear() {
        check((10, 20), (0, 5), EffectState::TooEarly);
        check((60, 100), (15, 100), EffectState::Helps);
        check((20, 100), (60, 100), EffectState::Harms);
        check((50, 100), (55, 100), EffectState::NoEffect);
        check((10, 60), (6, 50), EffectState::Open);
        check((0, 60), (0, 120), EffectState::Open);
    }

    /// What happened in a real repository after its instructions changed, without a control group.
    /// The history is the baseline, because nobody waited before applying the change.
    #[test]
    fn natural_experiments_are_judged_as_they_went() {
        let state =
            |before, after| judge(sample(before), sample(after), DRIFT, Baseline::History).state;
        // "Always run the formatter": the sessions that edited and did not run it.
        assert_eq!(state((33, 38), (66, 230)), EffectState::Helps);
        // A checklist before commits: lint failures per edit, and per run of the linter.
        assert_ne!(state((66, 2_312), (71, 2_164)), EffectState::Helps);
        assert_ne!(state((66, 514), (71, 427)), EffectState::Helps);
        // A rule about duplicated code: findings per edit, of which there are too few.
        assert_ne!(state((2, 1_733), (8, 2_743)), EffectState::Helps);
    }

    #[test]
    fn a_rare_signal_needs_more_sessions() {
        let need = |affected| {
            let before = sample((affected, 100));
            let power = power(before, RateSample::default(), &steady(), Baseline::RunIn);
            power.map(|power| power.sessions_needed)
        };
        assert!(need(50).is_some());
        assert!(need(20) > need(50) || need(20).is_none());
        assert_eq!(need(2), None);
    }

    #[test]
    fn a_change_that_the_control_shares_is_no_effect() {
        let with = (sample((60, 100)), sample((15, 100)));
        let judged = || judge(with.0, with.1, DRIFT, Baseline::RunIn);
        let count = |affected, sessions| AffectedCount { sessions, affected };
        let mut shared = judged();
        let control = apply_control(&mut shared, with, (count(50, 100), count(12, 100)));
        assert_eq!(shared.state, EffectState::Open);
        assert!(control.unwrap().contradicts);
        let mut alone = judged();
        let control = apply_control(&mut alone, with, (count(50, 100), count(48, 100)));
        assert_eq!(alone.state, EffectState::Helps);
        assert!(control.unwrap().ratio_of_ratios < 0.4);
        assert_eq!(
            apply_control(&mut alone, with, (count(5, 10), count(0, 10))),
            None
        );
    }
}
