//! What patterns, agents, preferences and the history of a workspace are made of.

use std::collections::{BTreeMap, BTreeSet};

use distill::rollup::one_line;
use jiff::Timestamp;
use learn::detect::PatternCandidate;
use memory::layers::{CapsuleKind, CapsuleLine, CapsuleSource};
use memory::tokens::estimate;
use memory::{FactKind, Flavor, Session, SessionKind, Tokens};
use store::{FactFilter, FactScope, SessionFilter, Store};

/// Tools of MCP servers begin with this.
const MCP_PREFIX: &str = "mcp__";
/// Limits of what is read for the capsules of a workspace.
const SESSIONS_MAX: usize = 200;
const FACTS_MAX: usize = 200;
/// How many models, versions, servers and tools of an agent are listed.
const ITEMS_MAX: usize = 12;
/// Pinned preferences and the figures of patterns are kept before other lines.
const FIRST_RANK: u8 = 2;
const OTHER_RANK: u8 = 1;

pub(super) fn pattern_source(pattern: &PatternCandidate) -> CapsuleSource {
    let flavors: Vec<_> = pattern.flavors.iter().map(|f| f.title()).collect();
    let mut lines = vec![CapsuleLine::new(
        format!(
            "{} events on {} days; overcome in {} sessions; cost {} minutes and {} tokens",
            pattern.times, pattern.days, pattern.overcome, pattern.minutes, pattern.tokens
        ),
        FIRST_RANK,
    )];
    let stale = pattern.stale_in.as_deref();
    lines.extend(stale.map(|file| CapsuleLine::new(format!("named in {file}"), FIRST_RANK)));
    let mut seen = BTreeSet::new();
    for evidence in &pattern.evidence {
        let line = one_line(&evidence.text);
        if seen.insert(line.clone()) {
            lines.push(CapsuleLine::new(line, OTHER_RANK));
        }
    }
    let json = serde_json::to_string(pattern).unwrap_or_default();
    CapsuleSource {
        kind: CapsuleKind::Pattern,
        name: pattern.id.clone(),
        at: pattern.last.unwrap_or(Timestamp::UNIX_EPOCH),
        summary: format!(
            "{} {} in {} sessions of {}",
            pattern.kind,
            one_line(&pattern.name),
            pattern.sessions,
            flavors.join(", ")
        ),
        lines,
        original_tokens: estimate(&json),
        made_of: pattern.evidence.iter().filter_map(|e| e.record).collect(),
        sessions: pattern.session_ids.iter().cloned().collect(),
    }
}

/// Returns the versions, models and tools of each agent in a workspace.
pub(super) fn agent_sources(store: &Store, workspace: &str) -> store::Result<Vec<CapsuleSource>> {
    let sessions = store.sessions(&SessionFilter {
        workspace: Some(workspace.to_owned()),
        limit: SESSIONS_MAX,
        ..SessionFilter::default()
    })?;
    let mut agents: BTreeMap<&'static str, Vec<&Session>> = BTreeMap::new();
    for session in &sessions {
        if session.workspace.as_deref() == Some(workspace) {
            agents
                .entry(session.flavor.name())
                .or_default()
                .push(session);
        }
    }
    let tools = store.agent_tools(workspace)?;
    let source = |(name, sessions): (&'static str, Vec<&Session>)| {
        let latest = sessions.first()?;
        let tools = tools.iter().filter(|tool| tool.flavor == latest.flavor);
        let tools: Vec<&str> = tools.map(|tool| tool.tool.as_str()).collect();
        let (servers, tools): (Vec<&str>, Vec<&str>) = tools
            .into_iter()
            .partition(|tool| tool.starts_with(MCP_PREFIX));
        let server = |tool: &&str| {
            tool[MCP_PREFIX.len()..]
                .split("__")
                .next()
                .map(str::to_owned)
        };
        let versions = sessions.iter().filter_map(|s| s.version.clone());
        let models = sessions.iter().filter_map(|s| s.model.clone());
        let subagents = sessions.iter().filter(|s| s.kind == SessionKind::Subagent);
        let lists = [
            ("models", first_distinct(models)),
            ("versions", first_distinct(versions)),
            (
                "MCP servers",
                first_distinct(servers.iter().filter_map(server)),
            ),
            (
                "tools",
                first_distinct(tools.iter().map(|&tool| tool.to_owned())),
            ),
        ];
        let lines = lists.into_iter().filter(|(_, items)| !items.is_empty());
        let lines = lines.map(|(what, items)| {
            CapsuleLine::new(format!("{what}: {}", items.join(", ")), OTHER_RANK)
        });
        let rows: Vec<_> = sessions
            .iter()
            .filter_map(|s| serde_json::to_string(s).ok())
            .collect();
        Some(CapsuleSource {
            kind: CapsuleKind::Configuration,
            name: name.to_owned(),
            at: latest.ended.or(latest.started).unwrap_or_default(),
            summary: agent_summary(latest.flavor, sessions.len(), subagents.count()),
            lines: lines.collect(),
            original_tokens: rows.iter().map(|row| estimate(row)).sum(),
            made_of: Vec::new(),
            sessions: sessions.iter().map(|session| session.id.clone()).collect(),
        })
    };
    Ok(agents.into_iter().filter_map(source).collect())
}

