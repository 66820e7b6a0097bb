//! What the tests of several crates share. Never a dependency of the product.

pub mod corpus;
pub mod floor;
pub mod shape;

use std::path::PathBuf;

/// Returns the path of a file under the repository's `fixtures/`.
pub fn fixture(relative: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(relative)
}
