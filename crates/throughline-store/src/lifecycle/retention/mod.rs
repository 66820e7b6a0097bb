//! How much is kept, and what goes first.
//!
//! [`measure`] says what the store holds, [`mod@plan`] decides purely what goes, [`apply`] evicts it
//! [`evict`] by session, and [`evicted`] keeps the marks of what was evicted.
//!
//! Raw is everything that records are made of: rows, texts, index, logs. Below the soft cap it is
//! never evicted, unless the user has set an age for it. It is never evicted by the sweep that read
//! it, and never before its digest exists, except by the overflow of the hard cap, which is reported
//! as data loss. An evicted session keeps its row, its title, its digest, its usage and its facts,
//! and search finds these.

mod apply;
mod evict;
mod evicted;
mod measure;
mod plan;

pub use self::apply::RetentionReport;
pub(crate) use self::evicted::EvictedRecords;
pub use self::evicted::EvictionInfo;
pub use self::measure::DiskUsage;
pub use self::plan::{
    DeleteAfterStatus, EvictionPass, EvictionPlan, PlannedEviction, RetainedSession,
    RetentionPolicy, RetentionState, WorkspacePolicy, plan,
};

#[cfg(test)]
mod reread_tests;
