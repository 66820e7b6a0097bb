//! Asks the daemon to answer a hook, over its socket: one request, one reply, no runtime.

use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use capture::hook::HookHints;
use thiserror::Error;

use crate::hook::wire::{self, HookReply};

/// A daemon's reply is a few thousand characters.
const REPLY_BYTES_MAX: usize = 4 << 20;
const HEADERS_MAX: usize = 32;
/// How much of a reply is read at once.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("the daemon does not answer: {0}")]
    NoResponse(io::Error),
    #[error("the daemon answers with status {0}")]
    BadStatus(u16),
    #[error("the daemon answers with something else: {0}")]
    InvalidResponse(String),
    #[error("the daemon's socket is not used: {0}")]
    UntrustedSocket(String),
}

impl ClientError {
    /// Says whether there is no daemon, as opposed to one in trouble.
    pub fn is_daemon_absent(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

/// A hook's payload on its way to the daemon, whose reply is still to come.
#[cfg(unix)]
#[derive(Debug)]
pub struct HookCall {
    stream: UnixStream,
    reply: Vec<u8>,
}

#[cfg(unix)]
impl HookCall {
    /// Sends a payload to the daemon of a folder: to the socket that is for hooks alone, else to the
    /// one for all requests. Waits for no more than `timeout` where the daemon does not read it.
    pub fn send(
        home: &Path,
        payload: &[u8],
        hints: &HookHints,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        use crate::daemon::home::{hook_socket_path, socket_path};
        let mut stream = match connect(&hook_socket_path(home)) {
            Err(error) if error.is_daemon_absent() => connect(&socket_path(home))?,
            connected => connected?,
        };
        let mut send = || {
            stream.set_write_timeout(Some(timeout.max(TIMEOUT_MIN)))?;
            let mut request = request_head(payload.len(), hints).into_bytes();
            request.extend_from_slice(payload);
            stream.write_all(&request)
        };
        send().map_err(ClientError::NoResponse)?;
        Ok(Self {
            stream,
            reply: Vec::new(),
        })
    }

    /// Waits for the reply. `None` where it has not come within `patience`; then it may be waited for
    /// again.
    pub fn receive(&mut self, patience: Duration) -> Result<Option<HookReply>, ClientError> {
        let start = Instant::now();
        let mut bytes = [0; READ_BYTES];
        loop {
            let left = patience.saturating_sub(start.elapsed());
            let timeout = Some(left.max(TIMEOUT_MIN));
            self.stream
                .set_read_timeout(timeout)
                .map_err(ClientError::NoResponse)?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return parse_reply(&self.reply).map(Some),
                Ok(count) => self.reply.extend_from_slice(&bytes[..count]),
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::NoResponse(error)),
            }
            if self.reply.len() > REPLY_BYTES_MAX {
                return Err(ClientError::InvalidResponse("it is too long".to_owned()));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
        }
    }
}

/// A socket takes no timeout of zero: that would be none.
#[cfg(unix)]
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

#[cfg(unix)]
fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

/// Connects to the daemon's socket without waiting: where too many connections wait for the daemon
/// already, it is in trouble. Fails unless the folder is this user's own, and so is the process that
/// listens: another user's would get to see prompts, and its answers would reach the agent.
#[cfg(unix)]
pub(crate) fn connect(path: &Path) -> Result<UnixStream, ClientError> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

    let foreign = |why: &dyn std::fmt::Display| ClientError::UntrustedSocket(why.to_string());
    if let Some(folder) = path.parent()
        && folder.exists()
    {
        store::check_folder(folder).map_err(|error| foreign(&error))?;
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
    check_peer(&stream).map_err(|why| foreign(&why))?;
    Ok(stream)
}

/// Fails unless the process at the other end is this user's.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn check_peer(stream: &UnixStream) -> Result<(), String> {
    let peer = rustix::net::sockopt::socket_peercred(stream)
        .map_err(|error| format!("its owner is not known: {error}"))?;
    let user = rustix::process::geteuid();
    if peer.uid == user {
        return Ok(());
    }
    let (peer, user) = (peer.uid.as_raw(), user.as_raw());
    Err(format!(
        "user {peer} listens there, and you are user {user}"
    ))
}

/// Elsewhere the owner of the folder, which nobody else can write to, has to do.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn check_peer(_: &UnixStream) -> Result<(), String> {
    Ok(())
}

/// Elsewhere there is no such socket.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct HookCall;

#[cfg(not(unix))]
impl HookCall {
    pub fn send(_: &Path, _: &[u8], _: &HookHints, _: Duration) -> Result<Self, ClientError> {
        Err(ClientError::Unreachable(io::ErrorKind::Unsupported.into()))
    }

    pub fn receive(&mut self, _: Duration) -> Result<Option<HookReply>, ClientError> {
        Err(ClientError::Unreachable(io::ErrorKind::Unsupported.into()))
    }
}

fn request_head(length: usize, hints: &HookHints) -> String {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n",
        wire::HOOK_PATH
    );
    for (name, value) in wire::headers_from_hints(hints) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

fn parse_reply(bytes: &[u8]) -> Result<HookReply, ClientError> {
    let odd = |error: &dyn std::fmt::Display| ClientError::InvalidResponse(error.to_string());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let body = match response.parse(bytes).map_err(|error| odd(&error))? {
        httparse::Status::Complete(at) => &bytes[at..],
        httparse::Status::Partial => return Err(odd(&"it ends in its headers")),
    };
    match response.code {
        Some(200) => serde_json::from_slice(body).map_err(|error| odd(&error)),
        Some(code) => Err(ClientError::BadStatus(code)),
        None => Err(odd(&"no status")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
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

    #[cfg(unix)]
    #[test]
    fn a_reply_that_is_late_can_be_waited_for_again() {
        use std::os::unix::net::UnixListener;
        let home = tempfile::tempdir().unwrap();
        let absent = HookCall::send(home.path(), b"{}", &HookHints::default(), TIMEOUT_MIN);
        assert!(absent.unwrap_err().is_daemon_absent());
        let path = crate::daemon::home::hook_socket_path(home.path());
        let listener = UnixListener::bind(path).unwrap();
        let mut call =
            HookCall::send(home.path(), b"{}", &HookHints::default(), TIMEOUT_MIN).unwrap();
        let (mut daemon, _) = listener.accept().unwrap();
        let mut request = [0; READ_BYTES];
        assert!(daemon.read(&mut request).unwrap() > 0);
        assert_eq!(call.receive(TIMEOUT_MIN).unwrap(), None);
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
        assert_eq!(parse_reply(good.as_bytes()).unwrap().answer, "{}");
        for cut in 0..good.len() {
            assert!(parse_reply(&good.as_bytes()[..cut]).is_err(), "{cut}");
        }
        let refused = text("503 No", r#"{"answer":""}"#);
        assert!(matches!(
            parse_reply(refused.as_bytes()),
            Err(ClientError::BadStatus(503))
        ));
    }
}
