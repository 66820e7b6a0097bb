//! Which pattern is proposed or active where: `active_patterns.json`.
//!
//! A proposed pattern becomes active when a session starts while its block is in the file. A block
//! that was active and is gone was withdrawn by the user.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::Flavor;
use serde::{Deserialize, Serialize};
use store::Store;

use super::block::find_blocks;
use super::plan::{FileChange, PlannedBlock};
use super::{DistributeError, io_error};
use crate::detect::SessionGroup;

/// All placements of patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternRegistry {
    pub patterns: Vec<PlacedPattern>,
}

/// A pattern in one file of one repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedPattern {
    pub workspace: String,
    pub root: PathBuf,
    pub pattern: String,
    pub version: String,
    pub path: PathBuf,
    pub state: PlacementState,
    pub flavors: Vec<Flavor>,
    pub tokens: u64,
    pub proposed: Timestamp,
    /// When the block was first seen in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// When the first session of each agent started that could read it, by the agent's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub active: BTreeMap<String, Timestamp>,
    /// When the block was found to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementState {
    /// There is a diff for it.
    Proposed,
    /// A session has started with the block in the file.
    Active,
    /// The block was in the file and is gone.
    Withdrawn,
}

impl PatternRegistry {
    pub fn find(&self, workspace: &str, pattern: &str, path: &Path) -> Option<&PlacedPattern> {
        self.patterns.iter().find(|placed| {
            placed.workspace == workspace && placed.pattern == pattern && placed.path == path
        })
    }

    /// Returns the files of a repository that have had a block, or only those that one agent reads.
    pub(super) fn paths(&self, workspace: &str, only: Option<Flavor>) -> Vec<PathBuf> {
        let here = self
            .patterns
            .iter()
            .filter(|placed| placed.workspace == workspace)
            .filter(|placed| only.is_none_or(|only| placed.flavors.contains(&only)));
        here.map(|placed| placed.path.clone()).collect()
    }

    /// Notes the blocks of a plan. A new version starts as proposed.
    pub fn note_planned(
        &mut self,
        workspace: &str,
        root: &Path,
        planned: &[PlannedBlock],
        now: Timestamp,
    ) {
        for block in planned {
            let known = self.patterns.iter_mut().find(|placed| {
                placed.workspace == workspace
                    && placed.pattern == block.pattern
                    && placed.path == block.path
            });
            let flavors = block
                .flavors
                .iter()
                .filter_map(|name| Flavor::from_name(name));
            let fresh = PlacedPattern {
                workspace: workspace.to_owned(),
                root: root.to_owned(),
                pattern: block.pattern.clone(),
                version: block.version.clone(),
                path: block.path.clone(),
                state: PlacementState::Proposed,
                flavors: flavors.collect(),
                tokens: block.tokens,
                proposed: now,
                seen: None,
                active: BTreeMap::new(),
                ended: None,
            };
            match known {
                Some(known) if known.version == fresh.version => known.flavors = fresh.flavors,
                Some(known) => *known = fresh,
                None => self.patterns.push(fresh),
            }
        }
    }
}

impl PatternRegistry {
    /// Notes that a pattern was approved. One whose block was removed before is proposed again.
    pub fn note_approved(&mut self, pattern: &str, at: Option<Timestamp>) {
        for placed in &mut self.patterns {
            let was_removed = placed.state == PlacementState::Withdrawn && placed.ended < at;
            if placed.pattern == pattern && was_removed {
                placed.state = PlacementState::Proposed;
                placed.seen = None;
                placed.ended = None;
                placed.active.clear();
            }
        }
    }

    /// Notes that the blocks of these files were written now.
    pub fn note_applied(&mut self, workspace: &str, changes: &[FileChange], now: Timestamp) {
        for placed in &mut self.patterns {
            let changed = changes.iter().any(|change| change.path == placed.path);
            if changed && placed.workspace == workspace && placed.seen.is_none() {
                placed.seen = Some(now);
            }
        }
    }
}

/// Looks at the files, and updates which patterns are active since when.
pub fn observe(registry: &mut PatternRegistry, groups: &[SessionGroup<'_>], now: Timestamp) {
    for placed in &mut registry.patterns {
        let file = placed.root.join(&placed.path);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let is_there = find_blocks(&text)
            .iter()
            .any(|block| block.id == placed.pattern);
        if !is_there {
            // A repository that is not there now says nothing about its files.
            if placed.seen.is_some() && placed.ended.is_none() && placed.root.is_dir() {
                placed.state = PlacementState::Withdrawn;
                placed.ended = Some(now);
            }
            continue;
        }
        let changed = fs::metadata(&file).and_then(|found| found.modified()).ok();
        let changed = changed
            .and_then(|at| Timestamp::try_from(at).ok())
            .unwrap_or(now);
        let seen = *placed.seen.get_or_insert(changed.min(now));
        if placed.state == PlacementState::Withdrawn {
            placed.state = PlacementState::Proposed;
            placed.ended = None;
        }
        for flavor in &placed.flavors {
            let first = groups
                .iter()
                .filter(|group| group.workspace == Some(placed.workspace.as_str()))
                .filter(|group| group.flavor == *flavor)
                .filter_map(|group| group.started)
                .filter(|started| *started >= seen)
                .min();
            if let Some(first) = first {
                placed.state = PlacementState::Active;
                placed
                    .active
                    .entry(flavor.name().to_owned())
                    .or_insert(first);
            }
        }
    }
}

/// Returns the path of the registry, beside the store.
pub fn registry_path(store: &Store) -> PathBuf {
    store.path().with_file_name("active_patterns.json")
}

/// Reads the registry. A file that does not exist is an empty registry.
pub fn load_registry(path: &Path) -> Result<PatternRegistry, DistributeError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(PatternRegistry::default());
        }
        Err(source) => return Err(io_error(path, source)),
    };
    serde_json::from_str(&text).map_err(|error| DistributeError::Registry {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// Writes the registry, if it changed.
pub fn save_registry(path: &Path, registry: &PatternRegistry) -> Result<(), DistributeError> {
    if load_registry(path).is_ok_and(|known| known == *registry) {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(registry).unwrap_or_default();
    let beside = path.with_extension("json.new");
    fs::write(&beside, text + "\n")
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|source| io_error(path, source))
}
