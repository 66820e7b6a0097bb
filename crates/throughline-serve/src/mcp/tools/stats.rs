//! `memory_stats`

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::StoreCounts;

use super::{McpTool, ToolContext, read_only};
use crate::ServeSettings;
use crate::mcp::fenced;
use crate::requests::RequestError;
use crate::requests::sessions::latest_sessions;

/// The number of sessions that are listed.
const SESSIONS_LISTED: usize = 5;

pub(super) struct StatsTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatsToolArgs {}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StatsToolAnswer {
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

impl McpTool for StatsTool {
    const NAME: &'static str = "memory_stats";
    const TITLE: &'static str = "What memory holds";
    const DESCRIPTION: &'static str = "How much memory holds of this workspace, and the latest \
        sessions with their ids. Use it to see whether there is anything to search, or to find \
        the session that the user means.";
    type Args = StatsToolArgs;
    type Answer = StatsToolAnswer;

    fn annotations(_: &ServeSettings) -> Option<ToolAnnotations> {
        Some(read_only())
    }

    fn run(
        context: &ToolContext<'_>,
        StatsToolArgs {}: StatsToolArgs,
    ) -> Result<StatsToolAnswer, RequestError> {
        let StoreCounts {
            sessions,
            records,
            facts,
            pins,
            first,
            last,
        } = context.store.counts(context.scope.workspace_keys())?;
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let latest = latest_sessions(context.store, context.scope, SESSIONS_LISTED)?;
        let workspace = context.scope.workspace();
        Ok(StatsToolAnswer {
            workspace: workspace.map(|workspace| fenced::display_name(&workspace.key)),
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
}
