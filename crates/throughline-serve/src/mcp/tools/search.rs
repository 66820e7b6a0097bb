//! `memory_search`

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::layers::{Card, CardKey};
use memory::{Fact, SessionId, Tokens, Trust};
use recall::RankedHit;
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{MatchLevel, Query};

use super::{McpTool, ToolContext, read_only};
use crate::mcp::fenced::{self, FenceBuilder};
use crate::requests::RequestError;
use crate::requests::search::{Audience, SearchItem, SearchOptions, SearchOutcome, search};
use crate::{HitType, ServeSettings};

/// The default and the maximum number of hits.
const TOP_K_DEFAULT: i64 = 8;
const TOP_K_MAX: i64 = 30;
/// The size of an answer, unless the caller asks for a number of hits.
const ANSWER_TOKENS_MAX: Tokens = Tokens(400);
/// The size of the excerpt of a hit.
const SNIPPET_BYTES_MAX: usize = 160;
/// The length of a question that is shown beside its answer, and of a session's title.
const TITLE_CHARS_MAX: usize = 60;
/// Ids are cut to this length, because whole ones would be a third of the answer. They are found by
/// their beginning.
const ID_CHARS_SHOWN: usize = 10;

pub(super) struct SearchTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchToolArgs {
    /// What to search for: a question as you would ask a colleague, or words, names, error messages
    query: String,
    /// The number of hits, 1 to 30; by default as many as fit into a short answer
    #[schemars(range(min = 1, max = 30))]
    top_k: Option<i64>,
    /// Only `facts` or `records`, or one type of record: prompt (what the user asked), assistant,
    /// tool_use, tool_result, error, artifact (file changes), summary, thinking, approval
    #[serde(rename = "type")]
    kind: Option<HitType>,
    /// Only with this tag
    tag: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchToolAnswer {
    /// The probability, from 0 to 1, that the hits are relevant
    confidence: f64,
    /// Best first, in the order of the numbers in `text`
    hits: Vec<SearchToolHit>,
    /// Why there are no hits, or what to know about them
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The text of the hits, quoted
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchToolHit {
    /// The beginning of the id, for memory_get
    id: String,
    #[serde(rename = "type")]
    kind: HitType,
    /// The beginning of the session's id, for memory_get
    #[serde(skip_serializing_if = "Option::is_none")]
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
        let filters: Vec<_> = args.kind.into_iter().collect();
        let (kinds, content) = HitType::select(&filters);
        let query = Query {
            text: args.query,
            kinds,
            tag: args.tag.filter(|tag| !tag.is_empty()),
            limit: usize::try_from(limit).unwrap_or(1),
            ..Query::default()
        };
        let options = SearchOptions {
            content,
            include_sensitive: context.includes_sensitive(),
            audience: Audience::Agent,
            explain: false,
            rank_sessions: false,
            typing: false,
        };
        let found = search(context.store, context.scope, &query, options, context.now)?;
        let ranking = found.ranking();
        let mut shown = ranking.len();
        let mut answer = build_answer(context, &query.text, &found, &ranking);
        while args.top_k.is_none() && shown > 1 && answer.tokens() > ANSWER_TOKENS_MAX {
            shown -= 1;
            answer = build_answer(context, &query.text, &found, &ranking[..shown]);
        }
        context.count_pull(&cards_of(&ranking[..shown]));
        Ok(answer)
    }
}

impl SearchToolAnswer {
    fn tokens(&self) -> Tokens {
        let json = serde_json::to_string(self).unwrap_or_default();
        memory::tokens::estimate(&json)
    }
}

fn build_answer(
    context: &ToolContext<'_>,
    query: &str,
    found: &SearchOutcome,
    shown: &[SearchItem<'_>],
) -> SearchToolAnswer {
    let now = context.now;
    let mut fence = FenceBuilder::new(context.store.injection_name(query, None, now));
    let mut hits = Vec::new();
    let mut titled = BTreeSet::new();
    for (at, item) in shown.iter().enumerate() {
        let number = at + 1;
        match item {
            SearchItem::Fact(hit) => {
                let head = describe_fact(&hit.fact, now);
                fence.add_item(&format!("{number}. {head}"), &hit.fact.text);
                hits.push(SearchToolHit {
                    id: shorten_id(&hit.fact.id.to_string()),
                    kind: HitType::Fact,
                    session: None,
                    digest_only: false,
                });
            }
            SearchItem::Record(ranked) => {
                let hit = &ranked.hit;
                let is_new = titled.insert(&hit.session);
                let head = describe_hit(ranked, is_new, now);
                let text = hit.snippet.shorten(SNIPPET_BYTES_MAX);
                fence.add_item(&format!("{number}. {head}"), &text);
                hits.push(SearchToolHit {
                    id: shorten_id(&hit.id.to_string()),
                    kind: HitType::Record(hit.kind),
                    session: Some(shorten_session(&hit.session)),
                    digest_only: hit.digest_only,
                });
            }
        }
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

/// Returns the cards of hits, without texts that may hold a secret.
fn cards_of(hits: &[SearchItem<'_>]) -> Vec<(CardKey, Option<Card>)> {
    let card = |item: &SearchItem<'_>| match item {
        SearchItem::Fact(hit) => (
            CardKey::Fact(hit.fact.id.to_string()),
            Some(Card::new(&hit.fact.text, Vec::new())),
        ),
        SearchItem::Record(ranked) => {
            let text = if ranked.sensitive { "" } else { &ranked.text };
            (
                CardKey::Record(ranked.hit.id.to_string()),
                Some(Card::new(text, vec![ranked.hit.id])),
            )
        }
    };
    hits.iter().map(card).collect()
}

fn shorten_id(id: &str) -> String {
    id.chars().take(ID_CHARS_SHOWN).collect()
}

fn shorten_session(session: &SessionId) -> String {
    let prefix = session.as_str().len() - session.native().len();
    session
        .as_str()
        .chars()
        .take(prefix + ID_CHARS_SHOWN)
        .collect()
}

/// Returns the heading line of a fact: what it is, who stated it and when.
fn describe_fact(fact: &Fact, now: Timestamp) -> String {
    let whose = match fact.trust {
        Trust::User => "the user",
        Trust::Model => "an agent",
        Trust::Tool => "a tool",
    };
    let pin = if fact.pinned { ", pinned" } else { "" };
    let age = fenced::describe_age(Some(fact.seen), now);
    format!("{} of {whose}{pin}, {age}", fact.kind)
}

/// Returns the heading line of a hit: who wrote it, what it answers, when, and in which session if
/// no earlier hit says so.
fn describe_hit(ranked: &RankedHit, is_new_session: bool, now: Timestamp) -> String {
    let hit = &ranked.hit;
    let actor = if hit.digest_only {
        "the digest of a session whose records were removed".to_owned()
    } else {
        fenced::describe_actor(hit.kind, hit.tool.as_deref(), hit.path.as_deref())
    };
    let quote = |text: &str| {
        let name: String = fenced::display_name(text)
            .chars()
            .take(TITLE_CHARS_MAX)
            .collect();
        format!("{name:?}")
    };
    let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
        format!(", asked {}", quote(&asked.text))
    });
    let title = hit.title.as_deref().filter(|_| is_new_session);
    let title = title.map_or_else(String::new, |title| format!(", in {}", quote(title)));
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
