//! Which agents read which of a repository's instruction files, after symbolic links, imports and
//! settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use memory::Flavor;
use serde_json::Value;

/// An import is followed through at most this many files.
const IMPORT_DEPTH_MAX: usize = 5;
/// Codex reads this much of all instruction files together.
const CODEX_BYTES_MAX: u64 = 32 << 10;
/// What a file of Codex must have left for a block.
const CODEX_BYTES_FREE: u64 = 1 << 10;

/// A file that agents always read, with its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadFile {
    /// Relative to the repository, with symbolic links resolved.
    pub(super) path: PathBuf,
    pub(super) readers: BTreeSet<&'static str>,
}

/// The agents that read `AGENTS.md`, besides those with rules of their own below.
const AGENTS_READERS: &[Flavor] = &[
    Flavor::Copilot,
    Flavor::Cursor,
    Flavor::Grok,
    Flavor::Amp,
    Flavor::Kimi,
    Flavor::Roo,
    Flavor::Cline,
    Flavor::Goose,
];

/// Returns the always read files of a repository with their readers. `creates_agents_file` says
/// that `AGENTS.md` will exist: opencode reads `CLAUDE.md` only while there is none.
pub(super) fn always_read(root: &Path, creates_agents_file: bool) -> Vec<ReadFile> {
    let mut files = FileReaders {
        root,
        files: Vec::new(),
    };
    for flavor in AGENTS_READERS {
        files.add("AGENTS.md", *flavor);
    }
    let codex = match root.join("AGENTS.override.md").exists() {
        true => "AGENTS.override.md",
        false => "AGENTS.md",
    };
    let size = fs::metadata(root.join(codex)).map_or(0, |file| file.len());
    if size + CODEX_BYTES_FREE <= CODEX_BYTES_MAX {
        files.add(codex, Flavor::Codex);
    }
    let claude = claude_file(root);
    files.add_imported(claude, Flavor::Claude);
    files.add_imported(claude, Flavor::Grok);
    let has_agents_file = creates_agents_file || root.join("AGENTS.md").exists();
    if has_agents_file || !root.join("CLAUDE.md").exists() {
        files.add("AGENTS.md", Flavor::Opencode);
    } else {
        files.add_imported(claude, Flavor::Opencode);
    }
    files.add(".github/copilot-instructions.md", Flavor::Copilot);
    for name in gemini_files(root) {
        files.add_imported(&name, Flavor::Gemini);
    }
    for listed in opencode_instructions(root) {
        files.add_listed(&listed, Flavor::Opencode);
    }
    files.files
}

struct FileReaders<'a> {
    root: &'a Path,
    files: Vec<ReadFile>,
}

impl FileReaders<'_> {
    fn add(&mut self, file: &str, flavor: Flavor) {
        let path = resolve(self.root, Path::new(file));
        match self.files.iter_mut().find(|known| known.path == path) {
            Some(known) => {
                known.readers.insert(flavor.name());
            }
            None => self.files.push(ReadFile {
                path,
                readers: BTreeSet::from([flavor.name()]),
            }),
        }
    }

    /// Adds the reader of a file that may import `AGENTS.md`, which then has readers enough.
    fn add_imported(&mut self, file: &str, flavor: Flavor) {
        let imports = imports_agents_file(self.root, Path::new(file), IMPORT_DEPTH_MAX);
        // Grok and opencode read the text of `CLAUDE.md` without following its imports.
        let follows = matches!(flavor, Flavor::Claude | Flavor::Gemini);
        match imports && follows {
            true => self.add("AGENTS.md", flavor),
            false => self.add(file, flavor),
        }
    }

    /// Adds the reader of the known files that a pattern with `*` matches.
    fn add_listed(&mut self, listed: &str, flavor: Flavor) {
        let listed = listed.strip_prefix("./").unwrap_or(listed);
        for known in &mut self.files {
            if matches_glob(listed, &known.path.to_string_lossy()) {
                known.readers.insert(flavor.name());
            }
        }
    }
}

