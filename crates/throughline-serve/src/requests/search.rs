//! Search over records and facts, for every front end.
//!
//! A front end turns its arguments into one [`Query`], which reaches the index unchanged, and says
//! in [`SearchOptions`] what it wants back. Facts and records have scores on one scale, and
//! [`SearchOutcome::ranking`] is their common order.

use jiff::Timestamp;
use memory::record::is_sensitive;
use memory::words::StemmedText;
use memory::{Fact, RecordId, RecordKind, SessionId};
use recall::{RankedHit, RankedSession, RecallQuery};
use store::{MatchLevel, Query, Store};

use super::AccessScope;

/// The most hits of one HTTP request, and the most candidates that are ranked for an agent.
pub const HITS_MAX: usize = 100;
/// The most facts among records.
const FACTS_MAX: usize = 5;
/// Facts that are less similar to the query are no answer to it.
const FACT_SIMILARITY_MIN: f64 = 0.3;
/// The score of a fact in the points of record scores: a line through the share of the query's
/// words that it has. The line was fitted to the scores of 368 short prompts and answers in the
/// fixtures, for queries of one to four words of which they have a quarter (3.7 points on average),
/// a half (5.6), three quarters (7.6) or all (7.7).
const FACT_POINTS_BASE: f64 = 3.1;
const FACT_POINTS_PER_SHARE: f64 = 4.8;
/// Points for a pinned fact, as for a pinned record.
const FACT_PINNED_POINTS: f64 = 2.0;
/// The most workspaces whose facts are searched for an unrestricted client.
const WORKSPACES_MAX: usize = 1_000;

/// A tool call with the same query is the one being answered, unless it is older than this.
const ASKING_CALL_AGE_MAX_S: i64 = 600;
/// A prompt that was typed in the last seconds is the one that led to the search.
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
    /// The query is still being typed: its last word counts as the beginning of a word, and less
    /// is read, so that the answer keeps up with the keys.
    pub typing: bool,
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
    /// Who reads the hits.
    pub audience: Audience,
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
    pub similarity: f64,
    /// Comparable with the scores of records.
    pub score: f64,
    /// The session that the fact was extracted from.
    pub session: Option<SessionId>,
    /// The session that the fact was extracted from, if only its digest is left.
    pub digest_only_session: Option<SessionId>,
}

/// A fact or a record that was found.
#[derive(Clone, Copy, Debug)]
pub enum SearchItem<'a> {
    Fact(&'a FactHit),
    Record(&'a RankedHit),
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
    let mut outcome = if options.content == SearchContent::Facts {
        SearchOutcome::of_facts(facts, options.audience)
    } else {
        let mut outcome = search_records(store, scope, query, options, now)?;
        if options.audience == Audience::Agent {
            remove_asking_session(&mut outcome.hits, &query.text, now);
            if query.kinds.is_empty() {
                rank_speech_first(&mut outcome.hits);
            }
            remove_shown_questions(&mut outcome.hits);
        }
        outcome.facts = facts;
        outcome.keep_best(query.limit);
        outcome
    };
    for hit in &mut outcome.facts {
        hit.session = store.fact_session(hit.fact.id)?;
        if outcome.digest_only_sessions > 0 {
            hit.digest_only_session = store.digest_only_source(hit.fact.id)?;
        }
    }
    Ok(outcome)
}

impl SearchOutcome {
    fn of_facts(facts: Vec<FactHit>, audience: Audience) -> Self {
        Self {
            rung: MatchLevel::Related,
            confidence: facts.first().map_or(0.0, |best| best.similarity),
            facts,
            hits: Vec::new(),
            audience,
            sessions: Vec::new(),
            digest_only_sessions: 0,
        }
    }

    /// Returns facts and records in one order, the best first. For an agent, facts come before
    /// questions and tool chatter, whatever the scores.
    pub fn ranking(&self) -> Vec<SearchItem<'_>> {
        let mut facts = self.facts.iter().peekable();
        let mut items = Vec::with_capacity(self.facts.len() + self.hits.len());
        for hit in &self.hits {
            let comes_late = self.audience == Audience::Agent && is_background(hit);
            let is_before = |fact: &&FactHit| comes_late || fact.score >= hit.hit.score;
            while let Some(fact) = facts.next_if(is_before) {
                items.push(SearchItem::Fact(fact));
            }
            items.push(SearchItem::Record(hit));
        }
        items.extend(facts.map(SearchItem::Fact));
        items
    }

    /// Keeps the best items of both kinds together.
    pub fn keep_best(&mut self, limit: usize) {
        let best = self.ranking().into_iter().take(limit);
        let facts = best
            .filter(|item| matches!(item, SearchItem::Fact(_)))
            .count();
        self.facts.truncate(facts);
        self.hits.truncate(limit - facts);
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
        ..SearchOutcome::of_facts(Vec::new(), options.audience)
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
            typing: options.typing,
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

/// Removes the session that searches, because it already holds its own text. An MCP client does not
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
        // Whatever was typed in the last seconds is in the conversation of the agent that searches.
        let was_just_typed =
            hit.hit.kind == RecordKind::Prompt && is_younger(hit, ASKING_PROMPT_AGE_MAX_S);
        let tool = hit.hit.tool.as_deref().unwrap_or_default();
        let is_echo = recall::utterance::is_memory_tool(tool);
        !was_just_typed && !is_echo && !asking.contains(&hit.hit.session)
    });
}

