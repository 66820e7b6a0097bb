//! What the tests of several crates share. Never a dependency of the product.

pub mod corpus;
pub mod floor;
pub mod model_server;
pub mod process;
pub mod random;
pub mod rules;
pub mod shape;
pub mod skip;
pub mod store;
pub mod transcript;

use std::path::{Path, PathBuf};

pub use self::store::{TestStore, store};

/// Returns the path of a file under the repository's `fixtures/`.
pub fn fixture(relative: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(relative)
}

/// Returns the files below a folder, in the order of their paths.
///
/// # Panics
///
/// When the folder cannot be read.
#[expect(clippy::expect_used, reason = "a test that cannot go on should fail")]
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder to read") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
