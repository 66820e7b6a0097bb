//! Models, asked over their own wire formats: [`anthropic`], [`chat`] and [`responses`] (OpenAI and
//! what is compatible with it, llama.cpp too), [`ollama`].
//!
//! A [`Model`] is asked once and answers once; [`http`] carries it, with limits on time and size.
//! [`retry`] decides whether to ask again, [`budget`] whether to ask at all, and [`ask`] does both
//! and enters every call into the ledger. Nothing here reads a clock, sleeps or knows an environment:
//! those are the caller's.

pub mod anthropic;
pub mod ask;
pub mod budget;
pub mod chat;
pub mod http;
pub mod ollama;
pub mod responses;
pub mod retry;

use std::time::Duration;

use memory::Usage;
use serde_json::Value;
use thiserror::Error;

pub use self::ask::{ModelClock, ModelSession, ModelUnavailable};
pub use self::budget::ModelBudget;
pub use self::http::{ApiKey, Endpoint};

/// Something that continues a conversation.
pub trait Model: std::fmt::Debug + Send + Sync {
    /// The model's name, as it is priced.
    fn name(&self) -> &str;

    /// Asks once, within a time.
    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError>;
}

/// A conversation to be continued.
#[derive(Clone, Debug, Default)]
pub struct CompletionRequest {
    pub system: String,
    pub turns: Vec<ModelTurn>,
    pub tool: Option<ModelTool>,
    pub max_tokens: u32,
    /// The request of the conversation that this one was forked from, as it was sent. Its system
    /// prompt, tools and messages stay in front, untouched, so that the provider's cache knows them.
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

/// A tool that the model may call.
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

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub call: String,
    /// Some formats join by the tool's name.
    pub tool: String,
    pub text: String,
    pub is_error: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub calls: Vec<ModelToolCall>,
    pub usage: Usage,
    /// It ended because it was long enough, not because it was done.
    pub truncated: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{failure}")]
pub struct ModelError {
    pub failure: ModelFailure,
    /// What was used all the same: half a stream is billed too.
    pub usage: Usage,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelFailure {
    #[error("the model did not answer in time")]
    Timeout,
    #[error("the connection failed: {0}")]
    Connection(String),
    #[error("the provider answered {status}: {said}")]
    Status { status: u16, said: String },
    #[error("the answer ended in the middle")]
    ConnectionDropped,
    #[error("the answer cannot be read: {0}")]
    InvalidResponse(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the provider reported {kind}: {said}")]
    ProviderError { kind: String, said: String },
    #[error("the program is being ended")]
    Cancelled,
}

impl ModelFailure {
    /// The name in the ledger.
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

    /// Says whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Timeout
            | Self::Connection(_)
            | Self::ConnectionDropped
            | Self::InvalidResponse(_) => true,
            Self::Status { status, .. } => matches!(status, 408 | 409 | 429 | 500..=599),
            Self::TooLarge(_) | Self::Cancelled => false,
            Self::ProviderError { kind, .. } => [
                "overloaded_error",
                "rate_limit_error",
                "api_error",
                "server_error",
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

/// Reads a call's arguments, which come as text.
fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    // What is no JSON reaches the gate as it is and is denied there, in words.
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests;
