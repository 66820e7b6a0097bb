//! Finds the repository that a folder belongs to, from git's own files.
//!
//! This does not run `git`: the few files that matter (`.git`, `commondir`, `config`) have had the
//! same format for twenty years, and a sweep resolves thousands of folders.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use memory::Workspace;
use memory::workspace::normalize_remote;

/// Resolves folders to workspaces, and caches the results.
#[derive(Debug, Default)]
pub struct WorkspaceResolver {
    cache: HashMap<(String, Option<String>), Option<Workspace>>,
}

impl WorkspaceResolver {
    /// Returns the workspace of a folder, or `None` if the text names no folder. `remote` is the
    /// repository address that the log states, which is valid even if the folder no longer exists.
    pub fn resolve(&mut self, cwd: &str, remote: Option<&str>) -> Option<Workspace> {
        let key = (cwd.to_owned(), remote.map(str::to_owned));
        self.cache
            .entry(key)
            .or_insert_with(|| resolve(cwd, remote))
            .clone()
    }
}

/// Returns the workspace of a folder on this machine. A path that names no folder becomes a
/// workspace of its own, which has no sessions.
pub fn workspace_of(folder: &Path) -> Workspace {
    let path = folder.to_string_lossy().into_owned();
    resolve(&path, None).unwrap_or_else(|| Workspace {
        key: path.clone(),
        root: path,
    })
}

fn resolve(cwd: &str, remote: Option<&str>) -> Option<Workspace> {
    let stated = remote.and_then(normalize_remote);
    // Only an absolute path names a folder on this machine. Any other path would be resolved
    // against the working directory of this process, and sessions of other machines would become
    // sessions of the repository in which the sweep happens to run.
    if !Path::new(cwd).is_absolute() {
        let root = folder_of_another_machine(cwd)?;
        let key = stated.unwrap_or_else(|| root.clone());
        return Some(Workspace { key, root });
    }
    let folder = normalize_lexically(Path::new(cwd));
    let repository = find_repository(&folder);
    let root = repository
        .as_ref()
        .map_or(&folder, |repository| &repository.root);
    let root = root.to_string_lossy().into_owned();
    let key = stated
        .or_else(|| repository.as_ref()?.remote.clone())
        .or_else(|| Some(repository?.common.to_string_lossy().into_owned()))
        .unwrap_or_else(|| root.clone());
    Some(Workspace { key, root })
}

/// Normalizes a folder that is not an absolute path on this machine: a Windows path on Unix, or a
/// relative path. It accepts both separators and writes the drive letter in upper case, so that
/// each folder has one name.
fn folder_of_another_machine(cwd: &str) -> Option<String> {
    let cwd = cwd.trim().replace('\\', "/");
    // A Unix path on Windows, and a network share, keep the slashes they begin with.
    let start = ["//", "/"].into_iter().find(|start| cwd.starts_with(start));
    let start = start.unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    for part in cwd.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| !is_drive(last)) => {
                parts.pop();
            }
            ".." => {}
            part if parts.is_empty() && is_drive(part) => parts.push(part.to_ascii_uppercase()),
            part => parts.push(part.to_owned()),
        }
    }
    (!parts.is_empty()).then(|| format!("{start}{}", parts.join("/")))
}

fn is_drive(part: &str) -> bool {
    matches!(part.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

struct GitRepository {
    root: PathBuf,
    /// The git directory that all worktrees share, without the final `.git`.
    common: PathBuf,
    remote: Option<String>,
}

/// Finds the repository that holds a folder. If the folder no longer exists, its parents are
/// searched all the same.
fn find_repository(folder: &Path) -> Option<GitRepository> {
    for root in folder.ancestors() {
        let dot_git = root.join(".git");
        let Ok(kind) = fs::metadata(&dot_git) else {
            continue;
        };
        let git = if kind.is_dir() {
            dot_git
        } else {
            read_gitdir_file(&dot_git)?
        };
        let common = match fs::read_to_string(git.join("commondir")) {
            Ok(relative) => normalize_lexically(&git.join(relative.trim())),
            Err(_) => git,
        };
        let remote = fs::read_to_string(common.join("config"))
            .ok()
            .and_then(|text| preferred_remote(&text));
        let common = match common.file_name() {
            Some(name) if name == ".git" => common.parent()?.to_owned(),
            _ => common,
        };
        return Some(GitRepository {
            root: root.to_owned(),
            common,
            remote,
        });
    }
    None
}

/// Reads a `.git` file, which a worktree has: `gitdir: path`.
fn read_gitdir_file(dot_git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(dot_git).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(normalize_lexically(&dot_git.parent()?.join(target)))
}

/// Returns the address of `origin`, or else of `upstream`, or else of the first remote.
fn preferred_remote(config: &str) -> Option<String> {
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

/// Resolves `.` and `..` without the file system, because the path may no longer exist.
pub(crate) fn normalize_lexically(path: &Path) -> PathBuf {
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
        let workspace = WorkspaceResolver::default().resolve(&path.to_string_lossy(), None);
        workspace.unwrap().key
    }

    #[test]
    fn clones_and_subfolders_share_a_workspace() {
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
    fn worktrees_belong_to_their_repository() {
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
    fn a_plain_folder_is_its_own_workspace_and_a_stated_remote_wins() {
        assert_eq!(key(Path::new("/nowhere/at/../all/")), "/nowhere/all");
        let named = WorkspaceResolver::default()
            .resolve("/nowhere", Some("https://github.com/acme/widgets"));
        assert_eq!(named.unwrap().key, "github.com/acme/widgets");
    }

    #[track_caller]
    fn check_elsewhere(cwd: &str, root: Option<&str>) {
        let workspace = WorkspaceResolver::default().resolve(cwd, None);
        let found = workspace.as_ref().map(|workspace| {
            assert_eq!(workspace.key, workspace.root, "{cwd}");
            workspace.root.as_str()
        });
        assert_eq!(found, root, "{cwd}");
    }

    /// The tests run inside a git repository, which must not claim these folders.
    #[test]
    fn a_folder_that_is_not_absolute_here_is_a_workspace_of_its_own() {
        check_elsewhere("D:\\oh-my-posh", Some("D:/oh-my-posh"));
        check_elsewhere("d:/oh-my-posh/", Some("D:/oh-my-posh"));
        check_elsewhere("C:\\src\\..\\app\\.", Some("C:/app"));
        check_elsewhere("C:\\..\\..\\app", Some("C:/app"));
        check_elsewhere("\\\\server\\share\\app", Some("//server/share/app"));
        check_elsewhere("proj", Some("proj"));
        check_elsewhere("./work/proj", Some("work/proj"));
        for nothing in ["", " ", ".", "./", "..", "a/.."] {
            check_elsewhere(nothing, None);
        }
        let stated =
            WorkspaceResolver::default().resolve("D:\\w", Some("git@github.com:acme/widgets.git"));
        assert_eq!(stated.unwrap().key, "github.com/acme/widgets");
    }
}
