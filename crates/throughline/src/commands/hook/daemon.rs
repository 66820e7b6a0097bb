//! Whether a daemon answers in our place, and how one is started.

use serve::client::{ClientError, HookCall};
use serve::daemon::is_locked;
use serve::hook::wire::Reply;
use store::Store;

use super::tries;
use super::work::HookInvocation;

/// The daemon is waited for alone for so much of the time that is left. After that the hook works on an
/// answer of its own as well, and prints whichever comes first.
const DAEMON_WAIT_SHARE: f64 = 0.3;

/// What came of asking.
pub(crate) enum DaemonReply {
    Reply(Reply),
    /// It was asked and has not answered yet.
    Pending(HookCall),
    NotRunning,
    /// There is one, and it does not answer.
    Failed,
    /// It was not asked.
    NotAsked,
}

pub(crate) fn ask_daemon(work: &HookInvocation, payload: &[u8]) -> DaemonReply {
    let patience = work.time_left().mul_f64(DAEMON_WAIT_SHARE);
    let home = &work.environment.home;
    let asked = HookCall::send(home, payload, &work.hints, patience);
    let heard = asked.and_then(|mut call| Ok((call.receive(patience)?, call)));
    match heard {
        Ok((Some(reply), _)) => DaemonReply::Reply(reply),
        Ok((None, call)) => DaemonReply::Pending(call),
        Err(error) if error.is_daemon_absent() => DaemonReply::NotRunning,
        Err(error) => log_failure(work, &error),
    }
}

/// Waits for the rest of the time for an answer that was late.
pub(crate) fn wait_for_reply(work: &HookInvocation, mut call: HookCall) -> Option<Reply> {
    let received = call.receive(work.time_left());
    received
        .inspect_err(|error| work.log.write(&error.to_string()))
        .ok()
        .flatten()
}

fn log_failure(work: &HookInvocation, error: &ClientError) -> DaemonReply {
    work.log.write(&error.to_string());
    DaemonReply::Failed
}

/// Starts a daemon in the background, where memory is and none runs or is on its way.
pub(crate) fn start_daemon(work: &HookInvocation) {
    let environment = &work.environment;
    let home = &environment.home;
    if environment.daemon_off || !Store::database_path(home).exists() || is_locked(home) {
        return;
    }
    let config = environment.config.as_ref();
    let config = config.unwrap_or(&environment.default_config);
    let started = tries::claim_start(home).and_then(|is_ours| match is_ours {
        true => crate::daemon::spawn(home, config, None),
        false => Ok(()),
    });
    if let Err(error) = started {
        work.log
            .write(&format!("no daemon can be started: {error}"));
    }
}
