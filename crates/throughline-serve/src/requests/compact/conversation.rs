//! Reads the conversation to compact: from the agent's own log, or from the caller's request.

use std::path::{Path, PathBuf};

use capture::conversation::{LoggedConversation, main_session, read_conversation};
use capture::request::{ApiRequest, RequestFormat};
use jiff::Timestamp;
use memory::{Flavor, Message, SessionId, Tokens};
use serde_json::{Map, Value};
use store::Store;

use super::unnamed_session;
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

/// A conversation, and where it came from.
#[derive(Clone, Debug)]
pub struct ConversationLog {
    /// The agent's log; `None` for messages that the caller sent.
    pub path: Option<PathBuf>,
    pub session: Option<SessionId>,
    pub messages: Vec<Message>,
    /// The size of the context by the log's last API usage.
    pub measured_tokens: Option<Tokens>,
    /// Writes the result as a request.
    pub request: ApiRequest,
}

impl ConversationLog {
    /// Returns the size of the conversation, estimated if the log does not state it.
    pub fn tokens(&self) -> Tokens {
        let estimated = || self.messages.iter().map(Message::tokens).sum();
        self.measured_tokens.unwrap_or_else(estimated)
    }
}

/// How the request for a log is written.
#[derive(Clone, Debug, Default)]
pub struct RequestTemplate {
    /// `None`: Anthropic's format.
    pub format: Option<RequestFormat>,
    /// The fields of the request besides its messages.
    pub fields: Map<String, Value>,
}

/// Reads the log of a session, or its logs if it was continued in another file.
pub fn session_log(
    store: &Store,
    scope: &AccessScope,
    session: &str,
    template: RequestTemplate,
    now: Timestamp,
) -> Result<ConversationLog, RequestError> {
    let session = find_session(store, scope, session)?;
    let mut logs = Vec::new();
    for path in store.session_log_paths(&session.id)? {
        let path = PathBuf::from(path);
        if path.is_file() {
            let conversation = read_log(&path, Some(session.flavor), now)?;
            logs.push((conversation.started(), path, conversation));
        }
    }
    // A log without times cannot be put in order and stays where it was first seen.
    logs.sort_by_key(|(started, ..)| started.unwrap_or(Timestamp::MIN));
    let latest = logs.last().map(|(_, path, _)| path.clone());
    let conversation = logs
        .into_iter()
        .map(|(.., conversation)| conversation)
        .reduce(|mut earlier, later| {
            earlier.append(later);
            earlier
        });
    let Some((path, conversation)) = latest.zip(conversation) else {
        return Err(RequestError::not_found(
            format!(
                "the log of {} no longer exists, so there is nothing to compact",
                session.id
            ),
            "`throughline export --raw` writes the archived copy, with secrets redacted",
        ));
    };
    Ok(conversation_log(
        &path,
        conversation,
        Some(session.id),
        template,
    ))
}

/// Reads a log without the subagents that may be interleaved with their session.
pub fn file_log(
    path: &Path,
    template: RequestTemplate,
    now: Timestamp,
) -> Result<ConversationLog, RequestError> {
    let conversation = read_log(path, None, now)?;
    Ok(conversation_log(path, conversation, None, template))
}

fn read_log(
    path: &Path,
    flavor: Option<Flavor>,
    now: Timestamp,
) -> Result<LoggedConversation, RequestError> {
    let file = path.display();
    let hint = "`throughline doctor` lists the agents";
    let conversation = read_conversation(path, flavor, now)
        .map_err(|error| RequestError::invalid(format!("cannot read {file}: {error}"), hint))?;
    conversation.ok_or_else(|| {
        RequestError::invalid(format!("{file} is not the log of a known agent"), hint)
    })
}

fn conversation_log(
    path: &Path,
    conversation: LoggedConversation,
    session: Option<SessionId>,
    template: RequestTemplate,
) -> ConversationLog {
    let mut messages = conversation.messages;
    let session = session.or_else(|| main_session(&messages));
    messages.retain(|message| Some(&message.session) == session.as_ref());
    let measured = session
        .as_ref()
        .and_then(|session| conversation.context_tokens.get(session));
    let format = template.format.unwrap_or(RequestFormat::Anthropic);
    ConversationLog {
        // The path is quoted in the notes, and the model that reads them may work elsewhere.
        path: Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
        measured_tokens: measured.copied().filter(|tokens| *tokens > Tokens(0)),
        request: ApiRequest::for_log(format, template.fields, &messages, conversation.signed),
        session,
        messages,
    }
}

/// Parses a request or a list of messages. The session is the one whose running summary is used.
pub fn request_log(
    body: Value,
    format: Option<RequestFormat>,
    session: Option<SessionId>,
) -> Result<ConversationLog, RequestError> {
    let of = session.clone().unwrap_or_else(unnamed_session);
    let request = ApiRequest::parse(body, format, &of).map_err(|error| {
        RequestError::invalid(
            error.to_string(),
            "send messages in the format of Anthropic's Messages API or of OpenAI's Chat \
             Completions API",
        )
    })?;
    Ok(ConversationLog {
        path: None,
        session,
        messages: request.messages.clone(),
        measured_tokens: None,
        request,
    })
}
