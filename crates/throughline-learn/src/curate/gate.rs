//! The two floors of evidence: for the catalog, and for the agents' files.

use serde::{Deserialize, Serialize};

use crate::detect::PatternCandidate;

/// The floors, from `[curate.gate]` of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CurationGate {
    /// Events, sessions and minutes of cost that a pattern needs for the catalog.
    pub min_frequency: u64,
    pub min_sessions: u64,
    pub min_cost_impact: f64,
    /// What it needs besides to be written into agents' files without the user's own word.
    pub dist_require_cross_flavor: bool,
    pub dist_min_frequency: u64,
    pub dist_min_cost_impact: f64,
}

impl Default for CurationGate {
    fn default() -> Self {
        Self {
            min_frequency: 3,
            min_sessions: 3,
            min_cost_impact: 10.0,
            dist_require_cross_flavor: true,
            dist_min_frequency: 5,
            dist_min_cost_impact: 10.0,
        }
    }
}

/// How far the evidence of a candidate reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceLevel {
    /// Not enough for the catalog.
    TooThin,
    /// Real, but not enough for the agents' files.
    Provisional,
    DistributionReady,
}

/// A pattern must have occurred on this many days: one bad day is not a pattern.
const DAYS_MIN: u64 = 2;

impl CurationGate {
    /// Returns how far the evidence reaches.
    pub fn level(&self, candidate: &PatternCandidate) -> EvidenceLevel {
        let impact = candidate.impact();
        let real = candidate.times >= self.min_frequency
            && candidate.sessions >= self.min_sessions
            && candidate.days >= DAYS_MIN.min(self.min_sessions)
            && impact >= self.min_cost_impact;
        let ready = candidate.sessions >= self.dist_min_frequency
            && impact >= self.dist_min_cost_impact
            && (candidate.cross_flavor || !self.dist_require_cross_flavor);
        match (real, ready) {
            (false, _) => EvidenceLevel::TooThin,
            (true, false) => EvidenceLevel::Provisional,
            (true, true) => EvidenceLevel::DistributionReady,
        }
    }
}
