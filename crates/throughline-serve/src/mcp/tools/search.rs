//! `memory_search`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::MatchLevel;

use super::{McpToolSpec, ToolContext, json_integer};
use crate::kinds::HitType;
use crate::mcp::fenced::{self, FenceBuilder};
use crate::requests::RequestError;
use crate::requests::search::{self, Audience, SearchOutcome, SearchRequest};

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_search",
    title: "Search memory",
    description: "Search what was said and done in earlier sessions in this workspace: requests, decisions, errors and \
        their fixes, commands, changed files. Use it before you work out something that may have been \
        worked out before, when the user refers to earlier work, and when an error looks familiar. Not for \
        what the current conversation or the files themselves tell.",
};

/// The default and the maximum number of hits.
const TOP_K_DEFAULT: i64 = 8;
const TOP_K_MAX: i64 = 30;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchToolArgs {
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
pub struct SearchToolAnswer {
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

pub fn run(
    call: &ToolContext<'_>,
    args: &SearchToolArgs,
) -> Result<SearchToolAnswer, RequestError> {
    let limit = args.top_k.unwrap_or(TOP_K_DEFAULT).clamp(1, TOP_K_MAX);
    let asked = SearchRequest {
        query: args.query.clone(),
        limit: usize::try_from(limit).unwrap_or(1),
        kinds: args
            .kind
            .and_then(HitType::record_kind)
            .into_iter()
            .collect(),
        include_facts: matches!(args.kind, None | Some(HitType::Fact)),
        include_sensitive: call.settings.injection.recall.include_sensitive,
        audience: Audience::Agent,
        ..SearchRequest::default()
    };
    let mut found = search::search(call.store, call.scope, &asked, call.now)?;
    if args.kind == Some(HitType::Fact) {
        found.hits.clear();
    }
    found
        .hits
        .truncate(asked.limit.saturating_sub(found.facts.len()).max(1));
    Ok(build_answer(call, args, &found))
}

fn build_answer(
    call: &ToolContext<'_>,
    args: &SearchToolArgs,
    found: &SearchOutcome,
) -> SearchToolAnswer {
    let mut fenced = FenceBuilder::new(call.store.injection_name(&args.query, None, call.now));
    let mut hits = Vec::new();
    for fact in &found.facts {
        let number = hits.len() + 1;
        let head = format!("{number}. {}", fenced::describe_fact(fact, call.now));
        fenced.add_item(&head, &fact.text);
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
        let who = if hit.digest_only {
            "the digest of a session whose records were removed".to_owned()
        } else {
            fenced::describe_actor(hit.kind, hit.tool.as_deref(), hit.path.as_deref())
        };
        let title = hit.title.as_deref().map_or_else(String::new, |title| {
            format!(", in the session {:?}", fenced::display_name(title))
        });
        let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
            format!(", asked {:?}", fenced::display_name(&asked.text))
        });
        let lost = if hit.in_source {
            ""
        } else {
            ", no longer in its log"
        };
        let origin = fenced::trust_note(ranked.trust);
        let age = fenced::describe_age(hit.at, call.now);
        let head = format!("{number}. {who}{asked}, {age}{title}{lost}{origin}");
        fenced.add_item(&head, &hit.snippet.text);
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
        note: answer_note(call, found, hits.is_empty()),
        text: if hits.is_empty() {
            String::new()
        } else {
            fenced.finish()
        },
        hits,
    }
}

fn answer_note(call: &ToolContext<'_>, found: &SearchOutcome, is_empty: bool) -> Option<String> {
    let note = match found.rung {
        _ if is_empty && call.scope.workspace().is_none() => {
            "the client's folder is unknown, so only facts that apply everywhere were searched"
        }
        MatchLevel::NoWords if is_empty => "the query has no searchable words",
        _ if is_empty => "nothing found in this workspace",
        MatchLevel::Related => {
            "no record has all of these words; showing partial matches and synonyms"
        }
        MatchLevel::Fuzzy => "no exact match; showing similar spellings",
        MatchLevel::Exact | MatchLevel::Forms | MatchLevel::NoWords => return None,
    };
    Some(note.to_owned())
}
