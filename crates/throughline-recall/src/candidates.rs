//! Records that may have to do with a prompt.
//!
//! This is the seam to search: [`recall`](crate::recall::recall) takes any function that gives
//! [`Candidates`] for an occasion; [`find`] is the one over the store's own search.

use jiff::Timestamp;
use memory::words::Words;
use memory::{Kind, RecordId, SessionId, Trust};
use store::{Hit, Query, Store, StoredRecord};

use crate::occasion::Occasion;

/// How many records are looked at closely.
const CANDIDATES_MAX: usize = 12;
/// Words of a prompt that are looked for.
const KEYWORDS_MAX: usize = 16;
/// A record no longer than this is shown whole.
const WHOLE_BYTES_MAX: usize = 600;
/// A best record that shares this weight of words can be fully trusted to be about the prompt.
const SHARED_WEIGHT_FULL: f64 = 2.0;

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

/// Finds candidates by the store's search, in the workspaces of the occasion.
pub fn find(store: &Store, occasion: &Occasion, words: &Words) -> store::Result<Candidates> {
    let mut hits = Vec::new();
    for workspace in occasion.workspaces() {
        let found = store.search(&Query {
            text: keywords(words),
            kinds: KINDS.to_vec(),
            workspace: Some(workspace),
            limit: CANDIDATES_MAX,
            ..Query::default()
        })?;
        // The search takes a part of a workspace's name; here it must be the whole.
        let allowed = |hit: &Hit| occasion.allows(hit.workspace.as_deref());
        for hit in found.hits.into_iter().filter(allowed) {
            let Some(record) = store.record(hit.id)? else {
                continue;
            };
            hits.push(candidate(record, hit.title, &hit.snippet.text, words));
        }
    }
    hits.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.at.cmp(&a.at))
            .then(a.id.cmp(&b.id))
    });
    hits.truncate(CANDIDATES_MAX);
    let confidence = hits.first().map_or(0.0, |best| best.score);
    Ok(Candidates { hits, confidence })
}

fn keywords(words: &Words) -> String {
    let mut stems: Vec<_> = words.stems.iter().collect();
    // The telling words first, and of those the long ones: they are the rare ones.
    stems.sort_by(|a, b| {
        let rank = |stem: &str| (memory::words::weight(stem), stem.len());
        rank(b)
            .partial_cmp(&rank(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let stems: Vec<_> = stems.into_iter().take(KEYWORDS_MAX).cloned().collect();
    stems.join(" ")
}

fn candidate(
    record: StoredRecord,
    title: Option<String>,
    snippet: &str,
    words: &Words,
) -> Candidate {
    let said = Words::of(&record.content);
    let score = coverage(words, &said);
    let text = if record.content.len() <= WHOLE_BYTES_MAX {
        record.content
    } else {
        snippet.to_owned()
    };
    Candidate {
        id: record.id,
        kind: record.kind,
        session: record.session,
        title,
        workspace: record.workspace,
        at: record.at,
        trust: record.trust,
        tags: record.tags,
        tool: record.tool,
        path: record.path,
        copy: record.copy,
        text,
        score,
    }
}

/// Returns how much of what the prompt asks a text speaks of. One telling word is never enough.
fn coverage(asked: &Words, said: &Words) -> f64 {
    let shared: f64 = asked
        .stems
        .intersection(&said.stems)
        .map(|stem| memory::words::weight(stem))
        .sum();
    let all = asked.weight();
    if all <= 0.0 {
        return 0.0;
    }
    (shared / all) * (shared / SHARED_WEIGHT_FULL).min(1.0)
}
