//! What is never captured: files that hold credentials, files outside the session's workspace, and
//! whole workspaces.
//!
//! [`call`] decides for each tool call which of its arguments and which of its output are withheld;
//! [`quotes`] does the same for texts that quote files. [`withheld`] applies both to messages,
//! [`archive`] to the agent's own log. That a file was read stays visible; its text does not.

pub(crate) mod archive;
mod call;
mod quotes;
pub(crate) mod withheld;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use memory::Workspace;

use crate::git::WorkspaceResolver;

/// Which files' texts are not kept.
#[derive(Clone, Debug)]
pub struct CaptureScope {
    /// Patterns of paths whose text is never kept: `*` stands for any run of characters, a
    /// pattern with `/` matches the end of a path, one without matches a file name.
    pub never_captured: Vec<String>,
    /// Names that a pattern catches although they hold no secrets.
    pub exceptions: Vec<String>,
    /// Keep what a session read from files outside its workspace.
    pub keep_outside: bool,
    /// Workspaces that are captured, by a part of their key or root; empty for all.
    pub allowed: Vec<String>,
    /// Workspaces that are not captured.
    pub denied: Vec<String>,
    /// Workspaces that count as another: a key or a folder, and the key it stands for.
    pub aliases: BTreeMap<String, String>,
}

impl Default for CaptureScope {
    fn default() -> Self {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            never_captured: list(&[
                ".env",
                ".env.*",
                "*.env",
                "*.pem",
                "*.key",
                "*.p12",
                "*.pfx",
                "*.jks",
                "*.keystore",
                "*.tfstate",
                "*.tfvars",
                "*.kdbx",
                "id_rsa",
                "id_dsa",
                "id_ecdsa",
                "id_ed25519",
                ".netrc",
                ".pgpass",
                ".npmrc",
                ".pypirc",
                ".htpasswd",
                ".git-credentials",
                ".ssh/*",
                ".gnupg/*",
                ".aws/*",
                ".kube/config",
                ".docker/config.json",
                ".claude/.credentials.json",
                ".codex/auth.json",
                ".gemini/oauth_creds.json",
                ".grok/auth.json",
                "opencode/auth.json",
                "gh/hosts.yml",
                "*credentials.json",
            ]),
            exceptions: list(&[
                ".env.example",
                ".env.sample",
                ".env.template",
                ".env.dist",
                ".env.test",
                ".env.defaults",
                "*.pub",
                "known_hosts",
                ".ssh/config",
            ]),
            keep_outside: false,
            allowed: Vec::new(),
            denied: Vec::new(),
            aliases: BTreeMap::new(),
        }
    }
}

/// Why a text is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithholdReason {
    /// It belongs to a file that holds credentials.
    Credentials,
    /// It belongs to a file outside the session's workspace.
    Outside,
}

/// Returns what stands in the place of a text that is not kept.
pub fn placeholder(reason: WithholdReason, size_bytes: usize) -> String {
    let file = match reason {
        WithholdReason::Credentials => "a file that holds credentials",
        WithholdReason::Outside => "a file outside the workspace",
    };
    format!("[not kept: {file}, {size_bytes} bytes]")
}

impl CaptureScope {
    /// Returns what is kept of a text that came with the path of a file, or on its own.
    pub fn keep_text(&self, text: &str, path: Option<&str>, root: Option<&str>) -> String {
        if let Some(reason) = path.and_then(|path| self.reason_for(path, root)) {
            return placeholder(reason, text.len());
        }
        let kept = self.withhold_quotes(text, &mut Vec::new());
        kept.unwrap_or_else(|| text.to_owned())
    }

    /// Returns why the text of one file is not kept, if it is not.
    pub fn reason_for(&self, path: &str, root: Option<&str>) -> Option<WithholdReason> {
        if self.is_never_captured(path) {
            return Some(WithholdReason::Credentials);
        }
        self.is_outside(path, root, None)
            .then_some(WithholdReason::Outside)
    }

    /// Returns the workspace that one counts as.
    pub fn resolve_alias(&self, workspace: Workspace) -> Workspace {
        let named = self
            .aliases
            .get(&workspace.key)
            .or_else(|| self.aliases.get(&workspace.root));
        match named {
            Some(key) => Workspace {
                key: key.clone(),
                ..workspace
            },
            None => workspace,
        }
    }

    /// Says whether the sessions of a workspace are captured at all.
    pub fn allows(&self, workspace: &Workspace) -> bool {
        let named = |parts: &[String]| {
            parts
                .iter()
                .any(|part| workspace.key.contains(part) || workspace.root.contains(part))
        };
        !named(&self.denied) && (self.allowed.is_empty() || named(&self.allowed))
    }

    /// Says whether the configuration allows some workspaces and not others.
    pub fn is_selective(&self) -> bool {
        !self.allowed.is_empty() || !self.denied.is_empty()
    }

    /// Says whether the text of a file is never kept.
    pub fn is_never_captured(&self, path: &str) -> bool {
        if path.is_empty() {
            return false;
        }
        let path = path.replace('\\', "/");
        let caught = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, &path))
        };
        caught(&self.never_captured) && !caught(&self.exceptions)
    }

    /// Says whether a file lies outside the workspace at `root`. `cwd` is the folder that relative
    /// paths start from.
    fn is_outside(&self, path: &str, root: Option<&str>, cwd: Option<&str>) -> bool {
        let Some(root) = root.filter(|_| !self.keep_outside) else {
            return false;
        };
        let root = Path::new(root);
        let path = expand_home(path, root);
        if path.starts_with("/dev") || path.to_string_lossy().starts_with('$') {
            return false;
        }
        let whole = if path.is_absolute() {
            path
        } else if path.components().any(|part| part == Component::ParentDir) {
            cwd.map_or(root, Path::new).join(path)
        } else {
            // A relative path that does not climb stays below a folder of the session.
            return false;
        };
        !resolve(&whole).starts_with(root)
    }
}

