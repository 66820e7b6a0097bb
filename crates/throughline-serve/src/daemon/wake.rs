//! What wakes the daemon's loop.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::hook::FollowUp;

/// Things that wait to be done. More of them are only more of the same.
const QUEUED_WAKES_MAX: usize = 64;

/// A reason to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The watcher has read something new.
    LogGrew,
    /// A hook was answered; this follows from it.
    HookAnswered(Vec<FollowUp>),
    /// Hooks may have left something.
    FollowUpsDue,
    /// Facts of sessions that have ended, and what became of injections.
    FactsDue,
    /// Digests, and what is not kept.
    RetentionDue,
    /// Chores.
    MaintenanceDue,
    /// Nobody needs us.
    Idle,
    Stop,
}

/// Wakes the loop from anywhere.
#[derive(Clone, Debug)]
pub struct DaemonHandle {
    wakes: mpsc::Sender<WakeReason>,
    stop: Arc<watch::Sender<bool>>,
}

impl DaemonHandle {
    /// Asks for something to be done. With too much waiting already it is left to its next turn.
    pub fn wake(&self, wake: WakeReason) {
        if let Err(error) = self.wakes.try_send(wake) {
            tracing::debug!(%error, "left to its next turn");
        }
    }

    /// Stops the daemon, before anything else that waits.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// What waits to be done.
#[derive(Debug)]
pub struct WakeReceiver {
    wakes: mpsc::Receiver<WakeReason>,
    stop: watch::Receiver<bool>,
}

pub fn wake_channel() -> (DaemonHandle, WakeReceiver) {
    let (wakes, waiting) = mpsc::channel(QUEUED_WAKES_MAX);
    let (stop, stopped) = watch::channel(false);
    let waker = DaemonHandle {
        wakes,
        stop: Arc::new(stop),
    };
    let inbox = WakeReceiver {
        wakes: waiting,
        stop: stopped,
    };
    (waker, inbox)
}

impl WakeReceiver {
    /// Waits for something to do, but no longer than `patience`.
    pub async fn next(&mut self, patience: Duration) -> Option<WakeReason> {
        let Self { wakes, stop } = self;
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Some(WakeReason::Stop),
            wake = wakes.recv() => wake.or(Some(WakeReason::Stop)),
            () = tokio::time::sleep(patience) => None,
        }
    }

    /// Waits until somebody stops the daemon.
    pub async fn wait_for_stop(&mut self) {
        let _last = self.stop.wait_for(|stop| *stop).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_goes_before_everything_that_waits_and_nothing_waits_without_end() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (waker, mut inbox) = wake_channel();
            for _ in 0..10 * QUEUED_WAKES_MAX {
                waker.wake(WakeReason::LogGrew);
            }
            assert_eq!(inbox.next(Duration::ZERO).await, Some(WakeReason::LogGrew));
            waker.stop();
            assert_eq!(inbox.next(Duration::ZERO).await, Some(WakeReason::Stop));
            inbox.wait_for_stop().await;
        });
    }
}
