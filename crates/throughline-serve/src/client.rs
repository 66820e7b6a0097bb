//! Asks the daemon, over its socket: one request, one reply, no runtime.

use std::io;
use std::path::Path;
use std::time::Duration;

use capture::hook::Hints;
use thiserror::Error;

use crate::hook::wire::{self, Reply};

/// A daemon's reply is a few thousand characters.
const REPLY_BYTES_MAX: u64 = 4 << 20;
const HEADERS_MAX: usize = 32;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("the daemon does not answer: {0}")]
    Silent(io::Error),
    #[error("the daemon answers with status {0}")]
    Refused(u16),
    #[error("the daemon answers with something else: {0}")]
    Odd(String),
    #[error("the daemon's socket is not used: {0}")]
    Foreign(String),
}

impl ClientError {
    /// Says whether there is no daemon, as opposed to one in trouble.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

/// Hands a hook's payload to the daemon and returns what it says. Each wait ends after `timeout`; whoever
/// must be sure watches the clock besides.
#[cfg(unix)]
pub fn hook(
    socket: &Path,
    payload: &[u8],
    hints: &Hints,
    timeout: Duration,
) -> Result<Reply, ClientError> {
    use std::io::{Read, Write};

    let mut stream = connect(socket)?;
    let mut converse = || -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        stream.write_all(head(payload.len(), hints).as_bytes())?;
        stream.write_all(payload)?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut stream)
            .take(REPLY_BYTES_MAX)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    reply(&converse().map_err(ClientError::Silent)?)
}

/// Connects to the daemon's socket. Fails unless its folder is this user's own, and so is the process
/// that listens: another user's would get to see prompts, and its answers would reach the agent.
#[cfg(unix)]
pub(crate) fn connect(socket: &Path) -> Result<std::os::unix::net::UnixStream, ClientError> {
    let foreign = |why: &dyn std::fmt::Display| ClientError::Foreign(why.to_string());
    if let Some(folder) = socket.parent() {
        store::check_folder(folder).map_err(|error| foreign(&error))?;
    }
    let stream =
        std::os::unix::net::UnixStream::connect(socket).map_err(ClientError::Unreachable)?;
    check_peer(&stream).map_err(|why| foreign(&why))?;
    Ok(stream)
}

/// Fails unless the process at the other end is this user's.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn check_peer(stream: &std::os::unix::net::UnixStream) -> Result<(), String> {
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
fn check_peer(_: &std::os::unix::net::UnixStream) -> Result<(), String> {
    Ok(())
}

/// Elsewhere there is no such socket.
#[cfg(not(unix))]
pub fn hook(_: &Path, _: &[u8], _: &Hints, _: Duration) -> Result<Reply, ClientError> {
    Err(ClientError::Unreachable(io::ErrorKind::Unsupported.into()))
}

fn head(length: usize, hints: &Hints) -> String {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n",
        wire::PATH
    );
    for (name, value) in wire::headers(hints) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

fn reply(bytes: &[u8]) -> Result<Reply, ClientError> {
    let odd = |error: &dyn std::fmt::Display| ClientError::Odd(error.to_string());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let body = match response.parse(bytes).map_err(|error| odd(&error))? {
        httparse::Status::Complete(at) => &bytes[at..],
        httparse::Status::Partial => return Err(odd(&"it ends in its headers")),
    };
    match response.code {
        Some(200) => serde_json::from_slice(body).map_err(|error| odd(&error)),
        Some(code) => Err(ClientError::Refused(code)),
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
            assert!(matches!(error, ClientError::Foreign(_)), "{error}");
            assert!(
                error.to_string().contains("other users can write"),
                "{error}"
            );
        }
    }

    #[test]
    fn only_a_whole_and_good_reply_is_taken() {
        let text = |head: &str, body: &str| format!("HTTP/1.1 {head}\r\na: b\r\n\r\n{body}");
        let good = text("200 OK", r#"{"answer":"{}"}"#);
        assert_eq!(reply(good.as_bytes()).unwrap().answer, "{}");
        for cut in 0..good.len() {
            assert!(reply(&good.as_bytes()[..cut]).is_err(), "{cut}");
        }
        let refused = text("503 No", r#"{"answer":""}"#);
        assert!(matches!(
            reply(refused.as_bytes()),
            Err(ClientError::Refused(503))
        ));
    }
}
