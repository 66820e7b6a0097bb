//! `memory_search`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Rung;

use super::{Call, Form, count};
use crate::kinds::HitKind;
use crate::mcp::fenced::{self, Fenced};
use crate::requests::Refused;
use crate::requests::search::{self, Audience, Found, Search};

pub const FORM: Form = Form {
    name: "memory_search",
    title: "Search memory",
    description: "Search what was said and done in earlier sessions in this workspace: requests, decisions, errors and \
        their fixes, commands, changed files. Use it before you work out something that may have been \
        worked out before, when the user refers to earlier work, and when an error looks familiar. Not for \
        what the current conversation or the files themselves tell.",
};

/// Hits of a search unless asked for more or fewer, and at most.
const TOP_K: i64 = 8;
const TOP_K_MAX: i64 = 30;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to look for: a question as you would ask a colleague, or words, names, error messages
    query: String,
    /// How many hits, 1 to 30; 8 unless given
    #[schemars(range(min = 1, max = 30))]
    top_k: Option<i64>,
    /// Only this type: prompt (what the user asked), assistant, tool_use, tool_result, error, artifact
    /// (changes of files), summary, thinking, approval, or fact
    #[serde(rename = "type")]
    kind: Option<HitKind>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// How sure the search is that the hits have to do with the question, from 0 to 1
    confidence: f64,
    /// Best first; the text of each is under the same number in `text`
    hits: Vec<Hit>,
    /// Why there is nothing, or what to know about the hits
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What was found, quoted
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Hit {
    number: i64,
    /// For memory_get
    id: String,
    #[serde(rename = "type")]
    kind: HitKind,
    /// When it was said or done
    at: Option<String>,
    session: Option<String>,
    /// The session's records were removed; this is what its title and digest say
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    digest_only: bool,
}

pub fn run(call: &Call<'_>, args: &Args) -> Result<Answer, Refused> {
    let limit = args.top_k.unwrap_or(TOP_K).clamp(1, TOP_K_MAX);
    let asked = Search {
        query: args.query.clone(),
        limit: usize::try_from(limit).unwrap_or(1),
        kinds: args.kind.and_then(HitKind::record).into_iter().collect(),
        facts: matches!(args.kind, None | Some(HitKind::Fact)),
        sensitive: call.settings.injection.recall.sensitive,
        audience: Audience::Agent,
        ..Search::default()
    };
    let mut found = search::search(call.store, call.reach, &asked, call.now)?;
    if args.kind == Some(HitKind::Fact) {
        found.hits.clear();
    }
    found
        .hits
        .truncate(asked.limit.saturating_sub(found.facts.len()).max(1));
    Ok(shown(call, args, &found))
}

fn shown(call: &Call<'_>, args: &Args, found: &Found) -> Answer {
    let mut fenced = Fenced::new(call.store.injection_name(&args.query, None, call.now));
    let mut hits = Vec::new();
    for fact in &found.facts {
        let number = hits.len() + 1;
        let head = format!("{number}. {}", fenced::of_fact(fact, call.now));
        fenced.add(&head, &fact.text);
        hits.push(Hit {
            number: count(number),
            id: fact.id.to_string(),
            kind: HitKind::Fact,
            at: Some(fact.seen.to_string()),
            session: None,
            digest_only: false,
        });
    }
    for ranked in &found.hits {
        let (hit, number) = (&ranked.hit, hits.len() + 1);
        let who = if hit.digest_only {
            "the digest of a session of which only the digest is left".to_owned()
        } else {
            fenced::who_did(hit.kind, hit.tool.as_deref(), hit.path.as_deref())
        };
        let title = hit.title.as_deref().map_or_else(String::new, |title| {
            format!(", in the session {:?}", fenced::name(title))
        });
        let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
            format!(", asked {:?}", fenced::name(&asked.text))
        });
        let lost = if hit.in_source {
            ""
        } else {
            ", no longer in its source"
        };
        let origin = fenced::origin(ranked.trust);
        let age = fenced::age(hit.at, call.now);
        let head = format!("{number}. {who}{asked}, {age}{title}{lost}{origin}");
        fenced.add(&head, &hit.snippet.text);
        hits.push(Hit {
            number: count(number),
            id: hit.id.to_string(),
            kind: HitKind::Record(hit.kind),
            at: hit.at.map(|at| at.to_string()),
            session: Some(hit.session.to_string()),
            digest_only: hit.digest_only,
        });
    }
    Answer {
        confidence: (found.confidence * 100.0).round() / 100.0,
        note: note(call, found, hits.is_empty()),
        text: if hits.is_empty() {
            String::new()
        } else {
            fenced.finish()
        },
        hits,
    }
}

fn note(call: &Call<'_>, found: &Found, is_empty: bool) -> Option<String> {
    let note = match found.rung {
        _ if is_empty && call.reach.here().is_none() => {
            "the folder of the session is not known, so only what holds everywhere was looked at"
        }
        Rung::NoWords if is_empty => "there is no word in that to look for",
        _ if is_empty => "nothing found in this workspace",
        Rung::Related => "no record has all of these words; these have some, or mean the same",
        Rung::Fuzzy => "no record has these words; these have words that are spelt nearly so",
        Rung::Exact | Rung::Forms | Rung::NoWords => return None,
    };
    Some(note.to_owned())
}
