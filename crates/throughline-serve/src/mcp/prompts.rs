//! MCP prompts that a person picks: resume a session, ask what was decided.

use memory::FactKind;
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use store::{FactFilter, FactScope, Query};

use super::fenced::{self, FenceBuilder};
use super::resources;
use super::tools::{self, ToolContext};
use crate::requests::RequestError;
use crate::requests::find::find_session;
use crate::requests::search::{Audience, SearchContent, SearchOptions, search};
use crate::requests::sessions::latest_sessions;

/// The most facts and records in the answer to "what did we decide".
const DECISIONS_MAX: usize = 12;

pub(super) fn list_prompts() -> Vec<Prompt> {
    vec![
        Prompt::new(
            // Agents have a command `resume` of their own, and Gemini CLI complains about a second.
            "resume-session",
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
pub(super) fn render_prompt(
    context: &ToolContext<'_>,
    name: &str,
    arguments: &JsonObject,
) -> Result<String, RequestError> {
    let argument = |name: &str| arguments.get(name).and_then(|value| value.as_str());
    match name {
        "resume-session" => render_resume(context, argument("session")),
        "what-did-we-decide" => render_decisions(context, argument("topic")),
        _ => Err(RequestError::not_found(
            format!("unknown prompt {name:?}"),
            "prompts/list returns the prompts",
        )),
    }
}

fn render_resume(context: &ToolContext<'_>, session: Option<&str>) -> Result<String, RequestError> {
    let session = match session.filter(|id| !id.is_empty()) {
        Some(id) => find_session(context.store, context.scope, id)?,
        None => latest_sessions(context.store, context.scope, 1)?
            .pop()
            .ok_or_else(|| {
                RequestError::not_found(
                    "memory has no session of this workspace yet",
                    "`throughline ingest` reads the agents' logs",
                )
            })?,
    };
    let text = match resources::session_summary(context, &session.id) {
        Err(RequestError::NotFound { .. }) => {
            tools::read_timeline(context, &session, 0)?.into_text()
        }
        summary => summary?,
    };
    Ok(format!(
        "Continue the work of an earlier session. First check whether the files are still as it \
         left them; then say in a few sentences where the work stands and what you would do next. \
         memory_get with {} shows more of it.\n\n{text}",
        session.id
    ))
}

fn render_decisions(
    context: &ToolContext<'_>,
    topic: Option<&str>,
) -> Result<String, RequestError> {
    let topic = topic.filter(|topic| !topic.trim().is_empty());
    let seed = topic.unwrap_or("what-did-we-decide");
    let mut fence = FenceBuilder::new(context.store.injection_name(seed, None, context.now));
    let mut shown = 0;
    for fact in decision_facts(context, topic)? {
        shown += 1;
        let head = format!("{shown}. {}", fenced::describe_fact(&fact, context.now));
        fence.add_item(&head, &fact.text);
    }
    if let Some(topic) = topic {
        for (head, text) in decision_records(context, topic)? {
            shown += 1;
            fence.add_item(&format!("{shown}. {head}"), &text);
        }
    }
    let about = topic.map_or_else(String::new, |topic| format!(" about {topic}"));
    if shown == 0 {
        return Ok(format!(
            "Memory has no decision{about}. Say so; search with memory_search if other words may \
             help."
        ));
    }
    Ok(format!(
        "What did we decide{about} in this workspace? Answer from the quoted memory below, with \
         date and author; say which decisions were changed later, and what is still open.\n\n{}",
        fence.finish()
    ))
}

fn decision_facts(
    context: &ToolContext<'_>,
    topic: Option<&str>,
) -> Result<Vec<memory::Fact>, RequestError> {
    if let Some(topic) = topic {
        let query = Query {
            text: topic.to_owned(),
            ..Query::default()
        };
        let options = SearchOptions {
            content: SearchContent::Facts,
            ..SearchOptions::default()
        };
        let found = search(context.store, context.scope, &query, options, context.now)?;
        return Ok(found.facts.into_iter().map(|hit| hit.fact).collect());
    }
    let keys = context.scope.workspace_keys().unwrap_or_default().to_vec();
    let mut all = Vec::new();
    for kind in [
        FactKind::Decision,
        FactKind::Preference,
        FactKind::Correction,
    ] {
        all.extend(context.store.facts(&FactFilter {
            scope: FactScope::Workspaces(keys.clone()),
            kind: Some(kind),
            history: false,
            limit: DECISIONS_MAX,
        })?);
    }
    all.truncate(DECISIONS_MAX);
    Ok(all)
}

/// Returns the heading and the text of each record about a decision.
fn decision_records(
    context: &ToolContext<'_>,
    topic: &str,
) -> Result<Vec<(String, String)>, RequestError> {
    let query = Query {
        text: format!("{topic} decide"),
        limit: DECISIONS_MAX / 2,
        ..Query::default()
    };
    let options = SearchOptions {
        content: SearchContent::Records,
        audience: Audience::Agent,
        ..SearchOptions::default()
    };
    let found = search(context.store, context.scope, &query, options, context.now)?;
    let lines = found.hits.into_iter().map(|ranked| {
        let hit = ranked.hit;
        let actor = fenced::describe_actor(hit.kind, hit.tool.as_deref(), hit.path.as_deref());
        let age = fenced::describe_age(hit.at, context.now);
        (format!("{actor}, {age} [{}]", hit.id), hit.snippet.text)
    });
    Ok(lines.collect())
}
