//! How much the rates of signals change by themselves, estimated from the user's own history.

use std::collections::BTreeMap;

use memory::SignalKind;

use crate::detect::SessionGroup;

/// Rates are compared between neighbouring windows of this many sessions.
pub(super) const WINDOW: usize = 30;
/// The number of placebo signals, the most frequent first.
const PLACEBOS_MAX: usize = 20;
/// A rarer signal says nothing about drift.
const RATE_MIN: f64 = 0.05;
/// With less history than this, the default is assumed.
const PAIRS_MIN: usize = 6;
/// The drift of a repository that nothing is known about: rates vary by a factor of about 1.5.
pub(super) const DEFAULT_VARIANCE: f64 = 0.15;
/// Sessions that are added to each window at the common rate, so that no rate is zero.
const PRIOR_SESSIONS: f64 = 4.0;

/// Returns the variance of the logarithm of a signal's rate between windows of [`WINDOW`] sessions,
/// beyond what chance explains. It is estimated from signals that no pattern is about.
pub fn drift_variance(groups: &[&SessionGroup<'_>], measured: &[&str]) -> f64 {
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
    let histories = placebos.iter().map(|((kind, name), _)| {
        let hit = |group: &&SessionGroup<'_>| {
            let mut signals = group.signals.iter();
            signals.any(|signal| signal.kind == *kind && signal.name == *name)
        };
        groups.iter().map(hit).collect::<Vec<bool>>()
    });
    variance_of(histories)
}

/// Returns the drift of histories of affected and unaffected sessions.
pub(super) fn variance_of(histories: impl Iterator<Item = Vec<bool>>) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0);
    for history in histories {
        for pair in history.chunks_exact(WINDOW).collect::<Vec<_>>().windows(2) {
            let hits = |window: &[bool]| window.iter().filter(|hit| **hit).count() as f64;
            let size = WINDOW as f64;
            let (one, two) = (hits(pair[0]), hits(pair[1]));
            let rate = (one + two) / (2.0 * size);
            if !(RATE_MIN..1.0 - RATE_MIN).contains(&rate) {
                continue;
            }
            let smooth = |hits: f64| (hits + PRIOR_SESSIONS * rate) / (size + PRIOR_SESSIONS);
            let shrink = (size / (size + PRIOR_SESSIONS)).powi(2);
            let by_chance = 2.0 * shrink * (1.0 - rate) / (rate * size);
            let change = (smooth(two) / smooth(one)).ln();
            sum += (change * change - by_chance) / (2.0 * shrink);
            pairs += 1;
        }
    }
    if pairs < PAIRS_MIN {
        return DEFAULT_VARIANCE;
    }
    (sum / pairs as f64).max(0.0)
}
