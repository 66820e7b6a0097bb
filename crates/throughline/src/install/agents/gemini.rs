//! Gemini CLI: hooks and server in `settings.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, read_json_or_null, server_json};
use crate::install::document::{DesiredContent, DesiredEntry, TOML_MARKER};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::our_entries::{READ_ONLY_TOOLS, SERVER};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Gemini,
    program: "gemini",
    folder,
    targets,
    obstacles,
    has_plugin,
    plugin_removal: "gemini extensions uninstall throughline",
    ..Integration::DEFAULTS
};

/// `PreCompress` is left out, because it fires before every request to the model.
const EVENTS: &[&str] = &[
    "SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd",
];
const TIMEOUT_MS: u32 = 5000;

fn folder(env: &AgentEnv) -> PathBuf {
    let home = env.folder_variable("GEMINI_CLI_HOME");
    home.unwrap_or_else(|| env.home.clone()).join(".gemini")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let command = program.hook_command("--agent gemini");
    let quoted = serde_json::Value::from(command.as_str());
    let group = format!(
        "{{\"hooks\":[{{\"name\":\"throughline\",\"type\":\"command\",\"command\":{quoted},\
         \"timeout\":{TIMEOUT_MS}}}]}}"
    );
    let hook = |event: &&'static str| DesiredEntry::Hook {
        event,
        command: command.clone(),
        group: group.clone(),
    };
    let server = DesiredEntry::Server {
        list: "mcpServers",
        server: server_json(program, ""),
    };
    let folder = folder(env);
    let settings = EVENTS.iter().map(hook).chain([server]).collect();
    let target = |path, desired| InstallTarget::new(Flavor::Gemini, path, desired);
    let mut targets = vec![
        target(folder.join("settings.json"), DesiredContent::Json(settings)),
        InstallTarget {
            is_optional: true,
            ..target(
                folder.join("policies/throughline.toml"),
                DesiredContent::WholeFile(policy()),
            )
        },
    ];
    targets.extend(skill_and_commands(
        Flavor::Gemini,
        &folder.join("skills"),
        &folder.join("commands"),
        CommandForm::Toml,
    ));
    targets
}

/// Returns the policy that allows our tools that only read. `trust` in the settings of the server
/// would allow the others too.
fn policy() -> String {
    let rule = |tool: &&str| {
        format!(
            "\n[[rule]]\nmcpName = \"{SERVER}\"\ntoolName = \"{tool}\"\n\
             decision = \"allow\"\npriority = 100\n"
        )
    };
    let rules: String = READ_ONLY_TOOLS.iter().map(rule).collect();
    format!("{TOML_MARKER} allows the tools that only read memory\n{rules}")
}

fn has_plugin(env: &AgentEnv) -> bool {
    let extension = folder(env).join("extensions/throughline/gemini-extension.json");
    extension.is_file()
}

fn obstacles(env: &AgentEnv) -> Vec<String> {
    let path = folder(env).join("settings.json");
    let settings = read_json_or_null(&path);
    let path = path.display();
    let mut found = Vec::new();
    for (group, key) in [("hooksConfig", "enabled"), ("tools", "enableHooks")] {
        if settings[group][key].as_bool() == Some(false) {
            found.push(format!("`{group}.{key}` in {path} disables the hooks"));
        }
    }
    let allowed = settings["mcp"]["allowed"].as_array();
    if allowed.is_some_and(|list| !list.iter().any(|name| name == "throughline")) {
        found.push(format!(
            "`mcp.allowed` in {path} excludes the server `throughline`"
        ));
    }
    found
}
