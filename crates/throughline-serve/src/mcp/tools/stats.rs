//! `memory_stats`, and the list of the latest sessions, which resources and prompts use too.

use memory::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Store, StoreCounts};

use super::{McpToolSpec, ToolContext};
use crate::mcp::fenced;
use crate::requests::{AccessScope, RequestError};

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_stats",
    title: "What memory holds",
    description: "How much memory holds of this workspace, and the latest sessions with their ids. Use it to see whether there \
        is anything to search, or to find the session that the user means.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsToolArgs {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsToolAnswer {
    /// The workspace that the counts are of
    workspace: Option<String>,
    sessions: i64,
    records: i64,
    facts: i64,
    pins: i64,
    /// The time of the first and of the last session
    first: Option<String>,
    last: Option<String>,
    /// The latest sessions, newest first
    latest: Vec<RecentSession>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RecentSession {
    id: String,
    agent: String,
    title: Option<String>,
    at: Option<String>,
}

pub fn run(call: &ToolContext<'_>) -> Result<StatsToolAnswer, RequestError> {
    let StoreCounts {
        sessions,
        records,
        facts,
        pins,
        first,
        last,
    } = call.store.counts(call.scope.workspace_keys())?;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let latest = latest_sessions(call.store, call.scope, 5)?;
    Ok(StatsToolAnswer {
        workspace: call
            .scope
            .workspace()
            .map(|here| fenced::display_name(&here.key)),
        sessions: number(sessions),
        records: number(records),
        facts: number(facts),
        pins: number(pins),
        first: first.map(|at| at.to_string()),
        last: last.map(|at| at.to_string()),
        latest: latest
            .into_iter()
            .map(|session| RecentSession {
                at: session.ended.or(session.started).map(|at| at.to_string()),
                agent: session.flavor.name().to_owned(),
                title: session.title.as_deref().map(fenced::display_name),
                id: session.id.to_string(),
            })
            .collect(),
    })
}

/// Returns the latest sessions within a scope, newest first.
pub fn latest_sessions(
    store: &Store,
    reach: &AccessScope,
    limit: usize,
) -> store::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for key in reach.workspace_keys().unwrap_or_default() {
        let filter = store::SessionFilter {
            workspace: Some(key.clone()),
            limit: 4 * limit,
            ..store::SessionFilter::default()
        };
        let named = store.sessions(&filter)?;
        // The filter matches a part of a workspace's key; here it must be the whole key.
        let seen = |s: &Session| s.workspace.as_ref() == Some(key);
        sessions.extend(named.into_iter().filter(seen));
    }
    let at = |session: &Session| session.ended.or(session.started);
    sessions.sort_by(|a, b| at(b).cmp(&at(a)).then_with(|| a.id.cmp(&b.id)));
    sessions.truncate(limit);
    Ok(sessions)
}