/// Claude Code reads `CLAUDE.md` at the root, or the one in its own folder.
fn claude_file(root: &Path) -> &'static str {
    let own = ".claude/CLAUDE.md";
    match !root.join("CLAUDE.md").exists() && root.join(own).exists() {
        true => own,
        false => "CLAUDE.md",
    }
}

/// Says whether a file imports `AGENTS.md`, itself or through another file.
fn imports_agents_file(root: &Path, file: &Path, depth: usize) -> bool {
    let text = fs::read_to_string(root.join(file)).unwrap_or_default();
    let folder = file.parent().unwrap_or(Path::new(""));
    let agents_file = resolve(root, Path::new("AGENTS.md"));
    imported_files(&text).into_iter().any(|name| {
        let imported = resolve(root, &folder.join(name));
        imported == agents_file
            || (depth > 1
                && imported.is_relative()
                && imports_agents_file(root, &imported, depth - 1))
    })
}

/// Returns the files after `@` outside of code.
fn imported_files(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            // Every second part between backquotes is code.
            let prose = line.split('`').step_by(2);
            let words = prose.flat_map(str::split_whitespace);
            let imported = words.filter_map(|word| word.strip_prefix('@'));
            names.extend(imported.map(|name| name.trim_end_matches(['.', ',', ';', ')'])));
        }
    }
    names.retain(|name| name.contains('.') && !name.starts_with(['/', '~']));
    names
}

/// Returns the files that Gemini reads: those of its settings, or `GEMINI.md`.
fn gemini_files(root: &Path) -> Vec<String> {
    let settings = read_json(&root.join(".gemini/settings.json"));
    let name = settings
        .pointer("/context/fileName")
        .or(settings.get("contextFileName"));
    let names = match name {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => strings(names),
        _ => Vec::new(),
    };
    let inside: Vec<String> = names.into_iter().filter(|name| is_inside(name)).collect();
    match inside.is_empty() {
        true => vec!["GEMINI.md".to_owned()],
        false => inside,
    }
}

/// Returns the further files that opencode reads.
fn opencode_instructions(root: &Path) -> Vec<String> {
    let settings = read_json(&root.join("opencode.json"));
    let listed = settings.get("instructions").and_then(Value::as_array);
    listed.map_or_else(Vec::new, |listed| strings(listed))
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn strings(values: &[Value]) -> Vec<String> {
    let texts = values.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Says whether a pattern with `*` matches a path.
fn matches_glob(pattern: &str, path: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        return pattern == path;
    };
    let end = end.trim_start_matches('*').trim_start_matches('/');
    path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
}

/// Follows symbolic links inside the repository, also those of folders above a file that does not
/// exist yet. A link that leads out of the repository stays as it is, and is reported when the plan
/// is made.
pub(super) fn resolve(root: &Path, file: &Path) -> PathBuf {
    let Ok(root) = root.canonicalize() else {
        return file.to_owned();
    };
    let (existing, rest) = existing_part(&root.join(file));
    let Ok(real) = existing.canonicalize() else {
        return file.to_owned();
    };
    real.join(rest)
        .strip_prefix(&root)
        .map_or_else(|_| file.to_owned(), Path::to_owned)
}

/// Splits a path into the part that exists and the rest.
pub(super) fn existing_part(path: &Path) -> (PathBuf, PathBuf) {
    let mut ancestors = path.ancestors();
    let existing = ancestors
        .find(|part| part.symlink_metadata().is_ok())
        .unwrap_or(path);
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    (existing.to_owned(), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_outside_of_code() {
        let text =
            "See @AGENTS.md, @./docs/a.md.\n`@b.md`\n```\n@c.md\n```\nme@example.com @/d.md @name";
        assert_eq!(imported_files(text), ["AGENTS.md", "./docs/a.md"]);
    }

    #[test]
    fn listed_files_may_have_a_star() {
        assert!(matches_glob("CLAUDE.md", "CLAUDE.md"));
        assert!(matches_glob("docs/*.md", "docs/a.md"));
        assert!(matches_glob("**/GEMINI.md", "GEMINI.md"));
        assert!(!matches_glob("docs/*.md", "README.md"));
    }
}
