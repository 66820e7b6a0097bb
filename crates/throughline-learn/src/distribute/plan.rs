//! Decides which blocks are added, replaced or removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memory::{Flavor, tokens};
use serde::Serialize;

use super::block::{self, find_blocks};
use super::readers::existing_part;
use super::registry::{PatternRegistry, PlacementState};
use super::targets::{RepositoryView, choose_targets};
use super::{DistributeError, PATTERNS_PER_FILE_MAX, TOKENS_PER_FILE_MAX, io_error};
use crate::curate::{CatalogEntry, EntryStatus, GuidanceTrust};

/// A larger file is not an instruction file.
const FILE_BYTES_MAX: u64 = 1 << 20;

const LINK_OUT: &str = "it is a symbolic link out of the repository";

/// What would change in a repository.
#[derive(Debug, Default)]
pub struct DistributionPlan {
    pub changes: Vec<FileChange>,
    /// Every pattern that the repository will have, with its file.
    pub placed: Vec<PlannedBlock>,
    pub notes: Vec<PlanNote>,
}

/// A pattern in a file, after the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedBlock {
    pub pattern: String,
    pub version: String,
    pub path: PathBuf,
    pub flavors: Vec<&'static str>,
    pub tokens: u64,
}

/// A file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the repository.
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Something that the plan left alone, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanNote {
    pub path: Option<PathBuf>,
    pub pattern: Option<String>,
    pub why: String,
}

/// Plans the blocks of a repository: the approved patterns in their scope, the strongest first.
/// `gone` are patterns without evidence, whose blocks are removed.
pub fn plan_distribution(
    repository: &RepositoryView<'_>,
    catalog: &[CatalogEntry],
    registry: &PatternRegistry,
    gone: &BTreeSet<String>,
) -> Result<DistributionPlan, DistributeError> {
    let mut plan = DistributionPlan::default();
    let mut wanted: BTreeMap<PathBuf, Vec<WantedBlock<'_>>> = BTreeMap::new();
    for entry in by_strength(catalog) {
        if !is_distributed(entry, repository, gone) {
            continue;
        }
        for target in choose_targets(repository, entry) {
            let known = registry.find(repository.workspace, &entry.id, &target.path);
            let withdrawn = known.is_some_and(|known| {
                known.state == PlacementState::Withdrawn
                    && known.version == entry.version.to_string()
            });
            if withdrawn {
                plan.note(
                    &target.path,
                    &entry.id,
                    "the user removed this version of it",
                );
                continue;
            }
            wanted
                .entry(target.path.clone())
                .or_default()
                .push(WantedBlock {
                    entry,
                    flavors: target.flavors,
                    front_matter: target.front_matter,
                    is_scoped: target.is_scoped,
                });
        }
    }
    let known = registry.paths(repository.workspace, repository.only);
    let mut files: BTreeSet<PathBuf> = known.into_iter().collect();
    let is_read = |blocks: &[WantedBlock<'_>]| {
        let only = repository.only.map(Flavor::name);
        only.is_none_or(|only| blocks.iter().any(|block| block.flavors.contains(&only)))
    };
    let read = wanted.iter().filter(|(_, blocks)| is_read(blocks));
    files.extend(read.map(|(path, _)| path.clone()));
    for path in files {
        let blocks = wanted.remove(&path).unwrap_or_default();
        plan_file(&mut plan, repository.root, &path, blocks)?;
    }
    Ok(plan)
}

struct WantedBlock<'a> {
    entry: &'a CatalogEntry,
    flavors: Vec<&'static str>,
    front_matter: Option<String>,
    is_scoped: bool,
}

impl WantedBlock<'_> {
    /// Returns the text between the marks.
    fn body(&self) -> String {
        let paths = &self.entry.scope.paths;
        match paths.is_empty() || self.is_scoped {
            true => format!("- {}", self.entry.guidance),
            false => format!("- In {}: {}", paths.join(", "), self.entry.guidance),
        }
    }
}

fn by_strength(catalog: &[CatalogEntry]) -> Vec<&CatalogEntry> {
    let mut entries: Vec<&CatalogEntry> = catalog.iter().collect();
    entries.sort_by_key(|entry| {
        let cost = entry.evidence.minutes + entry.evidence.tokens / 2_000;
        (std::cmp::Reverse(cost), entry.id.clone())
    });
    entries
}

fn is_distributed(
    entry: &CatalogEntry,
    repository: &RepositoryView<'_>,
    gone: &BTreeSet<String>,
) -> bool {
    let scope = &entry.scope;
    // A pattern comes from one repository; domains that the user adds make it apply more widely.
    let in_scope = if scope.domains.is_empty() {
        scope.repos.is_empty() || scope.repos.iter().any(|one| one == repository.workspace)
    } else {
        let mut domains = scope.domains.iter();
        domains.any(|one| repository.domains.contains(one))
    };
    entry.status == EntryStatus::Approved
        && entry.distribution_ready
        && entry.trust == GuidanceTrust::User
        && in_scope
        && !gone.contains(&entry.id)
}

impl DistributionPlan {
    fn note(&mut self, path: &Path, pattern: &str, why: &str) {
        self.notes.push(PlanNote {
            path: Some(path.to_owned()),
            pattern: Some(pattern.to_owned()),
            why: why.to_owned(),
        });
    }
}

