//! One session made shorter.
//!
//! [`digest`] is the permanent account of a session, made of its records without a model.

pub mod digest;
