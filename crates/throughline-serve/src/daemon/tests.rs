//! The daemon's listeners and hook workers in one process, with clients that stall and work that
//! never ends.
//!
//! All limits of time are an hour, so whatever waits for a stalled client or for other work hangs.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use capture::hook::HookHints;
use memory::{FactKind, Trust};
use serde_json::json;
use store::encryption::NoKeychain;
use store::{NewFact, OpenMode, Store};
use tokio::sync::watch;

use super::hook_workers::{HOOK_WORKERS, HookWorkers};
use super::{StartupFiles, bind_nonblocking, home, wake};
use crate::client::HookCall;
use crate::hook::tests::stage_settings;
use crate::http::listen::{HttpListener, serve_listener};
use crate::http::{HttpLimits, HttpState, RequestGuard, router};
use crate::{ServeContext, ServeSettings};

const HOUR: Duration = Duration::from_secs(3600);

struct TestDaemon {
    home: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    front: HttpState,
    stopping: watch::Sender<bool>,
    lanes: Option<HookWorkers>,
}

fn no_sources() -> capture::Sources {
    capture::Sources {
        adapters: Vec::new(),
        roots: Vec::new(),
        all_roots: false,
        scope: capture::CaptureScope::default(),
        archive: false,
        threads: 1,
    }
}

impl TestDaemon {
    fn start(limits: HttpLimits) -> Self {
        let home = tempfile::tempdir().unwrap();
        let now = "2026-11-16T09:00:00Z".parse().unwrap();
        let store = Store::open(home.path()).unwrap();
        let fact = NewFact {
            workspace: None,
            kind: FactKind::Preference,
            text: "run the tests with unittest -q".to_owned(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: true,
            at: now,
            sources: Vec::new(),
        };
        store.remember(fact).unwrap();
        let desk = ServeContext::new(
            Arc::new(store),
            ServeSettings::default(),
            Arc::new(move || now),
        );
        let (waker, _inbox) = wake::wake_channel();
        let (stopping, stopped) = watch::channel(false);
        let gate = RequestGuard::new("token".to_owned(), limits);
        let front = HttpState::new(
            desk,
            gate,
            waker,
            stopped.clone(),
            "boot",
            StartupFiles::default(),
            (Arc::new(stage_settings()), Arc::new(no_sources())),
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let socket = bind_nonblocking(&home::socket_path(home.path())).unwrap();
        let routes = router(&front);
        let listening = stopped.clone();
        runtime.spawn(async move {
            let socket = tokio::net::UnixListener::from_std(socket).unwrap();
            serve_listener(HttpListener::Socket(socket), routes, limits, listening).await;
        });
        let hook_socket: UnixListener =
            bind_nonblocking(&home::hook_socket_path(home.path())).unwrap();
        let stores = (0..HOOK_WORKERS).map(|_| {
            Arc::new(Store::open_with(home.path(), OpenMode::ReadOnly, &NoKeychain).unwrap())
        });
        let lanes = HookWorkers::start(&hook_socket, stores.collect(), &front, &stopped).unwrap();
        Self {
            home,
            runtime,
            front,
            stopping,
            lanes: Some(lanes),
        }
    }

    /// Starts a session as an agent does, and returns what the hook gets.
    fn session_start(&self, session: &str) -> String {
        let payload = json!({
            "session_id": session, "cwd": "/work", "hook_event_name": "SessionStart",
            "source": "startup",
        });
        let payload = payload.to_string();
        let hints = HookHints::default();
        let mut call = HookCall::send(self.home.path(), payload.as_bytes(), &hints, HOUR).unwrap();
        call.receive(HOUR).unwrap().unwrap().answer
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        let _last = self.stopping.send(true);
        if let Some(lanes) = self.lanes.take() {
            lanes.join();
        }
    }
}

fn limits() -> HttpLimits {
    HttpLimits {
        timeout: HOUR,
        head_timeout: HOUR,
        body_timeout: HOUR,
        ..HttpLimits::default()
    }
}

/// Opens connections that send a part of a request and then nothing.
fn stall(socket: &Path, count: usize, part: &str) -> Vec<UnixStream> {
    let connections = (0..count).map(|_| {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.write_all(part.as_bytes()).unwrap();
        stream
    });
    connections.collect()
}

const HALF_HEAD: &str = "POST /hook HTTP/1.1\r\nHost: local";
const HALF_HOOK: &str =
    "POST /hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90\r\n\r\n{\"session";
const HALF_RECORD: &str = "POST /memory/record HTTP/1.1\r\nHost: localhost\r\n\
    Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"session";

fn get(socket: &Path, path: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn hooks_are_answered_while_everything_else_is_stuck() {
    let daemon = TestDaemon::start(limits());
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    let (stuck, is_stuck) = mpsc::channel();
    let wait = || {
        let (held, stuck) = (Arc::clone(&held), stuck.clone());
        move || {
            stuck.send(()).unwrap();
            let _released = held.lock().unwrap().recv();
        }
    };
    let _places = daemon.front.guard.hold_all_slots();
    // Stages that do not end, on all threads that may block.
    for _ in 0..2 {
        daemon.runtime.spawn_blocking(wait());
    }
    // Handlers that do not yield, on all threads that serve connections.
    for _ in 0..2 {
        let block = wait();
        daemon.runtime.spawn(async move { block() });
    }
    for _ in 0..4 {
        is_stuck.recv().unwrap();
    }
    for session in ["one", "two", "three"] {
        let answer = daemon.session_start(session);
        assert!(answer.contains("unittest -q"), "{answer}");
    }
    drop(release);
}

#[test]
fn hooks_are_answered_while_clients_stall() {
    let daemon = TestDaemon::start(limits());
    let hooks = home::hook_socket_path(daemon.home.path());
    let requests = home::socket_path(daemon.home.path());
    let _stalled = [
        stall(&hooks, 64, HALF_HEAD),
        stall(&hooks, 64, HALF_HOOK),
        stall(&requests, 64, HALF_RECORD),
    ];
    for session in ["one", "two", "three"] {
        let answer = daemon.session_start(session);
        assert!(answer.contains("unittest -q"), "{answer}");
    }
}

#[test]
fn a_request_that_is_not_there_yet_takes_nobodys_place() {
    let daemon = TestDaemon::start(HttpLimits {
        concurrent_requests_max: 2,
        ..limits()
    });
    let socket = home::socket_path(daemon.home.path());
    let _stalled = stall(&socket, 16, HALF_RECORD);
    let health = get(&socket, "/health");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
}

#[test]
fn connections_that_say_nothing_make_room_for_others() {
    let daemon = TestDaemon::start(HttpLimits {
        connections_max: 4,
        ..limits()
    });
    let socket = home::socket_path(daemon.home.path());
    let _stalled = stall(&socket, 16, HALF_HEAD);
    for _ in 0..8 {
        let health = get(&socket, "/health");
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    }
}

#[test]
fn a_hook_on_the_socket_for_all_requests_waits_for_no_place() {
    let daemon = TestDaemon::start(limits());
    std::fs::remove_file(home::hook_socket_path(daemon.home.path())).unwrap();
    let _places = daemon.front.guard.hold_all_slots();
    let answer = daemon.session_start("one");
    assert!(answer.contains("unittest -q"), "{answer}");
}
