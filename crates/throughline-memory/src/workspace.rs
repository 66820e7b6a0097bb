//! Workspaces: a repository wherever it lies, or a folder.

use serde::Serialize;

/// Where sessions worked. Two with the same key are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Workspace {
    /// The normalized remote, else the repository's common git directory, else the folder.
    pub key: String,
    /// The folder last seen for it.
    pub root: String,
}

impl Workspace {
    /// Returns the short name people use: the last part of the key.
    pub fn short_name(&self) -> &str {
        name(&self.key)
    }
}

/// Returns the last part of a workspace key; the key itself where it has no such part, so that no
/// name is empty.
pub fn name(key: &str) -> &str {
    let last = key.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    last.filter(|name| !name.is_empty()).unwrap_or(key)
}

/// Returns `host/owner/name` for any way of writing a git remote, or `None` for a local path.
///
/// Protocol, user, password, port, case of the host and a final `.git` do not matter, so a clone
/// over SSH and one over HTTPS are the same workspace.
pub fn normalize_remote(url: &str) -> Option<String> {
    let url = url.trim();
    let (host, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None => scp_like(url)?,
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
    // A path of dots alone (`https://host/..git`) names no repository.
    if host.is_empty()
        || path
            .split('/')
            .all(|part| part.trim_matches('.').is_empty())
    {
        return None;
    }
    Some(format!("{}/{path}", host.to_ascii_lowercase()))
}

/// Splits `user@host:path`, unless it is a Windows drive or a plain path.
fn scp_like(url: &str) -> Option<(&str, &str)> {
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
