//! Search over records and facts.

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, RecordId, RecordKind, SessionId};
use recall::{RankedHit, RecallQuery};
use store::{MatchLevel, Query, Store};

use super::AccessScope;

/// Hits that one answer may hold.
pub const HITS_MAX: usize = 100;
/// Facts that one answer may hold.
const FACTS_MAX: usize = 5;
/// A fact must be so much like the question.
const FACT_SCORE_MIN: f64 = 0.3;
/// Workspaces whose facts are looked at when somebody asks for everything.
const WORKSPACES_MAX: usize = 1_000;

/// A call with this question is the one being answered when it is not older.
const ASKING_CALL_AGE_MAX_S: i64 = 600;
/// A question that was typed in the last seconds is what led to the search.
const ASKING_PROMPT_AGE_MAX_S: i64 = 120;
/// What was said comes before tool output when it is at most so many points behind the best.
const NEAR_BEST_POINTS: f64 = 4.0;
/// Hits that are looked at for each that is shown to an agent: some are left out.
const OVERFETCH_FACTOR: usize = 3;

/// What somebody looks for.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    pub query: String,
    pub limit: usize,
    pub kinds: Vec<RecordKind>,
    /// Facts too.
    pub include_facts: bool,
    pub session: Option<SessionId>,
    /// A part of the workspace's address or folder.
    pub workspace: Option<String>,
    pub since: Option<Timestamp>,
    /// What may hold a secret too.
    pub include_sensitive: bool,
    /// Who looks at the hits, which decides their order.
    pub audience: Audience,
}

/// Who looks at the hits of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A person, who asked for the best matches.
    #[default]
    Person,
    /// An agent, which asked from within a session: what people and agents said comes before
    /// tool output, and the session that asks right now is left out.
    Agent,
}

/// What was found, the best first.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    pub rung: MatchLevel,
    pub confidence: f64,
    pub facts: Vec<Fact>,
    pub hits: Vec<RankedHit>,
    /// How many sessions can only be found by their titles and digests.
    pub digest_only_sessions: u64,
}

/// Finds what a question is about, as far as the asker may see it.
pub fn search(
    store: &Store,
    reach: &AccessScope,
    search: &SearchRequest,
    now: Timestamp,
) -> store::Result<SearchOutcome> {
    let mut found = SearchOutcome {
        rung: MatchLevel::NoWords,
        confidence: 0.0,
        facts: matching_facts(store, reach, search)?,
        hits: Vec::new(),
        digest_only_sessions: 0,
    };
    match reach.workspace_keys() {
        None => search_workspace(&mut found, store, search, None, reach, now)?,
        Some(keys) => {
            for key in keys {
                search_workspace(&mut found, store, search, Some(key), reach, now)?;
            }
        }
    }
    found.hits.sort_by(|a, b| {
        let (a, b) = (&a.hit, &b.hit);
        let by_score = b.score.total_cmp(&a.score);
        by_score.then(b.at.cmp(&a.at)).then(a.id.cmp(&b.id))
    });
    if search.audience == Audience::Agent {
        remove_asking_session(&mut found.hits, search, now);
        rank_speech_first(&mut found.hits, search);
        remove_shown_questions(&mut found.hits);
    }
    found.hits.truncate(search.limit.min(HITS_MAX));
    Ok(found)
}

/// Leaves out questions that are shown beside their answers.
fn remove_shown_questions(hits: &mut Vec<RankedHit>) {
    let beside: Vec<RecordId> = hits
        .iter()
        .filter_map(|hit| hit.asked.as_ref().map(|asked| asked.id))
        .collect();
    hits.retain(|hit| !beside.contains(&hit.hit.id));
}

/// Leaves out the session that asks: its own words are no news to it. Its client does not say
/// which session it is, but the session's log holds the call with this very question.
fn remove_asking_session(hits: &mut Vec<RankedHit>, search: &SearchRequest, now: Timestamp) {
    let query = search.query.trim().to_lowercase();
    let is_fresh = |hit: &RankedHit, seconds: i64| {
        let age = hit.hit.at.map(|at| now.duration_since(at).as_secs());
        age.is_some_and(|age| age < seconds)
    };
    let asks = |hit: &&RankedHit| {
        let tool = hit.hit.tool.as_deref().unwrap_or_default();
        let calls = recall::utterance::is_memory_tool(tool)
            || recall::utterance::runs_memory_command(&hit.text);
        hit.hit.kind == RecordKind::ToolUse
            && calls
            && hit.text.to_lowercase().contains(&query)
            && is_fresh(hit, ASKING_CALL_AGE_MAX_S)
    };
    let asking: Vec<SessionId> = hits
        .iter()
        .filter(asks)
        .map(|hit| hit.hit.session.clone())
        .collect();
    hits.retain(|hit| {
        let is_question =
            hit.hit.kind == RecordKind::Prompt && recall::utterance::is_bare_question(&hit.text);
        let was_just_asked = is_question && is_fresh(hit, ASKING_PROMPT_AGE_MAX_S);
        !was_just_asked && !asking.contains(&hit.hit.session)
    });
}

