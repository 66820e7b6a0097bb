//! Which files reach which agents.
//!
//! | agent | reads |
//! | --- | --- |
//! | Claude Code | `CLAUDE.md` and its imports, `.claude/rules/*.md` |
//! | Codex | `AGENTS.override.md`, else `AGENTS.md` |
//! | Gemini | `GEMINI.md`, or the file that `context.fileName` names |
//! | Copilot | `AGENTS.md`, `.github/instructions/*.instructions.md` |
//! | Grok | `AGENTS.md`, `CLAUDE.md` |
//! | opencode | `AGENTS.md` |
//! | Cursor | `AGENTS.md`, `.cursor/rules/*.mdc` |
//! | Amp, Kimi, Roo, Cline, Goose | `AGENTS.md` |

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memory::Flavor;

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
}

/// A file that a pattern goes into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetFile {
    /// Relative to the repository, with symbolic links resolved.
    pub path: PathBuf,
    /// The agents that read the pattern there, by name.
    pub flavors: Vec<&'static str>,
    /// The file has only this pattern, with this text before it.
    pub front_matter: Option<String>,
}

/// The files that agents always read, the ones with the most readers first.
const ALWAYS_READ: &[(&str, &[Flavor])] = &[
    (
        "AGENTS.md",
        &[
            Flavor::Codex,
            Flavor::Copilot,
            Flavor::Opencode,
            Flavor::Cursor,
            Flavor::Grok,
            Flavor::Amp,
            Flavor::Kimi,
            Flavor::Roo,
            Flavor::Cline,
            Flavor::Goose,
        ],
    ),
    ("CLAUDE.md", &[Flavor::Claude, Flavor::Grok]),
    ("GEMINI.md", &[Flavor::Gemini]),
];

/// Returns the files that a pattern goes into: each agent reads it in one of them.
pub fn choose_targets(repository: &RepositoryView<'_>, entry: &CatalogEntry) -> Vec<TargetFile> {
    let in_scope =
        |flavor: &&Flavor| entry.scope.flavors.is_empty() || entry.scope.flavors.contains(flavor);
    let mut wanted: BTreeSet<&'static str> = repository
        .flavors
        .iter()
        .filter(in_scope)
        .map(|flavor| flavor.name())
        .collect();
    let mut targets = Vec::new();
    if !entry.scope.paths.is_empty() {
        targets.extend(scoped_targets(entry, &mut wanted));
    }
    let mut readers = always_read(repository.root);
    // The file that reaches the most agents comes first; an agent that reads several files gets
    // the pattern once.
    while !wanted.is_empty() {
        readers.sort_by_key(|(path, flavors)| {
            let reached = flavors
                .iter()
                .filter(|flavor| wanted.contains(*flavor))
                .count();
            (std::cmp::Reverse(reached), path.clone())
        });
        let Some((path, flavors)) = readers.first() else {
            break;
        };
        let reached: Vec<&'static str> = flavors
            .iter()
            .copied()
            .filter(|flavor| wanted.contains(flavor))
            .collect();
        if reached.is_empty() {
            break;
        }
        wanted.retain(|flavor| !reached.contains(flavor));
        targets.push(TargetFile {
            path: path.clone(),
            flavors: reached,
            front_matter: None,
        });
    }
    targets.sort();
    targets
}

/// Returns the files with rules for certain paths, for the agents that have them.
fn scoped_targets(entry: &CatalogEntry, wanted: &mut BTreeSet<&'static str>) -> Vec<TargetFile> {
    let (id, paths) = (&entry.id, &entry.scope.paths);
    let list: Vec<String> = paths.iter().map(|path| format!("\"{path}\"")).collect();
    let joined = paths.join(",");
    let files = [
        (
            Flavor::Claude,
            format!(".claude/rules/throughline-{id}.md"),
            format!("---\npaths: [{}]\n---\n", list.join(", ")),
        ),
        (
            Flavor::Copilot,
            format!(".github/instructions/throughline-{id}.instructions.md"),
            format!("---\napplyTo: \"{joined}\"\n---\n"),
        ),
        (
            Flavor::Cursor,
            format!(".cursor/rules/throughline-{id}.mdc"),
            format!(
                "---\ndescription: {}\nglobs: {joined}\nalwaysApply: false\n---\n",
                entry.signal
            ),
        ),
    ];
    let mut targets = Vec::new();
    for (flavor, path, front_matter) in files {
        if wanted.remove(flavor.name()) {
            targets.push(TargetFile {
                path: PathBuf::from(path),
                flavors: vec![flavor.name()],
                front_matter: Some(front_matter),
            });
        }
    }
    targets
}

/// Returns the always read files of a repository with their readers, after symbolic links, imports
/// and settings.
fn always_read(root: &Path) -> Vec<(PathBuf, Vec<&'static str>)> {
    let mut readers: Vec<(PathBuf, Vec<&'static str>)> = Vec::new();
    for (file, flavors) in ALWAYS_READ {
        for flavor in *flavors {
            let path = file_for(root, file, *flavor);
            let path = resolve(root, &path);
            match readers.iter_mut().find(|(known, _)| *known == path) {
                Some((_, known)) => known.push(flavor.name()),
                None => readers.push((path, vec![flavor.name()])),
            }
        }
    }
    for (_, flavors) in &mut readers {
        flavors.sort_unstable();
        flavors.dedup();
    }
    readers
}

/// Returns the file through which an agent reads `file`.
fn file_for(root: &Path, file: &str, flavor: Flavor) -> String {
    match (flavor, file) {
        (Flavor::Codex, _) if root.join("AGENTS.override.md").exists() => {
            "AGENTS.override.md".into()
        }
        (Flavor::Claude, "CLAUDE.md") | (Flavor::Gemini, "GEMINI.md")
            if imports_agents_file(&root.join(file)) =>
        {
            "AGENTS.md".into()
        }
        (Flavor::Gemini, _) => gemini_context_file(root).unwrap_or_else(|| file.to_owned()),
        _ => file.to_owned(),
    }
}

/// Says whether a file imports `AGENTS.md`, on a line of its own.
fn imports_agents_file(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .any(|line| matches!(line.trim(), "@AGENTS.md" | "@./AGENTS.md"))
}

fn gemini_context_file(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join(".gemini/settings.json")).ok()?;
    let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
    let name = settings
        .pointer("/context/fileName")
        .or(settings.get("contextFileName"))?;
    let name = name.as_str().or_else(|| name.get(0)?.as_str())?;
    let inside = !name.starts_with('/') && !name.contains("..");
    inside.then(|| name.to_owned())
}

/// Follows a symbolic link inside the repository. A link that leads out of it stays as it is, and
/// is reported when the plan is made.
fn resolve(root: &Path, file: &str) -> PathBuf {
    let relative = PathBuf::from(file);
    let (Ok(root), Ok(target)) = (root.canonicalize(), root.join(file).canonicalize()) else {
        return relative;
    };
    target.strip_prefix(&root).map_or(relative, Path::to_owned)
}
