//! HTTP requests whose responses are read line by line, with limits on time and size.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::{ModelError, ModelFailure};

/// The maximum size of a response.
pub(super) const BODY_BYTES_MAX: u64 = 16 << 20;
const ERROR_BYTES_MAX: u64 = 64 << 10;
/// The maximum length of a provider's error message in ours.
const EXCERPT_CHARS_MAX: usize = 300;

/// The API key of a provider. It is never printed.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into().trim().to_owned())
    }

    fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The address of a provider, with its key.
#[derive(Clone, Debug)]
pub struct Endpoint {
    base: String,
    key: Option<ApiKey>,
}

/// Why an endpoint is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EndpointError {
    #[error("{0:?} is not an http:// or https:// URL")]
    NotHttp(String),
    #[error("refusing to send an API key to {0} without https")]
    KeyWithoutTls(String),
}

impl Endpoint {
    pub fn new(base: &str, key: Option<ApiKey>) -> Result<Self, EndpointError> {
        let base = base.trim_end_matches('/').to_owned();
        let secure = base.starts_with("https://");
        if !secure && !base.starts_with("http://") {
            return Err(EndpointError::NotHttp(base));
        }
        if key.is_some() && !secure && !is_loopback(&base) {
            return Err(EndpointError::KeyWithoutTls(base));
        }
        Ok(Self { base, key })
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn is_openai(&self) -> bool {
        self.base.starts_with("https://api.openai.com")
    }

    pub(super) fn key(&self) -> &str {
        self.key.as_ref().map_or("", ApiKey::expose)
    }
}

fn is_loopback(base: &str) -> bool {
    let host = base.split_once("://").map_or(base, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}

/// Whether to read the next line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamControl {
    Continue,
    Done,
}

/// Sends a request and calls `line` with each line of the response until it returns `Done`.
pub(super) fn post_streaming(
    endpoint: &Endpoint,
    path: &str,
    headers: &[(&str, String)],
    body: &Value,
    timeout: Duration,
    mut line: impl FnMut(&str) -> Result<StreamControl, ModelFailure>,
) -> Result<(), ModelError> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        // A redirect would send the key to another host.
        .max_redirects(0)
        .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")));
    let config = if is_loopback(&endpoint.base) {
        config.proxy(None)
    } else {
        config
    };
    let agent = config.build().new_agent();
    let mut request = agent
        .post(format!("{}{path}", endpoint.base))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = request.send(body.to_string()).map_err(transport_error)?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(status_error(endpoint, response));
    }
    let reader = response.into_body().into_reader().take(BODY_BYTES_MAX + 1);
    let mut lines = BufReader::new(reader);
    let (mut text, mut total) = (Vec::new(), 0);
    loop {
        text.clear();
        let read = lines
            .read_until(b'\n', &mut text)
            .map_err(|error| transport_error(error.into()))?;
        total += read as u64;
        if total > BODY_BYTES_MAX {
            return Err(ModelFailure::TooLarge(BODY_BYTES_MAX).into());
        }
        if read == 0 {
            return Err(ModelFailure::ConnectionDropped.into());
        }
        let text = String::from_utf8_lossy(&text);
        if line(text.trim_end_matches(['\n', '\r']))? == StreamControl::Done {
            return Ok(());
        }
    }
}

/// Returns a line reader that parses server-sent events and passes on their data. The event names
/// are ignored, because the data contains the type too.
pub(super) fn parse_events(
    mut event: impl FnMut(&Value) -> Result<StreamControl, ModelFailure>,
) -> impl FnMut(&str) -> Result<StreamControl, ModelFailure> {
    move |line| {
        let Some(data) = line.strip_prefix("data:") else {
            let known = ["event:", "id:", "retry:", ":"];
            if line.is_empty() || known.iter().any(|known| line.starts_with(known)) {
                return Ok(StreamControl::Continue);
            }
            return Err(ModelFailure::InvalidResponse(excerpt(line)));
        };
        match data.trim() {
            "[DONE]" => Ok(StreamControl::Done),
            data => event(&parse_json(data)?),
        }
    }
}

/// Returns a line reader for a stream of one JSON object per line.
pub(super) fn parse_lines(
    mut object: impl FnMut(&Value) -> Result<StreamControl, ModelFailure>,
) -> impl FnMut(&str) -> Result<StreamControl, ModelFailure> {
    move |line| match line.trim() {
        "" => Ok(StreamControl::Continue),
        line => object(&parse_json(line)?),
    }
}

fn parse_json(text: &str) -> Result<Value, ModelFailure> {
    serde_json::from_str(text).map_err(|error| ModelFailure::InvalidResponse(error.to_string()))
}

/// Reads an error that a provider reports inside a stream.
pub(super) fn provider_error(error: &Value) -> ModelFailure {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = if text("type").is_empty() {
        text("code")
    } else {
        text("type")
    };
    ModelFailure::ProviderError {
        kind: if kind.is_empty() {
            "error".to_owned()
        } else {
            kind.to_owned()
        },
        message: excerpt(text("message")),
    }
}

fn status_error(endpoint: &Endpoint, response: ureq::http::Response<ureq::Body>) -> ModelError {
    let status = response.status().as_u16();
    let header = response.headers().get("retry-after");
    let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    let retry_after = seconds
        .filter(|seconds| seconds.is_finite() && (0.0..=1e6).contains(seconds))
        .map(Duration::from_secs_f64);
    let mut body = Vec::new();
    let mut reader = response.into_body().into_reader().take(ERROR_BYTES_MAX);
    // The body is only for the message, so a partial one is good enough.
    let _partial = reader.read_to_end(&mut body);
    let text = String::from_utf8_lossy(&body);
    let message = serde_json::from_str::<Value>(&text).ok().and_then(|value| {
        let error = value.get("error")?;
        let message = error.get("message").unwrap_or(error).as_str()?;
        Some(message.to_owned())
    });
    let mut text = excerpt(message.as_deref().unwrap_or(&text));
    if !endpoint.key().is_empty() {
        text = text.replace(endpoint.key(), "[key]");
    }
    ModelError {
        retry_after,
        ..ModelFailure::Status {
            status,
            message: text,
        }
        .into()
    }
}

pub(super) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(EXCERPT_CHARS_MAX).collect()
}

fn transport_error(error: ureq::Error) -> ModelError {
    match error {
        ureq::Error::Timeout(_) => ModelFailure::Timeout,
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            ModelFailure::ConnectionDropped
        }
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
            ModelFailure::ConnectionDropped
        }
        ureq::Error::Protocol(error) => ModelFailure::InvalidResponse(error.to_string()),
        error => ModelFailure::Connection(excerpt(&error.to_string())),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_nowhere_in_the_open() {
        let key = || Some(ApiKey::new("k"));
        assert!(Endpoint::new("https://api.example.com/", key()).is_ok());
        for base in [
            "http://127.0.0.1:8080", "http://localhost:1/v1", "http://[::1]:80",
        ] {
            assert!(Endpoint::new(base, key()).is_ok(), "{base}");
        }
        for base in [
            "http://api.example.com", "http://localhost.example.com", "http://10.0.0.1",
        ] {
            assert!(Endpoint::new(base, key()).is_err(), "{base}");
            assert!(Endpoint::new(base, None).is_ok(), "{base}");
        }
        assert!(Endpoint::new("ftp://x", None).is_err());
    }

    #[test]
    fn a_key_is_not_shown() {
        let endpoint = Endpoint::new("https://x", Some(ApiKey::new("very-secret"))).unwrap();
        assert!(!format!("{endpoint:?}").contains("very-secret"));
    }
}
