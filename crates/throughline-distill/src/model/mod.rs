//! Clients for language models and the rules for using them.
//!
//! A [`Model`] completes a conversation once. [`HttpModel`] is one that is reached over HTTP, in
//! the wire format of [`anthropic`], of [`chat`] or [`responses`] (OpenAI and compatible servers
//! such as llama.cpp), or of [`ollama`]; [`http`] transports it with limits on time and size.
//! [`budget`] decides whether a request is allowed, [`retry`] whether it is repeated, and
//! [`session`] applies both and records every call in the ledger. Nothing here reads a clock or
//! the environment: the caller provides time and sleep.

mod anthropic;
mod budget;
mod chat;
mod completion;
mod http;
mod http_model;
mod ollama;
mod responses;
mod retry;
mod session;

use std::time::Duration;

use memory::Usage;
use serde_json::Value;
use thiserror::Error;

pub use self::budget::{BudgetError, ModelBudget};
pub use self::http::{ApiKey, Endpoint, EndpointError};
pub use self::http_model::{HttpModel, WireFormat};
pub use self::session::{ModelClock, ModelSession, ModelUnavailable};

/// A language model that completes conversations.
pub trait Model: std::fmt::Debug + Send + Sync {
    /// Returns the name of the model, as in the price list.
    fn name(&self) -> &str;

    /// Sends one request and returns the completion within the timeout.
    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError>;
}

/// A conversation to complete.
#[derive(Clone, Debug, Default)]
pub struct CompletionRequest {
    pub system: String,
    pub turns: Vec<ModelTurn>,
    pub tool: Option<ModelTool>,
    pub max_tokens: u32,
    /// The request that this conversation continues, as it was sent. Its system prompt, tools and
    /// messages come first and unchanged, so that they hit the provider's prompt cache.
    pub parent_request: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModelTurn {
    User(String),
    Assistant {
        text: String,
        calls: Vec<ModelToolCall>,
    },
    Results(Vec<ToolOutput>),
}

/// A tool that the model can call.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTool {
    pub name: String,
    pub description: String,
    pub schema: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelToolCall {
    pub id: String,
    pub tool: String,
    pub input: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub call: String,
    /// Some wire formats join results to calls by the name of the tool.
    pub tool: String,
    pub text: String,
    pub is_error: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub calls: Vec<ModelToolCall>,
    pub usage: Usage,
    /// The reply reached the maximum length before it was complete.
    pub truncated: bool,
}

/// A failed request.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{failure}")]
pub struct ModelError {
    pub failure: ModelFailure,
    /// The tokens used nevertheless: a partial stream is billed too.
    pub usage: Usage,
    /// The delay that the provider asks for.
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelFailure {
    #[error("the request timed out")]
    Timeout,
    #[error("connection failed: {0}")]
    Connection(String),
    #[error("the provider returned HTTP status {status}: {message}")]
    Status { status: u16, message: String },
    #[error("the connection closed before the reply was complete")]
    ConnectionDropped,
    #[error("invalid response: {0}")]
    InvalidResponse(String),
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the provider reported {kind}: {message}")]
    ProviderError { kind: String, message: String },
    #[error("cancelled")]
    Cancelled,
}

impl ModelFailure {
    /// Returns the name used in the ledger.
    pub fn ledger_name(&self) -> String {
        match self {
            Self::Timeout => "timeout".to_owned(),
            Self::Connection(_) => "connection".to_owned(),
            Self::Status { status, .. } => format!("http_{status}"),
            Self::ConnectionDropped => "dropped".to_owned(),
            Self::InvalidResponse(_) => "garbage".to_owned(),
            Self::TooLarge(_) => "too_large".to_owned(),
            Self::ProviderError { kind, .. } => kind.clone(),
            Self::Cancelled => "stopped".to_owned(),
        }
    }

    /// Says whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Timeout
            | Self::Connection(_)
            | Self::ConnectionDropped
            | Self::InvalidResponse(_) => true,
            Self::Status { status, .. } => matches!(status, 408 | 409 | 429 | 500..=599),
            Self::TooLarge(_) | Self::Cancelled => false,
            Self::ProviderError { kind, .. } => [
                "overloaded_error", "rate_limit_error", "api_error", "server_error",
                "timeout_error",
            ]
            .contains(&kind.as_str()),
        }
    }
}

impl From<ModelFailure> for ModelError {
    fn from(what: ModelFailure) -> Self {
        Self {
            failure: what,
            usage: Usage::default(),
            retry_after: None,
        }
    }
}

#[cfg(test)]
mod tests;
