//! Search over records and facts.

use jiff::Timestamp;
use memory::words::Words;
use memory::{Fact, Kind, SessionId};
use recall::{Ask, RankedHit};
use store::{Query, Rung, Store};

use super::Reach;

/// Hits that one answer may hold.
pub const HITS_MAX: usize = 100;
/// Facts that one answer may hold.
const FACTS_MAX: usize = 5;
/// A fact must be so much like the question.
const FACT_FLOOR: f64 = 0.3;
/// Workspaces whose facts are looked at when somebody asks for everything.
const WORKSPACES_MAX: usize = 1_000;

/// What somebody looks for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub query: String,
    pub limit: usize,
    pub kinds: Vec<Kind>,
    /// Facts too.
    pub facts: bool,
    pub session: Option<SessionId>,
    /// A part of the workspace's address or folder.
    pub workspace: Option<String>,
    pub since: Option<Timestamp>,
    /// What may hold a secret too.
    pub sensitive: bool,
}

/// What was found, the best first.
#[derive(Clone, Debug)]
pub struct Found {
    pub rung: Rung,
    pub confidence: f64,
    pub facts: Vec<Fact>,
    pub hits: Vec<RankedHit>,
    /// How many sessions can only be found by their titles and digests.
    pub digest_only_sessions: u64,
}

/// Finds what a question is about, as far as the asker may see it.
pub fn search(
    store: &Store,
    reach: &Reach,
    search: &Search,
    now: Timestamp,
) -> store::Result<Found> {
    let mut found = Found {
        rung: Rung::NoWords,
        confidence: 0.0,
        facts: facts(store, reach, search)?,
        hits: Vec::new(),
        digest_only_sessions: 0,
    };
    match reach.keys() {
        None => take(&mut found, store, search, None, reach, now)?,
        Some(keys) => {
            for key in keys {
                take(&mut found, store, search, Some(key), reach, now)?;
            }
        }
    }
    found.hits.sort_by(|a, b| {
        let (a, b) = (&a.hit, &b.hit);
        let by_score = b.score.total_cmp(&a.score);
        by_score.then(b.at.cmp(&a.at)).then(a.id.cmp(&b.id))
    });
    found.hits.truncate(search.limit.min(HITS_MAX));
    Ok(found)
}

fn take(
    found: &mut Found,
    store: &Store,
    search: &Search,
    key: Option<&String>,
    reach: &Reach,
    now: Timestamp,
) -> store::Result<()> {
    let query = Query {
        text: search.query.clone(),
        kinds: search.kinds.clone(),
        workspace: search.workspace.clone(),
        workspace_key: key.cloned(),
        session: search.session.clone(),
        since: search.since,
        limit: search.limit.min(HITS_MAX),
        ..Query::default()
    };
    let ask = Ask {
        query,
        here: reach.here().map(|here| here.key.clone()),
        ..Ask::default()
    };
    let ranked = recall::search(store, &ask, now)?;
    let is_better = found.hits.is_empty() || ranked.rung < found.rung;
    if is_better && (!ranked.hits.is_empty() || found.rung == Rung::NoWords) {
        found.rung = ranked.rung;
    }
    found.digest_only_sessions += ranked.digest_only_sessions;
    found.confidence = found.confidence.max(ranked.confidence);
    let shown = |hit: &RankedHit| search.sensitive || !hit.sensitive;
    found.hits.extend(ranked.hits.into_iter().filter(shown));
    Ok(())
}

/// Returns the facts that answer the question. One that is only pinned is no answer.
fn facts(store: &Store, reach: &Reach, search: &Search) -> store::Result<Vec<Fact>> {
    if !search.facts || search.session.is_some() {
        return Ok(Vec::new());
    }
    let keys = match (reach.keys(), &search.workspace) {
        (Some(keys), _) => keys.to_vec(),
        (None, part) => {
            let part = part.as_deref().unwrap_or_default();
            let like = store.workspaces_like(part, WORKSPACES_MAX)?;
            like.into_iter().map(|workspace| workspace.key).collect()
        }
    };
    let about = store.facts_about(&Words::of(&search.query), &keys, None, 4 * FACTS_MAX)?;
    let wanted = about.into_iter().filter(|(fact, score)| {
        let is_late = search.since.is_none_or(|since| fact.seen >= since);
        let is_shown = search.sensitive || !fact.tags.iter().any(|tag| tag == "sensitive");
        *score >= FACT_FLOOR && is_late && is_shown
    });
    Ok(wanted.map(|(fact, _)| fact).take(FACTS_MAX).collect())
}