/// Returns whether a hit only asks, calls a tool, or announces what it is about to do.
fn is_background(hit: &RankedHit) -> bool {
    match hit.hit.kind {
        RecordKind::Thinking | RecordKind::ToolUse => true,
        RecordKind::Assistant => recall::utterance::is_announcement(&hit.text),
        RecordKind::Prompt => recall::utterance::is_bare_question(&hit.text),
        _ => false,
    }
}

/// Puts what people and agents said before tool output, and tool output before tool calls, thinking
/// and announcements, among hits that are nearly as good as the best one.
fn rank_speech_first(hits: &mut [RankedHit]) {
    let best = hits.first().map_or(0.0, |hit| hit.hit.score);
    let tier = |hit: &RankedHit| -> u8 {
        let is_near = best - hit.hit.score <= NEAR_BEST_POINTS;
        match hit.hit.kind {
            RecordKind::Prompt if is_background(hit) => 2,
            _ if is_background(hit) => 3,
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

/// Returns the facts that answer the query, the best first. Facts have no agent, tool or path, so a
/// query that filters by one of these asks for records alone.
fn matching_facts(
    store: &Store,
    scope: &AccessScope,
    query: &Query,
    options: SearchOptions,
) -> store::Result<Vec<FactHit>> {
    let filters_records = query.flavor.is_some()
        || !query.marks.is_empty()
        || query.tool.is_some()
        || query.path.is_some();
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
    let limit = match options.content {
        SearchContent::Facts => query.limit.max(FACTS_MAX),
        _ => FACTS_MAX,
    };
    let is_filtered = query.session.is_some() || query.tag.is_some() || query.until.is_some();
    let read_max = if is_filtered { usize::MAX } else { 4 * limit };
    let words = StemmedText::parse(&query.text);
    let similar = if options.typing {
        let facts = store.facts_with_words(&query.text, &keys, limit)?;
        facts.into_iter().map(|fact| (fact, 1.0)).collect()
    } else {
        store.facts_about(&words, &keys, None, read_max)?
    };
    let mut hits = Vec::new();
    for (fact, similarity) in similar {
        let is_hidden = !options.include_sensitive && is_sensitive(&fact.tags);
        if similarity < FACT_SIMILARITY_MIN || is_hidden || !is_selected(store, &fact, query)? {
            continue;
        }
        let pinned = f64::from(u8::from(fact.pinned)) * FACT_PINNED_POINTS;
        // While typing, facts match by the beginnings of all words.
        let share = if options.typing {
            1.0
        } else {
            shared_words(&words, &fact)
        };
        hits.push(FactHit {
            score: FACT_POINTS_BASE + FACT_POINTS_PER_SHARE * share + pinned,
            fact,
            similarity,
            session: None,
            digest_only_session: None,
        });
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(limit);
    Ok(hits)
}

/// Returns the share of the query's words that a fact has.
fn shared_words(query: &StemmedText, fact: &Fact) -> f64 {
    let own = StemmedText::parse(&fact.text).stems;
    let shared = query
        .stems
        .iter()
        .filter(|stem| own.contains(*stem))
        .count();
    shared as f64 / query.stems.len().max(1) as f64
}

/// Returns whether a fact passes the filters of a query.
fn is_selected(store: &Store, fact: &Fact, query: &Query) -> store::Result<bool> {
    let has_tag = |tag: &String| {
        fact.tags
            .iter()
            .any(|own| own.eq_ignore_ascii_case(tag.trim()))
    };
    if query.since.is_some_and(|since| fact.seen < since)
        || query.until.is_some_and(|until| fact.seen >= until)
        || !query.tag.as_ref().is_none_or(has_tag)
        || (query.workspace.is_some() && fact.workspace.is_none())
    {
        return Ok(false);
    }
    match &query.session {
        Some(session) => store.is_fact_of_session(fact.id, session),
        None => Ok(true),
    }
}
