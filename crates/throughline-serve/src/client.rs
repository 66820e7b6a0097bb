//! The client of the daemon's sockets: one HTTP request, one response, no async runtime.
//!
//! [`send_request`] asks on behalf of a command and waits for the response, and [`run_command`] has
//! the daemon run the command itself. A [`HookCall`] is asked by a hook, which has a deadline: it
//! may stop waiting, do other work, and wait again.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use capture::hook::HookHints;
use thiserror::Error;

use crate::command::{COMMAND_PATH, CommandReply, CommandRequest};
use crate::daemon::home::{hook_socket_path, socket_path};
use crate::hook::wire::{self, HookReply};

/// The longest response that is read. Responses to hooks have a few thousand characters, those to
/// commands a few more.
const RESPONSE_BYTES_MAX: usize = 16 << 20;
const HEADERS_MAX: usize = 32;
/// What the daemon sends when it takes up a hook's payload: the interim response that the header
/// `expect` asks for.
const ACKNOWLEDGEMENT: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// The size of one read.
const READ_BYTES: usize = 16 << 10;
/// The shortest timeout of a socket: zero would mean no timeout.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// Why the daemon gave no usable response.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("cannot connect to the daemon: {0}")]
    Unreachable(io::Error),
    #[error("no response from the daemon: {0}")]
    NoResponse(io::Error),
    #[error("the daemon responded with status {0}")]
    BadStatus(u16),
    #[error("invalid response from the daemon: {0}")]
    InvalidResponse(String),
    #[error("the daemon's socket is not safe to use: {0}")]
    UntrustedSocket(String),
}

impl ClientError {
    /// Says whether no daemon is running, as opposed to one that has a problem.
    pub fn is_daemon_absent(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<ClientError> for io::Error {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable(error) | ClientError::NoResponse(error) => error,
            error => Self::other(error),
        }
    }
}

/// A response of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub body: String,
}

/// Sends a request without a body to the daemon of a folder, and waits for the response.
pub fn send_request(
    home: &Path,
    method: &str,
    path: &str,
    timeout: Duration,
) -> io::Result<HttpResponse> {
    let stream = connect(&socket_path(home))?;
    let mut exchange = Exchange::send(stream, &request_head(method, path, 0, &[]), &[], timeout)?;
    let response = exchange.receive(timeout)?;
    response.ok_or_else(|| io::ErrorKind::TimedOut.into())
}

/// Has the daemon of a folder run a command. Fails if it has not within `timeout`, or if it
/// declines; the caller then runs the command itself.
pub fn run_command(
    home: &Path,
    request: &CommandRequest,
    timeout: Duration,
) -> Result<CommandReply, ClientError> {
    let invalid = |error: serde_json::Error| ClientError::InvalidResponse(error.to_string());
    let body = serde_json::to_vec(request).map_err(invalid)?;
    let stream = connect(&socket_path(home))?;
    let head = request_head("POST", COMMAND_PATH, body.len(), &[]);
    let mut exchange = Exchange::send(stream, &head, &body, timeout)?;
    let late = || ClientError::NoResponse(io::ErrorKind::TimedOut.into());
    let response = exchange.receive(timeout)?.ok_or_else(late)?;
    match response.status {
        200 => serde_json::from_str(&response.body).map_err(invalid),
        status => Err(ClientError::BadStatus(status)),
    }
}

/// A hook's payload that was sent to the daemon, which may not have responded yet.
#[derive(Debug)]
pub struct HookCall {
    exchange: Exchange,
}

impl HookCall {
    /// Sends a payload to the daemon of a folder: to its socket for hooks, or to the one for all
    /// requests if that one is missing. Waits at most `timeout` for the daemon to take it.
    pub fn send(
        home: &Path,
        payload: &[u8],
        hints: &HookHints,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let stream = match connect(&hook_socket_path(home)) {
            Err(error) if error.is_daemon_absent() => connect(&socket_path(home))?,
            connected => connected?,
        };
        let mut headers = wire::headers_from_hints(hints);
        // The acknowledgement tells the hook that a thread has taken up its payload. A daemon that
        // only accepts connections but does not answer cannot send it.
        headers.push(("expect", "100-continue".to_owned()));
        let head = request_head("POST", wire::HOOK_PATH, payload.len(), &headers);
        Ok(Self {
            exchange: Exchange::send(stream, &head, payload, timeout)?,
        })
    }

