//! The channel that wakes the daemon's loop.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::hook::FollowUp;

/// Wake reasons that may be queued. A full queue already holds one of each kind that matters.
const QUEUED_WAKES_MAX: usize = 64;

/// A reason for the loop to run a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The watcher has stored new records.
    LogGrew,
    /// A hook was answered, with this follow-up work.
    HookAnswered(Vec<FollowUp>),
    /// Hooks may have queued follow-up work on disk.
    FollowUpsDue,
    /// Sessions that have ended may hold new facts, and past injections can be scored.
    FactsDue,
    /// Digests are due, and the retention policy has to be applied.
    RetentionDue,
    /// Database maintenance is due.
    MaintenanceDue,
    /// Nothing was requested for the configured time.
    Idle,
    Stop,
}

/// Wakes or stops the daemon's loop from any thread.
#[derive(Clone, Debug)]
pub struct DaemonHandle {
    wakes: mpsc::Sender<WakeReason>,
    stop: Arc<watch::Sender<bool>>,
}

impl DaemonHandle {
    /// Queues a wake reason. If the queue is full, the periodic schedule makes up for it.
    pub fn wake(&self, wake: WakeReason) {
        if let Err(error) = self.wakes.try_send(wake) {
            tracing::debug!(%error, "the queue is full; left to the schedule");
        }
    }

    /// Stops the daemon, ahead of queued wake reasons.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// The loop's end of the channel.
#[derive(Debug)]
pub(super) struct WakeReceiver {
    wakes: mpsc::Receiver<WakeReason>,
    stop: watch::Receiver<bool>,
}

pub(super) fn wake_channel() -> (DaemonHandle, WakeReceiver) {
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
    /// Waits for a wake reason, at most `patience`.
    pub(super) async fn next(&mut self, patience: Duration) -> Option<WakeReason> {
        let Self { wakes, stop } = self;
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Some(WakeReason::Stop),
            wake = wakes.recv() => wake.or(Some(WakeReason::Stop)),
            () = tokio::time::sleep(patience) => None,
        }
    }

    /// Waits until the daemon is stopped.
    pub(super) async fn wait_for_stop(&mut self) {
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