/// Puts what people and agents said before what tools returned, and that before calls, thoughts
/// and announcements, as far as it is nearly as good as the best hit.
fn rank_speech_first(hits: &mut [RankedHit], search: &SearchRequest) {
    if !search.kinds.is_empty() {
        return;
    }
    let best = hits.first().map_or(0.0, |hit| hit.hit.score);
    let tier = |hit: &RankedHit| -> u8 {
        let is_near = best - hit.hit.score <= NEAR_BEST_POINTS;
        match hit.hit.kind {
            RecordKind::Thinking | RecordKind::ToolUse => 3,
            RecordKind::Assistant if recall::utterance::is_announcement(&hit.text) => 3,
            RecordKind::Prompt if recall::utterance::is_bare_question(&hit.text) => 2,
            RecordKind::Prompt
            | RecordKind::Assistant
            | RecordKind::Summary
            | RecordKind::Approval
                if is_near =>
            {
                0
            }
            _ if is_near => 1,
            _ => 2,
        }
    };
    // The sort is stable, so hits of one tier stay in the order of their scores.
    hits.sort_by_key(tier);
}

fn search_workspace(
    found: &mut SearchOutcome,
    store: &Store,
    search: &SearchRequest,
    key: Option<&String>,
    reach: &AccessScope,
    now: Timestamp,
) -> store::Result<()> {
    let query = Query {
        text: search.query.clone(),
        kinds: search.kinds.clone(),
        workspace: search.workspace.clone(),
        workspace_key: key.cloned(),
        session: search.session.clone(),
        since: search.since,
        limit: match search.audience {
            Audience::Person => search.limit.min(HITS_MAX),
            Audience::Agent => (OVERFETCH_FACTOR * search.limit).min(HITS_MAX),
        },
        ..Query::default()
    };
    let ask = RecallQuery {
        query,
        explain: search.audience == Audience::Person,
        home_workspace: reach.workspace().map(|here| here.key.clone()),
        ..RecallQuery::default()
    };
    let ranked = recall::search(store, &ask, now)?;
    let is_better = found.hits.is_empty() || ranked.rung < found.rung;
    if is_better && (!ranked.hits.is_empty() || found.rung == MatchLevel::NoWords) {
        found.rung = ranked.rung;
    }
    found.digest_only_sessions += ranked.digest_only_sessions;
    found.confidence = found.confidence.max(ranked.confidence);
    let shown = |hit: &RankedHit| search.include_sensitive || !hit.sensitive;
    found.hits.extend(ranked.hits.into_iter().filter(shown));
    Ok(())
}

/// Returns the facts that answer the question. One that is only pinned is no answer.
fn matching_facts(
    store: &Store,
    reach: &AccessScope,
    search: &SearchRequest,
) -> store::Result<Vec<Fact>> {
    if !search.include_facts || search.session.is_some() {
        return Ok(Vec::new());
    }
    let keys = match (reach.workspace_keys(), &search.workspace) {
        (Some(keys), _) => keys.to_vec(),
        (None, part) => {
            let part = part.as_deref().unwrap_or_default();
            let like = store.workspaces_matching(part, WORKSPACES_MAX)?;
            like.into_iter().map(|workspace| workspace.key).collect()
        }
    };
    let about = store.facts_about(
        &StemmedText::parse(&search.query),
        &keys,
        None,
        4 * FACTS_MAX,
    )?;
    let wanted = about.into_iter().filter(|(fact, score)| {
        let is_late = search.since.is_none_or(|since| fact.seen >= since);
        let is_shown = search.include_sensitive || !fact.tags.iter().any(|tag| tag == "sensitive");
        *score >= FACT_SCORE_MIN && is_late && is_shown
    });
    Ok(wanted.map(|(fact, _)| fact).take(FACTS_MAX).collect())
}
