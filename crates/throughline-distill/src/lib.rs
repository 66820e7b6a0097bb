//! One session made shorter: its digest, its summary, its compaction.
//!
//! Every stage is a function of the store and `now` that pulls its pending work and writes its
//! result back; what is decided is decided by pure functions first. [`digest`] is the permanent account
//! of a session, made of its records without a model, [`facts`] what it is sure to
//! hold. [`compact`] is pure throughout.

pub mod compact;
pub mod digest;
pub mod facts;
