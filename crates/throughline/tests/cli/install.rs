//! `install` and `uninstall` on copies of real configuration files.

#![expect(clippy::disallowed_methods, reason = "runs plugins in Node")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::env::{TestEnv, repository};

/// A copy of one of the home folders in `fixtures/config`.
fn machine(home: &str) -> TestEnv {
    let env = TestEnv::new();
    copy(&repository().join("fixtures/config").join(home), env.home());
    env
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns all files and folders of the home except the data folder.
fn tree(env: &TestEnv) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![env.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(env.home()).unwrap().display().to_string();
            if name == "memory" {
                continue;
            }
            if path.is_dir() {
                tree.insert(name, None);
                folders.push(path);
            } else {
                tree.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    tree
}

fn read(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.home().join(name)).unwrap()
}

fn json(env: &TestEnv, name: &str) -> Value {
    serde_json::from_str(&read(env, name)).unwrap()
}

/// Runs a command that must succeed. The program under test is in a build folder and large, so it
/// is not copied.
#[track_caller]
fn succeeds(env: &TestEnv, args: &[&str]) -> String {
    let mut args = args.to_vec();
    if matches!(args[0], "install" | "up") {
        args.insert(1, "--no-copy");
    }
    let ran = env.run(&args);
    assert_eq!(ran.code, Some(0), "{args:?}\n{}", ran.shown());
    ran.stdout + &ran.stderr
}

#[test]
fn every_home_comes_back_byte_for_byte() {
    for home in ["plain", "odd", "bare"] {
        let env = machine(home);
        let before = tree(&env);
        succeeds(&env, &["install", "--yes"]);
        let installed = tree(&env);
        assert_ne!(before, installed, "{home}");
        let again = succeeds(&env, &["install", "--yes"]);
        assert!(again.contains("Nothing to change"), "{home}: {again}");
        assert_eq!(
            installed,
            tree(&env),
            "{home}: the second time changed something"
        );
        succeeds(&env, &["uninstall", "--yes"]);
        assert_eq!(before, tree(&env), "{home}");
        let mut left: Vec<_> = fs::read_dir(env.home().join("memory"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        let store = ["redaction.key", "throughline.db", "throughline.lock"];
        assert_eq!(left, store, "{home}");
        let nothing = succeeds(&env, &["uninstall", "--yes"]);
        assert!(nothing.contains("Nothing to change"), "{nothing}");
    }
}

#[test]
fn one_agent_after_the_other_comes_back_too() {
    let agents = [
        "cursor", "grok", "claude", "opencode", "codex", "copilot", "gemini", "qwen", "kimi", "pi",
    ];
    let env = machine("plain");
    fs::remove_dir_all(env.home().join(".cursor")).unwrap();
    let before = tree(&env);
    for agent in agents {
        succeeds(&env, &["install", agent, "--yes"]);
    }
    for agent in agents {
        succeeds(&env, &["uninstall", agent, "--yes"]);
    }
    assert_eq!(before, tree(&env));
}

#[test]
fn each_agent_gets_a_hook_and_a_server() {
    let env = machine("bare");
    succeeds(&env, &["install", "--yes"]);
    let program = env!("CARGO_BIN_EXE_throughline");
    let settings = json(&env, ".claude/settings.json");
    let handler = &settings["hooks"]["SessionStart"][0]["hooks"][0];
    assert_eq!(handler["command"], format!("{program} hook"));
    let server = &json(&env, ".claude.json")["mcpServers"]["throughline"];
    assert_eq!(server["alwaysLoad"], true);
    assert_eq!(server["args"][0], "mcp");
    let hooks = json(&env, ".codex/hooks.json");
    let handler = &hooks["hooks"]["SessionEnd"][0]["hooks"][0];
    assert_eq!(handler["command"], format!("{program} hook --agent codex"));
    assert!(read(&env, ".codex/config.toml").contains("[mcp_servers.throughline]"));
    let gemini = json(&env, ".gemini/settings.json");
    assert_eq!(
        gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"],
        5000
    );
    assert!(gemini["mcpServers"]["throughline"].is_object());
    let copilot = json(&env, ".copilot/hooks/throughline.json");
    assert_eq!(copilot["version"], 1);
    let command = copilot["hooks"]["agentStop"][0]["bash"].as_str().unwrap();
    assert!(command.ends_with("hook --agent copilot --event agentStop"));
    let shim = read(&env, ".config/opencode/plugin/throughline.js");
    assert!(
        shim.contains(&format!("const PROGRAM = \"{program}\";")),
        "{shim}"
    );
    let opencode = json(&env, ".config/opencode/opencode.json");
    assert_eq!(opencode["mcp"]["throughline"]["command"][1], "mcp");
    assert!(json(&env, ".cursor/mcp.json")["mcpServers"]["throughline"].is_object());
    let qwen = json(&env, ".qwen/settings.json");
    assert_eq!(
        qwen["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"],
        format!("{program} hook --agent qwen")
    );
    assert!(qwen["mcpServers"]["throughline"].is_object());
    let kimi: toml::Table = read(&env, ".kimi-code/config.toml").parse().unwrap();
    assert_eq!(kimi["hooks"][1]["event"].as_str(), Some("UserPromptSubmit"));
    assert!(json(&env, ".kimi-code/mcp.json")["mcpServers"]["throughline"].is_object());
    let pi = read(&env, ".pi/agent/extensions/throughline.ts");
    assert!(
        pi.contains(&format!("const PROGRAM = \"{program}\";")),
        "{pi}"
    );
    assert!(read(&env, ".grok/config.toml").contains("[mcp_servers.throughline]"));
}

#[test]
fn each_agent_gets_the_skill_the_commands_and_leave_to_read() {
    let env = machine("bare");
    succeeds(&env, &["install", "--yes"]);
    let tool = "mcp__throughline__memory_search";
    for settings in [".claude/settings.json", ".qwen/settings.json"] {
        let allowed = &json(&env, settings)["permissions"]["allow"];
        assert_eq!(allowed[0], tool, "{settings}");
        assert!(!allowed.to_string().contains("remember"), "{allowed}");
    }
    assert!(read(&env, ".kimi-code/config.toml").contains(tool));
    let policy = read(&env, ".gemini/policies/throughline.toml");
    let policy: toml::Table = policy.parse().unwrap();
    assert_eq!(policy["rule"].as_array().unwrap().len(), 4);
    for (skills, forget) in [
        (".claude/skills", ".claude/commands/forget.md"),
        (".codex/skills", ".codex/skills/forget/SKILL.md"),
        (".gemini/skills", ".gemini/commands/forget.toml"),
        (".grok/skills", ".grok/commands/forget.md"),
        (".copilot/skills", ".copilot/skills/forget/SKILL.md"),
        (
            ".config/opencode/skills",
            ".config/opencode/commands/forget.md",
        ),
        (".qwen/skills", ".qwen/commands/forget.md"),
        (".kimi-code/skills", ".kimi-code/skills/forget/SKILL.md"),
        (".pi/agent/skills", ".pi/agent/prompts/forget.md"),
    ] {
        assert!(read(&env, &format!("{skills}/session-memory/SKILL.md")).starts_with("---\nname:"));
        assert!(
            read(&env, forget).contains("throughline facts forget"),
            "{forget}"
        );
    }
}

#[test]
fn a_command_of_the_user_is_kept_and_named() {
    let env = machine("bare");
    let own = env.home().join(".claude/commands/recall.md");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "mine\n").unwrap();
    let said = succeeds(&env, &["install", "claude", "--yes"]);
    let kept = "$HOME/.claude/commands/recall.md was left as it is";
    assert!(said.contains(kept), "{said}");
    assert!(env.home().join(".claude/commands/forget.md").exists());
    succeeds(&env, &["uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine\n");
    assert!(!env.home().join(".claude/commands/forget.md").exists());
}

/// A small program in a folder in which Cargo builds.
#[cfg(unix)]
fn program_in_build_folder(env: &TestEnv) -> std::path::PathBuf {
    let target = env.home().join("clone/target");
    let program = target.join("release/throughline");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(target.join(".rustc_info.json"), "{}").unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_throughline"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_throughline"), &program).map(|_| ()))
        .unwrap();
    program
}

