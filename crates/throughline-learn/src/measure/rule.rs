//! The decision: from the counts before and after, and the drift.
//!
//! The ratio of the two rates is estimated on the logarithmic scale. Drift makes the counts worth
//! less than they look, so they are discounted before the thresholds are applied. A claim that a
//! pattern helps and a proposal to withdraw it are discounted differently: a wrong claim costs
//! trust, a wrong withdrawal a working pattern. `simulation.rs` has the resulting error rates.

use serde::Serialize;

use super::Baseline;
use super::drift::WINDOW;

/// With fewer sessions after the activation nothing is decided.
const SESSIONS_MIN: u64 = 20;
/// With fewer sessions a pattern without an effect is not flagged.
const FUTILE_SESSIONS_MIN: u64 = 60;
/// The counts are joined with this many sessions at the common rate.
const PRIOR_SESSIONS: f64 = 10.0;
const HELPS: f64 = 0.965;
/// The history before a decision is a biased baseline: patterns are chosen when they are frequent.
const HELPS_FROM_HISTORY: f64 = 0.995;
const HARM_RATIO: f64 = 1.25;
const HARMS: f64 = 0.975;
/// A ratio above this is not worth the tokens.
const USELESS_RATIO: f64 = 0.9;
const USELESS: f64 = 0.88;
/// How strongly drift discounts the counts for a claim, and for a withdrawal.
const CLAIM_DISCOUNT: f64 = 0.9;
const WITHDRAWAL_DISCOUNT: f64 = 6.0;
/// The effect whose detection the power is about: half as many affected sessions.
const HALVING: f64 = std::f64::consts::LN_2;
/// The sum of the quantiles for the threshold and for a chance of 80 %.
const POWER_QUANTILES: f64 = 1.81 + 0.84;
const POWER_SESSIONS_MAX: u64 = 2_000;

/// How many sessions had the opportunity, and how many were affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AffectedCount {
    pub sessions: u64,
    pub affected: u64,
}

/// What the comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectState {
    TooEarly,
    Helps,
    NoEffect,
    Harms,
    Open,
}

impl EffectState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooEarly => "too early",
            Self::Helps => "helps",
            Self::NoEffect => "no effect",
            Self::Harms => "harms",
            Self::Open => "open",
        }
    }
}

/// The estimated effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    pub state: EffectState,
    pub before: AffectedCount,
    pub after: AffectedCount,
    /// The rate after over the rate before, with its 95 % interval. Drift is included.
    pub ratio: f64,
    pub ratio_low: f64,
    pub ratio_high: f64,
    /// About how many more sessions a halving would need to be seen. `None` if it takes too many.
    pub sessions_needed: Option<u64>,
    pub drift: f64,
}

/// Decides about the effect.
pub fn judge(
    before: AffectedCount,
    after: AffectedCount,
    drift: f64,
    baseline: Baseline,
) -> Effect {
    let sampling = relative_variance(before, after);
    let claim_discount = 1.0 / (1.0 + CLAIM_DISCOUNT * drift_part(before, after, drift) / sampling);
    let claim = LogRatio::estimate(before, after, claim_discount);
    let withdrawal = LogRatio::estimate(before, after, 1.0 / (1.0 + WITHDRAWAL_DISCOUNT * drift));
    let helps = match baseline {
        Baseline::RunIn => HELPS,
        Baseline::History => HELPS_FROM_HISTORY,
    };
    let state = if after.sessions < SESSIONS_MIN || before.sessions < SESSIONS_MIN {
        EffectState::TooEarly
    } else if claim.chance_below(1.0) > helps {
        EffectState::Helps
    } else if withdrawal.chance_above(HARM_RATIO) > HARMS {
        EffectState::Harms
    } else if after.sessions >= FUTILE_SESSIONS_MIN
        && withdrawal.chance_above(USELESS_RATIO) > USELESS
    {
        if claim.mean > HARM_RATIO.ln() {
            EffectState::Harms
        } else {
            EffectState::NoEffect
        }
    } else {
        EffectState::Open
    };
    let shown = LogRatio::plain(before, after, drift);
    let ratio = |quantiles: f64| (shown.mean + quantiles * shown.deviation).exp();
    Effect {
        state,
        before,
        after,
        ratio: ratio(0.0),
        ratio_low: ratio(-1.96),
        ratio_high: ratio(1.96),
        sessions_needed: sessions_needed(before, after, drift),
        drift,
    }
}

/// The logarithm of the ratio of two rates, as a normal distribution.
#[derive(Clone, Copy, Debug)]
struct LogRatio {
    mean: f64,
    deviation: f64,
}

impl LogRatio {
    /// Returns the estimate for people: the counts as they are, with half a session on either side
    /// so that no rate is zero, and the uncertainty with drift.
    fn plain(before: AffectedCount, after: AffectedCount, drift: f64) -> Self {
        let smooth = |count: AffectedCount| {
            let affected = count.affected as f64 + 0.5;
            (affected / (count.sessions as f64 + 1.0), affected)
        };
        let ((old, old_weight), (new, new_weight)) = (smooth(before), smooth(after));
        let by_chance = (1.0 - old) / old_weight + (1.0 - new) / new_weight;
        Self {
            mean: (new / old).ln(),
            deviation: (by_chance + drift_part(before, after, drift)).sqrt(),
        }
    }

