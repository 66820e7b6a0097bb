//! What requests are answered from: the store, the settings and the clock.

use std::sync::Arc;

use jiff::Timestamp;
use store::Store;

use crate::Settings;
use crate::changes::Changes;

/// Returns the time. The binary alone reads it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where requests are answered, however they come.
#[derive(Clone)]
pub struct Desk {
    pub store: Arc<Store>,
    pub settings: Arc<Settings>,
    pub clock: Clock,
    pub changes: Arc<Changes>,
}

impl Desk {
    pub fn new(store: Arc<Store>, settings: Settings, clock: Clock) -> Self {
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

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("store", &self.store.path())
            .finish_non_exhaustive()
    }
}
