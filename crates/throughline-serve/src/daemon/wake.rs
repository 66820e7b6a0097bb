//! What wakes the daemon's loop.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::hook::After;

/// Things that wait to be done. More of them are only more of the same.
const WAITING_MAX: usize = 64;

/// A reason to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The watcher has read something new.
    LogGrew,
    /// A hook was answered; this follows from it.
    Hooked(Vec<After>),
    /// Hooks may have left something.
    PendingDue,
    /// Facts of sessions that have ended, and what became of injections.
    DistillDue,
    /// Digests, and what is not kept.
    RetentionDue,
    /// Chores.
    HouseDue,
    /// Nobody needs us.
    Idle,
    Stop,
}

/// Wakes the loop from anywhere.
#[derive(Clone, Debug)]
pub struct Waker {
    wakes: mpsc::Sender<Wake>,
    stop: Arc<watch::Sender<bool>>,
}

impl Waker {
    /// Asks for something to be done. With too much waiting already it is left to its next turn.
    pub fn wake(&self, wake: Wake) {
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
pub struct Inbox {
    wakes: mpsc::Receiver<Wake>,
    stop: watch::Receiver<bool>,
}

pub fn channel() -> (Waker, Inbox) {
    let (wakes, waiting) = mpsc::channel(WAITING_MAX);
    let (stop, stopped) = watch::channel(false);
    let waker = Waker {
        wakes,
        stop: Arc::new(stop),
    };
    let inbox = Inbox {
        wakes: waiting,
        stop: stopped,
    };
    (waker, inbox)
}

impl Inbox {
    /// Waits for something to do, but no longer than `patience`.
    pub async fn next(&mut self, patience: Duration) -> Option<Wake> {
        let Self { wakes, stop } = self;
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Some(Wake::Stop),
            wake = wakes.recv() => wake.or(Some(Wake::Stop)),
            () = tokio::time::sleep(patience) => None,
        }
    }

    /// Waits until somebody stops the daemon.
    pub async fn stop_asked(&mut self) {
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
            let (waker, mut inbox) = channel();
            for _ in 0..10 * WAITING_MAX {
                waker.wake(Wake::LogGrew);
            }
            assert_eq!(inbox.next(Duration::ZERO).await, Some(Wake::LogGrew));
            waker.stop();
            assert_eq!(inbox.next(Duration::ZERO).await, Some(Wake::Stop));
            inbox.stop_asked().await;
        });
    }
}
