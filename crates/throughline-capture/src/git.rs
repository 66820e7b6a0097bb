//! Which repository a folder belongs to, read from git's own files.
//!
//! No `git` is started: the few files that matter (`.git`, `commondir`, `config`) have had the same
//! form for twenty years.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use memory::Workspace;
use memory::workspace::normalize_remote;

/// Resolves folders to workspaces, each once.
#[derive(Debug, Default)]
pub struct Workspaces {
    known: HashMap<(String, Option<String>), Workspace>,
}

impl Workspaces {
    /// Returns the workspace of a folder. `remote` is what the log itself says, which holds even
    /// when the folder is long gone.
    pub fn of(&mut self, cwd: &str, remote: Option<&str>) -> Workspace {
        let key = (cwd.to_owned(), remote.map(str::to_owned));
        self.known
            .entry(key)
            .or_insert_with(|| resolve(cwd, remote))
            .clone()
    }
}

fn resolve(cwd: &str, remote: Option<&str>) -> Workspace {
    let folder = lexical(Path::new(cwd));
    let repository = find(&folder);
    let root = repository
        .as_ref()
        .map_or(&folder, |repository| &repository.root);
    let root = root.to_string_lossy().into_owned();
    let key = remote
        .and_then(normalize_remote)
        .or_else(|| repository.as_ref()?.remote.clone())
        .or_else(|| Some(repository?.common.to_string_lossy().into_owned()))
        .unwrap_or_else(|| root.clone());
    Workspace { key, root }
}

struct Repository {
    root: PathBuf,
    /// The git directory that all worktrees share, without the final `.git`.
    common: PathBuf,
    remote: Option<String>,
}

/// Looks for the repository that holds a folder. Folders that are gone are looked for in what is
/// left of their parents.
fn find(folder: &Path) -> Option<Repository> {
    for root in folder.ancestors() {
        let dot_git = root.join(".git");
        let Ok(kind) = fs::metadata(&dot_git) else {
            continue;
        };
        let git = if kind.is_dir() {
            dot_git
        } else {
            linked(&dot_git)?
        };
        let common = match fs::read_to_string(git.join("commondir")) {
            Ok(relative) => lexical(&git.join(relative.trim())),
            Err(_) => git,
        };
        let remote = fs::read_to_string(common.join("config"))
            .ok()
            .and_then(|text| remote(&text));
        let common = match common.file_name() {
            Some(name) if name == ".git" => common.parent()?.to_owned(),
            _ => common,
        };
        return Some(Repository {
            root: root.to_owned(),
            common,
            remote,
        });
    }
    None
}

/// Reads a `.git` file: `gitdir: path`.
fn linked(dot_git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(dot_git).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(lexical(&dot_git.parent()?.join(target)))
}

/// Returns the address of `origin`, else of `upstream`, else of the first remote.
fn remote(config: &str) -> Option<String> {
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut section = None;
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header
                .strip_prefix("remote \"")
                .and_then(|rest| rest.split_once('"'));
            section = name.map(|(name, _)| name.to_owned());
        } else if let (Some(name), Some((key, value))) = (&section, line.split_once('='))
            && key.trim() == "url"
        {
            remotes.push((name.clone(), value.trim().to_owned()));
        }
    }
    let named = |wanted: &str| remotes.iter().find(|(name, _)| name == wanted);
    let (_, url) = named("origin")
        .or_else(|| named("upstream"))
        .or(remotes.first())?;
    normalize_remote(url)
}

/// Resolves `.` and `..` without asking the disk: the folder may be gone.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(root: &Path, config: &str) {
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), config).unwrap();
    }

    const ORIGIN: &str = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://x.test/me/w\n\
        [remote \"origin\"]\n\turl = git@github.com:acme/widgets.git\n";

    fn key(path: &Path) -> String {
        Workspaces::default().of(&path.to_string_lossy(), None).key
    }

    #[test]
    fn clones_and_subfolders_are_one() {
        let dir = tempfile::tempdir().unwrap();
        for clone in ["a", "b"] {
            repository(&dir.path().join(clone), ORIGIN);
            fs::create_dir_all(dir.path().join(clone).join("src/deep")).unwrap();
        }
        assert_eq!(
            key(&dir.path().join("a/src/deep")),
            "github.com/acme/widgets"
        );
        assert_eq!(
            key(&dir.path().join("b/gone/folder")),
            "github.com/acme/widgets"
        );
    }

    #[test]
    fn worktrees_are_their_repository() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        repository(&main, "");
        let admin = main.join(".git/worktrees/w1");
        fs::create_dir_all(&admin).unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        let tree = dir.path().join("w1");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        assert_eq!(key(&tree), main.to_string_lossy());
        assert_eq!(key(&main), main.to_string_lossy());
    }

    #[test]
    fn a_plain_folder_is_itself_and_a_named_remote_counts_most() {
        assert_eq!(key(Path::new("/nowhere/at/../all/")), "/nowhere/all");
        let named = Workspaces::default().of("/nowhere", Some("https://github.com/acme/widgets"));
        assert_eq!(named.key, "github.com/acme/widgets");
    }
}
