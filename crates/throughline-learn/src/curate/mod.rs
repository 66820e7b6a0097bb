//! Deciding about candidates.
//!
//! [`gate`] holds the two floors of evidence, [`catalog`] the files of promoted patterns,
//! [`guidance`] the text that agents will read; [`bloat`] and [`linters`] find what already says
//! the same, and [`curator`] makes decisions. A decision is remembered with its evidence, and asked
//! for again only when the evidence changed.

mod bloat;
mod catalog;
mod curator;
mod gate;
mod guidance;
mod linters;

use jiff::Timestamp;
use serde::Serialize;
use store::{Review, Store};

pub use self::bloat::{BloatFinding, BloatText, find_bloat};
pub use self::catalog::{
    CatalogEntry, CatalogError, EntryChange, EntryEvidence, EntryScope, EntryStatus, GuidanceText,
    GuidanceTrust, SaveOutcome, load_catalog, plan_entry, save_entry,
};
pub use self::curator::{
    CandidateView, CurateError, Curator, DecisionOrigin, DecisionOutcome, PatternState,
    PlannedDecision, repository_roots,
};
pub use self::gate::{CurationGate, EvidenceLevel};
pub use self::guidance::{GUIDANCE_WORDS_MAX, draft_guidance, with_reason};

use crate::detect::PatternCandidate;

/// A decision is asked for again when the number of sessions has grown by this factor.
const GROWTH_TO_ASK_AGAIN: f64 = 1.5;

memory::named_enum! {
    /// What the user decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ReviewDecision {
        Approve = "approve",
        Reject = "reject",
        /// The decision is postponed.
        Discuss = "discuss",
        /// A pattern of the catalog is to leave the agents' files.
        Withdraw = "withdraw",
    }
}

/// Says whether a candidate needs a decision: there is none, or its evidence has grown since.
pub fn needs_decision(candidate: &PatternCandidate, reviews: &[Review]) -> bool {
    let last = reviews
        .iter()
        .rev()
        .find(|review| review.pattern == candidate.id);
    let Some(last) = last else {
        return true;
    };
    let grown = candidate.sessions as f64 >= last.sessions.max(1) as f64 * GROWTH_TO_ASK_AGAIN;
    let new_flavor = candidate.flavors.len() as u64 > last.flavors;
    let discussed = last.decision == ReviewDecision::Discuss.name()
        && last.evidence != candidate.evidence_digest();
    grown || new_flavor || discussed
}

/// A decision to record.
#[derive(Debug)]
pub struct NewDecision<'a> {
    pub candidate: &'a PatternCandidate,
    pub decision: ReviewDecision,
    pub why: Option<String>,
    /// The text for the agents, for an approval.
    pub guidance: Option<&'a str>,
}

/// Records a decision and queues it for the hub. Returns whether it was new.
pub fn record_decision(
    store: &Store,
    new: &NewDecision<'_>,
    now: Timestamp,
) -> store::Result<bool> {
    let candidate = new.candidate;
    let review = Review {
        pattern: candidate.id.clone(),
        decision: new.decision.name().to_owned(),
        why: new.why.clone(),
        evidence: candidate.evidence_digest(),
        sessions: candidate.sessions,
        flavors: candidate.flavors.len() as u64,
        at: Some(now),
    };
    let payload = serde_json::json!({
        "pattern": candidate.id,
        "decision": new.decision,
        "why": new.why,
        "at": now,
        "kind": candidate.kind,
        "name": candidate.name,
        "workspace": candidate.workspace,
        "sessions": candidate.sessions,
        "flavors": candidate.flavors,
        "evidence": review.evidence,
        "guidance": new.guidance,
    });
    store.put_review(review, payload.to_string())
}

#[cfg(test)]
mod tests;
