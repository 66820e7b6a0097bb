//! The memory layers of a workspace: how well they do, and what a session started with.

use std::collections::BTreeMap;

use distill::checkpoint::INTERVAL;
use jiff::Timestamp;
use memory::layers::cache::CACHE_TOKENS_MAX;
use memory::layers::working::SEEDS_MAX;
use memory::layers::{CARD_TOKENS_MAX, Layer, LookupSource};
use memory::{RecordKind, Session, SessionId, SessionKind};
use recall::replay::{LayerReport, ReplayAction, ReplayEvent, ReplaySession, SeedRefresh, replay};
use serde::Serialize;
use store::{LayerFigure, SessionFilter, SessionStep, Store};
use utoipa::ToSchema;

use crate::live::EarlierWork;

/// How many of the latest sessions are replayed.
const SESSIONS_MAX: usize = 100;
/// Fewer sessions say little about hit rates.
const SESSIONS_MIN: usize = 30;
/// How many days of live counts are used, and how many touches they need.
const LIVE_DAYS: i64 = 7;
const LIVE_TOUCHES_MIN: u64 = 200;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// Changing tools, by a part of their names.
const EDIT_TOOLS: &[&str] = &["edit", "write", "patch", "replace"];

/// How a figure was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FigureOrigin {
    /// Counted by the daemon in live sessions.
    Live,
    /// By a replay of stored sessions.
    Replay,
    /// Read from the store.
    Store,
}

/// One figure of the memory layers with its target.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HealthCheck {
    pub name: &'static str,
    /// `None` if nothing was measured yet.
    pub value: Option<f64>,
    pub target: &'static str,
    pub is_met: bool,
    pub measured: FigureOrigin,
    /// Since when the figure is measured.
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// Why the target is missed, or why there is no value.
    pub reason: Option<String>,
}

/// Compares the memory layers of a workspace with their targets: by what the daemon counted in the
/// last days, or by a replay of the latest sessions if that is too little. Returns nothing if no
/// session touched a file.
pub fn layer_health(
    store: &Store,
    workspace: &str,
    now: Timestamp,
) -> store::Result<Vec<HealthCheck>> {
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
    let live = LiveRates::read(store, workspace, now)?;
    let mut checks = rate_checks(&report, &live, replayed.len(), since);
    checks.extend(cost_checks(&report, &live, since));
    checks.push(compression_check(store, since)?);
    checks.push(HealthCheck {
        name: "interactions between checkpoints",
        value: Some(widest_gap as f64),
        target: "<= 50",
        is_met: widest_gap <= INTERVAL,
        measured: FigureOrigin::Store,
        since,
        reason: (widest_gap > INTERVAL)
            .then(|| "checkpoints of an older version; they are made again".to_owned()),
    });
    checks.push(growth_check(store, workspace, since)?);
    Ok(checks)
}

/// What the daemon counted in the last days.
struct LiveRates {
    /// Touches answered by each layer.
    layers: BTreeMap<String, u64>,
    figures: BTreeMap<String, LayerFigure>,
    since: Option<Timestamp>,
    hours: f64,
}

impl LiveRates {
    fn read(store: &Store, workspace: &str, now: Timestamp) -> store::Result<Self> {
        let today = now.as_millisecond().div_euclid(MILLIS_PER_DAY);
        let since_day = today - LIVE_DAYS;
        let mut layers: BTreeMap<String, u64> = BTreeMap::new();
        let mut first = None;
        for (day, source, layer, count) in store.layer_lookups(workspace, since_day)? {
            first = first.or(Some(day));
            if source == LookupSource::Touch.name() {
                *layers.entry(layer).or_default() += count;
            }
        }
        let since = first.and_then(|day| Timestamp::from_millisecond(day * MILLIS_PER_DAY).ok());
        let hours = since.map_or(0.0, |since| {
            now.duration_since(since).as_secs_f64() / 3_600.0
        });
        Ok(Self {
            layers,
            figures: store.layer_figures(workspace, since_day)?,
            since,
            hours,
        })
    }

