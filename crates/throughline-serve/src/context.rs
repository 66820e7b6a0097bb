//! The context in which requests are answered: the store, the settings and the clock.

use std::sync::Arc;

use jiff::Timestamp;
use store::Store;

use crate::ServeSettings;
use crate::changes::ChangeTracker;

/// Returns the current time. Only the binary reads the system clock.
pub type ClockFn = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything that answering a request needs, whichever front end it came through.
#[derive(Clone)]
pub struct ServeContext {
    pub store: Arc<Store>,
    pub settings: Arc<ServeSettings>,
    pub clock: ClockFn,
    pub changes: Arc<ChangeTracker>,
}

impl ServeContext {
    pub fn new(store: Arc<Store>, settings: ServeSettings, clock: ClockFn) -> Self {
        Self {
            store,
            settings: Arc::new(settings),
            clock,
            changes: Arc::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

impl std::fmt::Debug for ServeContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("store", &self.store.path())
            .finish_non_exhaustive()
    }
}
