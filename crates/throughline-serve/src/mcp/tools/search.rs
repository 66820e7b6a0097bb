//! `memory_search`

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{MatchLevel, Query};

use super::{McpTool, ToolContext, json_integer, read_only};
use crate::ServeSettings;
use crate::kinds::HitType;
use crate::mcp::fenced::{self, FenceBuilder};
use crate::requests::RequestError;
use crate::requests::search::{Audience, SearchOptions, SearchOutcome, search};

/// The default and the maximum number of hits.
const TOP_K_DEFAULT: i64 = 8;
const TOP_K_MAX: i64 = 30;

pub(super) struct SearchTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchToolArgs {
    /// What to search for: a question as you would ask a colleague, or words, names, error messages
    query: String,
    /// The number of hits, 1 to 30; 8 by default
    #[schemars(range(min = 1, max = 30))]
    top_k: Option<i64>,
    /// Only this type: prompt (what the user asked), assistant, tool_use, tool_result, error,
    /// artifact (file changes), summary, thinking, approval, or fact
    #[serde(rename = "type")]
    kind: Option<HitType>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchToolAnswer {
    /// The probability, from 0 to 1, that the hits are relevant
    confidence: f64,
    /// Best first; the text of each hit has the same number in `text`
    hits: Vec<SearchToolHit>,
    /// Why there are no hits, or what to know about them
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The text of the hits, quoted
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchToolHit {
    number: i64,
    /// The id for memory_get
    id: String,
    #[serde(rename = "type")]
    kind: HitType,
    /// When it happened
    at: Option<String>,
    session: Option<String>,
    /// The session's records were removed; this text comes from its title and digest
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    digest_only: bool,
}

impl McpTool for SearchTool {
    const NAME: &'static str = "memory_search";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Search what was said and done in earlier sessions in this \
        workspace: requests, decisions, errors and their fixes, commands, changed files. Use it \
        before you work out something that may have been worked out before, when the user refers \
        to earlier work, and when an error looks familiar. Not for what the current conversation \
        or the files themselves show.";
    type Args = SearchToolArgs;
    type Answer = SearchToolAnswer;

    fn annotations(_: &ServeSettings) -> Option<ToolAnnotations> {
        Some(read_only())
    }

    fn run(
        context: &ToolContext<'_>,
        args: SearchToolArgs,
    ) -> Result<SearchToolAnswer, RequestError> {
        let limit = args.top_k.unwrap_or(TOP_K_DEFAULT).clamp(1, TOP_K_MAX);
        let query = Query {
            text: args.query,
            kinds: HitType::record_kinds(args.kind),
            limit: usize::try_from(limit).unwrap_or(1),
            ..Query::default()
        };
        let options = SearchOptions {
            content: HitType::content(args.kind),
            include_sensitive: context.settings.injection.recall.include_sensitive,
            audience: Audience::Agent,
            explain: false,
            rank_sessions: false,
        };
        let mut found = search(context.store, context.scope, &query, options, context.now)?;
        let records_max = query.limit.saturating_sub(found.facts.len()).max(1);
        found.hits.truncate(records_max);
        Ok(build_answer(context, &query.text, &found))
    }
}

fn build_answer(context: &ToolContext<'_>, query: &str, found: &SearchOutcome) -> SearchToolAnswer {
    let now = context.now;
    let mut fence = FenceBuilder::new(context.store.injection_name(query, None, now));
    let mut hits = Vec::new();
    for found in &found.facts {
        let (fact, number) = (&found.fact, hits.len() + 1);
        let head = format!("{number}. {}", fenced::describe_fact(fact, now));
        fence.add_item(&head, &fact.text);
        hits.push(SearchToolHit {
            number: json_integer(number),
            id: fact.id.to_string(),
            kind: HitType::Fact,
            at: Some(fact.seen.to_string()),
            session: None,
            digest_only: false,
        });
    }
    for ranked in &found.hits {
        let (hit, number) = (&ranked.hit, hits.len() + 1);
        let head = format!("{number}. {}", describe_hit(ranked, now));
        fence.add_item(&head, &hit.snippet.text);
        hits.push(SearchToolHit {
            number: json_integer(number),
            id: hit.id.to_string(),
            kind: HitType::Record(hit.kind),
            at: hit.at.map(|at| at.to_string()),
            session: Some(hit.session.to_string()),
            digest_only: hit.digest_only,
        });
    }
    SearchToolAnswer {
        confidence: (found.confidence * 100.0).round() / 100.0,
        note: answer_note(context, found).map(str::to_owned),
        text: if hits.is_empty() {
            String::new()
        } else {
            fence.finish()
        },
        hits,
    }
}

/// Returns the heading line of a hit: who wrote it, what it answers, when and in which session.
fn describe_hit(ranked: &recall::RankedHit, now: jiff::Timestamp) -> String {
    let hit = &ranked.hit;
    let actor = if hit.digest_only {
        "the digest of a session whose records were removed".to_owned()
    } else {
        fenced::describe_actor(hit.kind, hit.tool.as_deref(), hit.path.as_deref())
    };
    let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
        format!(", asked {:?}", fenced::display_name(&asked.text))
    });
    let title = hit.title.as_deref().map_or_else(String::new, |title| {
        format!(", in the session {:?}", fenced::display_name(title))
    });
    let lost = if hit.in_source {
        ""
    } else {
        ", no longer in its log"
    };
    let trust = fenced::trust_note(ranked.trust);
    let age = fenced::describe_age(hit.at, now);
    format!("{actor}{asked}, {age}{title}{lost}{trust}")
}

fn answer_note(context: &ToolContext<'_>, found: &SearchOutcome) -> Option<&'static str> {
    match found.rung {
        _ if found.is_empty() && context.scope.workspace().is_none() => Some(
            "the client's folder is unknown, so only facts that apply everywhere were searched",
        ),
        MatchLevel::NoWords if found.is_empty() => Some("the query has no searchable words"),
        _ if found.is_empty() => Some("nothing found in this workspace"),
        _ if found.hits.is_empty() => None,
        MatchLevel::Related => {
            Some("no record has all of these words; showing partial matches and synonyms")
        }
        MatchLevel::Fuzzy => Some("no exact match; showing similar spellings"),
        MatchLevel::Exact | MatchLevel::Forms | MatchLevel::NoWords => None,
    }
}
