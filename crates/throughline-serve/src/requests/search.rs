//! Search over records and facts, for every front end.
//!
//! A front end turns its arguments into one [`Query`], which reaches the index unchanged, and says
//! in [`SearchOptions`] what it wants back. The ranking is the same everywhere: facts that answer
//! the query come first, then records by score.

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, RecordId, RecordKind, SessionId};
use recall::{RankedHit, RankedSession, RecallQuery};
use store::{MatchLevel, Query, Store};

use super::AccessScope;

/// The most hits of one HTTP request, and the most candidates that are ranked for an agent.
pub const HITS_MAX: usize = 100;
/// The most facts in one answer.
const FACTS_MAX: usize = 5;
/// Facts that are less similar to the query are no answer to it.
const FACT_SCORE_MIN: f64 = 0.3;
/// The most workspaces whose facts are searched for an unrestricted client.
const WORKSPACES_MAX: usize = 1_000;

/// A tool call with the same query is the one being answered, unless it is older than this.
const ASKING_CALL_AGE_MAX_S: i64 = 600;
/// A question that was typed in the last seconds is the one that led to the search.
const ASKING_PROMPT_AGE_MAX_S: i64 = 120;
/// Speech comes before tool output if its score is at most this far behind the best hit.
const NEAR_BEST_POINTS: f64 = 4.0;
/// Hits that are fetched for each one that an agent is shown, because some are removed.
const OVERFETCH_FACTOR: usize = 3;

/// What a front end wants back from a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchOptions {
    pub content: SearchContent,
    /// Return items that may contain a secret.
    pub include_sensitive: bool,
    pub audience: Audience,
    /// Return the parts of each score.
    pub explain: bool,
    /// Return the sessions of the hits, best first.
    pub rank_sessions: bool,
}

/// Which items are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchContent {
    #[default]
    All,
    Records,
    /// Facts only; the index of records is not read.
    Facts,
}

/// Who reads the hits, which decides their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A person, who wants the best matches.
    #[default]
    Person,
    /// An agent, which searches from within a session: speech comes before tool output, and the
    /// session that searches is left out.
    Agent,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    pub rung: MatchLevel,
    /// The probability that the best hit is relevant.
    pub confidence: f64,
    /// Facts that answer the query, best first.
    pub facts: Vec<FactHit>,
    /// Records, best first.
    pub hits: Vec<RankedHit>,
    /// Sessions, best first.
    pub sessions: Vec<RankedSession>,
    /// The number of sessions of which only the title and digest can be searched.
    pub digest_only_sessions: u64,
}

/// A fact that answers a query.
#[derive(Clone, Debug)]
pub struct FactHit {
    pub fact: Fact,
    /// The similarity to the query, from 0 to 1.
    pub score: f64,
    /// The session that the fact was extracted from, if only its digest is left.
    pub digest_only_session: Option<SessionId>,
}

/// Searches the records and facts that a client may see.
pub fn search(
    store: &Store,
    scope: &AccessScope,
    query: &Query,
    options: SearchOptions,
    now: Timestamp,
) -> store::Result<SearchOutcome> {
    let facts = if options.content == SearchContent::Records {
        Vec::new()
    } else {
        matching_facts(store, scope, query, options)?
    };
    if options.content == SearchContent::Facts {
        return Ok(SearchOutcome::of_facts(facts));
    }
    let mut outcome = search_records(store, scope, query, options, now)?;
    outcome.facts = facts;
    if outcome.digest_only_sessions > 0 {
        for hit in &mut outcome.facts {
            hit.digest_only_session = store.digest_only_source(hit.fact.id)?;
        }
    }
    if options.audience == Audience::Agent {
        remove_asking_session(&mut outcome.hits, &query.text, now);
        if query.kinds.is_empty() {
            rank_speech_first(&mut outcome.hits);
        }
        remove_shown_questions(&mut outcome.hits);
    }
    outcome.hits.truncate(query.limit);
    Ok(outcome)
}

