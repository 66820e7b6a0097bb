//! One session made shorter: its digest, its summary, its compaction.
//!
//! Every stage is a function of the store and `now` that pulls its pending work and writes its
//! result back; what is decided is decided by pure functions first. [`compact`] is pure throughout.

pub mod compact;
