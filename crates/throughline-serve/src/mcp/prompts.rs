//! MCP prompts that a person picks: resume a session, ask what was decided.

use memory::FactKind;
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use store::{FactFilter, FactScope};

use super::fenced::{self, FenceBuilder};
use super::resources;
use super::tools::{self, ToolContext};
use crate::requests::find::find_session;
use crate::requests::search::{self, SearchRequest};
use crate::requests::{AccessScope, RequestError};

/// The most facts and records in the answer to "what did we decide".
const DECISIONS_MAX: usize = 12;

pub fn list_prompts() -> Vec<Prompt> {
    vec![
        Prompt::new(
            "resume",
            Some("Continue where a session of this workspace stopped"),
            Some(vec![
                PromptArgument::new("session")
                    .with_description("The session's id; the latest session by default")
                    .with_required(false),
            ]),
        )
        .with_title("Resume a session"),
        Prompt::new(
            "what-did-we-decide",
            Some("What was decided in this workspace, with sources"),
            Some(vec![
                PromptArgument::new("topic")
                    .with_description("The topic of the decisions; all topics by default")
                    .with_required(false),
            ]),
        )
        .with_title("What did we decide?"),
    ]
}

/// Returns the text of a prompt.
pub fn render_prompt(
    call: &ToolContext<'_>,
    name: &str,
    arguments: &JsonObject,
) -> Result<String, RequestError> {
    let argument = |name: &str| arguments.get(name).and_then(|value| value.as_str());
    match name {
        "resume" => render_resume(call, argument("session")),
        "what-did-we-decide" => render_decisions(call, argument("topic")),
        _ => Err(RequestError::not_found(
            format!("unknown prompt {name:?}"),
            "prompts/list returns the prompts",
        )),
    }
}

fn render_resume(call: &ToolContext<'_>, session: Option<&str>) -> Result<String, RequestError> {
    let session = match session.filter(|id| !id.is_empty()) {
        Some(id) => find_session(call.store, call.scope, id)?,
        None => tools::latest_sessions(call.store, call.scope, 1)?
            .pop()
            .ok_or_else(|| {
                RequestError::not_found(
                    "memory has no session of this workspace yet",
                    "`throughline ingest` reads the agents' logs",
                )
            })?,
    };
    let told = match resources::session_summary(call, &session.id) {
        Err(RequestError::NotFound { .. }) => tools::read_timeline(call, &session, 0)?.into_text(),
        told => told?,
    };
    Ok(format!(
        "Go on with the work of an earlier session. First look whether the files still are as it left \
         them; then say in a few sentences where it stands and what you would do next. memory_get with {} \
         shows more of it.\n\n{told}",
        session.id
    ))
}

fn render_decisions(call: &ToolContext<'_>, topic: Option<&str>) -> Result<String, RequestError> {
    let topic = topic.filter(|topic| !topic.trim().is_empty());
    let word = topic.unwrap_or("what-did-we-decide");
    let mut fenced = FenceBuilder::new(call.store.injection_name(word, None, call.now));
    let mut shown = 0;
    for fact in decision_facts(call, topic)? {
        shown += 1;
        let head = format!("{shown}. {}", fenced::describe_fact(&fact, call.now));
        fenced.add_item(&head, &fact.text);
    }
    if let Some(topic) = topic {
        for (head, text) in decision_records(call, topic)? {
            shown += 1;
            fenced.add_item(&format!("{shown}. {head}"), &text);
        }
    }
    let about = topic.map_or_else(String::new, |topic| format!(" about {topic}"));
    if shown == 0 {
        return Ok(format!(
            "Memory holds no decision{about}. Say so; search with memory_search if other words may help."
        ));
    }
    Ok(format!(
        "What did we decide{about} in this workspace? Answer from the quoted memory below, with when and by \
         whom; say which of it was later changed, and what is not settled.\n\n{}",
        fenced.finish()
    ))
}

fn decision_facts(
    call: &ToolContext<'_>,
    topic: Option<&str>,
) -> Result<Vec<memory::Fact>, RequestError> {
    if let Some(topic) = topic {
        let asked = SearchRequest {
            query: topic.to_owned(),
            limit: 1,
            include_facts: true,
            ..SearchRequest::default()
        };
        return Ok(search::search(call.store, call.scope, &asked, call.now)?.facts);
    }
    let keys = call.scope.workspace_keys().unwrap_or_default().to_vec();
    let mut all = Vec::new();
    for kind in [
        FactKind::Decision,
        FactKind::Preference,
        FactKind::Correction,
    ] {
        all.extend(call.store.facts(&FactFilter {
            scope: FactScope::Workspaces(keys.clone()),
            kind: Some(kind),
            history: false,
            limit: DECISIONS_MAX,
        })?);
    }
    all.truncate(DECISIONS_MAX);
    Ok(all)
}

fn decision_records(
    call: &ToolContext<'_>,
    topic: &str,
) -> Result<Vec<(String, String)>, RequestError> {
    let asked = SearchRequest {
        query: format!("{topic} decide"),
        limit: DECISIONS_MAX / 2,
        audience: search::Audience::Agent,
        ..SearchRequest::default()
    };
    let reach: &AccessScope = call.scope;
    let found = search::search(call.store, reach, &asked, call.now)?;
    let line = |ranked: recall::RankedHit| {
        let hit = ranked.hit;
        let who = fenced::describe_actor(hit.kind, hit.tool.as_deref(), hit.path.as_deref());
        let head = format!(
            "{who}, {} [{}]",
            fenced::describe_age(hit.at, call.now),
            hit.id
        );
        (head, hit.snippet.text)
    };
    Ok(found.hits.into_iter().map(line).collect())
}