impl store::ImportScope for CaptureScope {
    fn allows(&self, workspace: &Workspace) -> bool {
        self.allows(workspace)
    }

    fn keep_text(&self, text: &str, path: Option<&str>, root: Option<&str>) -> String {
        self.keep_text(text, path, root)
    }

    fn log_filter(&self) -> store::LogPieceFilter<'_> {
        let mut filter = archive::LogFilter::default();
        Box::new(move |text| filter.apply(self, text))
    }

    fn allows_log(&self, text: &str) -> bool {
        if !self.is_selective() {
            return true;
        }
        let mut workspaces = WorkspaceResolver::default();
        let mut folders = text
            .lines()
            .filter_map(folder_named_in)
            .filter_map(|folder| workspaces.resolve(&folder, None))
            .peekable();
        folders.peek().is_none()
            || folders.any(|workspace| self.allows(&self.resolve_alias(workspace)))
    }
}

/// Returns the folder that a line of a log names.
fn folder_named_in(line: &str) -> Option<String> {
    ["\"cwd\"", "\"project\""].iter().find_map(|key| {
        let (_, rest) = line.split_once(key)?;
        let rest = rest.trim_start().strip_prefix(':')?;
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        strings.next()?.ok()
    })
}

/// Replaces `~` and `$HOME` by the home folder that the workspace lies in.
fn expand_home(path: &str, root: &Path) -> PathBuf {
    let homes = ["~/", "$HOME/", "${HOME}/"];
    let Some(rest) = homes.iter().find_map(|home| path.strip_prefix(home)) else {
        return PathBuf::from(path);
    };
    let depth = if root.starts_with("/root") { 2 } else { 3 };
    let home: PathBuf = root.components().take(depth).collect();
    home.join(rest)
}

/// Resolves `.` and `..` without the file system: the file may be gone.
fn resolve(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

fn matches_pattern(pattern: &str, path: &str) -> bool {
    let depth = pattern.matches('/').count() + 1;
    let mut ends = path.rmatch_indices('/').map(|(at, _)| at + 1);
    let start = ends.nth(depth - 1).unwrap_or(0);
    let tail = &path[start..];
    // `.ssh/*` means everything below, however deep.
    let below = pattern.strip_suffix("/*").is_some_and(|folder| {
        path.contains(&format!("/{folder}/")) || path.starts_with(&format!("{folder}/"))
    });
    below || matches_wildcard(pattern, tail)
}

fn matches_wildcard(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::withheld::MessageFilter;
    use super::*;
    use memory::{Block, Flavor, Message, MessageId, Origin, Role, SessionId, ToolResult};

    #[track_caller]
    fn check(tool: &str, path: &str, kept: bool) {
        let session = SessionId::of(Flavor::Claude, "s");
        let mut message = Message::new(MessageId::new("m"), session, Role::User, Origin::Tool);
        message.blocks = vec![Block::ToolResult(ToolResult {
            tool: Some(tool.into()),
            path: Some(path.into()),
            content: "text".into(),
            ..ToolResult::default()
        })];
        MessageFilter::default().apply(
            &CaptureScope::default(),
            &mut message,
            Some("/home/dev/proj"),
        );
        let [Block::ToolResult(result)] = message.blocks.as_slice() else {
            panic!()
        };
        assert_eq!(result.content == "text", kept, "{path}: {}", result.content);
    }

    #[test]
    fn credentials_are_never_kept() {
        for path in [
            "/home/dev/proj/.env",
            "/home/dev/proj/.env.production",
            "/home/dev/proj/certs/server.pem",
            "/home/dev/.ssh/id_ed25519",
            "/home/dev/.ssh/keys/deploy",
            "C:\\Users\\dev\\.aws\\credentials",
            "/home/dev/.codex/auth.json",
        ] {
            check("Read", path, false);
        }
        check("Read", "/home/dev/proj/.env.example", true);
        check("Read", "/home/dev/proj/src/environment.rs", true);
    }

    #[test]
    fn an_alias_names_the_workspace_it_stands_for() {
        let scope = CaptureScope {
            aliases: [(
                "/tmp/scratch".to_owned(),
                "example.com/acme/widgets".to_owned(),
            )]
            .into(),
            ..CaptureScope::default()
        };
        let at = |root: &str| {
            scope
                .resolve_alias(Workspace {
                    key: root.into(),
                    root: root.into(),
                })
                .key
        };
        assert_eq!(at("/tmp/scratch"), "example.com/acme/widgets");
        assert_eq!(at("/tmp/other"), "/tmp/other");
    }

    #[test]
    fn files_outside_the_workspace_are_not_kept() {
        check("Read", "/etc/passwd", false);
        check("Read", "/home/dev/proj/../other/a.rs", false);
        check("Read", "/home/dev/project-two/a.rs", false);
        check("Read", "/home/dev/proj/a.rs", true);
        check("Read", "a.rs", true);
        check("Edit", "/home/dev/other/a.rs", true);
    }
}
