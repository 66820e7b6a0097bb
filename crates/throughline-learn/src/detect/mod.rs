//! Finds what recurs across sessions.
//!
//! [`quality`] leaves out sessions that say little, [`cluster`] joins names that mean the same,
//! and [`rank`] computes what each cluster cost. The result depends only on the set of sessions:
//! not on their order, nor on when each of them was read.

mod cluster;
mod quality;
mod rank;
mod stage;

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::signal::is_routine;
use memory::{Flavor, RecordId, SessionId, SignalKind};
use serde::{Deserialize, Serialize};
use store::SessionSignals;

pub use self::quality::{SessionGroup, sound_groups};
pub(crate) use self::stage::detect_all;
pub use self::stage::{
    detect_patterns, instruction_texts, read_instructions, run_stage, stored_candidates,
};

/// A candidate lists at most this many sessions as evidence.
pub const EVIDENCE_MAX: usize = 20;
/// A cross-flavor candidate occurs in this many sessions of each of two agents.
const CROSS_FLAVOR_SESSIONS: usize = 2;
/// Normal work needs this many times the floor to count as a problem.
const ROUTINE_FACTOR: u64 = 2;

/// What the detector looks for.
#[derive(Clone, Debug)]
pub struct DetectOptions {
    /// A candidate occurs in at least this many sessions.
    pub min_frequency: u64,
    /// The instruction files of the repositories, to find stale instructions in them.
    pub instruction_files: Vec<InstructionFile>,
}

impl Default for DetectOptions {
    fn default() -> Self {
        Self {
            min_frequency: 3,
            instruction_files: Vec::new(),
        }
    }
}

/// A file in which the user instructs the agents.
#[derive(Clone, Debug)]
pub struct InstructionFile {
    pub workspace: String,
    pub path: String,
    pub text: String,
}

/// A recurring problem or success, before anybody decided about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternCandidate {
    /// Twelve hexadecimal digits that depend on the kind, the name and the workspace.
    pub id: String,
    pub kind: SignalKind,
    pub name: String,
    /// The version of the name.
    pub version: u32,
    pub workspace: Option<String>,
    /// The number of affected sessions, and of events in them.
    pub sessions: u64,
    pub times: u64,
    /// The number of sessions in which the problem was overcome.
    pub overcome: u64,
    pub flavors: Vec<Flavor>,
    pub cross_flavor: bool,
    /// The number of days on which it occurred.
    pub days: u64,
    /// The cost: time and text between the first occurrence and the end of the problem.
    pub minutes: u64,
    pub tokens: u64,
    /// How often sessions are affected, as log odds pooled over the agents.
    pub log_odds: f64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    /// The instruction file that names the missing thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_in: Option<String>,
    pub evidence: Vec<Evidence>,
    /// All affected sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_ids: Vec<SessionId>,
}

/// One session in which a candidate occurred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub session: SessionId,
    pub flavor: Flavor,
    pub record: Option<RecordId>,
    pub at: Option<Timestamp>,
    pub times: u64,
    pub minutes: u64,
    pub overcome: bool,
    pub text: String,
}

impl PatternCandidate {
    /// Returns the cost as one number, in minutes.
    pub fn impact(&self) -> f64 {
        rank::impact(self.minutes, self.tokens)
    }

    /// Says whether it occurs in at least this many sessions, or in more if it is normal work.
    pub fn reaches(&self, min_frequency: u64) -> bool {
        let factor = if is_routine(&self.name) {
            ROUTINE_FACTOR
        } else {
            1
        };
        self.sessions >= min_frequency.max(1) * factor
    }

    /// Returns a hash of the evidence: which sessions, and how many events.
    pub fn evidence_digest(&self) -> String {
        let ids: Vec<&str> = self.session_ids.iter().map(SessionId::as_str).collect();
        short_hash(&format!("{} {}", self.times, ids.join(" ")))
    }
}

/// Finds the candidates in the sessions, cross-flavor ones first, then by cost.
pub fn detect(sessions: &[SessionSignals], options: &DetectOptions) -> Vec<PatternCandidate> {
    let groups = sound_groups(sessions);
    let mut candidates: Vec<PatternCandidate> = cluster::clusters(&groups)
        .into_iter()
        .filter_map(|cluster| rank::candidate(&cluster, &groups, options))
        .collect();
    drop_general_causes(&mut candidates);
    candidates.sort_by(by_importance);
    candidates
}

/// Orders candidates: those of several agents first, then by cost. Normal work comes last, however
/// much of it there is.
fn by_importance(a: &PatternCandidate, b: &PatternCandidate) -> std::cmp::Ordering {
    (is_routine(&a.name).cmp(&is_routine(&b.name)))
        .then(b.cross_flavor.cmp(&a.cross_flavor))
        .then(b.impact().total_cmp(&a.impact()))
        .then(b.log_odds.total_cmp(&a.log_odds))
        .then_with(|| a.id.cmp(&b.id))
}

/// Removes a candidate whose sessions are all explained by a more specific one of the same family:
/// `path-missing` beside `path-missing .golangci.yml`.
fn drop_general_causes(candidates: &mut Vec<PatternCandidate>) {
    let specific: Vec<(Option<String>, String, BTreeSet<SessionId>)> = candidates
        .iter()
        .filter_map(|candidate| {
            let (family, _) = candidate.name.split_once(' ')?;
            let sessions = candidate.session_ids.iter().cloned().collect();
            Some((candidate.workspace.clone(), family.to_owned(), sessions))
        })
        .collect();
    candidates.retain(|general| {
        !specific.iter().any(|(workspace, family, sessions)| {
            *workspace == general.workspace
                && *family == general.name
                && general.session_ids.iter().all(|id| sessions.contains(id))
        })
    });
}

/// Returns the first twelve hexadecimal digits of a hash.
pub(crate) fn short_hash(text: &str) -> String {
    let mut hex = blake3::hash(text.as_bytes()).to_hex().to_string();
    hex.truncate(12);
    hex
}

#[cfg(test)]
mod tests;