    fn touches(&self) -> u64 {
        self.layers.values().sum()
    }

    fn percent(&self, layer: Layer) -> f64 {
        let count = self.layers.get(layer.name()).copied().unwrap_or(0);
        (count as f64 * 1_000.0 / self.touches().max(1) as f64).round() / 10.0
    }

    fn figure(&self, name: &str) -> LayerFigure {
        self.figures.get(name).copied().unwrap_or_default()
    }
}

/// Compares the hit rates: the live ones if there are enough, else those of the replay.
fn rate_checks(
    report: &LayerReport,
    live: &LiveRates,
    sessions: usize,
    since: Option<Timestamp>,
) -> Vec<HealthCheck> {
    let is_live = live.touches() >= LIVE_TOUCHES_MIN;
    let (l1, l15, l2, miss) = if is_live {
        let rate = |layer| live.percent(layer);
        (
            rate(Layer::Working),
            rate(Layer::Cache),
            rate(Layer::Store),
            rate(Layer::Miss),
        )
    } else {
        (report.l1, report.l15, report.l2, report.miss)
    };
    let check = |name, value, target, is_met, reason: &str| HealthCheck {
        name,
        value: Some(value),
        target,
        is_met,
        measured: if is_live {
            FigureOrigin::Live
        } else {
            FigureOrigin::Replay
        },
        since: if is_live { live.since } else { since },
        reason: (!is_met).then(|| reason.to_owned()),
    };
    let reason = missed_reason(l2, miss, sessions);
    let both = ((l1 + l15) * 10.0).round() / 10.0;
    let replayed = |check: HealthCheck| HealthCheck {
        measured: FigureOrigin::Replay,
        since,
        ..check
    };
    let no_compaction = report.compactions == 0;
    let covered = check(
        "files covered after a compaction, %",
        report.covered,
        ">= 76",
        no_compaction || report.covered >= 76.0,
        &reason,
    );
    vec![
        check("working memory hits, %", l1, ">= 85", l1 >= 85.0, &reason),
        check(
            "working memory and cache hits, %",
            both,
            ">= 91",
            both >= 91.0,
            &reason,
        ),
        check("store lookups, %", l2, "<= 4.5", l2 <= 4.5, &reason),
        replayed(HealthCheck {
            value: covered.value.filter(|_| !no_compaction),
            reason: if no_compaction {
                Some("no conversation was compacted yet".to_owned())
            } else {
                covered.reason.clone()
            },
            ..covered
        }),
    ]
}

/// Compares how full working memory is, and what answers and transitions cost.
fn cost_checks(
    report: &LayerReport,
    live: &LiveRates,
    since: Option<Timestamp>,
) -> Vec<HealthCheck> {
    let full = live.figure("working_percent");
    let is_live = full.count > 0;
    let percent = if is_live {
        full.highest as f64
    } else {
        report.working_full
    };
    let not_yet = || "the daemon has not measured it yet".to_owned();
    let millis = |name, figure: LayerFigure, value: f64| {
        let value = (value / 10.0).round() / 100.0;
        let is_met = value < 100.0;
        HealthCheck {
            name,
            value: (figure.count > 0).then_some(value),
            target: "< 100",
            is_met,
            measured: FigureOrigin::Live,
            since: live.since,
            reason: match figure.count {
                0 => Some(not_yet()),
                _ => (!is_met).then(|| "the machine was busy, or the store is slow".to_owned()),
            },
        }
    };
    let (answer, transition) = (live.figure("answer_us"), live.figure("transition_us"));
    let expired = live.figure("expired").count as f64;
    let entered = live.figure("prefetched").count as f64 + live.touches() as f64;
    let per_hour = expired * 100.0 / entered.max(1.0) / live.hours.max(1.0);
    let per_hour = (per_hour * 10.0).round() / 10.0;
    vec![
        HealthCheck {
            name: "working memory in use, %",
            value: Some(percent),
            target: "< 80",
            is_met: percent < 80.0,
            measured: if is_live {
                FigureOrigin::Live
            } else {
                FigureOrigin::Replay
            },
            since: if is_live { live.since } else { since },
            reason: (percent >= 80.0).then(|| {
                let archived = live.figure("archived").count;
                format!("a session used many files; {archived} idle cards were archived")
            }),
        },
        millis("answer of a hook, mean, ms", answer, answer.mean()),
        millis(
            "transition between layers, longest, ms",
            transition,
            transition.highest as f64,
        ),
        HealthCheck {
            name: "cache entries that expire, % an hour",
            value: live.since.map(|_| per_hour),
            target: "< 10",
            is_met: per_hour < 10.0,
            measured: FigureOrigin::Live,
            since: live.since,
            reason: if live.since.is_none() {
                Some(not_yet())
            } else {
                (per_hour >= 10.0).then(|| "much was prefetched and not used".to_owned())
            },
        },
    ]
}

