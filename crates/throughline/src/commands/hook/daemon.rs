//! Whether a daemon answers in our place, and how one is started.

use serve::client::{ClientError, HookCall};
use serve::daemon::is_held;
use serve::hook::wire::Reply;
use store::Store;

use super::tries;
use super::work::Work;

/// The daemon is waited for alone for so much of the time that is left. After that the hook works on an
/// answer of its own as well, and prints whichever comes first.
const ALONE_SHARE: f64 = 0.3;

/// What came of asking.
pub enum Heard {
    Reply(Reply),
    /// It was asked and has not answered yet.
    Late(HookCall),
    Nobody,
    /// There is one, and it does not answer.
    Trouble,
    /// It was not asked.
    Unasked,
}

pub fn ask(work: &Work, payload: &[u8]) -> Heard {
    let patience = work.left().mul_f64(ALONE_SHARE);
    let home = &work.environment.home;
    let asked = HookCall::send(home, payload, &work.hints, patience);
    let heard = asked.and_then(|mut call| Ok((call.receive(patience)?, call)));
    match heard {
        Ok((Some(reply), _)) => Heard::Reply(reply),
        Ok((None, call)) => Heard::Late(call),
        Err(error) if error.is_absent() => Heard::Nobody,
        Err(error) => trouble(work, &error),
    }
}

/// Waits for the rest of the time for an answer that was late.
pub fn wait(work: &Work, mut call: HookCall) -> Option<Reply> {
    let received = call.receive(work.left());
    received
        .inspect_err(|error| work.log.say(&error.to_string()))
        .ok()
        .flatten()
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
