//! How much is kept, and what goes first.
//!
//! [`measure`] says what the store holds, [`mod@plan`] decides purely what goes, [`apply`] lets it go,
//! [`session`] by session; [`gone`] knows again what went.
//!
//! Raw is everything that records are made of: rows, texts, index, logs. It is never dropped before
//! its digest exists, but for the overflow of the hard cap, which says so. What remains of an
//! evicted session is its row, its digest, its usage and its facts.

mod apply;
mod gone;
mod measure;
mod plan;
mod session;

pub use self::apply::Retained;
pub(crate) use self::gone::Evicted;
pub use self::measure::Usage;
pub use self::plan::{AgePass, Evict, Eviction, Held, Pass, Policy, State, WorkspacePolicy, plan};
