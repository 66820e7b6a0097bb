//! What requests are answered from: the store, the settings and the clock.

use std::sync::Arc;

use jiff::Timestamp;
use store::Store;

use crate::ServeSettings;
use crate::changes::ChangeTracker;

/// Returns the time. The binary alone reads it.
pub type ClockFn = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where requests are answered, however they come.
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
