//! Routes that delete permanently, each with a dry run.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use store::forget::{ForgetPlan, Selection, Traces};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams};
use super::guard::{PageRequest, RequestGuard};
use super::problem::Problem;
use crate::ServeContext;
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

/// The most items of each kind that a dry run lists; the counts are of all.
const LISTED_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ForgetParams {
    /// Lists what would be deleted, and deletes nothing; needs no value
    #[serde(default, deserialize_with = "parse_flag")]
    #[param(value_type = Option<bool>)]
    dry_run: bool,
    /// The `confirm` of the dry run; the page must send it
    confirm: Option<String>,
}

/// Parses a switch that may come without a value.
fn parse_flag<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let text = String::deserialize(value)?;
    match text.as_str() {
        "" | "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(serde::de::Error::custom(format!(
            "{text:?} is neither true nor false"
        ))),
    }
}

/// How a deletion was asked for.
pub(super) struct DeletionRequest {
    dry_run: bool,
    confirm: Option<String>,
    /// The page must confirm what it saw in a dry run; other programs need not.
    is_from_page: bool,
    guard: Arc<RequestGuard>,
}

impl ForgetParams {
    pub(super) fn request(
        self,
        state: &HttpState,
        page: Option<Extension<PageRequest>>,
    ) -> DeletionRequest {
        DeletionRequest {
            dry_run: self.dry_run,
            confirm: self.confirm,
            is_from_page: page.is_some(),
            guard: Arc::clone(&state.guard),
        }
    }
}

/// What was deleted, or would be
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Forgotten)]
pub(super) struct ForgottenView {
    dry_run: bool,
    records: usize,
    facts: usize,
    sessions: usize,
    /// Whether every trace is gone from the store's files; otherwise another process still reads
    /// the old state
    traces_cleared: bool,
    /// The agents' own files that still contain it
    sources: Vec<String>,
    /// In a dry run: the items
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<ForgetPlanView>,
    /// In a dry run of the page: the token that confirms this deletion, once and within five
    /// minutes
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ForgetPlan)]
struct ForgetPlanView {
    sessions: Vec<PlannedSessionView>,
    /// Records of sessions that stay
    records: Vec<PlannedRecordView>,
    facts: Vec<PlannedFactView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlannedSessionView {
    id: String,
    title: Option<String>,
    records: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlannedRecordView {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    ts: Option<i64>,
    session_id: String,
    /// The first line of the text
    text: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlannedFactView {
    id: String,
    text: String,
}

impl From<&ForgetPlan> for ForgetPlanView {
    fn from(plan: &ForgetPlan) -> Self {
        let sessions = plan.sessions.iter().take(LISTED_MAX);
        let records = plan.records.iter().take(LISTED_MAX);
        let facts = plan.facts.iter().take(LISTED_MAX);
        Self {
            sessions: sessions
                .map(|session| PlannedSessionView {
                    id: session.id.to_string(),
                    title: session.title.clone(),
                    records: session.records,
                })
                .collect(),
            records: records
                .map(|record| PlannedRecordView {
                    id: record.public_id.clone(),
                    kind: record.kind.name(),
                    ts: record.at.map(jiff::Timestamp::as_millisecond),
                    session_id: record.session.to_string(),
                    text: record.text.clone(),
                })
                .collect(),
            facts: facts
                .map(|fact| PlannedFactView {
                    id: fact.id.clone(),
                    text: fact.text.clone(),
                })
                .collect(),
        }
    }
}

/// Deletes a selection, or lists what would be deleted.
pub(super) fn forget_selection(
    context: &ServeContext,
    selection: &Selection,
    request: &DeletionRequest,
) -> Result<ForgottenView, RequestError> {
    let plan = context.store.plan_forget(selection)?;
    if plan.is_empty() {
        return Err(RequestError::not_found(
            "nothing matches",
            "search and `GET /sessions` return the ids",
        ));
    }
    let subject = subject_of(&plan);
    let access = &request.guard.page_access;
    if request.dry_run {
        let of_sessions = plan.sessions.iter().map(|session| session.records);
        let of_sessions = usize::try_from(of_sessions.sum::<u64>()).unwrap_or(usize::MAX);
        return Ok(ForgottenView {
            dry_run: true,
            records: plan.records.len().saturating_add(of_sessions),
            facts: plan.facts.len(),
            sessions: plan.sessions.len(),
            traces_cleared: false,
            sources: plan.sources.clone(),
            plan: Some((&plan).into()),
            confirm: match request.is_from_page {
                true => access.issue_confirmation(&subject).ok(),
                false => None,
            },
        });
    }
    let confirm = request.confirm.as_deref().unwrap_or_default();
    if request.is_from_page && !access.confirm(confirm, &subject) {
        return Err(RequestError::invalid(
            "the deletion is not confirmed, or something else would be deleted by now",
            "look at the dry run again",
        ));
    }
    let forgotten = context.store.forget(plan, context.now())?;
    Ok(ForgottenView {
        dry_run: false,
        records: forgotten.records,
        facts: forgotten.facts,
        sessions: forgotten.sessions,
        traces_cleared: forgotten.traces != Traces::Waiting,
        sources: forgotten.sources,
        plan: None,
        confirm: None,
    })
}

/// Describes exactly what a plan deletes, so that a confirmation is valid for nothing else.
fn subject_of(plan: &ForgetPlan) -> String {
    let mut hash = DefaultHasher::new();
    for session in &plan.sessions {
        (session.id.as_str(), session.records).hash(&mut hash);
    }
    for record in &plan.records {
        record.id.as_bytes().hash(&mut hash);
    }
    for fact in &plan.facts {
        fact.id.hash(&mut hash);
    }
    format!("forget {:016x}", hash.finish())
}

/// Permanently delete a session with its subagents, and everything derived from it
#[utoipa::path(delete, path = "/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a unique prefix of it"),
        ForgetParams),
    responses((status = 200, body = ForgottenView)))]
pub(super) async fn session(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<ForgetParams>,
    page: Option<Extension<PageRequest>>,
) -> Result<Json<ForgottenView>, Problem> {
    let request = params.request(&state, page);
    let forgotten = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let selection = Selection {
            sessions: vec![session.id],
            ..Selection::default()
        };
        forget_selection(context, &selection, &request)
    });
    Ok(Json(forgotten.await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ForgetWorkspaceParams {
    /// The workspace's address, its name, or one of its folders
    path: String,
    /// Lists what would be deleted, and deletes nothing; needs no value
    #[serde(default, deserialize_with = "parse_flag")]
    #[param(value_type = Option<bool>)]
    dry_run: bool,
    /// The `confirm` of the dry run; the page must send it
    confirm: Option<String>,
}

/// Permanently delete everything of a workspace
#[utoipa::path(delete, path = "/workspaces", tag = "sessions", params(ForgetWorkspaceParams),
    responses((status = 200, body = ForgottenView)))]
pub(super) async fn workspace(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<ForgetWorkspaceParams>,
    page: Option<Extension<PageRequest>>,
) -> Result<Json<ForgottenView>, Problem> {
    let asked = ForgetParams {
        dry_run: params.dry_run,
        confirm: params.confirm,
    };
    let request = asked.request(&state, page);
    let forgotten = state.run_blocking(move |context| {
        let selection = Selection {
            workspace: Some(params.path),
            ..Selection::default()
        };
        forget_selection(context, &selection, &request)
    });
    Ok(Json(forgotten.await?))
}
