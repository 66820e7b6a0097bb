//! What is never captured: files that hold credentials, and files outside the session's workspace.
//!
//! The text of such a file is left out where a tool returned it; that it was read stays visible.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use memory::{Block, Message, Workspace};

use crate::tools;

/// Which files' texts are not kept.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Patterns of paths whose text is never kept: `*` stands for any run of characters, a
    /// pattern with `/` matches the end of a path, one without matches a file name.
    pub never: Vec<String>,
    /// Names that a pattern catches although they hold no secrets.
    pub spared: Vec<String>,
    /// Keep what a session read from files outside its workspace.
    pub outside: bool,
    /// Workspaces that are captured, by a part of their key or root; empty for all.
    pub allowed: Vec<String>,
    /// Workspaces that are not captured.
    pub denied: Vec<String>,
    /// Workspaces that count as another: a key or a folder, and the key it stands for.
    pub aliases: BTreeMap<String, String>,
}

impl Default for Scope {
    fn default() -> Self {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            never: list(&[
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
            spared: list(&[
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
            outside: false,
            allowed: Vec::new(),
            denied: Vec::new(),
            aliases: BTreeMap::new(),
        }
    }
}

/// What stands in the place of a text that was left out.
const WITHHELD: &str = "[not kept: ";

impl Scope {
    /// Leaves out of a message what must not be kept. `root` is the session's workspace.
    pub fn apply(&self, message: &mut Message, root: Option<&str>) {
        for block in &mut message.blocks {
            let Block::ToolResult(result) = block else {
                continue;
            };
            let Some(path) = &result.path else { continue };
            let why = if self.is_never(path) {
                "a file that holds credentials"
            } else if self.is_outside(path, root, result.tool.as_deref()) {
                "a file outside the workspace"
            } else {
                continue;
            };
            result.content = format!("{WITHHELD}{why}, {} bytes]", result.content.len());
            result.changes.clear();
        }
    }

    /// Returns the workspace that one counts as.
    pub fn alias(&self, workspace: Workspace) -> Workspace {
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

    /// Says whether the text of a file is never kept.
    pub fn is_never(&self, path: &str) -> bool {
        let path = path.replace('\\', "/");
        let caught = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &path));
        caught(&self.never) && !caught(&self.spared)
    }

    fn is_outside(&self, path: &str, root: Option<&str>, tool: Option<&str>) -> bool {
        let (Some(root), Some(tool)) = (root, tool) else {
            return false;
        };
        let (path, root) = (Path::new(path), Path::new(root));
        !self.outside && tools::reads(tool) && path.is_absolute() && leaves(path, root)
    }
}

fn leaves(path: &Path, root: &Path) -> bool {
    !path.starts_with(root) || path.components().any(|part| part == Component::ParentDir)
}

fn matches(pattern: &str, path: &str) -> bool {
    let depth = pattern.matches('/').count() + 1;
    let mut ends = path.rmatch_indices('/').map(|(at, _)| at + 1);
    let start = ends.nth(depth - 1).unwrap_or(0);
    let tail = &path[start..];
    // `.ssh/*` means everything below, however deep.
    let below = pattern.strip_suffix("/*").is_some_and(|folder| {
        path.contains(&format!("/{folder}/")) || path.starts_with(&format!("{folder}/"))
    });
    below || wildcard(pattern, tail)
}

fn wildcard(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::{Flavor, MessageId, Origin, Role, SessionId, ToolResult};

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
        Scope::default().apply(&mut message, Some("/home/dev/proj"));
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
        let scope = Scope {
            aliases: [(
                "/tmp/scratch".to_owned(),
                "example.com/acme/widgets".to_owned(),
            )]
            .into(),
            ..Scope::default()
        };
        let at = |root: &str| {
            scope
                .alias(Workspace {
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
