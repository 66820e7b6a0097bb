//! The plugin, which is compiled into the program and written out on request.

use std::path::Path;

use anyhow::Context;

use super::agents::{EXTENSION_SCRIPT, PLUGIN_SCRIPT};

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../plugin/", $path)))
    };
}

/// The files of the plugin, with their paths in its folder.
pub(crate) const PLUGIN_FILES: &[(&str, &str)] = &[
    file!("README.md"),
    file!(".claude-plugin/marketplace.json"),
    file!("plugins/throughline/.claude-plugin/plugin.json"),
    file!("plugins/throughline/.mcp.json"),
    file!("plugins/throughline/hooks/hooks.json"),
    file!("plugins/throughline/skills/session-memory/SKILL.md"),
    file!("plugins/throughline/commands/recall.md"),
    file!("plugins/throughline/commands/remember.md"),
    file!("plugins/throughline/commands/forget.md"),
    file!("gemini/gemini-extension.json"),
    file!("gemini/hooks/hooks.json"),
    ("opencode/throughline.js", PLUGIN_SCRIPT),
    ("pi/throughline.ts", EXTENSION_SCRIPT),
];

/// Writes the plugin to a folder, and overwrites an earlier version.
pub(crate) fn write_plugin_files(folder: &Path) -> anyhow::Result<()> {
    for (name, text) in PLUGIN_FILES {
        let path = folder.join(name);
        let failed = || format!("cannot write {}", path.display());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(failed)?;
        }
        std::fs::write(&path, text).with_context(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::install::our_entries;

    fn json(name: &str) -> Value {
        let (_, text) = PLUGIN_FILES.iter().find(|(path, _)| *path == name).unwrap();
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_file_of_the_folder_is_compiled_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap();
                    found.insert(name.to_str().unwrap().to_owned());
                }
            }
        }
        let known = PLUGIN_FILES
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        assert_eq!(found, known);
    }

    #[test]
    fn the_marketplace_names_the_plugin_and_both_have_our_version() {
        let market = json(".claude-plugin/marketplace.json");
        let plugin = json("plugins/throughline/.claude-plugin/plugin.json");
        assert_eq!(market["plugins"][0]["name"], plugin["name"]);
        assert_eq!(market["plugins"][0]["source"], "./plugins/throughline");
        for version in [
            &market["plugins"][0]["version"],
            &plugin["version"],
            &json("gemini/gemini-extension.json")["version"],
        ] {
            assert_eq!(version, env!("CARGO_PKG_VERSION"));
        }
    }

    /// The hook events that both Claude Code and Codex CLI know.
    const SHARED: &[&str] = &[
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest",
        "PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "SessionEnd",
    ];
    const GEMINI: &[&str] = &[
        "SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool",
        "PreCompress", "Notification",
    ];

    #[test]
    fn hooks_run_our_hook_for_events_that_every_agent_of_the_format_knows() {
        for (name, known) in [
            ("plugins/throughline/hooks/hooks.json", SHARED),
            ("gemini/hooks/hooks.json", GEMINI),
        ] {
            let hooks = json(name);
            let events = hooks["hooks"].as_object().unwrap();
            let found = our_entries::find_our_hooks(&hooks);
            assert_eq!(found.len(), events.len(), "{name}");
            for event in events.keys() {
                assert!(known.contains(&event.as_str()), "{name} {event}");
            }
        }
    }

    #[test]
    fn servers_start_this_program() {
        for name in [
            "plugins/throughline/.mcp.json",
            "gemini/gemini-extension.json",
        ] {
            let server = &json(name)["mcpServers"]["throughline"];
            assert!(our_entries::is_our_server(server), "{name}");
            assert_eq!(server["args"][0], "mcp");
        }
    }

    #[test]
    fn the_skill_says_its_name_and_when_to_use_it_within_the_limits() {
        let (_, skill) = PLUGIN_FILES
            .iter()
            .find(|(path, _)| path.ends_with("SKILL.md"))
            .unwrap();
        let front = skill
            .strip_prefix("---\n")
            .unwrap()
            .split("\n---\n")
            .next()
            .unwrap();
        let field = |name: &str| {
            let line = front.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        assert_eq!(field("name:"), "session-memory");
        let description = field("description:");
        assert!(description.contains("Use when") && description.len() < 1024);
    }

    #[test]
    fn an_earlier_version_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        write_plugin_files(dir.path()).unwrap();
        std::fs::write(dir.path().join("README.md"), "old").unwrap();
        write_plugin_files(dir.path()).unwrap();
        for (name, text) in PLUGIN_FILES {
            assert_eq!(
                std::fs::read_to_string(dir.path().join(name)).unwrap(),
                *text
            );
        }
    }
}
