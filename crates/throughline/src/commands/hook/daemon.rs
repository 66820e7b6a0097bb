//! Whether a daemon answers in our place, and how one is started.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary may start processes and read the clock"
)]

use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use serve::client::{self, ClientError};
use serve::hook::socket_in;
use serve::hook::wire::Reply;
use store::Store;

use super::work::Work;

/// Of the time that is left, the daemon gets so much; the rest is for answering without it.
const SHARE: f64 = 0.5;
/// One that was started a moment ago may still be on its way.
const START_EVERY: Duration = Duration::from_secs(30);
const STARTED: &str = "daemon.started";

/// What came of asking.
pub enum Heard {
    Reply(Reply),
    Nobody,
    /// There is one, and it does not answer.
    Trouble,
}

pub fn ask(work: &Work, payload: &[u8]) -> Heard {
    let socket = socket_in(&work.environment.home);
    if !socket.exists() {
        return Heard::Nobody;
    }
    let patience = work.left().mul_f64(SHARE);
    let (sender, heard) = channel();
    let (payload, hints) = (payload.to_vec(), work.hints.clone());
    // To connect may take for ever, and no clock can be set for it.
    std::thread::spawn(move || {
        let reply = client::hook(&socket, &payload, &hints, patience);
        if sender.send(reply).is_err() {
            tracing::debug!("the daemon answers too late");
        }
    });
    match heard.recv_timeout(patience) {
        Ok(Ok(reply)) => Heard::Reply(reply),
        Ok(Err(error)) if error.is_absent() => Heard::Nobody,
        Ok(Err(error)) => trouble(work, &error),
        Err(_) => trouble(
            work,
            &ClientError::Silent(std::io::ErrorKind::TimedOut.into()),
        ),
    }
}

fn trouble(work: &Work, error: &ClientError) -> Heard {
    work.log.say(&error.to_string());
    Heard::Trouble
}

/// Starts a daemon in the background, unless one was started just now.
pub fn start(work: &Work) {
    let home = &work.environment.home;
    let mark = home.join(STARTED);
    let is_fresh = fs::metadata(&mark)
        .and_then(|file| file.modified())
        .is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() < START_EVERY);
    if is_fresh || !Store::path_in(home).exists() {
        return;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let started = options
        .open(&mark)
        .and_then(|file| file.set_modified(SystemTime::now()))
        .and_then(|()| std::env::current_exe())
        .and_then(|program| {
            let mut command = Command::new(program);
            command
                .arg("--home")
                .arg(home)
                .arg("serve")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            // The agent ends its hooks with all that they started, by their group.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            command.spawn()
        });
    if let Err(error) = started {
        work.log.say(&format!("no daemon can be started: {error}"));
    }
}
