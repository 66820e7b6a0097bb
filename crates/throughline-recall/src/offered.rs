//! Records that may have to do with a prompt.
//!
//! This is the seam to search: [`recall`](crate::recall::recall) takes any function that gives
//! [`Candidates`] for an occasion; [`find`] is the one over [`search`].

use jiff::Timestamp;
use memory::{Kind, RecordId, SessionId, Trust};
use store::{Query, Store};

use crate::ask::Ask;
use crate::gate;
use crate::occasion::Occasion;
use crate::search::{RankedHit, search};

/// How many records are looked at closely.
const CANDIDATES_MAX: usize = 12;
/// How many texts are read: a prompt does not wait for more.
const READ_MAX: usize = 32;
/// A record no longer than this is shown whole.
const WHOLE_BYTES_MAX: usize = 600;
/// A hit that is this many points behind the best is worth nothing.
const BEHIND_MAX: f64 = 4.0;

/// Kinds of records that tell something to somebody who was not there.
const KINDS: &[Kind] = &[
    Kind::Prompt,
    Kind::Assistant,
    Kind::ToolResult,
    Kind::Error,
    Kind::Artifact,
    Kind::Summary,
];

/// What a search found, best first.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub hits: Vec<Candidate>,
    /// How sure it is, from 0 to 1, that the best hit is about the prompt.
    pub confidence: f64,
    /// What the confidence was made of, for measuring.
    pub gate: gate::Features,
}

/// A record that may be shown.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: RecordId,
    pub kind: Kind,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub at: Option<Timestamp>,
    pub trust: Trust,
    pub tags: Vec<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    /// The part that would be shown.
    pub text: String,
    pub copy: bool,
    /// From 0 to 1.
    pub score: f64,
}

/// Finds candidates by [`search`], in the workspaces of the occasion.
pub fn find(store: &Store, occasion: &Occasion, now: Timestamp) -> store::Result<Candidates> {
    let mut all = Candidates::default();
    for workspace in occasion.workspaces() {
        let ranked = search(
            store,
            &Ask {
                query: Query {
                    text: occasion.prompt.clone(),
                    kinds: KINDS.to_vec(),
                    workspace_key: Some(workspace.clone()),
                    limit: CANDIDATES_MAX,
                    ..Query::default()
                },
                here: Some(workspace),
                not_from: occasion.session.clone(),
                read_max: Some(READ_MAX),
            },
            now,
        )?;
        let best = ranked.hits.first().map_or(0.0, |best| best.hit.score);
        for found in ranked.hits {
            // The search takes a part of a workspace's name; here it must be the whole.
            if !occasion.allows(found.hit.workspace.as_deref()) {
                continue;
            }
            let behind = (best - found.hit.score) / BEHIND_MAX;
            let score = ranked.confidence * (1.0 - behind).max(0.0);
            all.hits.push(candidate(found, score));
        }
        if ranked.confidence > all.confidence {
            (all.confidence, all.gate) = (ranked.confidence, ranked.gate);
        }
    }
    all.hits.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.at.cmp(&a.at))
            .then(a.id.cmp(&b.id))
    });
    all.hits.truncate(CANDIDATES_MAX);
    Ok(all)
}

fn candidate(found: RankedHit, score: f64) -> Candidate {
    let hit = found.hit;
    let text = if found.text.len() <= WHOLE_BYTES_MAX {
        found.text
    } else {
        hit.snippet.text
    };
    Candidate {
        id: hit.id,
        kind: hit.kind,
        session: hit.session,
        title: hit.title,
        workspace: hit.workspace,
        at: hit.at,
        trust: found.trust,
        tags: found.tags,
        tool: hit.tool,
        path: hit.path,
        // Copies are not in the index.
        copy: false,
        text,
        score,
    }
}
