//! A request of the daemon for a compaction.

use capture::request::RequestFormat;
use distill::compact::Trigger;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::Store;
use utoipa::ToSchema;

use super::conversation::{ConversationLog, RequestTemplate, request_log, session_log};
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

/// What to compact, and how. All other fields are those of the request to the model.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct CompactBody {
    /// The session's id or the beginning of it; with `messages`, its running summary is used
    session_id: Option<String>,
    /// `anthropic` or `openai`: the format of the answer's request, for messages that both allow
    /// and for sessions
    #[schema(value_type = Option<String>)]
    format: Option<RequestFormat>,
    /// Notes to use instead of the session's running summary
    pub(super) summary: Option<String>,
    /// The `uuid` of the last message that the notes cover
    pub(super) last_summarized_id: Option<String>,
    /// What the agent's hooks said at this compaction
    pub(super) hook_results: Vec<String>,
    /// Decline the compaction unless the result has fewer tokens than this
    pub(super) threshold: Option<u64>,
    /// `auto` declines the compaction of a conversation that is below the configured size
    #[schema(value_type = String)]
    pub(super) trigger: Trigger,
    /// Do not use a model, even if one is configured
    pub(super) embedded: bool,
    /// The request to the model: `messages`, `model`, `system`, `tools` and so on
    #[serde(flatten)]
    #[schema(value_type = Object)]
    request: Map<String, Value>,
}

impl CompactBody {
    /// Parses a body: an object, or only the list of messages.
    pub fn from_json(body: Value) -> Result<Self, RequestError> {
        let fields = match body {
            Value::Array(_) => Value::from_iter([("messages", body)]),
            fields => fields,
        };
        serde_json::from_value(fields).map_err(|error| {
            RequestError::invalid(error.to_string(), "GET /openapi.json describes the fields")
        })
    }

    /// Reads the conversation.
    pub(super) fn conversation(
        &self,
        store: &Store,
        scope: &AccessScope,
        now: Timestamp,
    ) -> Result<ConversationLog, RequestError> {
        let session = self.session_id.as_deref().filter(|id| !id.is_empty());
        let fields = self.request.clone();
        if fields.contains_key("messages") {
            let session = session
                .map(|id| find_session(store, scope, id))
                .transpose()?;
            let session = session.map(|session| session.id);
            return request_log(Value::Object(fields), self.format, session);
        }
        let Some(session) = session else {
            return Err(RequestError::invalid(
                "neither `session_id` nor `messages` is given",
                "send the id of a session, or the request that you would send to the model",
            ));
        };
        let template = RequestTemplate {
            format: self.format,
            fields,
        };
        session_log(store, scope, session, template, now)
    }
}
