//! The screen of patterns: what recurs across sessions, with its evidence, the decision about it
//! and its effect. Whatever changes a file is shown as a diff first.

use std::fmt::Write;

use learn::LearnSettings;
use learn::curate::{CandidateView, Curator, DecisionOrigin, PatternState, ReviewDecision};
use learn::detect::{PatternCandidate, detect_patterns, stored_candidates};
use learn::distribute::{RepositoryPlan, plan_repository, unified_diff};
use learn::measure::{CurvePhase, Measurement, measure_placed};
use memory::Workspace;

use super::messages::{UiAnswer, UiEffect, UiQuestion};
use super::rows::{Rows, place};
use super::state::{ListRow, PreviewPage, RowTarget, UiState};
use super::worker::Worker;
use crate::commands::measure::format_measurement;
use crate::learning::{agent_names, level_text, similar_line};
use crate::output::table::count;

/// The width of the longest bar of an effect curve.
const BAR_COLUMNS: f64 = 30.0;

/// What the user asks to do with patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternRequest {
    Decide {
        id: String,
        decision: ReviewDecision,
    },
    /// Put the approved patterns into the agents' files of a repository.
    Distribute { workspace: String },
}

/// Returns what the user decided about the selected pattern.
pub(super) fn decide(state: &mut UiState, decision: ReviewDecision) -> Vec<UiEffect> {
    let Some(RowTarget::Pattern { id, .. }) = state.list().row().map(|row| row.target.clone())
    else {
        state.notice = Some("Select a pattern to decide about it; press 7.".to_owned());
        return Vec::new();
    };
    let request = PatternRequest::Decide { id, decision };
    let changes_file = matches!(decision, ReviewDecision::Approve | ReviewDecision::Withdraw);
    vec![UiEffect::Ask(if changes_file {
        UiQuestion::PlanPattern(request)
    } else {
        UiQuestion::ChangePattern {
            request,
            shown: None,
        }
    })]
}

/// Asks for the plan of the agents' files of the selected pattern's repository.
pub(super) fn distribute(state: &mut UiState) -> Vec<UiEffect> {
    match state.list().row().map(|row| &row.target) {
        Some(RowTarget::Pattern {
            workspace: Some(workspace),
            ..
        }) => vec![UiEffect::Ask(UiQuestion::PlanPattern(
            PatternRequest::Distribute {
                workspace: workspace.clone(),
            },
        ))],
        _ => {
            state.notice = Some("Select a pattern of a repository; press 7.".to_owned());
            Vec::new()
        }
    }
}

/// Returns the patterns, those of several agents first, then by cost.
pub(super) fn pattern_rows(worker: &Worker<'_>) -> Rows {
    let settings = worker.app.config.learn_settings();
    let candidates = candidates(worker, &settings)?;
    let now = worker.app.environment.clock();
    let effects = measure_placed(worker.store, &settings, None, now)?;
    let curator = Curator::new(worker.store, &settings)?;
    let rows: Vec<ListRow> = candidates
        .iter()
        .map(|candidate| {
            let effect = effects.iter().find(|effect| effect.id == candidate.id);
            pattern_row(&curator, candidate, effect)
        })
        .collect();
    let waiting = candidates
        .iter()
        .filter(|candidate| curator.needs_decision(candidate));
    let note = format!("{} to decide", count(waiting.count(), "pattern"));
    Ok((rows, note))
}

/// Returns the stored candidates. Where nothing is stored yet, they are detected.
fn candidates(
    worker: &Worker<'_>,
    settings: &LearnSettings,
) -> anyhow::Result<Vec<PatternCandidate>> {
    let stored = stored_candidates(worker.store)?;
    if !stored.is_empty() {
        return Ok(stored);
    }
    let now = worker.app.environment.clock();
    let floor = settings.gate.min_sessions;
    Ok(detect_patterns(worker.store, settings, floor, now)?)
}

fn pattern_row(
    curator: &Curator<'_>,
    candidate: &PatternCandidate,
    effect: Option<&Measurement>,
) -> ListRow {
    let view = curator.view(candidate);
    let mut pages = vec![PreviewPage {
        heading: format!("{} {}", candidate.kind, candidate.name),
        text: decision_text(curator, &view),
        record: None,
    }];
    let mut sessions = vec![None];
    if let Some(effect) = effect {
        pages.push(PreviewPage {
            heading: "effect".to_owned(),
            text: format_measurement(effect) + &curve_text(effect),
            record: None,
        });
        sessions.push(None);
    }
    for one in &candidate.evidence {
        let end = if one.overcome {
            "overcome"
        } else {
            "not overcome"
        };
        let times = count(one.times, "event");
        pages.push(PreviewPage {
            heading: format!("{}  {times}  {} min  {end}", one.flavor, one.minutes),
            text: one.text.clone(),
            record: one.record,
        });
        sessions.push(Some(one.session.clone()));
    }
    let state = match (effect, view.state) {
        (Some(effect), PatternState::Approved) => effect.effect.state.name(),
        (_, state) => state.name(),
    };
    ListRow {
        target: RowTarget::Pattern {
            id: candidate.id.clone(),
            workspace: candidate.workspace.clone(),
            sessions,
        },
        label: state.to_owned(),
        age: format!("{}m", candidate.minutes),
        place: place(candidate.workspace.as_deref()),
        title: candidate.name.clone(),
        count: count(candidate.sessions, "session"),
        pages,
    }
}

