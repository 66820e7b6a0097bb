//! JSON types that several routes share.

use memory::Fact;
use recall::RankedHit;
use serde::Serialize;
use store::StoredRecord;
use utoipa::ToSchema;

/// A record.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Record)]
pub(super) struct RecordView {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    at: Option<String>,
    session_id: String,
    workspace: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    tags: Vec<String>,
    #[schema(value_type = Object)]
    metadata: serde_json::Map<String, serde_json::Value>,
    /// Who wrote it: user, model or tool
    trust: &'static str,
    /// False once the record is missing from its log, or the log is deleted
    in_source: bool,
    content: String,
}

impl From<StoredRecord> for RecordView {
    fn from(record: StoredRecord) -> Self {
        Self {
            id: record.id.to_string(),
            kind: record.kind.name(),
            at: record.at.map(|at| at.to_string()),
            session_id: record.session.to_string(),
            workspace: record.workspace,
            tool: record.tool,
            path: record.path,
            tags: record.tags,
            metadata: record.metadata,
            trust: record.trust.name(),
            in_source: record.in_source,
            content: record.content,
        }
    }
}

/// A record that was found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hit)]
pub(super) struct HitView {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    score: f64,
    at: Option<String>,
    session_id: String,
    title: Option<String>,
    workspace: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    snippet: String,
    /// Byte ranges of the matches in the snippet: start, and end exclusive
    matches: Vec<[usize; 2]>,
    trust: &'static str,
    /// The text may contain sensitive data
    sensitive: bool,
    /// The records of the session were removed; this text comes from its title and digest
    digest_only: bool,
    /// False once the record's log has lost it, or the log itself is gone
    in_source: bool,
    /// The parts of the score, largest first
    why: Vec<ScorePartView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Why)]
struct ScorePartView {
    name: &'static str,
    points: f64,
}

impl From<RankedHit> for HitView {
    fn from(ranked: RankedHit) -> Self {
        let hit = ranked.hit;
        let why = |part: recall::ScorePart| ScorePartView {
            name: part.name,
            points: part.points,
        };
        Self {
            id: hit.id.to_string(),
            kind: hit.kind.name(),
            score: hit.score,
            at: hit.at.map(|at| at.to_string()),
            session_id: hit.session.to_string(),
            title: hit.title,
            workspace: hit.workspace,
            tool: hit.tool,
            path: hit.path,
            matches: hit
                .snippet
                .matches
                .iter()
                .map(|found| [found.start, found.end])
                .collect(),
            snippet: hit.snippet.text,
            trust: ranked.trust.name(),
            sensitive: ranked.sensitive,
            digest_only: hit.digest_only,
            in_source: hit.in_source,
            why: ranked.parts.into_iter().map(why).collect(),
        }
    }
}

/// A fact.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FactView {
    id: String,
    workspace: Option<String>,
    kind: &'static str,
    text: String,
    tags: Vec<String>,
    trust: &'static str,
    pinned: bool,
    made: String,
    seen: String,
    times: u64,
    sources: Vec<String>,
}

impl From<Fact> for FactView {
    fn from(fact: Fact) -> Self {
        Self {
            id: fact.id.to_string(),
            workspace: fact.workspace,
            kind: fact.kind.name(),
            text: fact.text,
            tags: fact.tags,
            trust: fact.trust.name(),
            pinned: fact.pinned,
            made: fact.made.to_string(),
            seen: fact.seen.to_string(),
            times: fact.times,
            sources: fact.sources.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionView {
    id: String,
    agent: &'static str,
    kind: &'static str,
    title: Option<String>,
    workspace: Option<String>,
    folder: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    parent: Option<String>,
    started: Option<String>,
    ended: Option<String>,
    records: u64,
    prompts: u64,
    tool_calls: u64,
    errors: u64,
    tokens: u64,
    cost_usd: Option<f64>,
    outcome: Option<&'static str>,
    /// The number of its records that were removed by retention
    evicted: u64,
    /// The number of its stored records that are missing from its logs
    detached: u64,
}

impl From<memory::Session> for SessionView {
    fn from(session: memory::Session) -> Self {
        Self {
            id: session.id.to_string(),
            agent: session.flavor.name(),
            kind: session.kind.name(),
            title: session.title,
            workspace: session.workspace,
            folder: session.cwd,
            branch: session.branch,
            model: session.model,
            parent: session.parent.map(|parent| parent.to_string()),
            started: session.started.map(|at| at.to_string()),
            ended: session.ended.map(|at| at.to_string()),
            records: session.records,
            prompts: session.prompts,
            tool_calls: session.tool_calls,
            errors: session.errors,
            tokens: session.usage.total(),
            cost_usd: session.cost_usd,
            outcome: session.outcome.map(memory::Outcome::name),
            evicted: session.evicted,
            detached: session.detached,
        }
    }
}
