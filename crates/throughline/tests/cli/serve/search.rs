//! `throughline search` with and without a daemon.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use super::client::Daemon;
use super::life::wait_for;
use crate::env::TestEnv;

const SEARCHES: &[&[&str]] = &[
    &["search", "threshold"],
    &[
        "search",
        "why did we change the reorder threshold?",
        "-n",
        "3",
    ],
    &["search", "threshold", "-decide", "--json"],
    &["search", "threshold", "--answers", "--explain"],
    &["search", "threshold", "--type", "prompt", "--sort", "time"],
    &["search", "threshold", "--here"],
    &[
        "search", "threshold", "--since", "2026-01-01", "--color", "always",
    ],
    &["search", "nothinghasthisword"],
    // These fail, with a message of their own.
    &["search", "threshold", "--workspace", "nosuchworkspace"],
    &["search", "threshold", "--session", "nosuchsession"],
    &["search", "--bogus"],
    &["search"],
];

#[test]
fn a_search_prints_the_same_with_and_without_a_daemon() {
    let env = TestEnv::with_samples();
    let run = |args: &&[&str]| env.run(args).shown();
    let alone: Vec<_> = SEARCHES.iter().map(run).collect();
    assert!(alone[0].contains("threshold"), "{}", alone[0]);
    let _daemon = Daemon::start(&env);
    for (args, alone) in SEARCHES.iter().zip(&alone) {
        assert_eq!(run(args), *alone, "{args:?}");
    }
}

#[test]
fn the_daemon_searches_where_one_runs() {
    let env = TestEnv::with_samples();
    let args = &["search", "threshold"];
    let alone = env.run(args).shown();
    let _daemon = Daemon::start(&env);
    assert_eq!(env.run(args).shown(), alone);
    // Only the daemon, which has it open, can still read the store.
    let database = env.home().join("memory/throughline.db");
    fs::rename(&database, database.with_extension("away")).unwrap();
    // On a busy machine the command does not wait for the daemon and fails to open the store.
    wait_for("the daemon searches", || env.run(args).shown() == alone);
    fs::rename(database.with_extension("away"), &database).unwrap();
}

#[test]
fn a_daemon_that_cannot_search_is_passed_over() {
    let env = TestEnv::with_samples();
    let args = &["search", "threshold"];
    let alone = env.run(args).shown();
    let socket = env.home().join("memory/daemon.sock");
    // The daemon has been killed.
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(env.run(args).shown(), alone);
    fs::remove_file(&socket).unwrap();
    // It accepts and never answers.
    let listener = UnixListener::bind(&socket).unwrap();
    assert_eq!(env.run(args).shown(), alone);
    // It is of an earlier version, which does not know commands, or it talks nonsense.
    for answer in [
        "HTTP/1.1 404 Not Found\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\n\r\n{\"text\":1}",
        "hello",
    ] {
        let listener = listener.try_clone().unwrap();
        let answering = std::thread::spawn(move || {
            // The connection that was never answered is still in the queue.
            for stream in listener.incoming().take(2) {
                let mut stream = stream.unwrap();
                let _request = stream.read(&mut [0; 64 << 10]);
                let _closed = stream.write_all(answer.as_bytes());
            }
        });
        assert_eq!(env.run(args).shown(), alone, "{answer}");
        drop(UnixStream::connect(&socket).unwrap());
        answering.join().unwrap();
    }
}
