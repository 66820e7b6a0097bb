//! Routes for facts and pins.

use axum::extract::State;
use axum::{Extension, Json};
use memory::{Fact, FactKind, Trust};
use serde::{Deserialize, Serialize};
use store::Store;
use store::forget::Selection;
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, PathId, QueryParams, parse_limit};
use super::forget::{ForgetParams, ForgottenView, forget_selection};
use super::guard::PageRequest;
use super::problem::Problem;
use super::views::FactView;
use crate::kinds::FactKindName;
use crate::prompt;
use crate::requests::facts::{self, FactChange, FactListing, RememberRequest};
use crate::requests::find::{find_fact, find_session};
use crate::requests::{AccessScope, RequestError, require_absolute, submitted};

/// The most facts that one request may list.
const LIST_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FactsParams {
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only facts that were extracted from this session
    session_id: Option<String>,
    /// Only with this tag
    tag: Option<String>,
    /// Only preference, decision, correction, command, outcome or note
    kind: Option<String>,
    /// Only pinned facts, or only others
    pinned: Option<bool>,
    /// Includes facts that others have replaced
    history: Option<bool>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// The `next` of the page before
    cursor: Option<String>,
}

/// A page of facts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FactPage {
    facts: Vec<FactView>,
    /// If there are more facts: the `cursor` of the next page
    next: Option<String>,
}

/// List facts: pins and preferences first, then the latest
#[utoipa::path(get, path = "/memory/facts", tag = "facts", params(FactsParams),
    responses((status = 200, body = FactPage)))]
pub(super) async fn list(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<FactsParams>,
) -> Result<Json<FactPage>, Problem> {
    let limit = parse_limit(params.limit, 100, LIST_MAX)?;
    let kind = params.kind.as_deref().map(parse_kind).transpose()?;
    let page = state.run_blocking(move |context| {
        let store = &context.store;
        let session = params.session_id.as_deref();
        let session = session.map(|id| find_session(store, &AccessScope::unrestricted(), id));
        let (facts, next) = facts::list_facts(
            store,
            &FactListing {
                workspace: params.workspace,
                session: session.transpose()?.map(|session| session.id),
                tag: params.tag,
                kind,
                pinned: params.pinned,
                history: params.history.unwrap_or_default(),
                cursor: params.cursor,
                limit,
            },
        )?;
        let facts = facts.into_iter().map(|fact| FactView::load(store, fact));
        Ok(FactPage {
            facts: facts.collect::<Result<_, _>>()?,
            next: next.map(|id| id.to_string()),
        })
    });
    Ok(Json(page.await?))
}

fn parse_kind(name: &str) -> Result<FactKind, RequestError> {
    FactKind::from_name(name).ok_or_else(|| {
        let known: Vec<_> = FactKind::ALL.iter().map(|kind| kind.name()).collect();
        let known = known.join(", ");
        RequestError::invalid(
            format!("unknown kind {name:?}"),
            format!("the kinds of facts are {known}"),
        )
    })
}

/// A fact with the facts that it replaced.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FactDetail {
    #[serde(flatten)]
    #[schema(inline)]
    fact: FactView,
    /// The facts that it replaced, the latest first
    history: Vec<FactView>,
}

/// How often a fact was given to prompts, and what came of it
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FactUse {
    given: u64,
    used: u64,
    /// Ratings of what it was given with
    good: u64,
    bad: u64,
    /// When it was last given
    last: Option<String>,
}

/// How often a fact was given to prompts, used and rated
#[utoipa::path(get, path = "/memory/fact/{id}/use", tag = "facts",
    params(("id" = String, Path, description = "The fact's id, or at least eight digits of it")),
    responses((status = 200, body = FactUse)))]
pub(super) async fn uses(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<FactUse>, Problem> {
    let counted = state.run_blocking(move |context| {
        let fact = find_fact(&context.store, &AccessScope::unrestricted(), &id)?;
        Ok(context.store.item_use(&memory::MemoryItem::Fact(fact.id))?)
    });
    let counted = counted.await?;
    Ok(Json(FactUse {
        given: counted.given,
        used: counted.used,
        good: counted.good,
        bad: counted.bad,
        last: counted.last.map(|at| at.to_string()),
    }))
}

/// Read a fact and its history
#[utoipa::path(get, path = "/memory/fact/{id}", tag = "facts",
    params(("id" = String, Path, description = "The fact's id, or at least eight digits of it")),
    responses((status = 200, body = FactDetail)))]
