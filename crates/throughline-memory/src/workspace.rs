//! Workspaces: a repository, wherever it is checked out, or a folder.

use serde::Serialize;

/// The place that sessions work in. The key identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Workspace {
    /// The normalized remote URL, else the repository's common git directory, else the folder.
    pub key: String,
    /// The folder in which it was last seen.
    pub root: String,
}

impl Workspace {
    /// Returns the short name: the last component of the key.
    pub fn short_name(&self) -> &str {
        name(&self.key)
    }
}

/// Returns the last component of a workspace key, or the key itself if that would be empty.
pub fn name(key: &str) -> &str {
    let last = key.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    last.filter(|name| !name.is_empty()).unwrap_or(key)
}

/// Returns `host/owner/name` for any form of a git remote URL, or `None` for a local path.
///
/// Protocol, user, password, port, letter case of the host and a final `.git` are ignored, so a
/// clone over SSH and one over HTTPS are the same workspace.
pub fn normalize_remote(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None => split_scp_remote(url)?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or(path)
        .trim_matches('/');
    let path = path
        .strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/');
    // A path that consists of dots (`https://host/..git`) does not name a repository.
    if host.is_empty()
        || path
            .split('/')
            .all(|part| part.trim_matches('.').is_empty())
    {
        return None;
    }
    Some(format!("{}/{path}", host.to_ascii_lowercase()))
}

/// Splits `user@host:path`. Returns `None` for a Windows drive or a plain path.
fn split_scp_remote(url: &str) -> Option<(&str, &str)> {
    let (host, path) = url.split_once(':')?;
    let plain = host.len() < 2 || host.contains(['/', '\\']);
    (!plain).then_some((host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, normalized: Option<&str>) {
        assert_eq!(normalize_remote(url).as_deref(), normalized, "{url}");
    }

    #[test]
    fn one_repository_however_it_was_cloned() {
        let same = Some("github.com/acme/widgets");
        check("https://github.com/acme/widgets.git", same);
        check("https://user:secret@GitHub.com/acme/widgets/", same);
        check("git@github.com:acme/widgets.git", same);
        check("ssh://git@github.com:22/acme/widgets.git", same);
        check("git+ssh://git@github.com/acme/widgets", same);
    }

    #[test]
    fn a_path_is_not_a_remote() {
        check("/srv/git/widgets.git", None);
        check("../widgets", None);
        check("C:\\src\\widgets", None);
        check("file:///srv/git/widgets.git", None);
        check("", None);
        check("https://github.com/..git", None);
        check("https://github.com/../..git", None);
    }

    #[test]
    fn name_is_the_last_part() {
        assert_eq!(name("github.com/acme/widgets"), "widgets");
        assert_eq!(name("/home/dev/proj/"), "proj");
        assert_eq!(name("D:\\src\\proj"), "proj");
        assert_eq!(name("/"), "/");
    }
}
