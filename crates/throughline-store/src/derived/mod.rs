//! What Throughline itself makes of the records: facts, digests, summaries, and the account of what
//! it showed and spent.
//!
//! [`digests`] hold one row per session, [`summaries`] the running notes with their file, written
//! under [`leases`]. [`injections`] record what was put before a model, [`model_calls`] what each
//! call of a model cost.

pub(crate) mod digests;
pub(crate) mod facts;
pub(crate) mod injections;
pub(crate) mod leases;
pub(crate) mod model_calls;
pub(crate) mod summaries;