    /// Says whether the daemon has begun to answer. Its reply follows unless it is stopped.
    pub fn is_acknowledged(&self) -> bool {
        self.exchange.response.starts_with(ACKNOWLEDGEMENT)
    }

    /// Waits at most `timeout` for the reply. `None` means that it has not come yet; the caller may
    /// wait again.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<HookReply>, ClientError> {
        let response = self.exchange.receive(timeout)?;
        response.map(|response| parse_reply(&response)).transpose()
    }
}

/// A request that was sent, and the part of its response that has arrived.
#[derive(Debug)]
struct Exchange {
    stream: UnixStream,
    response: Vec<u8>,
}

impl Exchange {
    fn send(
        mut stream: UnixStream,
        head: &str,
        body: &[u8],
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let mut send = || {
            stream.set_write_timeout(Some(timeout.max(TIMEOUT_MIN)))?;
            // One write: the daemon then sees the whole request at once.
            stream.write_all(&[head.as_bytes(), body].concat())
        };
        send().map_err(ClientError::NoResponse)?;
        Ok(Self {
            stream,
            response: Vec::new(),
        })
    }

    /// Reads until the daemon closes the connection, or `timeout` has passed.
    fn receive(&mut self, timeout: Duration) -> Result<Option<HttpResponse>, ClientError> {
        let start = Instant::now();
        let mut bytes = [0; READ_BYTES];
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            self.stream
                .set_read_timeout(Some(left.max(TIMEOUT_MIN)))
                .map_err(ClientError::NoResponse)?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return parse_response(&self.response).map(Some),
                Ok(count) => self.response.extend_from_slice(&bytes[..count]),
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::NoResponse(error)),
            }
            if self.response.len() > RESPONSE_BYTES_MAX {
                return Err(ClientError::InvalidResponse("it is too long".to_owned()));
            }
            if start.elapsed() >= timeout {
                return Ok(None);
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

/// Connects to a socket of the daemon without waiting: if its queue of connections is full, the
/// daemon is in trouble. Fails unless this user owns both the folder and the listening process:
/// another user's process would see the prompts, and its answers would reach the agent.
fn connect(path: &Path) -> Result<UnixStream, ClientError> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

    let untrusted = |why: &dyn std::fmt::Display| ClientError::UntrustedSocket(why.to_string());
    if let Some(folder) = path.parent()
        && folder.exists()
    {
        store::check_folder(folder).map_err(|error| untrusted(&error))?;
    }
    let unreachable = |error: rustix::io::Errno| ClientError::Unreachable(error.into());
    let address = SocketAddrUnix::new(path).map_err(unreachable)?;
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).map_err(unreachable)?;
    let stream = UnixStream::from(socket);
    let set_blocking = |blocking: bool| {
        let set = stream.set_nonblocking(!blocking);
        set.map_err(ClientError::Unreachable)
    };
    set_blocking(false)?;
    match connect(&stream, &address) {
        Ok(()) => {}
        Err(error @ rustix::io::Errno::AGAIN) => return Err(ClientError::NoResponse(error.into())),
        Err(error) => return Err(unreachable(error)),
    }
    set_blocking(true)?;
    check_peer(&stream).map_err(|why| untrusted(&why))?;
    Ok(stream)
}

/// Fails unless this user runs the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn check_peer(stream: &UnixStream) -> Result<(), String> {
    let peer = rustix::net::sockopt::socket_peercred(stream)
        .map_err(|error| format!("cannot find its owner: {error}"))?;
    let user = rustix::process::geteuid();
    if peer.uid == user {
        return Ok(());
    }
    let (peer, user) = (peer.uid.as_raw(), user.as_raw());
    Err(format!(
        "user {peer} listens there, and you are user {user}"
    ))
}