fn decision_text(curator: &Curator<'_>, view: &CandidateView) -> String {
    let candidate = &view.candidate;
    let waits = if view.needs_decision {
        ", waits for you"
    } else {
        ""
    };
    let spread = if candidate.cross_flavor {
        " (cross-flavor)"
    } else {
        ""
    };
    let mut text = format!(
        "{}\n\nstate     {}{waits}\nevidence  {} in {}, {}\n",
        view.guidance,
        view.state.name(),
        count(candidate.times, "event"),
        count(candidate.sessions, "session"),
        level_text(view.level),
    );
    let agents = agent_names(&candidate.flavors);
    let (minutes, tokens) = (candidate.minutes, candidate.tokens);
    writeln!(text, "agents    {agents}{spread}").ok();
    let tokens = count(tokens, "token");
    writeln!(text, "cost      {minutes} min, {tokens}").ok();
    if let Some(file) = &candidate.stale_in {
        writeln!(text, "named in  {file}").ok();
    }
    for found in curator.similar(candidate, &view.guidance) {
        writeln!(text, "similar   {}", similar_line(&found)).ok();
    }
    text
}

/// Draws the share of affected sessions over time, a line per ten sessions.
fn curve_text(effect: &Measurement) -> String {
    let mut text = String::from("\n");
    for point in &effect.curve {
        let phase = match point.phase {
            CurvePhase::History => "before",
            CurvePhase::RunIn => "decided",
            CurvePhase::Active => "active",
        };
        // The rate is at most one, so the bar has at most as many cells as its width.
        let cells = (1..=30).filter(|cell| f64::from(*cell) <= point.rate * BAR_COLUMNS);
        let bar = "█".repeat(cells.count());
        let (affected, sessions) = (point.affected, point.sessions);
        writeln!(text, "{phase:<8} {affected:>3}/{sessions:<3} {bar}").ok();
    }
    text
}

/// Shows what a request would change.
pub(super) fn plan(worker: &Worker<'_>, request: PatternRequest) -> anyhow::Result<UiAnswer> {
    let (text, shown) = match &request {
        PatternRequest::Decide { id, decision } => {
            let settings = worker.app.config.learn_settings();
            let curator = Curator::new(worker.store, &settings)?;
            let candidate = find(worker, &settings, id)?;
            let origin = DecisionOrigin::User(None);
            let planned = curator.plan(&candidate, *decision, None, origin)?;
            let diff = planned.diff();
            let text = diff.unwrap_or_else(|| "The catalog stays as it is.".to_owned());
            (text, planned.fingerprint(""))
        }
        PatternRequest::Distribute { workspace } => {
            let planned = plan_files(worker, workspace)?;
            if planned.changes().is_empty() {
                return Ok(UiAnswer::Changed("No file needs a change.".to_owned()));
            }
            let diffs: String = planned.changes().iter().map(unified_diff).collect();
            (diffs, planned.fingerprint(""))
        }
    };
    Ok(UiAnswer::PatternPlan {
        text,
        request,
        shown,
    })
}

/// Carries a request out. A change of files must be the one that was shown.
pub(super) fn change(
    worker: &Worker<'_>,
    request: &PatternRequest,
    shown: Option<&str>,
) -> anyhow::Result<UiAnswer> {
    let now = worker.app.environment.clock();
    let changed = || anyhow::anyhow!("The files have changed since they were shown; try again.");
    match request {
        PatternRequest::Decide { id, decision } => {
            let settings = worker.app.config.learn_settings();
            let curator = Curator::new(worker.store, &settings)?;
            let candidate = find(worker, &settings, id)?;
            let origin = DecisionOrigin::User(None);
            let planned = curator.plan(&candidate, *decision, None, origin)?;
            if planned.change.is_some() && shown != Some(planned.fingerprint("").as_str()) {
                return Err(changed());
            }
            let outcome = curator.carry_out(&planned, now)?;
            let file = outcome
                .file
                .map_or_else(String::new, |file| format!(": wrote {}", file.display()));
            let decision = decision.name();
            Ok(UiAnswer::Changed(format!(
                "{decision} {}{file}",
                outcome.name
            )))
        }
        PatternRequest::Distribute { workspace } => {
            let mut planned = plan_files(worker, workspace)?;
            if shown != Some(planned.fingerprint("").as_str()) {
                return Err(changed());
            }
            planned.apply(now)?;
            let files = count(planned.changes().len(), "file");
            Ok(UiAnswer::Changed(format!("Changed {files}.")))
        }
    }
}

fn find(
    worker: &Worker<'_>,
    settings: &LearnSettings,
    id: &str,
) -> anyhow::Result<PatternCandidate> {
    let found = candidates(worker, settings)?
        .into_iter()
        .find(|candidate| candidate.id == id);
    found.ok_or_else(|| anyhow::anyhow!("The pattern {id} no longer occurs."))
}

fn plan_files(worker: &Worker<'_>, workspace: &str) -> anyhow::Result<RepositoryPlan> {
    let mut roots = learn::curate::repository_roots(worker.store)?;
    let root = roots
        .remove(workspace)
        .ok_or_else(|| anyhow::anyhow!("The repository {workspace} is not on this machine."))?;
    let workspace = Workspace {
        key: workspace.to_owned(),
        root: root.display().to_string(),
    };
    let settings = worker.app.config.learn_settings();
    let now = worker.app.environment.clock();
    Ok(plan_repository(
        worker.store, &settings, &workspace, None, now,
    )?)
}

#[cfg(test)]
mod tests;
