//! `memory_stats`, and the latest sessions, which others show too.

use memory::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Counts, Store};

use super::{Call, Form};
use crate::mcp::fenced;
use crate::requests::{Reach, Refused};

pub const FORM: Form = Form {
    name: "memory_stats",
    title: "What memory holds",
    description: "How much memory holds of this workspace, and the latest sessions with their ids. Use it to see whether there \
        is anything to search, or to find the session that the user means.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The workspace that is meant
    workspace: Option<String>,
    sessions: i64,
    records: i64,
    facts: i64,
    pins: i64,
    /// When the first and the last session were
    first: Option<String>,
    last: Option<String>,
    /// The latest sessions, newest first
    latest: Vec<Latest>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Latest {
    id: String,
    agent: String,
    title: Option<String>,
    at: Option<String>,
}

pub fn run(call: &Call<'_>) -> Result<Answer, Refused> {
    let Counts {
        sessions,
        records,
        facts,
        pins,
        first,
        last,
    } = call.store.counts(call.reach.keys())?;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let latest = latest(call.store, call.reach, 5)?;
    Ok(Answer {
        workspace: call.reach.here().map(|here| fenced::name(&here.key)),
        sessions: number(sessions),
        records: number(records),
        facts: number(facts),
        pins: number(pins),
        first: first.map(|at| at.to_string()),
        last: last.map(|at| at.to_string()),
        latest: latest
            .into_iter()
            .map(|session| Latest {
                at: session.ended.or(session.started).map(|at| at.to_string()),
                agent: session.flavor.name().to_owned(),
                title: session.title.as_deref().map(fenced::name),
                id: session.id.to_string(),
            })
            .collect(),
    })
}

/// Returns the latest sessions that may be seen, newest first.
pub fn latest(store: &Store, reach: &Reach, limit: usize) -> store::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for key in reach.keys().unwrap_or_default() {
        let filter = store::SessionFilter {
            workspace: Some(key.clone()),
            limit: 4 * limit,
            ..store::SessionFilter::default()
        };
        let named = store.sessions(&filter)?;
        // The filter takes a part of a workspace's name; here it must be the whole.
        let seen = |s: &Session| s.workspace.as_ref() == Some(key);
        sessions.extend(named.into_iter().filter(seen));
    }
    let at = |session: &Session| session.ended.or(session.started);
    sessions.sort_by(|a, b| at(b).cmp(&at(a)).then_with(|| a.id.cmp(&b.id)));
    sessions.truncate(limit);
    Ok(sessions)
}
