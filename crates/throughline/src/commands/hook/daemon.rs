//! Asks the daemon to answer a hook, and starts it if it is not running.

use std::time::Duration;

use serve::client::{ClientError, HookCall};
use serve::daemon::is_locked;
use serve::hook::wire::HookReply;
use store::Store;

use super::invocation::HookInvocation;
use super::start_backoff;

/// The share of the remaining time during which only the daemon is waited for. If it has not taken
/// up the payload by then, the hook also computes an answer itself, and prints the first of the
/// two.
const DAEMON_WAIT_SHARE: f64 = 0.3;

/// How the daemon reacted to a hook.
pub(crate) enum DaemonReply {
    Reply(HookReply),
    /// It was asked and has not answered yet.
    Pending(HookCall),
    NotRunning,
    /// It is running but cannot be used.
    Failed,
    /// It was not asked.
    NotAsked,
}

pub(crate) fn ask_daemon(work: &HookInvocation, payload: &[u8]) -> DaemonReply {
    let wait_max = work.time_left().mul_f64(DAEMON_WAIT_SHARE);
    let home = &work.environment.home;
    let asked = HookCall::send(home, payload, &work.hints, wait_max);
    let heard = asked.and_then(|mut call| Ok((call.receive(wait_max)?, call)));
    match heard {
        Ok((Some(reply), _)) => DaemonReply::Reply(reply),
        Ok((None, call)) => DaemonReply::Pending(call),
        Err(error) if error.is_daemon_absent() => DaemonReply::NotRunning,
        Err(error) => log_failure(work, &error),
    }
}

/// Waits for a pending reply. Fails if the daemon will not send one.
pub(crate) fn wait_for_reply(
    work: &HookInvocation,
    call: &mut HookCall,
    timeout: Duration,
) -> Result<Option<HookReply>, ClientError> {
    let received = call.receive(timeout);
    received.inspect_err(|error| work.log.write(&error.to_string()))
}

fn log_failure(work: &HookInvocation, error: &ClientError) -> DaemonReply {
    work.log.write(&error.to_string());
    DaemonReply::Failed
}

/// Starts the daemon in the background if there is a store and no daemon is running or starting.
pub(crate) fn start_daemon(work: &HookInvocation) {
    let environment = &work.environment;
    let home = &environment.home;
    if environment.daemon_off || !Store::database_path(home).exists() || is_locked(home) {
        return;
    }
    let config = environment.config.as_ref();
    let config = config.unwrap_or(&environment.default_config);
    let started = start_backoff::claim_start(home).and_then(|is_ours| match is_ours {
        true => crate::daemon::spawn(home, config, None),
        false => Ok(()),
    });
    if let Err(error) = started {
        work.log.write(&format!("cannot start the daemon: {error}"));
    }
}