    fn estimate(before: AffectedCount, after: AffectedCount, discount: f64) -> Self {
        let common = common_rate(before, after);
        let smooth = |count: AffectedCount| {
            let sessions = count.sessions as f64 * discount + PRIOR_SESSIONS;
            let affected = count.affected as f64 * discount + PRIOR_SESSIONS * common;
            ((affected / sessions).clamp(1e-6, 0.999), affected.max(0.3))
        };
        let ((old, old_weight), (new, new_weight)) = (smooth(before), smooth(after));
        let variance = (1.0 - old) / old_weight + (1.0 - new) / new_weight;
        Self {
            mean: (new / old).ln(),
            deviation: variance.sqrt(),
        }
    }

    fn chance_below(&self, ratio: f64) -> f64 {
        normal_share((ratio.ln() - self.mean) / self.deviation)
    }

    fn chance_above(&self, ratio: f64) -> f64 {
        1.0 - self.chance_below(ratio)
    }
}

fn common_rate(before: AffectedCount, after: AffectedCount) -> f64 {
    let affected = (before.affected + after.affected) as f64;
    let sessions = (before.sessions + after.sessions).max(1) as f64;
    (affected / sessions).clamp(0.01, 0.99)
}

/// Returns the variance of the log ratio that chance alone explains.
fn relative_variance(before: AffectedCount, after: AffectedCount) -> f64 {
    let rate = common_rate(before, after);
    (1.0 - rate) / rate * inverse_sizes(before, after)
}

/// Returns the variance of the log ratio that drift adds: longer periods average it out.
fn drift_part(before: AffectedCount, after: AffectedCount, drift: f64) -> f64 {
    drift * WINDOW as f64 * inverse_sizes(before, after)
}

fn inverse_sizes(before: AffectedCount, after: AffectedCount) -> f64 {
    1.0 / before.sessions.max(1) as f64 + 1.0 / after.sessions.max(1) as f64
}

/// Returns how many more sessions a halving would need to be seen with a chance of 80 %.
fn sessions_needed(before: AffectedCount, after: AffectedCount, drift: f64) -> Option<u64> {
    let rate = common_rate(before, AffectedCount::default());
    let enough = |more: &u64| {
        let sessions = AffectedCount {
            sessions: after.sessions + more,
            affected: 0,
        };
        let halved = (1.0 - rate / 2.0) / (rate / 2.0) / sessions.sessions.max(1) as f64;
        let old = (1.0 - rate) / rate / before.sessions.max(1) as f64;
        let variance = halved + old + drift_part(before, sessions, drift);
        HALVING / variance.sqrt() >= POWER_QUANTILES
    };
    (0..POWER_SESSIONS_MAX).step_by(10).find(enough)
}

/// Returns the share of a normal distribution below `x` deviations (Numerical Recipes, erfc).
fn normal_share(x: f64) -> f64 {
    let z = (x / std::f64::consts::SQRT_2).abs();
    let t = 1.0 / (1.0 + 0.5 * z);
    let terms = [
        0.170_872_77, -0.822_152_23, 1.488_515_87, -1.135_203_98, 0.278_868_07, -0.186_288_06,
        0.096_784_18, 0.374_091_96, 1.000_023_68, -1.265_512_23,
    ];
    let series = terms.iter().fold(0.0, |sum, term| sum * t + term);
    let tail = 0.5 * t * (-z * z + series).exp();
    if x >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_right() {
        for (x, share) in [
            (0.0, 0.5),
            (1.0, 0.841_345),
            (1.96, 0.975_002),
            (-2.5, 0.006_210),
        ] {
            assert!((normal_share(x) - share).abs() < 1e-5, "{x}");
        }
    }

    #[track_caller]
    fn check(before: (u64, u64), after: (u64, u64), state: EffectState) {
        let count = |(affected, sessions)| AffectedCount { sessions, affected };
        let effect = judge(count(before), count(after), 0.05, Baseline::RunIn);
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
    }

    /// What happened in a real repository after its instructions changed, without a control group.
    /// The history is the baseline, because nobody waited before applying the change.
    #[test]
    fn natural_experiments_are_judged_as_they_went() {
        let count = |(affected, sessions)| AffectedCount { sessions, affected };
        let state =
            |before, after| judge(count(before), count(after), 0.05, Baseline::History).state;
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
            let before = AffectedCount {
                sessions: 100,
                affected,
            };
            judge(before, AffectedCount::default(), 0.0, Baseline::RunIn).sessions_needed
        };
        assert!(need(50).is_some());
        assert!(need(20) > need(50) || need(20).is_none());
        assert_eq!(need(2), None);
    }
}
