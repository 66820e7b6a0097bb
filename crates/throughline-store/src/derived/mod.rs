//! What Throughline itself makes of the records: facts, digests, summaries, and the account of what
//! it showed and spent.
//!
//! [`digests`] hold one row per session, [`summaries`] the running notes with their file, written
//! under [`leases`]. [`signals`] of sessions become [`patterns`] across them. [`injections`] record
//! what was put before a model, [`model_calls`] what each call of a model cost, and [`events`] what
//! was done or declined, with the figures behind it. [`layers`] holds checkpoints, and reads which
//! files sessions touched; [`cards`] holds the context caches of workspaces, and [`capsules`] what
//! is known in them.

pub(crate) mod capsules;
pub(crate) mod cards;
pub(crate) mod digests;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod injections;
pub(crate) mod layers;
pub(crate) mod leases;
pub(crate) mod model_calls;
pub(crate) mod patterns;
pub(crate) mod signals;
pub(crate) mod summaries;
