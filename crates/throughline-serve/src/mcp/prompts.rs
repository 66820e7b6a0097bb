//! Prompts that a person picks: take up the last session, ask what was decided.

use memory::FactKind;
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use store::{FactFilter, FactScope};

use super::fenced::{self, Fenced};
use super::resources;
use super::tools::{self, Call};
use crate::requests::find::the_session;
use crate::requests::search::{self, Search};
use crate::requests::{Reach, Refused};

/// Facts and records that answer what was decided.
const SHOWN_MAX: usize = 12;

pub fn list() -> Vec<Prompt> {
    vec![
        Prompt::new(
            "resume",
            Some("Go on where a session of this workspace stopped"),
            Some(vec![
                PromptArgument::new("session")
                    .with_description("The session's id; the latest unless given")
                    .with_required(false),
            ]),
        )
        .with_title("Take up a session"),
        Prompt::new(
            "what-did-we-decide",
            Some("What was decided in this workspace, with where it comes from"),
            Some(vec![
                PromptArgument::new("topic")
                    .with_description("What the decisions are about; all unless given")
                    .with_required(false),
            ]),
        )
        .with_title("What did we decide?"),
    ]
}

/// Returns the text of a prompt.
pub fn get(call: &Call<'_>, name: &str, arguments: &JsonObject) -> Result<String, Refused> {
    let argument = |name: &str| arguments.get(name).and_then(|value| value.as_str());
    match name {
        "resume" => resume(call, argument("session")),
        "what-did-we-decide" => decided(call, argument("topic")),
        _ => Err(Refused::not_found(
            format!("there is no prompt {name:?}"),
            "prompts/list names them",
        )),
    }
}

fn resume(call: &Call<'_>, session: Option<&str>) -> Result<String, Refused> {
    let session = match session.filter(|id| !id.is_empty()) {
        Some(id) => the_session(call.store, call.reach, id)?,
        None => tools::latest(call.store, call.reach, 1)?
            .pop()
            .ok_or_else(|| {
                Refused::not_found(
                    "memory has no session of this workspace yet",
                    "`throughline ingest` reads the agents' logs",
                )
            })?,
    };
    let told = match resources::summary(call, &session.id) {
        Err(Refused::NotFound { .. }) => tools::timeline(call, &session, 0)?.into_text(),
        told => told?,
    };
    Ok(format!(
        "Go on with the work of an earlier session. First look whether the files still are as it left \
         them; then say in a few sentences where it stands and what you would do next. memory_get with {} \
         shows more of it.\n\n{told}",
        session.id
    ))
}

fn decided(call: &Call<'_>, topic: Option<&str>) -> Result<String, Refused> {
    let topic = topic.filter(|topic| !topic.trim().is_empty());
    let word = topic.unwrap_or("what-did-we-decide");
    let mut fenced = Fenced::new(call.store.injection_name(word, None, call.now));
    let mut shown = 0;
    for fact in facts(call, topic)? {
        shown += 1;
        let head = format!("{shown}. {}", fenced::of_fact(&fact, call.now));
        fenced.add(&head, &fact.text);
    }
    if let Some(topic) = topic {
        for (head, text) in records(call, topic)? {
            shown += 1;
            fenced.add(&format!("{shown}. {head}"), &text);
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

fn facts(call: &Call<'_>, topic: Option<&str>) -> Result<Vec<memory::Fact>, Refused> {
    if let Some(topic) = topic {
        let asked = Search {
            query: topic.to_owned(),
            limit: 1,
            facts: true,
            ..Search::default()
        };
        return Ok(search::search(call.store, call.reach, &asked, call.now)?.facts);
    }
    let keys = call.reach.keys().unwrap_or_default().to_vec();
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
            limit: SHOWN_MAX,
        })?);
    }
    all.truncate(SHOWN_MAX);
    Ok(all)
}

fn records(call: &Call<'_>, topic: &str) -> Result<Vec<(String, String)>, Refused> {
    let asked = Search {
        query: format!("{topic} decide"),
        limit: SHOWN_MAX / 2,
        audience: search::Audience::Agent,
        ..Search::default()
    };
    let reach: &Reach = call.reach;
    let found = search::search(call.store, reach, &asked, call.now)?;
    let line = |ranked: recall::RankedHit| {
        let hit = ranked.hit;
        let who = fenced::who_did(hit.kind, hit.tool.as_deref(), hit.path.as_deref());
        let head = format!("{who}, {} [{}]", fenced::age(hit.at, call.now), hit.id);
        (head, hit.snippet.text)
    };
    Ok(found.hits.into_iter().map(line).collect())
}
