//! How our own commands speak to the daemon: one request over its socket, without an async runtime.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::home::socket_path;
use crate::client::{ClientError, connect};

/// Answers that are longer are not for commands.
const RESPONSE_BYTES_MAX: u64 = 16 << 20;

/// What the daemon answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: String,
}

/// Asks the daemon of a folder.
pub fn send_request(
    home: &Path,
    method: &str,
    path: &str,
    timeout: Duration,
) -> io::Result<HttpResponse> {
    let mut stream = connect(&socket_path(home)).map_err(|error| match error {
        ClientError::Unreachable(error) => error,
        error => io::Error::other(error),
    })?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(RESPONSE_BYTES_MAX).read_to_end(&mut bytes)?;
    parse_response(&bytes).ok_or_else(|| io::Error::other("the daemon's answer cannot be read"))
}

fn parse_response(bytes: &[u8]) -> Option<HttpResponse> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes).ok()? else {
        return None;
    };
    Some(HttpResponse {
        status: response.code?,
        body: String::from_utf8_lossy(&bytes[head..]).into_owned(),
    })
}