fn compression_check(store: &Store, since: Option<Timestamp>) -> store::Result<HealthCheck> {
    let (original, stored) = store.text_compression()?;
    let saved = 100.0 - stored as f64 * 100.0 / original.max(1) as f64;
    let saved = (saved * 10.0).round() / 10.0;
    Ok(HealthCheck {
        name: "texts and logs saved by compression, %",
        value: Some(saved),
        target: ">= 70",
        is_met: saved >= 70.0,
        measured: FigureOrigin::Store,
        since,
        reason: (saved < 70.0)
            .then(|| "recent sessions are compressed well only when they are packed".to_owned()),
    })
}

/// Checks that the cache holds no more than its limit.
fn growth_check(
    store: &Store,
    workspace: &str,
    since: Option<Timestamp>,
) -> store::Result<HealthCheck> {
    let entries = store.context_cache(workspace)?;
    let tokens: u64 = entries.iter().map(|(_, entry)| entry.card.tokens.0).sum();
    let is_met = tokens <= CACHE_TOKENS_MAX.0;
    Ok(HealthCheck {
        name: "tokens in the context cache",
        value: Some(tokens as f64),
        target: "<= 20000",
        is_met,
        measured: FigureOrigin::Store,
        since,
        reason: (!is_met).then(|| "another version wrote a larger cache".to_owned()),
    })
}

/// Says why a rate is below its target.
fn missed_reason(l2: f64, miss: f64, sessions: usize) -> String {
    if sessions < SESSIONS_MIN {
        return format!("only {sessions} sessions with files; {SESSIONS_MIN} are needed");
    }
    if miss > 5.0 {
        return format!("{miss} % of the lookups were new to the workspace");
    }
    format!("{l2} % of known files were not predicted")
}

/// What a session started with, step by step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartTrace {
    pub session: SessionId,
    pub steps: Vec<String>,
    pub seeds: Vec<StartSeed>,
    /// The last interactions of the session whose work goes on.
    pub interactions: Vec<String>,
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
    let earlier = EarlierWork::read(
        store,
        &session.id,
        workspace,
        session.branch.clone(),
        started,
    )?;
    let prompt = first_prompt(store, &session.id)?;
    let own = store.session_touches(&session.id)?;
    let seeds = earlier.predictor(&prompt).rank_seeds(SEEDS_MAX);
    let seeds = seeds.into_iter().map(|seed| StartSeed {
        was_used: own.files.iter().any(|file| file.path == seed.path),
        path: seed.path,
        reason: seed.reason,
    });
    let seeds: Vec<StartSeed> = seeds.collect();
    let agents = store.subagents(&session.id)?;
    let interactions = earlier.continued_interactions(store)?;
    let interactions: Vec<_> = interactions
        .into_iter()
        .map(|(_, card)| card.text)
        .collect();
    let continued = match earlier.continued() {
        Some(id) => format!("{} interactions of {id} on this branch", interactions.len()),
        None => "no earlier session on this branch".to_owned(),
    };
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
            earlier.session_count()
        ),
        format!("agents: {} subagents", agents.len()),
        format!("checkpoints: every {INTERVAL} interactions, {checkpoints} made"),
    ];
    Ok(StartTrace {
        session: session.id.clone(),
        steps,
        seeds,
        interactions,
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