pub(super) async fn get(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<FactDetail>, Problem> {
    let detail = state.run_blocking(move |context| {
        let store = &context.store;
        let fact = find_fact(store, &AccessScope::unrestricted(), &id)?;
        load_detail(store, fact)
    });
    Ok(Json(detail.await?))
}

fn load_detail(store: &Store, fact: Fact) -> Result<FactDetail, RequestError> {
    let history = facts::fact_history(store, fact.id)?.into_iter();
    Ok(FactDetail {
        fact: FactView::load(store, fact)?,
        history: history
            .map(|fact| FactView::load(store, fact))
            .collect::<Result<_, _>>()?,
    })
}

/// What changes about a fact; the rest stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FactPatch {
    /// The new statement, at most 40 words. The old one becomes its history.
    #[schema(min_length = 1)]
    content: Option<String>,
    #[schema(max_items = 16)]
    tags: Option<Vec<String>>,
    #[schema(value_type = Option<FactKindName>)]
    kind: Option<FactKind>,
    pinned: Option<bool>,
}

/// Change a fact. New content is a new fact with its own id, which replaces the old one.
#[utoipa::path(patch, path = "/memory/fact/{id}", tag = "facts", request_body = FactPatch,
    params(("id" = String, Path, description = "The fact's id, or at least eight digits of it")),
    responses((status = 200, body = FactDetail)))]
pub(super) async fn patch(
    State(state): State<HttpState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<FactPatch>,
) -> Result<Json<FactDetail>, Problem> {
    let detail = state.run_blocking(move |context| {
        let store = &context.store;
        let change = FactChange {
            text: body.content,
            tags: body.tags,
            kind: body.kind,
            pinned: body.pinned,
        };
        let scope = AccessScope::unrestricted();
        let fact = facts::change_fact(store, &scope, &id, change, context.now())?;
        load_detail(store, fact)
    });
    Ok(Json(detail.await?))
}

/// Permanently delete a fact
#[utoipa::path(delete, path = "/memory/fact/{id}", tag = "facts",
    params(("id" = String, Path, description = "The fact's id, or at least eight digits of it"),
        ForgetParams),
    responses((status = 200, body = ForgottenView)))]
pub(super) async fn forget(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<ForgetParams>,
    page: Option<Extension<PageRequest>>,
) -> Result<Json<ForgottenView>, Problem> {
    let request = params.request(&state, page);
    let forgotten = state.run_blocking(move |context| {
        let fact = find_fact(&context.store, &AccessScope::unrestricted(), &id)?;
        let selection = Selection {
            facts: vec![*fact.id.as_bytes()],
            ..Selection::default()
        };
        forget_selection(context, &selection, &request)
    });
    Ok(Json(forgotten.await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFact)]
pub(super) struct RememberBody {
    /// At most 40 words
    #[schema(min_length = 1)]
    text: String,
    /// The folder of the workspace that the fact is about; without it the fact applies everywhere
    folder: Option<String>,
    /// `note` by default
    #[schema(value_type = Option<FactKindName>)]
    kind: Option<FactKind>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    pinned: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FactKept)]
pub(super) struct FactStored {
    id: String,
    /// The fact was known already, and its count was increased
    repeated: bool,
    /// Ids of the facts that it supersedes
    superseded: Vec<String>,
}

/// Store a fact as a statement of the user
#[utoipa::path(post, path = "/memory/remember", tag = "facts", request_body = RememberBody,
    responses((status = 200, body = FactStored)))]
pub(super) async fn remember(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<RememberBody>,
) -> Result<Json<FactStored>, Problem> {
    let stored = state.run_blocking(move |context| {
        let folder = body.folder.as_deref().map(require_absolute).transpose()?;
        let workspace =
            folder.map(|folder| prompt::workspace_of(&context.store, &context.settings, folder));
        let workspace = workspace.transpose()?;
        submitted::require_captured(&context.settings, workspace.as_ref())?;
        let statement = RememberRequest {
            text: body.text,
            kind: body.kind.unwrap_or(FactKind::Note),
            tags: body.tags,
            workspace,
            trust: Trust::User,
            pinned: body.pinned,
        };
        facts::remember_fact(&context.store, statement, context.now())
    });
    let stored = stored.await?;
    Ok(Json(FactStored {
        id: stored.id.to_string(),
        repeated: stored.repeated,
        superseded: stored.superseded.iter().map(ToString::to_string).collect(),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PinBody {
    /// The id of a fact or of a record
    id: String,
    /// `false` unpins the fact
    #[serde(default = "default_true")]
    #[schema(default = true)]
    pinned: bool,
}

const fn default_true() -> bool {
    true
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pinned)]
pub(super) struct PinAnswer {
    /// The fact's id
    id: String,
    pinned: bool,
}

/// Pin a fact, or the text of a record as a new fact; or unpin a fact
#[utoipa::path(post, path = "/memory/pin", tag = "facts", request_body = PinBody,
    responses((status = 200, body = PinAnswer)))]
pub(super) async fn pin(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<PinBody>,
) -> Result<Json<PinAnswer>, Problem> {
    let pinned = body.pinned;
    let id = state.run_blocking(move |context| {
        let (store, scope) = (&context.store, AccessScope::unrestricted());
        if pinned {
            facts::pin_item(store, &scope, &body.id, context.now())
        } else {
            facts::unpin_fact(store, &scope, &body.id)
        }
    });
    let id = id.await?;
    Ok(Json(PinAnswer { id, pinned }))
}
