//! The memory layers of a workspace: how well they do, and what a session started with.

use distill::checkpoint::INTERVAL;
use jiff::Timestamp;
use memory::layers::CARD_TOKENS_MAX;
use memory::layers::working::SEEDS_MAX;
use memory::{RecordKind, Session, SessionId, SessionKind};
use recall::replay::{LayerReport, ReplayAction, ReplayEvent, ReplaySession, SeedRefresh, replay};
use recall::seed::{FilePredictor, SeedRequest};
use serde::Serialize;
use store::{SessionFilter, SessionStep, Store};

/// How many of the latest sessions are replayed.
const SESSIONS_MAX: usize = 100;
/// Fewer sessions say little about hit rates.
const SESSIONS_MIN: usize = 30;
/// Changing tools, by a part of their names.
const EDIT_TOOLS: &[&str] = &["edit", "write", "patch", "replace"];

/// One figure of the memory layers with its target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HealthCheck {
    pub name: &'static str,
    pub value: f64,
    pub target: &'static str,
    pub is_met: bool,
    /// The start of the first session that counts.
    pub since: Option<Timestamp>,
    /// Why the target is missed.
    pub reason: Option<String>,
}

/// Replays the latest sessions of a workspace and compares the rates with their targets. Returns
/// nothing if no session touched a file.
pub fn layer_health(store: &Store, workspace: &str) -> store::Result<Vec<HealthCheck>> {
    let mut sessions = workspace_sessions(store, workspace)?;
    sessions.reverse();
    let mut replayed = Vec::new();
    let mut widest_gap = 0;
    for session in &sessions {
        let events = replay_events(session, &store.steps(&session.id)?);
        let touches = events
            .iter()
            .any(|event| matches!(event.action, ReplayAction::Touch { .. }));
        if let Some(start) = session.started.filter(|_| touches) {
            replayed.push(ReplaySession {
                start,
                branch: session.branch.clone(),
                events,
            });
        }
        let mut last = 0;
        for checkpoint in store.checkpoints(&session.id)? {
            widest_gap = widest_gap.max(checkpoint.interactions.saturating_sub(last));
            last = checkpoint.interactions;
        }
    }
    if replayed.is_empty() {
        return Ok(Vec::new());
    }
    let [report, ..] = replay(&replayed, SeedRefresh::Periodic);
    let since = replayed.first().map(|session| session.start);
    Ok(checks(&report, widest_gap, replayed.len(), since))
}

fn checks(
    report: &LayerReport,
    widest_gap: u64,
    sessions: usize,
    since: Option<Timestamp>,
) -> Vec<HealthCheck> {
    let check = |name, value, target, is_met| HealthCheck {
        name,
        value,
        target,
        is_met,
        since,
        reason: (!is_met).then(|| missed_reason(report, sessions)),
    };
    let both = report.l1 + report.l15;
    let gap = widest_gap as f64;
    vec![
        check(
            "working memory hits, %",
            report.l1,
            ">= 85",
            report.l1 >= 85.0,
        ),
        check(
            "working memory and cache hits, %",
            both,
            ">= 91",
            both >= 91.0,
        ),
        check("store lookups, %", report.l2, "<= 4.5", report.l2 <= 4.5),
        check(
            "working memory in use, %",
            report.working_full,
            "< 80",
            report.working_full < 80.0,
        ),
        check(
            "files covered after a compaction, %",
            report.covered,
            ">= 76",
            report.compactions == 0 || report.covered >= 76.0,
        ),
        check(
            "interactions between checkpoints",
            gap,
            "<= 50",
            widest_gap <= INTERVAL,
        ),
    ]
}

/// Says why a rate is below its target.
fn missed_reason(report: &LayerReport, sessions: usize) -> String {
    if sessions < SESSIONS_MIN {
        return format!("only {sessions} sessions with files; {SESSIONS_MIN} are needed");
    }
    if report.miss > 5.0 {
        return format!(
            "{} % of the touched files were new to the workspace",
            report.miss
        );
    }
    format!("{} % of known files were not predicted", report.l2)
}

/// What a session started with, step by step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartTrace {
    pub session: SessionId,
    pub steps: Vec<String>,
    pub seeds: Vec<StartSeed>,
}

/// A file that was predicted for a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartSeed {
    pub path: String,
    pub reason: &'static str,
    /// True if the session touched the file later.
    pub was_used: bool,
}

