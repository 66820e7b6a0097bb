//! Which files a pattern goes into.
//!
//! | agent | always read | for certain paths | on demand |
//! | --- | --- | --- | --- |
//! | Claude Code | `CLAUDE.md`, `.claude/CLAUDE.md` | `.claude/rules/` | `.claude/skills/` |
//! | Codex | `AGENTS.override.md`, else `AGENTS.md` | the same in a folder | `.agents/skills/` |
//! | Gemini | `GEMINI.md`, or `context.fileName` | the same in a folder | `.gemini/skills/` |
//! | Copilot | `AGENTS.md`, `.github/copilot-instructions.md` | `.github/instructions/` | |
//! | Grok | `AGENTS.md`, `CLAUDE.md` | `.grok/rules/`, `.claude/rules/`, `.cursor/rules/` | |
//! | opencode | `AGENTS.md` (else `CLAUDE.md`), `instructions` of `opencode.json` | | |
//! | Cursor | `AGENTS.md` | `.cursor/rules/` | |
//! | Amp, Kimi, Roo, Cline, Goose | `AGENTS.md` | | |

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memory::Flavor;

use super::own_files::{OwnFile, scoped_files, skill_files};
use super::readers::{always_read, resolve};
use crate::curate::CatalogEntry;

/// A repository on disk.
#[derive(Clone, Debug)]
pub struct RepositoryView<'a> {
    pub root: &'a Path,
    /// The key of its workspace.
    pub workspace: &'a str,
    /// The domains that the configuration maps it to.
    pub domains: &'a [String],
    /// The agents in use.
    pub flavors: &'a [Flavor],
    /// Only the files that this agent reads are planned.
    pub only: Option<Flavor>,
}

/// A file that a pattern goes into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetFile {
    /// Relative to the repository, with symbolic links resolved.
    pub path: PathBuf,
    /// The agents that read the pattern there, by name.
    pub flavors: Vec<&'static str>,
    /// The text before the block, in a file that has only this pattern.
    pub front_matter: Option<String>,
    /// The file applies to the paths of the pattern only, so the text need not name them.
    pub is_scoped: bool,
}

/// A file that may be chosen, with all its readers.
struct FileChoice {
    target: TargetFile,
    readers: BTreeSet<&'static str>,
}

/// Returns the files that a pattern goes into: each agent reads it in one of them, if that is
/// possible.
pub fn choose_targets(repository: &RepositoryView<'_>, entry: &CatalogEntry) -> Vec<TargetFile> {
    let in_scope =
        |flavor: &&Flavor| entry.scope.flavors.is_empty() || entry.scope.flavors.contains(flavor);
    let mut wanted: BTreeSet<&'static str> = repository
        .flavors
        .iter()
        .filter(in_scope)
        .map(|flavor| flavor.name())
        .collect();
    let root = repository.root;
    let skills = own_choices(root, skill_files(entry));
    let mut targets = smallest_set(root, skills, &mut wanted);
    let rules = own_choices(root, scoped_files(root, entry));
    targets.extend(smallest_set(root, rules, &mut wanted));
    targets.extend(shared_targets(root, &mut wanted));
    targets.sort();
    targets
}

/// Returns the always read files for the agents that no other file reaches.
fn shared_targets(root: &Path, wanted: &mut BTreeSet<&'static str>) -> Vec<TargetFile> {
    let choose = |creates_agents_file: bool| {
        let mut left = wanted.clone();
        let choices = always_read(root, creates_agents_file).into_iter();
        let choices = choices.map(|file| FileChoice {
            target: TargetFile {
                path: file.path,
                flavors: Vec::new(),
                front_matter: None,
                is_scoped: false,
            },
            readers: file.readers,
        });
        (smallest_set(root, choices.collect(), &mut left), left)
    };
    let (mut targets, mut left) = choose(false);
    let creates = |target: &TargetFile| {
        target.path == Path::new("AGENTS.md") && !root.join(&target.path).exists()
    };
    if targets.iter().any(creates) {
        (targets, left) = choose(true);
    }
    *wanted = left;
    targets
}

/// Merges files that symbolic links make one.
fn own_choices(root: &Path, files: Vec<OwnFile>) -> Vec<FileChoice> {
    let mut choices: Vec<FileChoice> = Vec::new();
    for file in files {
        let path = resolve(root, &file.path);
        let readers = file.readers.iter().map(|flavor| flavor.name());
        match choices.iter_mut().find(|known| known.target.path == path) {
            Some(known) => {
                known.readers.extend(readers);
                if known.target.front_matter.is_none() {
                    known.target.front_matter = file.front_matter;
                }
            }
            None => choices.push(FileChoice {
                readers: readers.collect(),
                target: TargetFile {
                    path,
                    flavors: Vec::new(),
                    front_matter: file.front_matter,
                    is_scoped: file.is_scoped,
                },
            }),
        }
    }
    choices
}

/// Chooses the files that reach the most of the wanted agents: those that the fewest agents read
/// twice, then the fewest files, then files that exist already, then the first of the list. Removes
/// the agents that are reached.
fn smallest_set(
    root: &Path,
    mut choices: Vec<FileChoice>,
    wanted: &mut BTreeSet<&'static str>,
) -> Vec<TargetFile> {
    choices.retain(|choice| !choice.readers.is_disjoint(wanted));
    // There are at most a dozen files, so that all their sets can be tried.
    let cost = |set: &u32| {
        let chosen = || (0..choices.len()).filter(move |at| set & (1 << at) != 0);
        let reads = |flavor: &str| {
            let readings = chosen().filter(|at| choices[*at].readers.contains(flavor));
            readings.count()
        };
        let missed = wanted.iter().filter(|flavor| reads(flavor) == 0).count();
        let repeated: usize = wanted
            .iter()
            .map(|flavor| reads(flavor).saturating_sub(1))
            .sum();
        let created = chosen().filter(|at| !root.join(&choices[*at].target.path).exists());
        (missed, repeated, set.count_ones(), created.count(), *set)
    };
    let best = (0..1_u32 << choices.len()).min_by_key(cost).unwrap_or(0);
    let mut targets = Vec::new();
    for (at, choice) in choices.into_iter().enumerate() {
        if best & (1 << at) == 0 {
            continue;
        }
        let reached: Vec<&'static str> = wanted.intersection(&choice.readers).copied().collect();
        wanted.retain(|flavor| !reached.contains(flavor));
        targets.push(TargetFile {
            flavors: reached,
            ..choice.target
        });
    }
    targets
}

#[cfg(test)]
mod tests;
