//! A daemon for one test, and an HTTP client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::env::TestEnv;

/// A running daemon and its addresses.
pub struct Daemon {
    pub child: Child,
    pub address: String,
    pub token: String,
    socket: std::path::PathBuf,
}

/// Nothing takes this long unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Daemon {
    /// Starts a daemon, and waits until it can be reached.
    pub fn start(env: &TestEnv) -> Self {
        Self::start_with(env, &[])
    }

    pub fn start_with(env: &TestEnv, args: &[&str]) -> Self {
        let mut command = env.command(&[&["serve", "--json", "--port", "7411"], args].concat());
        Self::of(env, &mut command)
    }

    /// Starts a daemon with the API key of a model.
    pub fn start_with_key(env: &TestEnv) -> Self {
        let mut command = env.command(&["serve", "--json", "--port", "7411"]);
        Self::of(env, command.env("TEST_KEY", "not-a-real-key"))
    }

    fn of(env: &TestEnv, command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let card: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        let home = env.home().join("memory");
        let token = std::fs::read_to_string(home.join("daemon.token")).unwrap();
        Self {
            child,
            address: card["address"].as_str().unwrap().to_owned(),
            token: token.trim().to_owned(),
            socket: home.join("daemon.sock"),
        }
    }

    /// Sends a request over the Unix socket, as our own commands do.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(ToString::to_string);
        self.socket(&request(method, path, "localhost", &[], body.as_deref()))
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", path, Some(body));
        assert!(answer.status < 300, "{path}: {}", answer.body);
        answer.json()
    }

    /// Sends raw bytes over the Unix socket.
    pub fn socket(&self, request: &str) -> Answer {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        // The server does not read the rest of a request that it rejects early.
        let _cut = stream.write_all(request.as_bytes());
        Answer::read(stream)
    }

    /// Sends raw bytes over TCP.
    pub fn tcp(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let _cut = stream.write_all(request.as_bytes());
        Answer::read(stream)
    }

    /// Listens to events after the one with this id.
    pub fn listen(&self, last: Option<&str>) -> Listener {
        self.listen_to("/events", last)
    }

    /// Listens to a stream of events.
    pub fn listen_to(&self, path: &str, last: Option<&str>) -> Listener {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let headers: Vec<_> = last.map(|id| ("Last-Event-ID", id)).into_iter().collect();
        let request = request("GET", path, "localhost", &headers, None);
        let request = request.replace("Connection: close\r\n", "");
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0);
        }
        Listener { lines }
    }

    /// Sends a signal, as a service manager or a terminal does.
    pub fn signal(&self, signal: &str) {
        #[expect(clippy::disallowed_methods, reason = "tests send signals")]
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Builds a request.
pub fn request(
    method: &str,
    path: &str,
    host: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if let Some(body) = body {
        text += &format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
    } else {
        text += "\r\n";
    }
    text
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = headers.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    }

    pub fn read(mut stream: impl Read) -> Self {
        let mut bytes = Vec::new();
        // A server that refuses may close before everything was sent.
        let _reset = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        Self {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            head: head.to_lowercase(),
            body: if is_chunked {
                joined(body)
            } else {
                body.to_owned()
            },
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// Decodes a chunked body.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body += &rest[..size];
        chunks = &rest[size + 2..];
    }
    body
}

/// A client of the event stream.
pub struct Listener {
    lines: BufReader<UnixStream>,
}

impl Listener {
    /// Returns the next event: its id and its data.
    pub fn next(&mut self) -> (String, Value) {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it was closed");
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str(data).unwrap());
            }
        }
    }
}
