//! Files that hold one pattern: rules for certain paths, and skills that an agent reads on demand.

use std::path::{Component, Path, PathBuf};

use memory::Flavor;

use crate::curate::CatalogEntry;

/// The description of a skill has at most this many characters.
const DESCRIPTION_CHARS_MAX: usize = 1_024;

/// A file for one pattern, with the agents that read it.
#[derive(Clone, Debug)]
pub(super) struct OwnFile {
    pub(super) path: PathBuf,
    pub(super) readers: Vec<Flavor>,
    /// The text before the block.
    pub(super) front_matter: Option<String>,
    /// The agent applies the file to the paths of the pattern only.
    pub(super) is_scoped: bool,
}

/// Returns the files with rules for the paths of a pattern. Where a pattern is for one folder,
/// Codex and Gemini read it in that folder.
pub(super) fn scoped_files(root: &Path, entry: &CatalogEntry) -> Vec<OwnFile> {
    let (id, paths) = (&entry.id, &entry.scope.paths);
    if paths.is_empty() {
        return Vec::new();
    }
    let list: Vec<String> = paths.iter().map(|path| yaml_string(path)).collect();
    let joined = paths.join(",");
    let rule = |path: String, readers: &[Flavor], front_matter: Option<String>| OwnFile {
        path: PathBuf::from(path),
        readers: readers.to_vec(),
        is_scoped: front_matter.is_some(),
        front_matter,
    };
    let mut files = vec![
        // Grok applies its rules to all files.
        rule(
            format!(".grok/rules/throughline-{id}.md"),
            &[Flavor::Grok],
            None,
        ),
        rule(
            format!(".claude/rules/throughline-{id}.md"),
            &[Flavor::Claude, Flavor::Grok],
            Some(format!("---\npaths: [{}]\n---\n", list.join(", "))),
        ),
        rule(
            format!(".github/instructions/throughline-{id}.instructions.md"),
            &[Flavor::Copilot],
            Some(format!("---\napplyTo: {}\n---\n", yaml_string(&joined))),
        ),
        rule(
            format!(".cursor/rules/throughline-{id}.mdc"),
            &[Flavor::Cursor, Flavor::Grok],
            Some(format!(
                "---\ndescription: {}\nglobs: {joined}\nalwaysApply: false\n---\n",
                yaml_string(&entry.signal)
            )),
        ),
    ];
    if let Some(folder) = common_folder(root, paths) {
        let is_whole = paths
            .iter()
            .all(|path| Path::new(path) == folder.join("**"));
        let nested = |name: &str, reader: Flavor| OwnFile {
            path: folder.join(name),
            readers: vec![reader],
            front_matter: None,
            is_scoped: is_whole,
        };
        let has_override = root.join(&folder).join("AGENTS.override.md").exists();
        let agents_file = match has_override {
            true => "AGENTS.override.md",
            false => "AGENTS.md",
        };
        files.push(nested(agents_file, Flavor::Codex));
        files.push(nested("GEMINI.md", Flavor::Gemini));
    }
    files
}

/// Returns the skills of a pattern that agents read on demand.
pub(super) fn skill_files(entry: &CatalogEntry) -> Vec<OwnFile> {
    if !entry.scope.on_demand {
        return Vec::new();
    }
    let name = format!("throughline-{}", entry.id);
    let front_matter = format!(
        "---\nname: {name}\ndescription: {}\n---\n",
        yaml_string(&description(entry))
    );
    let folders = [
        (".claude/skills", Flavor::Claude),
        (".agents/skills", Flavor::Codex),
        (".gemini/skills", Flavor::Gemini),
    ];
    let skill = |(folder, reader)| OwnFile {
        path: Path::new(folder).join(&name).join("SKILL.md"),
        readers: vec![reader],
        front_matter: Some(front_matter.clone()),
        is_scoped: false,
    };
    folders.map(skill).to_vec()
}

/// Says in one sentence when an agent should read the skill.
fn description(entry: &CatalogEntry) -> String {
    let place = match entry.scope.paths.as_slice() {
        [] => String::new(),
        paths => format!(" in {}", paths.join(", ")),
    };
    let text = format!(
        "How to avoid {}{place}, a problem that recurred in {} sessions of this repository. \
         Read it before work that may run into it.",
        entry.signal.replace('\n', " "),
        entry.evidence.sessions,
    );
    text.chars().take(DESCRIPTION_CHARS_MAX).collect()
}

/// Returns the folder that all paths are in, if it is in the repository.
fn common_folder(root: &Path, paths: &[String]) -> Option<PathBuf> {
    let mut folders = paths.iter().map(|path| literal_folder(path));
    let first = folders.next()?;
    let common = folders.fold(first, |common, folder| {
        let same = common.components().zip(folder.components());
        same.take_while(|(one, other)| one == other)
            .map(|(one, _)| one)
            .collect()
    });
    let is_inside = common
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let exists = !common.as_os_str().is_empty() && root.join(&common).is_dir();
    (is_inside && exists).then_some(common)
}

/// Returns the folders of a path before its first wildcard.
fn literal_folder(path: &str) -> PathBuf {
    let path = path.strip_prefix("./").unwrap_or(path);
    let end = path.find(['*', '?', '[', '{']).unwrap_or(path.len());
    let folder = path[..end].rfind('/').map_or("", |at| &path[..at]);
    PathBuf::from(folder)
}

/// Returns a text as a quoted string, which JSON and YAML write alike.
fn yaml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_one_folder_have_it_in_common() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/api")).unwrap();
        let common = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            common_folder(folder.path(), &paths)
        };
        assert_eq!(common(&["src/api/**"]), Some("src/api".into()));
        assert_eq!(
            common(&["./src/api/*.go", "src/db/a.go"]),
            Some("src".into())
        );
        assert_eq!(common(&["src/*/a.go"]), Some("src".into()));
        for none in ["**/*.go", "missing/**", "../src/**", "/src/**", "a.go"] {
            assert_eq!(common(&[none]), None, "{none}");
        }
    }
}
