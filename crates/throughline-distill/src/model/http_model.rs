//! A model that is reached over HTTP, in one of the supported wire formats.

use std::time::Duration;

use serde_json::Value;

use super::completion::PartialCompletion;
use super::http::{Endpoint, StreamControl, parse_events, parse_lines, post_streaming};
use super::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, anthropic, chat, ollama,
    responses,
};

/// The API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic's Messages API, `POST /v1/messages`.
    Anthropic,
    /// OpenAI's chat completions API, `POST /chat/completions`.
    ChatCompletions,
    /// OpenAI's responses API, `POST /responses`.
    Responses,
    /// Ollama's chat API, `POST /api/chat`.
    Ollama,
}

/// A model of a provider.
#[derive(Clone, Debug)]
pub struct HttpModel {
    pub format: WireFormat,
    pub endpoint: Endpoint,
    pub model: String,
}

type ReadStreamEvent = fn(&Value, &mut PartialCompletion) -> Result<StreamControl, ModelFailure>;

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.model
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        let (path, body) = self.path_and_body(request);
        let read: ReadStreamEvent = match self.format {
            WireFormat::Anthropic => anthropic::read_event,
            WireFormat::ChatCompletions => chat::read_event,
            WireFormat::Responses => responses::read_event,
            WireFormat::Ollama => ollama::read_line,
        };
        let mut partial = PartialCompletion::default();
        let event = |event: &Value| read(event, &mut partial);
        let (endpoint, headers) = (&self.endpoint, self.headers());
        let sent = match self.format {
            WireFormat::Ollama => {
                post_streaming(endpoint, path, &headers, &body, timeout, parse_lines(event))
            }
            _ => post_streaming(
                endpoint,
                path,
                &headers,
                &body,
                timeout,
                parse_events(event),
            ),
        };
        // A failed stream is billed up to the failure.
        let usage = partial.completion.usage;
        sent.map_err(|error| ModelError { usage, ..error })?;
        Ok(partial.finish())
    }
}

impl HttpModel {
    fn path_and_body(&self, request: &CompletionRequest) -> (&'static str, Value) {
        let model = &self.model;
        match self.format {
            WireFormat::Anthropic => (anthropic::PATH, anthropic::body(model, request)),
            WireFormat::ChatCompletions => {
                // Newer models of OpenAI accept only the long name, most other servers only the
                // short one.
                let limit = match self.endpoint.is_openai() {
                    true => "max_completion_tokens",
                    false => "max_tokens",
                };
                (chat::PATH, chat::body(model, request, limit))
            }
            WireFormat::Responses => (responses::PATH, responses::body(model, request)),
            WireFormat::Ollama => (ollama::PATH, ollama::body(model, request)),
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.endpoint.key();
        match self.format {
            WireFormat::Anthropic => vec![
                ("x-api-key", key.to_owned()),
                ("anthropic-version", anthropic::API_VERSION.to_owned()),
            ],
            WireFormat::ChatCompletions | WireFormat::Responses if self.endpoint.has_key() => {
                vec![("authorization", format!("Bearer {key}"))]
            }
            WireFormat::ChatCompletions | WireFormat::Responses | WireFormat::Ollama => Vec::new(),
        }
    }
}
