//! Routes that add, read and delete records.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::forget::Traces;
use utoipa::ToSchema;

use super::HttpState;
use super::extract::{JsonBody, PathId, parse_time};
use super::problem::Problem;
use super::views::RecordView;
use crate::kinds::RecordTypeName;
use crate::requests::find::find_record;
use crate::requests::submitted::{self, SubmittedRecord};
use crate::requests::{AccessScope, facts};

/// A record to store.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRecord {
    /// The session that it belongs to, as AGENT:ID; for a known session the ID is enough
    #[schema(example = "claude:5f2b", max_length = 200)]
    session_id: String,
    #[serde(rename = "type")]
    kind: RecordTypeName,
    #[schema(min_length = 1)]
    content: String,
    /// When it happened, in RFC 3339; now by default
    at: Option<String>,
    /// Your own id for it: a record that is sent again with the same key is stored once
    #[schema(max_length = 200)]
    key: Option<String>,
    /// The folder that the session works in
    folder: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordKept)]
pub(super) struct RecordStored {
    id: String,
    /// The record was stored before, or was forgotten and stays so
    known: bool,
}

/// Store a record. The response is sent once the record is on disk.
#[utoipa::path(post, path = "/memory/record", tag = "memory", request_body = NewRecord,
    responses((status = 201, body = RecordStored)))]
pub(super) async fn give(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<NewRecord>,
) -> Result<(StatusCode, Json<RecordStored>), Problem> {
    let stored = state
        .run_blocking(move |context| {
            let submitted = SubmittedRecord {
                at: parse_time(body.at.as_deref())?,
                session: body.session_id,
                kind: body.kind.0,
                content: body.content,
                key: body.key,
                folder: body.folder,
                tool: body.tool,
                path: body.path,
                tags: body.tags,
                metadata: body.metadata,
            };
            submitted::store_submitted(
                &context.store,
                &context.settings,
                vec![submitted],
                context.now(),
            )
        })
        .await?;
    let stored = stored
        .first()
        .ok_or_else(|| Problem::internal("the record was not stored"))?;
    let answer = RecordStored {
        id: stored.id.to_string(),
        known: stored.known,
    };
    Ok((StatusCode::CREATED, Json(answer)))
}

/// Read a record
#[utoipa::path(get, path = "/memory/record/{id}", tag = "memory",
    params(("id" = String, Path, description = "The record's id")),
    responses((status = 200, body = RecordView)))]
pub(super) async fn get(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<RecordView>, Problem> {
    let record = state.run_blocking(move |context| {
        find_record(&context.store, &AccessScope::unrestricted(), &id)
    });
    Ok(Json(record.await?.into()))
}

/// What was deleted
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ForgottenView {
    records: usize,
    facts: usize,
    sessions: usize,
    /// Whether every trace is gone from the store's files; otherwise another process still reads
    /// the old state
    traces_cleared: bool,
    /// The agents' own files that still contain it
    sources: Vec<String>,
}

/// Permanently delete a record or a fact, with everything derived from it
#[utoipa::path(delete, path = "/memory/record/{id}", tag = "memory",
    params(("id" = String, Path, description = "The id of a record or of a fact")),
    responses((status = 200, body = ForgottenView)))]
pub(super) async fn forget(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<ForgottenView>, Problem> {
    let forgotten = state
        .run_blocking(move |context| {
            facts::forget_item(
                &context.store,
                &AccessScope::unrestricted(),
                &id,
                context.now(),
            )
        })
        .await?;
    Ok(Json(ForgottenView {
        records: forgotten.records,
        facts: forgotten.facts,
        sessions: forgotten.sessions,
        traces_cleared: forgotten.traces != Traces::Waiting,
        sources: forgotten.sources,
    }))
}
