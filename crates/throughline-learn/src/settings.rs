//! The part of the user's configuration that the learning loop depends on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::curate::CurationGate;

/// The settings of the learning loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnSettings {
    /// The folder of the catalog, relative to the root of a repository.
    pub catalog_dir: PathBuf,
    pub gate: CurationGate,
    /// Maps the key of a workspace to the domains that it belongs to.
    pub domains: BTreeMap<String, Vec<String>>,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self {
            catalog_dir: PathBuf::from(".throughline/patterns"),
            gate: CurationGate::default(),
            domains: BTreeMap::new(),
        }
    }
}

impl LearnSettings {
    /// Returns the catalog of a repository.
    pub fn catalog_of(&self, root: &Path) -> PathBuf {
        root.join(&self.catalog_dir)
    }
}
