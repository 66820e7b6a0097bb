//! Routes that add, read and delete records.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use memory::id::parse_uuid;
use memory::layers::{Card, CardKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::HttpState;
use super::extract::{JsonBody, PathId, QueryParams, TimeValue, parse_time};
use super::forget::{ForgetParams, ForgottenView, forget_selection};
use super::guard::PageRequest;
use super::problem::Problem;
use super::views::RecordView;
use crate::kinds::RecordTypeName;
use crate::requests::find::find_record;
use crate::requests::submitted::{self, SubmittedRecord};
use crate::requests::{AccessScope, RequestError, facts};

/// The most names of ignored fields in an answer, and the most characters of each.
const IGNORED_FIELDS_MAX: usize = 20;
const IGNORED_NAME_CHARS_MAX: usize = 100;

/// A record to store. `key`, `at` and `folder` are other names of `id`, `ts` and `workspace`. Other
/// fields are ignored, and the answer names them.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct NewRecord {
    /// Your own id for it, a UUID: a record that is sent again with the same id is stored once
    #[schema(format = "uuid", example = "3f2504e0-4f89-41d3-9a0c-0305e82c3301")]
    id: Option<String>,
    /// When it happened, in milliseconds since 1970 or in RFC 3339; now by default
    ts: Option<TimeValue>,
    #[serde(rename = "type")]
    kind: RecordTypeName,
    /// The session that it belongs to: any name, or AGENT:ID for a session of an agent
    #[schema(example = "default", min_length = 1, max_length = 200)]
    session_id: String,
    /// The folder that the session works in, as an absolute path
    #[schema(example = "/home/me/widgets")]
    workspace: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    #[schema(min_length = 1)]
    content: String,
    #[schema(max_items = 32)]
    tags: Option<Vec<String>>,
    /// Any JSON object
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Your own id for it, if it is not a UUID
    #[schema(max_length = 200)]
    key: Option<String>,
    /// When it happened, in RFC 3339
    at: Option<String>,
    /// The folder that the session works in
    folder: Option<String>,
    /// A record is worth more than a strict reading of it: programs add fields of their own.
    #[serde(flatten)]
    #[schema(ignore)]
    others: Map<String, Value>,
}

impl NewRecord {
    /// Returns the names of fields that no record has.
    fn ignored_fields(&self) -> Vec<String> {
        let names = self.others.keys().take(IGNORED_FIELDS_MAX);
        names
            .map(|name| name.chars().take(IGNORED_NAME_CHARS_MAX).collect())
            .collect()
    }

    fn into_submitted(self) -> Result<SubmittedRecord, RequestError> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        if self.id.is_some() && self.key.is_some() {
            return Err(RequestError::invalid(
                "`id` and `key` are two names of one thing",
                "pass only one of them",
            ));
        }
        let id = given(self.id).map(|id| {
            parse_uuid(&id).ok_or_else(|| {
                RequestError::invalid(
                    format!("`id` is not a UUID: {id:?}"),
                    "pass ids of another form as `key`",
                )
            })
        });
        let at = match self.ts {
            Some(time) => Some(time.parse()?),
            None => parse_time(self.at.as_deref())?,
        };
        Ok(SubmittedRecord {
            at,
            session: self.session_id,
            kind: self.kind.0,
            content: self.content,
            key: id.transpose()?.or(given(self.key)),
            folder: given(self.workspace).or(given(self.folder)),
            tool: given(self.tool),
            path: given(self.path),
            tags: self.tags.unwrap_or_default(),
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordKept)]
pub(super) struct RecordStored {
    id: String,
    /// The record was stored before, or was forgotten and stays so
    known: bool,
    /// Fields of the request that a record does not have
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
}

/// Store a record. The response is sent once the record is on disk.
#[utoipa::path(post, path = "/memory/record", tag = "memory", request_body = NewRecord,
    responses((status = 201, body = RecordStored)))]
pub(super) async fn give(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<NewRecord>,
) -> Result<(StatusCode, Json<RecordStored>), Problem> {
    let stored = state.run_blocking(move |context| {
        let ignored = body.ignored_fields();
        let submitted = body.into_submitted()?;
        let key = submitted.key.clone();
        let (store, settings) = (&context.store, &context.settings);
        let stored = submitted::store_submitted(store, settings, vec![submitted], context.now())?;
        Ok(stored.first().map(|stored| RecordStored {
            id: key
                .and_then(|key| parse_uuid(&key))
                .unwrap_or_else(|| stored.id.to_string()),
            known: stored.known,
            ignored,
        }))
    });
    let answer = stored
        .await?
        .ok_or_else(|| Problem::internal("the record was not stored"))?;
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
        let generation = context.store.card_generation()?;
        let record = find_record(&context.store, &AccessScope::unrestricted(), &id)?;
        let is_sensitive = record.tags.iter().any(|tag| tag == "sensitive");
        let text = if is_sensitive { "" } else { &record.content };
        let card = Card::new(text, vec![record.id]);
        let key = CardKey::Record(record.id.to_string());
        context.count_pull(record.workspace.as_deref(), key, Some(card), generation);
        Ok(record)
    });
    Ok(Json(record.await?.into()))
}

/// Permanently delete a record or a fact, with everything derived from it
#[utoipa::path(delete, path = "/memory/record/{id}", tag = "memory",
    params(("id" = String, Path, description = "The id of a record or of a fact"), ForgetParams),
    responses((status = 200, body = ForgottenView)))]
pub(super) async fn forget(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<ForgetParams>,
    page: Option<Extension<PageRequest>>,
) -> Result<Json<ForgottenView>, Problem> {
    let request = params.request(&state, page);
    let forgotten = state.run_blocking(move |context| {
        let selection = facts::select_item(&context.store, &AccessScope::unrestricted(), &id)?;
        forget_selection(context, &selection, &request)
    });
    Ok(Json(forgotten.await?))
}
