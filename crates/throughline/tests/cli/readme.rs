//! Runs every command in the README, so that it stays correct.

#![expect(clippy::disallowed_methods, reason = "runs the README's own commands")]

use std::process::Command;

use crate::env::{TestEnv, repository};

/// Commands that run everything, this test included, or build the program anew: `.ci/run` runs
/// them.
const RUN_BY_CI: &[&str] = &["./test", "./try"];

#[test]
fn every_command_of_the_readme_works() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    // The tour starts on an empty machine.
    let env = TestEnv::new();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_throughline"))
        .parent()
        .unwrap();
    let commands = commands(&readme);
    assert!(commands.len() >= 8, "{commands:?}");
    for line in commands {
        if RUN_BY_CI.iter().any(|script| line.starts_with(script)) {
            let script = line.split(' ').next().unwrap();
            assert!(repository().join(script).exists(), "{line}");
            continue;
        }
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &line])
            .current_dir(repository())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", env.home())
            .env("THROUGHLINE_HOME", env.home().join("memory"))
            .env("TZ", "UTC")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{stderr}");
    }
}

/// Returns the lines of the `sh` blocks.
fn commands(markdown: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.trim().is_empty() && !line.starts_with('#') => {
                commands.push(line.to_owned());
            }
            _ => {}
        }
    }
    commands
}