/// Derives what a session had at its start: only sessions and the prompt before its first touch
/// are read, so the trace is the same whenever it is asked for.
pub fn session_start(store: &Store, session: &Session) -> store::Result<StartTrace> {
    let started = session.started.unwrap_or(Timestamp::UNIX_EPOCH);
    let workspace = session.workspace.as_deref().unwrap_or_default();
    let earlier = store.workspace_touches(workspace, started, SESSIONS_MAX)?;
    let earlier: Vec<_> = earlier
        .into_iter()
        .filter(|(id, _)| *id != session.id)
        .collect();
    let prompt = first_prompt(store, &session.id)?;
    let request = SeedRequest {
        branch: session.branch.as_deref(),
        hints: &prompt,
        now: started,
    };
    let history: Vec<_> = earlier.iter().map(|(_, touches)| touches.clone()).collect();
    let own = store.session_touches(&session.id)?;
    let seeds = FilePredictor::new(&history, &request).rank_seeds(SEEDS_MAX);
    let seeds = seeds.into_iter().map(|seed| StartSeed {
        was_used: own.files.iter().any(|file| file.path == seed.path),
        path: seed.path,
        reason: seed.reason,
    });
    let seeds: Vec<StartSeed> = seeds.collect();
    let agents = store.subagents(&session.id)?;
    let continued = earlier
        .iter()
        .find(|(_, touches)| touches.branch.is_some() && touches.branch == session.branch);
    let continued = continued.map_or("no earlier session on this branch".to_owned(), |(id, _)| {
        format!("the last session on this branch is {id}")
    });
    let branch = session.branch.as_deref().unwrap_or("no branch");
    let checkpoints = store.checkpoints(&session.id)?.len();
    let steps = vec![
        format!(
            "identity: {} in {workspace}, {branch}",
            session.flavor.title()
        ),
        format!(
            "seeds: {} files from {} earlier sessions; {continued}",
            seeds.len(),
            earlier.len()
        ),
        format!("agents: {} subagents", agents.len()),
        format!("checkpoints: every {INTERVAL} interactions, {checkpoints} made"),
    ];
    Ok(StartTrace {
        session: session.id.clone(),
        steps,
        seeds,
    })
}

/// Returns the first prompt of a session.
fn first_prompt(store: &Store, session: &SessionId) -> store::Result<Vec<String>> {
    let steps = store.steps(session)?;
    let prompt = steps.iter().find(|step| step.kind == RecordKind::Prompt);
    let record = prompt
        .map(|step| store.read_record(step.id))
        .transpose()?
        .flatten();
    Ok(record.map(|record| record.content).into_iter().collect())
}

/// Returns the latest sessions of exactly this workspace.
fn workspace_sessions(store: &Store, workspace: &str) -> store::Result<Vec<Session>> {
    let sessions = store.sessions(&SessionFilter {
        workspace: Some(workspace.to_owned()),
        limit: SESSIONS_MAX,
        ..SessionFilter::default()
    })?;
    let is_here = |session: &Session| {
        session.workspace.as_deref() == Some(workspace) && session.kind != SessionKind::Subagent
    };
    Ok(sessions.into_iter().filter(is_here).collect())
}

/// Translates the steps of a session into the events of a replay.
fn replay_events(session: &Session, steps: &[SessionStep]) -> Vec<ReplayEvent> {
    let mut events = Vec::new();
    let mut in_response = false;
    let mut last_touch = None;
    for step in steps {
        let Some(at) = step.at else {
            continue;
        };
        let is_model = matches!(
            step.kind,
            RecordKind::Assistant | RecordKind::Thinking | RecordKind::ToolUse
        );
        if step.kind == RecordKind::Prompt || is_model && !in_response {
            events.push(ReplayEvent {
                at,
                action: ReplayAction::Interaction,
            });
        }
        in_response = is_model;
        if step.kind == RecordKind::Summary {
            events.push(ReplayEvent {
                at,
                action: ReplayAction::Compaction,
            });
        }
        let Some(path) = step.path.as_deref() else {
            continue;
        };
        // A call, its result and its change have the same path, and count once.
        let is_change = step.kind == RecordKind::Artifact;
        let touch = (step.call.as_deref(), path);
        let is_touch = matches!(step.kind, RecordKind::ToolUse | RecordKind::ToolResult);
        if (is_touch || is_change) && last_touch != Some(touch) {
            let tool = step
                .tool
                .as_deref()
                .unwrap_or_default()
                .to_ascii_lowercase();
            let cwd = session.cwd.as_deref();
            let below = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
            last_touch = Some(touch);
            events.push(ReplayEvent {
                at,
                action: ReplayAction::Touch {
                    path: below.unwrap_or(path).to_owned(),
                    is_edit: is_change || EDIT_TOOLS.iter().any(|part| tool.contains(part)),
                    tokens: CARD_TOKENS_MAX,
                },
            });
        }
    }
    events
}
