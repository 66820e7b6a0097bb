//! Routes of the learning loop: what recurs across sessions, the user's decisions, the agents'
//! files, and the effect.
//!
//! [`mod@review`] takes decisions and [`mod@distribution`] changes the agents' files. A call that
//! changes a file in a repository needs the token of its own dry run ([`confirm`]), so nothing is
//! written that was not shown first.

mod confirm;
mod distribution;
mod review;

use axum::Json;
use axum::extract::State;
use distill::digest::{DigestOptions, digest_pending};
use learn::curate::{BloatFinding, CandidateView, CatalogEntry, Curator};
use learn::detect::{PatternCandidate, detect_patterns, stored_candidates};
use learn::distribute::{PlacedPattern, load_registry, registry_path};
use learn::measure::{EffectState, Measurement, measure_placed};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Review;
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams, parse_limit};
use super::problem::Problem;
use crate::ServeContext;
use crate::requests::RequestError;
use crate::stages::StageSettings;

pub(super) use self::distribution::{
    __path_distribute, __path_distribution, distribute, distribution,
};
pub(super) use self::review::{__path_review, review};

/// A list has at most this many patterns.
const LISTED_MAX: usize = 1_000;
const LISTED_DEFAULT: usize = 200;
/// A pattern of a list has at most this many pieces of evidence.
const LISTED_EVIDENCE_MAX: usize = 3;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PatternParams {
    /// The key of a workspace
    workspace: Option<String>,
    /// `open`, `approved`, `provisional`, `rejected`, `discussed` or `withdrawn`
    state: Option<String>,
    /// Only what occurred in at least this many sessions
    min_frequency: Option<u64>,
    limit: Option<u32>,
}

/// Patterns: those of several agents first, then by cost
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PatternList {
    #[schema(value_type = Vec<Object>)]
    patterns: Vec<PatternView>,
    /// The number of patterns that match, listed or not
    total: usize,
}

/// A pattern with its state and its effect.
#[derive(Debug, Serialize)]
struct PatternView {
    #[serde(flatten)]
    view: CandidateView,
    /// Sent even if there is none, unlike in the stored candidate.
    stale_in: Option<String>,
    effect: Option<EffectState>,
}

impl PatternView {
    fn new(mut view: CandidateView, effects: &[Measurement], evidence_max: usize) -> Self {
        let candidate = &mut view.candidate;
        candidate.evidence.truncate(evidence_max);
        // The list of all sessions is for the detector.
        candidate.session_ids.clear();
        let effect = effects.iter().find(|effect| effect.id == candidate.id);
        Self {
            stale_in: candidate.stale_in.take(),
            effect: effect.map(|effect| effect.effect.state),
            view,
        }
    }
}

/// List patterns with their evidence
#[utoipa::path(get, path = "/patterns", tag = "patterns", params(PatternParams),
    responses((status = 200, body = PatternList)))]
pub(super) async fn list(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<PatternParams>,
) -> Result<Json<PatternList>, Problem> {
    let stages = state.stages.clone();
    let listed = state.run_blocking(move |context| {
        let candidates = stored_candidates(&context.store)?;
        pattern_list(context, &stages, &candidates, &params)
    });
    Ok(Json(listed.await?))
}

/// Digest finished sessions, detect what recurs, and list it
#[utoipa::path(post, path = "/patterns/detect", tag = "patterns", params(PatternParams),
    responses((status = 200, body = PatternList)))]
pub(super) async fn detect(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<PatternParams>,
) -> Result<Json<PatternList>, Problem> {
    let stages = state.stages.clone();
    let listed = state.run_blocking(move |context| {
        let now = context.now();
        let options = DigestOptions {
            quiet_for: stages.idle_after,
            prices: &stages.prices,
            threads: stages.threads,
            stop: &std::sync::atomic::AtomicBool::new(false),
        };
        digest_pending(&context.store, &options, now)?;
        let floor = stages.learn.gate.min_sessions;
        let candidates = detect_patterns(&context.store, &stages.learn, floor, now)?;
        pattern_list(context, &stages, &candidates, &params)
    });
    Ok(Json(listed.await?))
}

fn pattern_list(
    context: &ServeContext,
    stages: &StageSettings,
    candidates: &[PatternCandidate],
    params: &PatternParams,
) -> Result<PatternList, RequestError> {
    let limit = parse_limit(params.limit, LISTED_DEFAULT, LISTED_MAX)?;
    let curator = Curator::new(&context.store, &stages.learn)?;
    let floor = params.min_frequency.unwrap_or(1);
    let workspace = params.workspace.as_deref();
    let mut views: Vec<CandidateView> = candidates
        .iter()
        .filter(|candidate| candidate.sessions >= floor)
        .filter(|candidate| workspace.is_none() || candidate.workspace.as_deref() == workspace)
        .map(|candidate| curator.view(candidate))
        .collect();
    if let Some(state) = &params.state {
        views.retain(|view| view.state.name() == state);
    }
    let effects = effects(context, stages, None)?;
    let total = views.len();
    let patterns = views
        .into_iter()
        .take(limit)
        .map(|view| PatternView::new(view, &effects, LISTED_EVIDENCE_MAX));
    Ok(PatternList {
        patterns: patterns.collect(),
        total,
    })
}

