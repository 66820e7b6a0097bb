//! Withholds what must not be captured: the text of files that hold credentials, of files outside
//! the session's workspace, and everything in denied workspaces.
//!
//! [`call`] decides for each tool call whether its arguments and its output are withheld;
//! [`quotes`] does the same for texts that quote files. [`message_filter`] applies both to
//! messages, [`log_filter`] to the agent's own log. A placeholder takes the place of a withheld
//! text, so it stays visible that a file was read.

mod call;
mod file_patterns;
mod json_outline;
pub(crate) mod log_filter;
pub(crate) mod message_filter;
mod quotes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use memory::Workspace;

pub use self::file_patterns::FilePatterns;
use crate::git::{WorkspaceResolver, normalize_lexically};

/// Which workspaces are captured, and the text of which files is withheld.
#[derive(Clone, Debug)]
pub struct CaptureScope {
    /// Files whose text is never captured.
    pub never_captured: FilePatterns,
    /// Files that are captured although they match `never_captured`, because they hold no secrets.
    pub exceptions: FilePatterns,
    /// Capture what a session read from files outside its workspace.
    pub keep_outside: bool,
    /// Captured workspaces, by a part of their key or root; empty means all.
    pub allowed: Vec<String>,
    /// Workspaces that are not captured, by a part of their key or root.
    pub denied: Vec<String>,
    /// Workspaces that count as another one: from a key or root to the key to use instead.
    pub aliases: BTreeMap<String, String>,
}

impl Default for CaptureScope {
    fn default() -> Self {
        let list = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            FilePatterns::from(names)
        };
        Self {
            never_captured: list(&[
                ".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
                "*.keystore", "*.tfstate", "*.tfvars", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa",
                "id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd",
                ".git-credentials", ".ssh/*", ".gnupg/*", ".aws/*", ".kube/config",
                ".docker/config.json", ".claude/.credentials.json", ".codex/auth.json",
                ".gemini/oauth_creds.json", ".grok/auth.json", "opencode/auth.json",
                "gh/hosts.yml", "*credentials.json",
            ]),
            exceptions: list(&[
                ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.test",
                ".env.defaults", "*.pub", "known_hosts", ".ssh/config",
            ]),
            keep_outside: false,
            allowed: Vec::new(),
            denied: Vec::new(),
            aliases: BTreeMap::new(),
        }
    }
}

/// Why a text is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithholdReason {
    /// The text belongs to a file that holds credentials.
    Credentials,
    /// The text belongs to a file outside the session's workspace.
    Outside,
}

/// Returns the placeholder for a withheld text.
pub fn placeholder(reason: WithholdReason, size_bytes: usize) -> String {
    let file = match reason {
        WithholdReason::Credentials => "a file that holds credentials",
        WithholdReason::Outside => "a file outside the workspace",
    };
    format!("[not kept: {file}, {size_bytes} bytes]")
}

impl CaptureScope {
    /// Returns a text without what is withheld. `path` is the file that the text came from, if it
    /// is known.
    pub fn keep_text(&self, text: &str, path: Option<&str>, root: Option<&str>) -> String {
        if let Some(reason) = path.and_then(|path| self.reason_for(path, root)) {
            return placeholder(reason, text.len());
        }
        let kept = self.withhold_quotes(text, &mut Vec::new());
        kept.unwrap_or_else(|| text.to_owned())
    }

    /// Returns why the text of a file is withheld, or `None` if it is not.
    pub fn reason_for(&self, path: &str, root: Option<&str>) -> Option<WithholdReason> {
        if self.is_never_captured(path) {
            return Some(WithholdReason::Credentials);
        }
        self.is_outside(path, root, None)
            .then_some(WithholdReason::Outside)
    }

    /// Returns the workspace under its configured alias, or unchanged if it has none.
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

    /// Says whether the sessions of a workspace are captured.
    pub fn allows(&self, workspace: &Workspace) -> bool {
        let named = |parts: &[String]| {
            parts
                .iter()
                .any(|part| workspace.key.contains(part) || workspace.root.contains(part))
        };
        !named(&self.denied) && (self.allowed.is_empty() || named(&self.allowed))
    }

    /// Says whether the configuration excludes some workspaces.
    pub fn is_selective(&self) -> bool {
        !self.allowed.is_empty() || !self.denied.is_empty()
    }

    /// Says whether the text of a file is never captured, whatever its workspace.
    pub fn is_never_captured(&self, path: &str) -> bool {
        if path.is_empty() {
            return false;
        }
        let path = if path.contains('\\') {
            Cow::Owned(path.replace('\\', "/"))
        } else {
            Cow::Borrowed(path)
        };
        self.never_captured.matches(&path) && !self.exceptions.matches(&path)
    }

    /// Says whether a file is outside the workspace at `root`. `cwd` is the folder that relative
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
        let path = if path.is_absolute() {
            path
        } else if path.components().any(|part| part == Component::ParentDir) {
            cwd.map_or(root, Path::new).join(path)
        } else {
            // A relative path without `..` stays below a folder of the session.
            return false;
        };
        !normalize_lexically(&path).starts_with(root)
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
        let mut filter = log_filter::LogFilter::default();
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

/// Returns the working directory that a line of a log names.
fn folder_named_in(line: &str) -> Option<String> {
    ["\"cwd\"", "\"project\""].iter().find_map(|key| {
        let (_, rest) = line.split_once(key)?;
        let rest = rest.trim_start().strip_prefix(':')?;
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        strings.next()?.ok()
    })
}

/// Replaces `~` and `$HOME` by the home folder that contains the workspace. The log may come from
/// another machine, so this process's own home folder does not count.
fn expand_home(path: &str, root: &Path) -> PathBuf {
    let homes = ["~/", "$HOME/", "${HOME}/"];
    let Some(rest) = homes.iter().find_map(|home| path.strip_prefix(home)) else {
        return PathBuf::from(path);
    };
    let depth = if root.starts_with("/root") { 2 } else { 3 };
    let home: PathBuf = root.components().take(depth).collect();
    home.join(rest)
}

#[cfg(test)]
mod tests {
    use super::message_filter::MessageFilter;
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
    fn credential_files_are_withheld() {
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
    fn an_alias_replaces_the_key_of_a_workspace() {
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
    fn files_outside_the_workspace_are_withheld() {
        check("Read", "/etc/passwd", false);
        check("Read", "/home/dev/proj/../other/a.rs", false);
        check("Read", "/home/dev/project-two/a.rs", false);
        check("Read", "/home/dev/proj/a.rs", true);
        check("Read", "a.rs", true);
        check("Edit", "/home/dev/other/a.rs", true);
    }
}
