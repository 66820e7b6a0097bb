//! How much the rates of signals change by themselves, estimated from the user's own history.
//!
//! A placebo is a signal that no pattern is about, and a placebo date a date on which nothing
//! happened to it. The ratios of its rates around such dates show how far a rate moves without a
//! cause between windows of a given length. Slow drift is averaged out by longer windows more
//! slowly than fast drift, so the lengths are those of the comparison that is to be judged.

use std::collections::BTreeMap;

use memory::SignalKind;

use crate::detect::SessionGroup;

/// The number of placebo signals, the most frequent first.
const PLACEBOS_MAX: usize = 20;
/// The distance between placebo dates, in sessions.
const DATE_STEP: usize = 10;
/// Longer windows are judged like windows of this length, which drift more.
const WINDOW_MAX: usize = 120;
/// A rarer signal says nothing about drift.
const RATE_MIN: f64 = 0.05;
/// Sessions that are added to each window at the common rate, so that no rate is zero.
const PRIOR_SESSIONS: f64 = 4.0;
/// The variance that is assumed where nothing is known, and how many placebo dates it is worth.
const DEFAULT_VARIANCE: f64 = 0.2;
const DEFAULT_DATES: f64 = 20.0;

/// The histories of the placebo signals.
#[derive(Clone, Debug, Default)]
pub struct PlaceboSignals {
    /// For each signal, the number of affected sessions before each session.
    sums: Vec<Vec<u32>>,
}

impl PlaceboSignals {
    /// Takes the most frequent signals of the sessions, without those that patterns are about.
    pub fn of_sessions(groups: &[&SessionGroup<'_>], measured: &[&str]) -> Self {
        let mut counts: BTreeMap<(SignalKind, &str), usize> = BTreeMap::new();
        for group in groups {
            for signal in &group.signals {
                let is_event = !matches!(
                    signal.kind,
                    SignalKind::Cost | SignalKind::Mix | SignalKind::Correction
                );
                if is_event && !measured.contains(&signal.name.as_str()) {
                    *counts.entry((signal.kind, &signal.name)).or_default() += 1;
                }
            }
        }
        let mut placebos: Vec<_> = counts.into_iter().collect();
        placebos.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        placebos.truncate(PLACEBOS_MAX);
        Self::new(placebos.iter().map(|((kind, name), _)| {
            let hit = |group: &&SessionGroup<'_>| {
                let mut signals = group.signals.iter();
                signals.any(|signal| signal.kind == *kind && signal.name == *name)
            };
            groups.iter().map(hit).collect()
        }))
    }

    /// Takes signals as lists of affected and unaffected sessions, in the order of time.
    pub(super) fn new(signals: impl Iterator<Item = Vec<bool>>) -> Self {
        let sums = signals.map(|hits| {
            let mut sum = 0;
            let after_each = hits.into_iter().map(|hit| {
                sum += u32::from(hit);
                sum
            });
            std::iter::once(0).chain(after_each).collect()
        });
        Self {
            sums: sums.collect(),
        }
    }

    /// Returns the variance of the logarithm of the ratio of a signal's rates between a window of
    /// `before` sessions and the following `after` sessions, beyond what chance explains.
    pub fn variance(&self, before: u64, after: u64) -> f64 {
        let window = |sessions: u64| {
            let sessions = usize::try_from(sessions).unwrap_or(WINDOW_MAX);
            sessions.clamp(DATE_STEP, WINDOW_MAX)
        };
        let (before, after) = (window(before), window(after));
        let mut total = DEFAULT_VARIANCE * DEFAULT_DATES;
        let mut dates = DEFAULT_DATES;
        for sums in &self.sums {
            let last = sums.len().saturating_sub(after);
            for date in (before..last).step_by(DATE_STEP) {
                let hits = |from: usize, to: usize| f64::from(sums[to] - sums[from]);
                let change = excess_change(
                    (hits(date - before, date), before as f64),
                    (hits(date, date + after), after as f64),
                );
                if let Some(change) = change {
                    total += change;
                    dates += 1.0;
                }
            }
        }
        (total / dates).max(0.0)
    }
}

/// Returns the square of the change between two windows of affected and all sessions, less what
/// chance explains.
fn excess_change((old, before): (f64, f64), (new, after): (f64, f64)) -> Option<f64> {
    let rate = (old + new) / (before + after);
    if !(RATE_MIN..=1.0 - RATE_MIN).contains(&rate) {
        return None;
    }
    let smooth = |hits: f64, size: f64| (hits + PRIOR_SESSIONS * rate) / (size + PRIOR_SESSIONS);
    let shrunk = |size: f64| (size / (size + PRIOR_SESSIONS)).powi(2);
    let by_chance = (1.0 - rate) / rate * (shrunk(before) / before + shrunk(after) / after);
    let change = (smooth(new, after) / smooth(old, before)).ln();
    Some((change * change - by_chance) / (0.5 * (shrunk(before) + shrunk(after))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty signals that occur in every third session, shifted against each other.
    fn steady() -> PlaceboSignals {
        let signal = |shift: usize| (0..300).map(|at| (at + shift).is_multiple_of(3)).collect();
        PlaceboSignals::new((0..20).map(signal))
    }

    /// Signals whose rate changes between a half and a tenth every `block` sessions.
    fn changing(block: usize) -> PlaceboSignals {
        let signal = |shift: usize| {
            let hit = |at: usize| match (at + 7 * shift) / block % 2 {
                0 => (at + shift).is_multiple_of(2),
                _ => (at + shift).is_multiple_of(10),
            };
            (0..300).map(hit).collect()
        };
        PlaceboSignals::new((0..20).map(signal))
    }

    #[test]
    fn steady_signals_do_not_drift() {
        assert!(steady().variance(60, 60) < 0.03);
    }

    #[test]
    fn slow_changes_count_more_in_long_windows() {
        let variance = |block: usize, size| changing(block).variance(size, size);
        assert!(variance(10, 10) > 0.2);
        assert!(variance(10, 40) < 0.05);
        assert!(variance(40, 40) > 0.2);
    }

    #[test]
    fn without_history_the_default_holds() {
        assert!((PlaceboSignals::default().variance(60, 60) - DEFAULT_VARIANCE).abs() < 1e-9);
        let short = PlaceboSignals::new(std::iter::once(vec![true, false]));
        assert!((short.variance(500, 500) - DEFAULT_VARIANCE).abs() < 1e-9);
    }
}
