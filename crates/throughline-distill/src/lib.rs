//! One session made shorter: its digest, its summary, its compaction.
//!
//! Every stage is a function of the store and `now` that pulls its pending work and writes its
//! result back; what is decided is decided by pure functions first. [`digest`] is the permanent account
//! of a session, made of its records without a model, [`facts`] what it is sure to
//! hold. [`compact`] is pure throughout; [`tell`] is what it falls back on where there is a model.
//!
//! The running summary: [`due`] says when, [`renew`] does it under a lease, [`embedded`] makes it of the
//! records, and [`extract`] lets a [`model`] make it, through the gate of [`edit`], from a [`transcript`].
//! [`latest`] says how a session stands when the summary may be older than its records.
//! [`model_facts`] are what a model says will still matter elsewhere.

#[cfg(test)]
mod asking;
pub mod compact;
pub mod digest;
pub mod due;
pub mod edit;
pub mod embedded;
pub mod extract;
pub mod facts;
pub mod latest;
pub mod model;
pub mod model_facts;
pub mod renew;
pub mod tell;
pub mod transcript;