/// One pattern with everything that is known about it
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PatternDetail {
    /// `null` if all its sessions were forgotten
    #[schema(value_type = Option<Object>)]
    pattern: Option<PatternView>,
    /// Texts that already say the same
    #[schema(value_type = Vec<Object>)]
    similar: Vec<BloatFinding>,
    /// Its entry in the catalog of the repository
    #[schema(value_type = Option<Object>)]
    entry: Option<Value>,
    #[schema(value_type = Vec<Object>)]
    reviews: Vec<Review>,
    #[schema(value_type = Vec<Object>)]
    placements: Vec<PlacedPattern>,
    #[schema(value_type = Vec<Object>)]
    effects: Vec<Measurement>,
}

/// Show a pattern with its evidence, its decisions, its files and its effect
#[utoipa::path(get, path = "/patterns/{id}", tag = "patterns",
    params(("id" = String, Path, description = "The id of a pattern")),
    responses((status = 200, body = PatternDetail)))]
pub(super) async fn get(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<PatternDetail>, Problem> {
    let stages = state.stages.clone();
    let found = state.run_blocking(move |context| pattern_detail(context, &stages, &id));
    Ok(Json(found.await?))
}

fn pattern_detail(
    context: &ServeContext,
    stages: &StageSettings,
    id: &str,
) -> Result<PatternDetail, RequestError> {
    let candidate = find_candidate(context, id)?;
    let curator = Curator::new(&context.store, &stages.learn)?;
    let mut reviews = curator.reviews().to_vec();
    reviews.retain(|review| review.pattern == id);
    let registry = load_registry(&registry_path(&context.store)).unwrap_or_default();
    let mut placements = registry.patterns;
    placements.retain(|placed| placed.pattern == id);
    if candidate.is_none() && reviews.is_empty() && placements.is_empty() {
        return Err(pattern_not_found(id));
    }
    let effects = effects(context, stages, Some(id))?;
    let view = candidate.as_ref().map(|candidate| curator.view(candidate));
    let similar = view.as_ref().map_or_else(Vec::new, |view| {
        curator.similar(&view.candidate, &view.guidance)
    });
    let entry = candidate
        .as_ref()
        .and_then(|candidate| curator.entry(candidate))
        .map(|(entry, file)| entry_json(&entry, &file));
    Ok(PatternDetail {
        pattern: view.map(|view| PatternView::new(view, &effects, usize::MAX)),
        similar,
        entry,
        reviews,
        placements,
        effects,
    })
}

fn entry_json(entry: &CatalogEntry, file: &std::path::Path) -> Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    value["guidance"] = entry.guidance.clone().into();
    value["file"] = json!(file);
    value
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EffectParams {
    /// The id of a pattern, or the beginning of one
    id: Option<String>,
}

/// The effect of the distributed patterns
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EffectList {
    #[schema(value_type = Vec<Object>)]
    effects: Vec<Measurement>,
}

/// Measure whether distributed patterns help
#[utoipa::path(get, path = "/patterns/effects", tag = "patterns", params(EffectParams),
    responses((status = 200, body = EffectList)))]
pub(super) async fn list_effects(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<EffectParams>,
) -> Result<Json<EffectList>, Problem> {
    let stages = state.stages.clone();
    let measured = state.run_blocking(move |context| {
        let effects = effects(context, &stages, params.id.as_deref())?;
        Ok(EffectList { effects })
    });
    Ok(Json(measured.await?))
}

fn effects(
    context: &ServeContext,
    stages: &StageSettings,
    id: Option<&str>,
) -> Result<Vec<Measurement>, RequestError> {
    let measured = measure_placed(&context.store, &stages.learn, id, context.now());
    measured.map_err(repository_error)
}

fn find_candidate(
    context: &ServeContext,
    id: &str,
) -> Result<Option<PatternCandidate>, RequestError> {
    let mut candidates = stored_candidates(&context.store)?;
    candidates.retain(|candidate| candidate.id == id);
    Ok(candidates.pop())
}

fn pattern_not_found(id: &str) -> RequestError {
    RequestError::not_found(
        format!("there is no pattern {id}"),
        "GET /patterns lists the patterns",
    )
}

fn repository_error(error: learn::distribute::RepositoryError) -> RequestError {
    match error {
        learn::distribute::RepositoryError::Store(error) => error.into(),
        error => RequestError::invalid(
            format!("{:#}", ErrorChain(&error)),
            "correct or remove the file",
        ),
    }
}

/// Formats an error with its causes.
struct ErrorChain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
