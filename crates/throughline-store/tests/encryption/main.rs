//! What takes the place of a store: encrypted ones, plain ones again, and copies.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes that die at a given point"
)]

mod child;
#[cfg(all(unix, feature = "encryption"))]
mod convert;
mod copies;
mod home;
