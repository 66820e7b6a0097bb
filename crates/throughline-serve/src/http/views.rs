//! JSON types that several routes share.

use memory::Fact;
use recall::RankedHit;
use serde::Serialize;
use serde_json::{Map, Value};
use store::{Store, StoredRecord};
use utoipa::ToSchema;

use crate::HitType;
use crate::requests::RequestError;
use crate::requests::search::{FactHit, SearchItem};

/// A record.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Record)]
pub(super) struct RecordView {
    id: String,
    /// When it happened, in milliseconds since 1970
    ts: Option<i64>,
    #[serde(rename = "type")]
    kind: &'static str,
    /// The same time in RFC 3339
    at: Option<String>,
    session_id: String,
    workspace: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    tags: Vec<String>,
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// Who wrote it: user, model or tool
    trust: &'static str,
    /// False once the record is missing from its log, or the log is deleted
    in_source: bool,
    content: String,
}

impl From<StoredRecord> for RecordView {
    fn from(record: StoredRecord) -> Self {
        Self {
            id: record.public_id(),
            ts: record.at.map(jiff::Timestamp::as_millisecond),
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

/// A record or a fact that was found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hit)]
pub(super) struct HitView {
    id: String,
    /// `fact`, or the type of the record
    #[serde(rename = "type")]
    kind: &'static str,
    /// Facts and records are scored on one scale
    score: f64,
    snippet: String,
    /// When it was said, in milliseconds since 1970
    ts: Option<i64>,
    session_id: Option<String>,
    workspace: Option<String>,
    tags: Vec<String>,
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// The records of the session were removed; this text comes from its title and digest
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    digest_only: bool,
    /// Only if the request asks for explanations
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<HitDetails>,
}

/// What only an explained hit has.
#[derive(Debug, Serialize, ToSchema)]
struct HitDetails {
    title: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    /// Byte ranges of the matches in the snippet: start, and end exclusive
    matches: Vec<[usize; 2]>,
    trust: &'static str,
    /// The text may contain sensitive data
    sensitive: bool,
    /// False once the record's log has lost it, or the log itself is gone
    in_source: bool,
    /// The question that the record answers
    asked: Option<String>,
    /// The parts of the score, largest first
    why: Vec<ScorePartView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Why)]
struct ScorePartView {
    name: &'static str,
    points: f64,
}

/// A snippet without details is shortened to this size, so that twenty hits have 8 kB.
const SNIPPET_BYTES_MAX: usize = 150;

impl HitView {
    pub(super) fn new(item: SearchItem<'_>, explain: bool) -> Self {
        match item {
            SearchItem::Fact(hit) => Self::of_fact(hit, explain),
            SearchItem::Record(hit) => Self::of_record(hit, explain),
        }
    }

    fn of_fact(hit: &FactHit, explain: bool) -> Self {
        let fact = &hit.fact;
        let metadata = [
            ("kind", Value::from(fact.kind.name())),
            ("trust", Value::from(fact.trust.name())),
            ("pinned", Value::from(fact.pinned)),
        ];
        Self {
            id: fact.id.to_string(),
            kind: HitType::Fact.into(),
            score: round_score(hit.score),
            snippet: fact.text.clone(),
            ts: Some(fact.seen.as_millisecond()),
            session_id: hit.session.as_ref().map(ToString::to_string),
            workspace: fact.workspace.clone(),
            tags: fact.tags.clone(),
            metadata: metadata
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .collect(),
            digest_only: hit.digest_only_session.is_some(),
            details: explain.then(|| HitDetails {
                title: None,
                tool: None,
                path: None,
                matches: Vec::new(),
                trust: fact.trust.name(),
                sensitive: memory::record::is_sensitive(&fact.tags),
                in_source: true,
                asked: None,
                why: vec![ScorePartView {
                    name: "similarity",
                    points: hit.score,
                }],
            }),
        }
    }

    fn of_record(ranked: &RankedHit, explain: bool) -> Self {
        let hit = &ranked.hit;
        let why = |part: &recall::ScorePart| ScorePartView {
            name: part.name,
            points: part.points,
        };
        Self {
            id: hit
                .submitted_id
                .clone()
                .unwrap_or_else(|| hit.id.to_string()),
            kind: hit.kind.name(),
            score: round_score(hit.score),
            snippet: if explain {
                hit.snippet.text.clone()
            } else {
                hit.snippet.shorten(SNIPPET_BYTES_MAX)
            },
            ts: hit.at.map(jiff::Timestamp::as_millisecond),
            session_id: Some(hit.session.to_string()),
            workspace: hit.workspace.clone(),
            tags: hit.tags.clone(),
            metadata: hit.metadata.clone(),
            digest_only: hit.digest_only,
            details: explain.then(|| HitDetails {
                title: hit.title.clone(),
                tool: hit.tool.clone(),
                path: hit.path.clone(),
                matches: hit
                    .snippet
                    .matches
                    .iter()
                    .map(|found| [found.start, found.end])
                    .collect(),
                trust: ranked.trust.name(),
                sensitive: ranked.sensitive,
                in_source: hit.in_source,
                asked: ranked.asked.as_ref().map(|asked| asked.text.clone()),
                why: ranked.parts.iter().map(why).collect(),
            }),
        }
    }
}

fn round_score(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}

/// A fact.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fact)]
pub(super) struct FactView {
    id: String,
    /// When it was last stated, in milliseconds since 1970
    ts: i64,
    /// The session that it was extracted from
    session_id: Option<String>,
    /// The workspace that it applies to; none for a fact that applies everywhere
    workspace: Option<String>,
    content: String,
    tags: Vec<String>,
    kind: &'static str,
    trust: &'static str,
    pinned: bool,
    /// When it was first stated
    made: String,
    /// How often it was stated
    times: u64,
    /// Ids of the records that it was extracted from
    sources: Vec<String>,
    /// The fact that replaced this one
    superseded_by: Option<String>,
}

impl FactView {
    pub(super) fn new(fact: Fact, session: Option<memory::SessionId>) -> Self {
        Self {
            id: fact.id.to_string(),
            ts: fact.seen.as_millisecond(),
            session_id: session.map(|session| session.to_string()),
            workspace: fact.workspace,
            content: fact.text,
            tags: fact.tags,
            kind: fact.kind.name(),
            trust: fact.trust.name(),
            pinned: fact.pinned,
            made: fact.made.to_string(),
            times: fact.times,
            sources: fact.sources.iter().map(ToString::to_string).collect(),
            superseded_by: fact.superseded.map(|id| id.to_string()),
        }
    }

    /// Returns a fact with the session that it was extracted from.
    pub(super) fn load(store: &Store, fact: Fact) -> Result<Self, RequestError> {
        let session = store.fact_session(fact.id)?;
        Ok(Self::new(fact, session))
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
    /// The agent has deleted its log
    gone: bool,
    #[serde(flatten)]
    #[schema(inline)]
    marks: MarksView,
}

/// What the user says of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MarksView {
    /// The name that the user gave it
    name: Option<String>,
    starred: bool,
    archived: bool,
    tags: Vec<String>,
}

impl From<memory::SessionMarks> for MarksView {
    fn from(marks: memory::SessionMarks) -> Self {
        Self {
            name: marks.name,
            starred: marks.starred,
            archived: marks.archived,
            tags: marks.tags,
        }
    }
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
            gone: session.source_gone,
            marks: session.marks.into(),
        }
    }
}
