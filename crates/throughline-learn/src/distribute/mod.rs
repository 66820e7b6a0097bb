//! Puts approved patterns where each agent reads them.
//!
//! [`targets`] chooses the files, which [`readers`] and [`own_files`] know. [`block`] writes and
//! finds our part of a file, [`plan`] decides what changes, [`proposal`] turns a change into a diff
//! or applies it, and [`registry`] records which pattern is proposed or active where.
//! [`repository`] does all of it for one repository. Nothing is written into a repository unless
//! the user asks for it.

mod block;
mod own_files;
mod plan;
mod proposal;
mod readers;
mod registry;
mod repository;
mod targets;

use std::io;
use std::path::PathBuf;

pub use self::block::{FoundBlock, find_blocks, text_outside_blocks};
pub use self::plan::{DistributionPlan, FileChange, PlanNote, plan_distribution};
pub use self::proposal::{apply_change, unified_diff};
pub use self::registry::{
    PatternRegistry, PlacedPattern, PlacementState, load_registry, observe, registry_path,
    save_registry,
};
pub use self::repository::{RepositoryError, RepositoryPlan, plan_repository};
pub use self::targets::{RepositoryView, TargetFile, choose_targets};

/// A file has at most this many patterns and tokens of them. Longer instruction files are followed
/// less.
pub const PATTERNS_PER_FILE_MAX: usize = 10;
pub const TOKENS_PER_FILE_MAX: u64 = 600;

/// Why patterns cannot be distributed.
#[derive(Debug, thiserror::Error)]
pub enum DistributeError {
    #[error("cannot access {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} has changed since the proposal was made", path.display())]
    Changed { path: PathBuf },
    #[error("the registry {} is damaged: {why}", path.display())]
    Registry { path: PathBuf, why: String },
}

fn io_error(path: &std::path::Path, source: io::Error) -> DistributeError {
    DistributeError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