fn plan_file(
    plan: &mut DistributionPlan,
    root: &Path,
    path: &Path,
    blocks: Vec<WantedBlock<'_>>,
) -> Result<(), DistributeError> {
    let before = match read_text(root, path)? {
        FileText::Text(text) => Some(text),
        FileText::Missing => None,
        FileText::Unusable(why) => {
            plan.notes.push(PlanNote {
                path: Some(path.to_owned()),
                pattern: None,
                why: why.to_owned(),
            });
            return Ok(());
        }
    };
    let old = before.clone().unwrap_or_default();
    let mut text = old.clone();
    let mut kept = BTreeSet::new();
    let (mut count, mut size) = (0, 0);
    let mut added = Vec::new();
    for wanted in blocks {
        let entry = wanted.entry;
        let version = entry.version.to_string();
        let cost = tokens::estimate(&wanted.body()).0;
        if count >= PATTERNS_PER_FILE_MAX || size + cost > TOKENS_PER_FILE_MAX {
            plan.note(
                path,
                &entry.id,
                "the file has no room for it: stronger patterns come first",
            );
            continue;
        }
        count += 1;
        size += cost;
        kept.insert(entry.id.clone());
        let present = find_blocks(&text)
            .into_iter()
            .find(|known| known.id == entry.id);
        let is_edited = present.as_ref().is_some_and(|known| known.edited);
        if is_edited {
            plan.note(path, &entry.id, "it was edited by hand and is left alone");
        }
        let is_current = present
            .as_ref()
            .is_some_and(|known| known.version == version);
        if !is_edited && !is_current {
            if let Some(stale) = &present {
                text = block::remove(&text, stale);
            }
            added.push(wanted_text(&wanted, &version));
        }
        plan.placed.push(PlannedBlock {
            pattern: entry.id.clone(),
            version,
            path: path.to_owned(),
            flavors: wanted.flavors.clone(),
            tokens: cost,
        });
    }
    remove_unwanted(plan, path, &mut text, &kept);
    for (front_matter, id, version, body) in added {
        if text.is_empty()
            && let Some(front_matter) = front_matter
        {
            text = front_matter;
        }
        let block = block::render(&id, &version, &body, block::line_end(&text));
        text = block::insert(&text, &block);
    }
    if text != old {
        let is_ours = before.is_some() && text.lines().all(|line| is_front_matter(&text, line));
        plan.changes.push(FileChange {
            path: path.to_owned(),
            before,
            after: (!text.is_empty() && !is_ours).then_some(text),
        });
    }
    Ok(())
}

type AddedBlock = (Option<String>, String, String, String);

fn wanted_text(wanted: &WantedBlock<'_>, version: &str) -> AddedBlock {
    let (id, body) = (wanted.entry.id.clone(), wanted.body());
    (wanted.front_matter.clone(), id, version.to_owned(), body)
}

/// Removes our blocks that are no longer wanted, except those that the user edited.
fn remove_unwanted(
    plan: &mut DistributionPlan,
    path: &Path,
    text: &mut String,
    kept: &BTreeSet<String>,
) {
    let mut left_alone = BTreeSet::new();
    loop {
        let blocks = find_blocks(text);
        let unwanted = blocks
            .into_iter()
            .find(|known| !kept.contains(&known.id) && !left_alone.contains(&known.id));
        let Some(unwanted) = unwanted else {
            return;
        };
        if unwanted.edited {
            plan.note(
                path,
                &unwanted.id,
                "it was edited by hand and is left alone",
            );
            left_alone.insert(unwanted.id);
        } else {
            *text = block::remove(text, &unwanted);
        }
    }
}

/// Says whether a line belongs to the front matter of a rule file of ours, which is all that is
/// left of it after its block is gone.
fn is_front_matter(text: &str, line: &str) -> bool {
    let ours = [
        "---", "name: ", "paths: ", "applyTo: ", "description: ", "globs: ", "alwaysApply: ",
    ];
    text.starts_with("---\n") && ours.iter().any(|start| line.starts_with(start))
}

enum FileText {
    Text(String),
    Missing,
    Unusable(&'static str),
}

fn read_text(root: &Path, path: &Path) -> Result<FileText, DistributeError> {
    let full = root.join(path);
    let size = match fs::metadata(&full) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dangles = full.symlink_metadata().is_ok();
            let (folder, _) = existing_part(&full);
            return Ok(if dangles {
                FileText::Unusable("it is a symbolic link to a file that does not exist")
            } else if leads_out(root, &folder) {
                FileText::Unusable(LINK_OUT)
            } else {
                FileText::Missing
            });
        }
        Err(source) => return Err(io_error(&full, source)),
    };
    if size > FILE_BYTES_MAX {
        return Ok(FileText::Unusable(
            "it is too large for an instruction file",
        ));
    }
    if leads_out(root, &full) {
        return Ok(FileText::Unusable(LINK_OUT));
    }
    match String::from_utf8(fs::read(&full).map_err(|source| io_error(&full, source))?) {
        Ok(text) => Ok(FileText::Text(text)),
        Err(_) => Ok(FileText::Unusable("it is not UTF-8")),
    }
}

/// Says whether an existing path is outside of the repository after symbolic links.
fn leads_out(root: &Path, path: &Path) -> bool {
    let real = (path.canonicalize().ok(), root.canonicalize().ok());
    matches!(&real, (Some(path), Some(root)) if !path.starts_with(root))
}