fn first_distinct(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for item in items {
        if distinct.len() == ITEMS_MAX {
            break;
        }
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

fn agent_summary(flavor: Flavor, sessions: usize, subagents: usize) -> String {
    let title = flavor.title();
    match (sessions, subagents) {
        (1, _) => format!("{title} in 1 session"),
        (_, 0) => format!("{title} in {sessions} sessions"),
        _ => format!("{title} in {sessions} sessions, {subagents} of them subagents"),
    }
}

/// Returns what the user wants in a workspace, pinned preferences first.
pub(super) fn preference_source(
    store: &Store,
    workspace: &str,
) -> store::Result<Option<CapsuleSource>> {
    let facts = store.facts(&FactFilter {
        scope: FactScope::Workspaces(vec![workspace.to_owned()]),
        kind: Some(FactKind::Preference),
        history: false,
        limit: FACTS_MAX,
    })?;
    let Some(at) = facts.iter().map(|fact| fact.seen).max() else {
        return Ok(None);
    };
    let mut original = Tokens(0);
    let (mut made_of, mut sessions) = (Vec::new(), BTreeSet::new());
    for fact in &facts {
        original += estimate(&serde_json::to_string(fact).unwrap_or_default());
        // A global fact may come from a session of another workspace.
        let sources = fact.sources.iter().filter(|_| fact.workspace.is_some());
        for id in sources {
            if let Some(record) = store.read_record(*id)? {
                original += estimate(&record.content);
                sessions.insert(record.session);
                made_of.push(*id);
            }
        }
    }
    let line = |fact: &memory::Fact| {
        let rank = if fact.pinned { FIRST_RANK } else { OTHER_RANK };
        CapsuleLine::new(one_line(&fact.text), rank)
    };
    Ok(Some(CapsuleSource {
        kind: CapsuleKind::Preference,
        name: "user".to_owned(),
        at,
        summary: match facts.len() {
            1 => "1 preference of the user".to_owned(),
            many => format!("{many} preferences of the user"),
        },
        lines: facts.iter().map(line).collect(),
        original_tokens: original,
        made_of,
        sessions,
    }))
}

/// Returns what the sessions of a workspace worked on.
pub(super) fn history_source(
    store: &Store,
    workspace: &str,
) -> store::Result<Option<CapsuleSource>> {
    let rollup = distill::rollup::roll_up(store, workspace)?;
    let mut lines = rollup.text.lines();
    let (Some(summary), true) = (lines.next(), rollup.sessions > 0) else {
        return Ok(None);
    };
    let sessions = store.sessions(&SessionFilter {
        workspace: Some(workspace.to_owned()),
        limit: SESSIONS_MAX,
        ..SessionFilter::default()
    })?;
    Ok(Some(CapsuleSource {
        kind: CapsuleKind::History,
        name: "sessions".to_owned(),
        at: sessions
            .first()
            .and_then(|s| s.ended.or(s.started))
            .unwrap_or_default(),
        summary: summary.to_owned(),
        lines: lines
            .map(|line| CapsuleLine::new(line, OTHER_RANK))
            .collect(),
        original_tokens: rollup.original_tokens,
        made_of: Vec::new(),
        sessions: sessions.into_iter().map(|session| session.id).collect(),
    }))
}
