//! Retention: how much raw text is kept, and what is evicted first.
//!
//! [`measure`] measures the store, [`mod@plan`] decides purely what is evicted, [`apply`] runs the
//! plan, [`evict`] evicts one session, and [`evicted`] remembers the ids of evicted records.
//!
//! Raw data is everything that records consist of: rows, texts, index, logs. Below the soft cap it
//! is never evicted, unless the user has set an age for it. It is never evicted by the sweep that
//! read it, and never before its digest exists, except by the overflow of the hard cap, which is
//! reported as data loss. An evicted session keeps its row, its title, its digest, its usage and
//! its facts, and search finds these.

mod apply;
mod evict;
mod evicted;
mod measure;
mod plan;

pub use self::apply::RetentionReport;
pub use self::evicted::EvictionInfo;
pub(crate) use self::evicted::{EvictedRecords, has_evictions};
pub use self::measure::DiskUsage;
pub use self::plan::{
    DeleteAfterStatus, EvictionPass, EvictionPlan, PlannedEviction, RetainedSession,
    RetentionPolicy, RetentionState, WorkspacePolicy, plan,
};

#[cfg(test)]
mod reread_tests;