impl SearchOutcome {
    fn of_facts(facts: Vec<FactHit>) -> Self {
        Self {
            rung: MatchLevel::Related,
            confidence: facts.first().map_or(0.0, |best| best.score),
            facts,
            hits: Vec::new(),
            sessions: Vec::new(),
            digest_only_sessions: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.hits.is_empty()
    }
}

/// Searches the records of each workspace in the scope and merges the hits.
fn search_records(
    store: &Store,
    scope: &AccessScope,
    query: &Query,
    options: SearchOptions,
    now: Timestamp,
) -> store::Result<SearchOutcome> {
    let workspaces: Vec<Option<String>> = match scope.workspace_keys() {
        None => vec![None],
        Some(keys) => keys.iter().cloned().map(Some).collect(),
    };
    let limit = match options.audience {
        Audience::Person => query.limit,
        Audience::Agent => (OVERFETCH_FACTOR * query.limit).min(HITS_MAX),
    };
    let mut merged = SearchOutcome {
        rung: MatchLevel::NoWords,
        ..SearchOutcome::of_facts(Vec::new())
    };
    for workspace_key in &workspaces {
        let recall_query = RecallQuery {
            query: Query {
                workspace_key: workspace_key.clone(),
                limit,
                ..query.clone()
            },
            explain: options.explain,
            rank_sessions: options.rank_sessions,
            home_workspace: scope.workspace().map(|workspace| workspace.key.clone()),
            ..RecallQuery::default()
        };
        let ranked = recall::search(store, &recall_query, now)?;
        let is_closer = merged.hits.is_empty() || ranked.rung < merged.rung;
        if is_closer && (!ranked.hits.is_empty() || merged.rung == MatchLevel::NoWords) {
            merged.rung = ranked.rung;
        }
        merged.confidence = merged.confidence.max(ranked.confidence);
        merged.digest_only_sessions += ranked.digest_only_sessions;
        merged.sessions.extend(ranked.sessions);
        let is_shown = |hit: &RankedHit| options.include_sensitive || !hit.sensitive;
        merged.hits.extend(ranked.hits.into_iter().filter(is_shown));
    }
    if workspaces.len() > 1 {
        merged.hits.sort_by(|a, b| {
            let (a, b) = (&a.hit, &b.hit);
            let by_score = b.score.total_cmp(&a.score);
            by_score.then(b.at.cmp(&a.at)).then(a.id.cmp(&b.id))
        });
    }
    Ok(merged)
}

/// Removes questions that are shown beside their answers.
fn remove_shown_questions(hits: &mut Vec<RankedHit>) {
    let shown: Vec<RecordId> = hits
        .iter()
        .filter_map(|hit| hit.asked.as_ref().map(|asked| asked.id))
        .collect();
    hits.retain(|hit| !shown.contains(&hit.hit.id));
}

/// Removes the session that searches, because its own text is no news to it. An MCP client does not
/// say which session it serves, but that session's log contains the call with this very query.
fn remove_asking_session(hits: &mut Vec<RankedHit>, query: &str, now: Timestamp) {
    let query = query.trim().to_lowercase();
    let is_younger = |hit: &RankedHit, seconds: i64| {
        let age = hit.hit.at.map(|at| now.duration_since(at).as_secs());
        age.is_some_and(|age| age < seconds)
    };
    let is_this_call = |hit: &&RankedHit| {
        let tool = hit.hit.tool.as_deref().unwrap_or_default();
        let calls_memory = recall::utterance::is_memory_tool(tool)
            || recall::utterance::runs_memory_command(&hit.text);
        hit.hit.kind == RecordKind::ToolUse
            && calls_memory
            && hit.text.to_lowercase().contains(&query)
            && is_younger(hit, ASKING_CALL_AGE_MAX_S)
    };
    let asking: Vec<SessionId> = hits
        .iter()
        .filter(is_this_call)
        .map(|hit| hit.hit.session.clone())
        .collect();
    hits.retain(|hit| {
        let is_question =
            hit.hit.kind == RecordKind::Prompt && recall::utterance::is_bare_question(&hit.text);
        let was_just_asked = is_question && is_younger(hit, ASKING_PROMPT_AGE_MAX_S);
        !was_just_asked && !asking.contains(&hit.hit.session)
    });
}

/// Puts what people and agents said before tool output, and tool output before tool calls, thinking
/// and announcements, among hits that are nearly as good as the best one.
fn rank_speech_first(hits: &mut [RankedHit]) {
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

/// Returns the facts that answer the query. Facts have no session, agent, tool, path, type or end
/// date, so a query that filters by one of these asks for records alone.
fn matching_facts(
    store: &Store,
    scope: &AccessScope,
    query: &Query,
    options: SearchOptions,
) -> store::Result<Vec<FactHit>> {
    let filters_records = query.session.is_some()
        || query.flavor.is_some()
        || query.tool.is_some()
        || query.path.is_some()
        || query.until.is_some()
        || !query.kinds.is_empty();
    if filters_records {
        return Ok(Vec::new());
    }
    let keys = match scope.workspace_keys() {
        Some(keys) => keys.to_vec(),
        None => {
            let part = query.workspace.as_deref().unwrap_or_default();
            let matching = store.workspaces_matching(part, WORKSPACES_MAX)?;
            matching.into_iter().map(|found| found.key).collect()
        }
    };
    let similar =
        store.facts_about(&StemmedText::parse(&query.text), &keys, None, 4 * FACTS_MAX)?;
    let answers = similar.into_iter().filter(|(fact, score)| {
        let is_recent = query.since.is_none_or(|since| fact.seen >= since);
        let is_sensitive = fact.tags.iter().any(|tag| tag == "sensitive");
        *score >= FACT_SCORE_MIN && is_recent && (options.include_sensitive || !is_sensitive)
    });
    let hits = answers.take(FACTS_MAX).map(|(fact, score)| FactHit {
        fact,
        score,
        digest_only_session: None,
    });
    Ok(hits.collect())
}
