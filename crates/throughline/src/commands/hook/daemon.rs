//! Whether a daemon answers in our place, and how one is started.

use std::sync::mpsc::channel;

use serve::client::{self, ClientError};
use serve::daemon::is_held;
use serve::hook::socket_in;
use serve::hook::wire::Reply;
use store::Store;

use super::tries;
use super::work::Work;

/// Of the time that is left, the daemon gets so much; the rest is for answering without it.
const SHARE: f64 = 0.5;

/// What came of asking.
pub enum Heard {
    Reply(Reply),
    Nobody,
    /// There is one, and it does not answer.
    Trouble,
    /// It was not asked.
    Unasked,
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

/// Starts a daemon in the background, where memory is and none runs or is on its way.
pub fn start(work: &Work) {
    let environment = &work.environment;
    let home = &environment.home;
    if environment.daemon_off || !Store::path_in(home).exists() || is_held(home) {
        return;
    }
    let config = environment.config.as_ref();
    let config = config.unwrap_or(&environment.config_usual);
    let started = tries::claim(home).and_then(|is_ours| match is_ours {
        true => crate::daemon::spawn(home, config, None),
        false => Ok(()),
    });
    if let Err(error) = started {
        work.log.say(&format!("no daemon can be started: {error}"));
    }
}