#[cfg(unix)]
#[test]
fn a_program_in_a_build_folder_is_copied_first() {
    let env = machine("bare");
    let program = program_in_build_folder(&env);
    let local = env.home().join(".local/bin");
    let run = |args: &[&str]| {
        let ran = std::process::Command::new(&program)
            .args(args)
            .env_clear()
            .env("HOME", env.home())
            .env("THROUGHLINE_HOME", env.home().join("memory"))
            .env("PATH", &local)
            .output()
            .unwrap();
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    let shown = run(&["install", "codex", "--dry-run"]);
    assert!(shown.contains("target/release/throughline to "), "{shown}");
    assert!(!local.exists());
    let said = run(&["install", "codex", "--yes"]);
    assert!(said.contains("a copy of this program in "), "{said}");
    assert!(local.join("throughline").is_file());
    let hooks = read(&env, ".codex/hooks.json");
    assert!(
        hooks.contains("\"throughline hook --agent codex\""),
        "{hooks}"
    );
    assert!(!hooks.contains("target"), "{hooks}");
    let again = run(&["install", "codex", "--yes"]);
    assert!(again.contains("Nothing to change"), "{again}");
    // A newer build replaces the copy.
    fs::write(local.join("throughline"), "older").unwrap();
    run(&["install", "codex", "--yes"]);
    assert!(fs::metadata(local.join("throughline")).unwrap().len() > 1_000_000);
}

#[test]
fn the_name_is_written_where_it_is_on_path() {
    let env = machine("bare");
    let bin = Path::new(env!("CARGO_BIN_EXE_throughline"))
        .parent()
        .unwrap();
    let status = env
        .command(&["install", "codex", "--yes"])
        .env("PATH", bin)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(
        said.contains("They will run `throughline hook`: found on PATH."),
        "{said}"
    );
    assert!(said.contains("/hooks"), "{said}");
    let command = &json(&env, ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"];
    assert_eq!(command, "throughline hook --agent codex");
}

#[test]
fn grok_is_not_told_twice() {
    let env = machine("bare");
    let said = succeeds(&env, &["install", "claude", "grok", "--yes"]);
    assert!(said.contains("so it gets none of its own"), "{said}");
    assert!(!env.home().join(".grok/hooks").exists());
    let said = succeeds(&env, &["uninstall", "claude", "--yes"]);
    assert!(said.contains("throughline install grok"), "{said}");
    succeeds(&env, &["install", "grok", "--yes"]);
    let hooks = json(&env, ".grok/hooks/throughline.json");
    let command = hooks["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
        .as_str()
        .unwrap();
    assert!(command.ends_with("hook --agent grok"));
}

#[test]
fn entries_of_an_older_release_are_not_doubled_and_go() {
    let env = machine("older");
    succeeds(&env, &["install", "claude", "--yes"]);
    let settings = read(&env, ".claude/settings.json");
    assert_eq!(settings.matches("UserPromptSubmit").count(), 1);
    assert!(!settings.contains("/usr/local/bin"), "{settings}");
    assert!(!settings.contains("my bin"), "{settings}");
    assert!(settings.contains("echo done"));
    succeeds(&env, &["uninstall", "--yes"]);
    let settings = json(&env, ".claude/settings.json");
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.keys().collect::<Vec<_>>(), ["PostToolUse"]);
    let servers = json(&env, ".claude.json");
    assert!(
        servers["mcpServers"].get("throughline").is_none(),
        "{servers}"
    );
}

#[test]
fn what_the_user_changed_meanwhile_stays() {
    let env = machine("plain");
    let original = json(&env, ".claude.json");
    succeeds(&env, &["install", "--yes"]);
    // The agent rewrites its state file; the user edits the others.
    let path = env.home().join(".claude.json");
    let mut state = json(&env, ".claude.json");
    state["numStartups"] = 213.into();
    fs::write(&path, serde_json::to_string(&state).unwrap()).unwrap();
    let path = env.home().join(".codex/config.toml");
    let config = read(&env, ".codex/config.toml");
    fs::write(&path, format!("# mine\n{config}\n[mine]\nx = 1\n")).unwrap();
    let path = env.home().join(".copilot/hooks/throughline.json");
    let mut hooks = json(&env, ".copilot/hooks/throughline.json");
    hooks["hooks"]["mine"] = serde_json::json!([{"bash": "date"}]);
    fs::write(&path, serde_json::to_string(&hooks).unwrap()).unwrap();
    succeeds(&env, &["uninstall", "--yes"]);
    let mut expected = original;
    expected["numStartups"] = 213.into();
    assert_eq!(json(&env, ".claude.json"), expected);
    let config = read(&env, ".codex/config.toml");
    assert!(config.starts_with("# mine\nmodel = "), "{config}");
    assert!(
        config.ends_with("API_KEY = \"not-a-real-key\"\n\n[mine]\nx = 1\n"),
        "{config}"
    );
    let hooks = json(&env, ".copilot/hooks/throughline.json");
    let expected = serde_json::json!({"version": 1, "hooks": {"mine": [{"bash": "date"}]}});
    assert_eq!(hooks, expected);
}

#[test]
fn what_cannot_be_read_is_named_and_left_alone() {
    let env = machine("plain");
    let broken = "{\n  \"model\": \"opus\"\n  \"hooks\": {}\n}\n";
    fs::write(env.home().join(".claude/settings.json"), broken).unwrap();
    let state = read(&env, ".claude.json");
    let ran = env.run(&["install", "claude", "codex", "--yes"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    let why = "$HOME/.claude/settings.json was not changed: line 3: expected a comma";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("line 3").count(), 1, "{}", ran.stderr);
    assert_eq!(read(&env, ".claude/settings.json"), broken);
    assert_eq!(
        read(&env, ".claude.json"),
        state,
        "nothing is installed in part"
    );
    assert!(read(&env, ".codex/config.toml").contains("mcp_servers.throughline"));
}

#[test]
fn nothing_happens_unasked() {
    let env = machine("plain");
    let before = tree(&env);
    let ran = env.run(&["install"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(ran.stderr.contains("hint: add --yes"), "{}", ran.stderr);
    let dry_run = env.run(&["install", "--dry-run"]);
    let shown = dry_run.stdout;
    assert!(shown.contains("+     \"SessionStart\": ["), "{shown}");
    assert!(!shown.contains("more line"), "a part is left out: {shown}");
    assert!(ran.stderr.contains("more lines; --dry-run shows them"));
    assert!(ran.stderr.lines().count() < 400, "{}", ran.stderr);
    assert_eq!(dry_run.stderr, "\nWould change 53 files.\n");
    assert!(
        !shown.contains("not-a-real"),
        "a secret beside it is shown: {shown}"
    );
    let report = succeeds(&env, &["install", "--dry-run", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["applied"], false);
    assert_eq!(report["agents"].as_array().unwrap().len(), 10);
    assert_eq!(before, tree(&env));
}

#[test]
fn what_keeps_hooks_from_running_is_said() {
    let env = machine("bare");
    fs::write(
        env.home().join(".claude/settings.json"),
        "{\"disableAllHooks\": true}",
    )
    .unwrap();
    fs::write(
        env.home().join(".codex/config.toml"),
        "[features]\nhooks = false\n",
    )
    .unwrap();
    let said = succeeds(&env, &["install", "claude", "codex", "--yes"]);
    assert!(
        said.contains("`disableAllHooks` in $HOME/.claude/settings.json"),
        "{said}"
    );
    assert!(said.contains("`hooks = false` under [features]"), "{said}");
}

#[test]
fn who_has_the_plugin_needs_nothing_else() {
    let env = machine("bare");
    let settings = "{\"enabledPlugins\": {\"throughline@throughline\": true}}";
    fs::write(env.home().join(".claude/settings.json"), settings).unwrap();
    let said = succeeds(&env, &["install", "claude", "--yes"]);
    assert!(said.contains("plugin `throughline` is enabled"), "{said}");
    assert_eq!(read(&env, ".claude/settings.json"), settings);
}

#[test]
fn the_plugins_of_codex_copilot_and_gemini_are_noticed_too() {
    let env = machine("bare");
    for (file, text) in [
        (
            ".codex/config.toml",
            "[plugins.\"throughline@throughline\"]\nenabled = true\n",
        ),
        (
            ".copilot/settings.json",
            "{\"enabledPlugins\": {\"throughline@throughline\": true}}",
        ),
        (".gemini/extensions/throughline/gemini-extension.json", "{}"),
    ] {
        let path = env.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let before = tree(&env);
    let said = succeeds(&env, &["install", "codex", "copilot", "gemini", "--yes"]);
    assert_eq!(
        said.matches("plugin `throughline` is enabled").count(),
        3,
        "{said}"
    );
    assert_eq!(before, tree(&env));
    let said = succeeds(&env, &["uninstall", "codex", "--yes"]);
    assert!(
        said.contains("`codex plugin remove throughline@throughline`"),
        "{said}"
    );
    let said = env.run(&["doctor"]).stdout;
    assert!(said.contains("installed as a plugin"), "{said}");
}

#[test]
fn uninstall_cleans_up_beside_a_plugin_even_what_nobody_remembers() {
    let env = machine("bare");
    succeeds(&env, &["install", "claude", "--yes"]);
    let path = env.home().join(".claude/settings.json");
    let with_plugin = read(&env, ".claude/settings.json").replacen(
        '{',
        "{\"enabledPlugins\": {\"throughline@throughline\": true},",
        1,
    );
    fs::write(&path, with_plugin).unwrap();
    fs::remove_file(env.home().join("memory/installed.json")).unwrap();
    let said = succeeds(&env, &["uninstall", "--yes"]);
    assert!(
        said.contains("remove it with `claude plugin uninstall throughline@throughline`"),
        "{said}"
    );
    let left = read(&env, ".claude/settings.json");
    assert!(
        !left.contains("throughline hook") && left.contains("enabledPlugins"),
        "{left}"
    );
    let servers = fs::read_to_string(env.home().join(".claude.json")).unwrap_or_default();
    assert!(!servers.contains("throughline"), "{servers}");
}

#[test]
fn a_program_by_another_name_changes_nothing_and_says_why() {
    let env = machine("bare");
    let other = env.home().join("tl");
    fs::copy(env!("CARGO_BIN_EXE_throughline"), &other).unwrap();
    let ran = std::process::Command::new(&other)
        .args(["install", "claude", "--yes"])
        .env_clear()
        .env("HOME", env.home())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(
        said.contains("entries are recognised by the name `throughline`"),
        "{said}"
    );
    assert!(!env.home().join(".claude/settings.json").exists());
}

#[test]
fn agents_that_cannot_be_told_are_named() {
    let env = TestEnv::new();
    let ran = env.run(&["install", "aider"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("cannot be installed into Aider"),
        "{}",
        ran.stderr
    );
    let ran = env.run(&["install"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
}

#[cfg(unix)]
#[test]
fn configuration_that_lies_elsewhere_is_changed_there() {
    let env = machine("bare");
    let dotfiles = env.home().join("dotfiles.json");
    fs::write(&dotfiles, "{}\n").unwrap();
    let link = env.home().join(".claude/settings.json");
    std::os::unix::fs::symlink(&dotfiles, &link).unwrap();
    succeeds(&env, &["install", "claude", "--yes"]);
    assert!(read(&env, "dotfiles.json").contains("SessionStart"));
    succeeds(&env, &["uninstall", "--yes"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&env, "dotfiles.json"), "{}\n");
}

#[test]
fn the_plugin_is_written_out() {
    let env = TestEnv::new();
    let folder = env.home().join("plugin");
    let said = succeeds(&env, &["install", "--plugin-dir", folder.to_str().unwrap()]);
    assert!(
        said.contains("claude plugin marketplace add $HOME/plugin"),
        "{said}"
    );
    assert!(folder.join(".claude-plugin/marketplace.json").is_file());
}

#[test]
fn doctor_says_where_we_are_installed() {
    let env = machine("plain");
    succeeds(&env, &["install", "codex", "--yes"]);
    let said = env.run(&["doctor"]).stdout;
    assert!(
        said.contains("installed in $HOME/.codex/hooks.json, $HOME/.codex/config.toml"),
        "{said}"
    );
    let report: Value = serde_json::from_str(&env.run(&["doctor", "--json"]).stdout).unwrap();
    let installed = report["installed"].as_array().unwrap();
    let files = |agent: &str| {
        let found = installed.iter().find(|it| it["agent"] == agent);
        found.unwrap()["files"].as_array().unwrap().len()
    };
    assert_eq!((files("codex"), files("claude")), (6, 0));
}

#[test]
fn up_does_everything_once() {
    let env = machine("bare");
    copy(
        &repository().join("samples/claude"),
        &env.home().join(".claude"),
    );
    let first = succeeds(&env, &["up", "--yes", "--no-daemon"]);
    assert!(
        first.contains("Ingested ") && first.contains("Changed 53 files."),
        "{first}"
    );
    assert!(first.contains("throughline search"), "{first}");
    let installed = tree(&env);
    let again = succeeds(&env, &["up", "--yes", "--no-daemon"]);
    assert!(
        again.contains("Ingested 0 records") && again.contains("already installed"),
        "{again}"
    );
    assert_eq!(installed, tree(&env));
    let report = env
        .run(&["up", "--json", "--no-daemon", "--no-copy"])
        .stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["agents"]["found"].as_array().unwrap().len(), 10);
    assert_eq!(report["agents"]["pending"].as_array().unwrap().len(), 0);
}

#[test]
fn up_changes_no_agent_unasked() {
    let env = machine("plain");
    let before = tree(&env);
    let said = succeeds(&env, &["up", "--no-daemon"]);
    assert!(said.contains("run `throughline install`"), "{said}");
    // It is not on PATH, so the next command has the whole path.
    assert!(said.contains("/throughline up --sample"), "{said}");
    assert_eq!(before, tree(&env));
}

#[test]
fn up_shows_samples_in_a_memory_of_their_own() {
    let env = machine("plain");
    let before = env.run(&["sessions"]).code;
    let said = succeeds(&env, &["up", "--sample"]);
    assert!(said.contains("These are sample sessions"), "{said}");
    assert!(said.contains("/throughline --home "), "{said}");
    assert_eq!(env.run(&["sessions"]).code, before);
    let home = env.home().join("memory-sample");
    let home = home.to_str().unwrap();
    let found = succeeds(&env, &["--home", home, "search", "threshold"]);
    assert!(found.contains("threshold"), "{found}");
    succeeds(&env, &["up", "--sample"]);
}

#[test]
fn up_starts_the_daemon_where_there_is_one() {
    let env = machine("bare");
    for _ in 0..2 {
        let report = env.run(&["up", "--json"]).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["daemon"], "started", "{report}");
    }
    succeeds(&env, &["serve", "--status"]);
    succeeds(&env, &["serve", "--stop"]);
}

/// Calls every hook of the opencode plugin and prints the results.
const CALLER: &str = r#"
import { Throughline } from "./throughline.mjs";
const hooks = await Throughline({ directory: "/project" });
const parts = [{ id: "p1", type: "text", text: "why?" }];
await hooks["chat.message"]({ sessionID: "s" }, { parts });
const system = ["base"];
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, { system });
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, { system });
const context = [];
await hooks["experimental.session.compacting"]({ sessionID: "s" }, { context });
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } });
await hooks.event({});
await hooks["chat.message"](undefined, undefined);
console.log(JSON.stringify({ parts: parts.map((part) => part.text), system, context }));
"#;

/// Runs the opencode plugin in Node, if available, with this script as `throughline`.
#[cfg(unix)]
fn shim(env: &TestEnv, script: &str) -> Option<Value> {
    shim_called(env, script, CALLER)
}

/// The same with another caller.
#[cfg(unix)]
fn shim_called(env: &TestEnv, script: &str, caller: &str) -> Option<Value> {
    use std::os::unix::fs::PermissionsExt;
    let shim = repository().join("plugin/opencode/throughline.js");
    fs::copy(shim, env.home().join("throughline.mjs")).unwrap();
    fs::write(env.home().join("caller.mjs"), caller).unwrap();
    let program = env.home().join("bin/throughline");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let usual = env!("PATH");
    let output = std::process::Command::new("node")
        .arg(env.home().join("caller.mjs"))
        .env(
            "PATH",
            format!("{}:{usual}", env.home().join("bin").display()),
        )
        .output();
    let output = output.ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Compacts a session twice, requests a title, and runs a subagent.
const COMPACTED: &str = r#"
import { Throughline } from "./throughline.mjs";
const hooks = await Throughline({ directory: "/project" });
const event = (type, info) => hooks.event({ event: { type, properties: info } });
const request = async (sessionID, first = "base") => {
  const system = [first];
  await hooks["experimental.chat.system.transform"]({ sessionID }, { system });
  return system.length - 1;
};
const got = {};
await event("session.created", { sessionID: "s", info: { id: "s" } });
const parts = [{ id: "p1", type: "text", text: "move the handlers" }];
await hooks["chat.message"]({ sessionID: "s" }, { parts, message: { id: "m1" } });
got.title = await request("s", "You are a title generator. You output ONLY a thread title.");
got.start = await request("s");
for (const turn of ["first", "second"]) {
  await hooks["experimental.session.compacting"]({ sessionID: "s" }, { context: [] });
  got[`${turn} compaction`] = await request("s");
  await event("session.compacted", { sessionID: "s" });
  got[`after ${turn}`] = await request("s");
}
await event("session.created", { sessionID: "c", info: { id: "c", parentID: "s" } });
await hooks["chat.message"]({ sessionID: "c" }, { parts: [{ type: "text", text: "look" }] });
got.child = await request("c");
got.resumed = await request("r");
console.log(JSON.stringify(got));
"#;

#[cfg(unix)]
#[test]
fn the_plugin_of_opencode_tells_why_it_asks_and_leaves_others_alone() {
    let env = TestEnv::new();
    let script = "cat >>\"$(dirname \"$0\")/asked\"; echo '{\"context\":\"memory\"}'";
    let Some(got) = shim_called(&env, script, COMPACTED) else {
        eprintln!("skipped: there is no Node here");
        return;
    };
    let expected = serde_json::json!({
        "title": 0, "start": 1, "first compaction": 0, "after first": 1,
        "second compaction": 0, "after second": 1, "child": 0, "resumed": 1,
    });
    assert_eq!(got, expected);
    let asked = read(&env, "bin/asked");
    let asked = serde_json::Deserializer::from_str(&asked).into_iter::<Value>();
    let asked: Vec<Value> = asked.map(Result::unwrap).collect();
    let of = |event: &str, field: &str| -> Vec<String> {
        let is_it = |it: &&Value| it["event"] == event;
        let values = asked.iter().filter(is_it).map(|it| &it[field]);
        values
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        of("system.transform", "source"),
        ["startup", "compact", "compact", "resume"]
    );
    assert_eq!(
        of("system.transform", "prompt_id"),
        ["", "compaction-1", "compaction-2", ""]
    );
    assert_eq!(
        of("session.compacting", "prompt"),
        ["move the handlers", "move the handlers"]
    );
    assert_eq!(of("chat.message", "prompt_id"), ["m1"], "none of the child");
}

#[cfg(unix)]
#[test]
fn the_plugin_of_opencode_puts_what_it_is_told_where_the_model_sees_it() {
    let env = TestEnv::new();
    let script = "cat >>\"$(dirname \"$0\")/asked\"; echo '{\"context\":\"memory\"}'";
    let Some(said) = shim(&env, script) else {
        return testkit::skip::skip("node", "there is no Node");
    };
    let expected = serde_json::json!({
        "parts": ["memory", "why?"], "system": ["base", "memory", "memory"], "context": ["memory"],
    });
    assert_eq!(said, expected);
    let asked = read(&env, "bin/asked");
    let asked = serde_json::Deserializer::from_str(&asked).into_iter::<Value>();
    let events: Vec<_> = asked
        .map(|it| it.unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        events,
        [
            "chat.message", "system.transform", "session.compacting", "event"
        ]
    );
}

#[cfg(unix)]
#[test]
fn where_no_agent_is_json_is_printed_all_the_same() {
    let env = TestEnv::new();
    let ran = env.run(&["install", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["agents"], serde_json::json!([]));
    let ran = env.run(&["uninstall"]);
    assert!(!ran.stderr.contains("Agents: ."), "{}", ran.shown());
}

#[test]
fn the_plugin_of_opencode_is_silent_when_something_is_wrong() {
    let silent = serde_json::json!({"parts": ["why?"], "system": ["base"], "context": []});
    for script in [
        "exit 3", "echo no JSON", "exec sleep 60", "echo '{\"context\":null}'",
    ] {
        let Some(said) = shim(&TestEnv::new(), script) else {
            return testkit::skip::skip("node", "there is no Node");
        };
        // The hook is called only once.
        assert_eq!(said, silent, "{script}");
    }
}
