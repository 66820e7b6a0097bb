//! The rate of affected sessions over time, for a chart.

use jiff::Timestamp;
use serde::Serialize;

use crate::detect::SessionGroup;

/// A point stands for this many sessions. A shorter rest joins the point before it.
const POINT_SESSIONS: usize = 10;
/// The quantile of a 95 % interval.
const QUANTILE: f64 = 1.96;

/// The rate in some consecutive sessions that had the opportunity to be affected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// When the first and the last of the sessions started.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub phase: CurvePhase,
    pub sessions: u64,
    pub affected: u64,
    pub rate: f64,
    /// The 95 % interval of the rate.
    pub low: f64,
    pub high: f64,
}

/// Where a session lies in the life of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CurvePhase {
    /// Before the decision.
    History,
    /// Decided, but not yet active.
    RunIn,
    Active,
}

/// Returns the points of all phases. No point has sessions of two phases.
pub(super) fn curve(
    phases: &[(CurvePhase, &[&SessionGroup<'_>])],
    is_affected: &dyn Fn(&SessionGroup<'_>) -> bool,
) -> Vec<CurvePoint> {
    let mut points = Vec::new();
    for (phase, sessions) in phases {
        let parts = (sessions.len() / POINT_SESSIONS).max(1);
        for part in 0..parts {
            let from = part * POINT_SESSIONS;
            let to = match part + 1 == parts {
                true => sessions.len(),
                false => from + POINT_SESSIONS,
            };
            if from < to {
                points.push(point(*phase, &sessions[from..to], is_affected));
            }
        }
    }
    points
}

fn point(
    phase: CurvePhase,
    sessions: &[&SessionGroup<'_>],
    is_affected: &dyn Fn(&SessionGroup<'_>) -> bool,
) -> CurvePoint {
    let affected = sessions.iter().filter(|group| is_affected(group)).count();
    let (low, high) = wilson_interval(affected as f64, sessions.len() as f64);
    CurvePoint {
        from: sessions.first().and_then(|group| group.started),
        to: sessions.last().and_then(|group| group.started),
        phase,
        sessions: sessions.len() as u64,
        affected: affected as u64,
        rate: round(affected as f64 / sessions.len() as f64),
        low,
        high,
    }
}

/// Returns the interval of Wilson, which stays within 0 and 1 for small counts.
fn wilson_interval(affected: f64, sessions: f64) -> (f64, f64) {
    let (rate, square) = (affected / sessions, QUANTILE * QUANTILE);
    let center = rate + square / (2.0 * sessions);
    let spread = rate * (1.0 - rate) / sessions + square / (4.0 * sessions * sessions);
    let margin = QUANTILE * spread.sqrt();
    let scale = 1.0 + square / sessions;
    (
        round(((center - margin) / scale).max(0.0)),
        round(((center + margin) / scale).min(1.0)),
    )
}

fn round(rate: f64) -> f64 {
    (rate * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of R's `binom::binom.wilson`.
    #[test]
    fn the_interval_is_wilsons() {
        assert_eq!(wilson_interval(4.0, 10.0), (0.168, 0.687));
        assert_eq!(wilson_interval(0.0, 10.0), (0.0, 0.278));
        assert_eq!(wilson_interval(10.0, 10.0), (0.722, 1.0));
    }
}
