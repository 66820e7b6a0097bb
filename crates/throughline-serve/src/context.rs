//! The context in which requests are answered: the store, the settings and the clock.

use std::sync::Arc;

use jiff::Timestamp;
use memory::layers::{Card, CardKey};
use store::Store;

use crate::ServeSettings;
use crate::changes::ChangeTracker;
use crate::live::LiveLayers;

/// Returns the current time. Only the binary reads the system clock.
pub type ClockFn = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything that answering a request needs, whichever front end it came through.
#[derive(Clone)]
pub struct ServeContext {
    pub store: Arc<Store>,
    pub settings: Arc<ServeSettings>,
    pub clock: ClockFn,
    pub changes: Arc<ChangeTracker>,
    pub layers: Arc<LiveLayers>,
}

impl ServeContext {
    pub fn new(store: Arc<Store>, settings: ServeSettings, clock: ClockFn) -> Self {
        Self {
            store,
            settings: Arc::new(settings),
            clock,
            changes: Arc::default(),
            layers: Arc::default(),
        }
    }

    /// Counts a card that a client asked for in the layers of its workspace. The answer does not
    /// depend on it, so a failure is only reported. `generation` is the store's before the card was
    /// read.
    pub(crate) fn count_pull(
        &self,
        workspace: Option<&str>,
        key: CardKey,
        card: Option<Card>,
        generation: i64,
    ) {
        let Some(workspace) = workspace else {
            return;
        };
        let (store, now) = (&self.store, self.now());
        let counted = self
            .layers
            .count_pull(store, workspace, &[(key, card)], generation, now);
        if let Err(error) = counted {
            tracing::warn!(%error, "a lookup was not counted");
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

impl std::fmt::Debug for ServeContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeContext")
            .field("store", &self.store.path())
            .finish_non_exhaustive()
    }
}