/// On other systems the check of the folder must do: only its owner can create a socket there.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn check_peer(_: &UnixStream) -> Result<(), String> {
    Ok(())
}

/// Returns the head of a request, with the empty line that ends it.
fn request_head(
    method: &str,
    path: &str,
    length: usize,
    headers: &[(&'static str, String)],
) -> String {
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n"
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

fn parse_response(bytes: &[u8]) -> Result<HttpResponse, ClientError> {
    let bytes = bytes.strip_prefix(ACKNOWLEDGEMENT).unwrap_or(bytes);
    let invalid = |why: &dyn std::fmt::Display| ClientError::InvalidResponse(why.to_string());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let body = match response.parse(bytes).map_err(|error| invalid(&error))? {
        httparse::Status::Complete(start) => &bytes[start..],
        httparse::Status::Partial => return Err(invalid(&"its headers are incomplete")),
    };
    Ok(HttpResponse {
        status: response.code.ok_or_else(|| invalid(&"no status"))?,
        body: String::from_utf8_lossy(body).into_owned(),
    })
}

fn parse_reply(response: &HttpResponse) -> Result<HookReply, ClientError> {
    if response.status != 200 {
        return Err(ClientError::BadStatus(response.status));
    }
    serde_json::from_str(&response.body)
        .map_err(|error| ClientError::InvalidResponse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(response: &str) -> Result<HookReply, ClientError> {
        parse_reply(&parse_response(response.as_bytes())?)
    }

    #[test]
    fn a_socket_in_a_folder_of_others_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("daemon.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(connect(&socket).is_ok());
        for mode in [0o777, 0o770, 0o702] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(dir.path(), permissions).unwrap();
            let error = connect(&socket).unwrap_err();
            assert!(matches!(error, ClientError::UntrustedSocket(_)), "{error}");
            assert!(
                error.to_string().contains("other users can write"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_reply_that_is_late_can_be_waited_for_again() {
        use std::os::unix::net::UnixListener;
        let home = tempfile::tempdir().unwrap();
        let absent = HookCall::send(home.path(), b"{}", &HookHints::default(), TIMEOUT_MIN);
        assert!(absent.unwrap_err().is_daemon_absent());
        let path = hook_socket_path(home.path());
        let listener = UnixListener::bind(path).unwrap();
        let mut call =
            HookCall::send(home.path(), b"{}", &HookHints::default(), TIMEOUT_MIN).unwrap();
        let (mut daemon, _) = listener.accept().unwrap();
        let mut request = [0; READ_BYTES];
        assert!(daemon.read(&mut request).unwrap() > 0);
        assert_eq!(call.receive(TIMEOUT_MIN).unwrap(), None);
        assert!(!call.is_acknowledged());
        daemon.write_all(ACKNOWLEDGEMENT).unwrap();
        assert_eq!(call.receive(TIMEOUT_MIN).unwrap(), None);
        assert!(call.is_acknowledged());
        daemon.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"ans").unwrap();
        assert_eq!(call.receive(TIMEOUT_MIN).unwrap(), None);
        daemon.write_all(b"wer\":\"{}\"}").unwrap();
        drop(daemon);
        let reply = call.receive(Duration::from_secs(60)).unwrap();
        assert_eq!(reply.unwrap().answer, "{}");
    }

    #[test]
    fn only_a_whole_and_good_reply_is_taken() {
        let text = |head: &str, body: &str| format!("HTTP/1.1 {head}\r\na: b\r\n\r\n{body}");
        let good = text("200 OK", r#"{"answer":"{}"}"#);
        assert_eq!(reply(&good).unwrap().answer, "{}");
        for cut in 0..good.len() {
            assert!(reply(&good[..cut]).is_err(), "{cut}");
        }
        let refused = text("503 No", r#"{"answer":""}"#);
        assert!(matches!(reply(&refused), Err(ClientError::BadStatus(503))));
    }
}
