//! Finding damage, and recovering what a damaged store still holds.
//!
//! [`health`] examines a store for `doctor`, [`verify`] checks a file before it becomes the store.
//! [`repair`](mod@repair) builds a new store from the rows that [`pages`] can still read.

pub(crate) mod health;
pub(crate) mod pages;
pub(crate) mod repair;
pub(crate) mod verify;
