//! Third-party clients: the official MCP client and schemathesis, in the Python environment
//! that `./test` makes, and the MCP Inspector. Where one is missing, its tests are skipped.

#![expect(clippy::disallowed_methods, reason = "tests start Python")]

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::client::Daemon;
use crate::env::{TestEnv, repository};

fn target() -> PathBuf {
    std::env::var("CARGO_TARGET_DIR").map_or_else(|_| repository().join("target"), PathBuf::from)
}

/// Returns the Python that has a module.
fn python(module: &str) -> Option<PathBuf> {
    let python = target().join("python/bin/python");
    let has_it = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|ran| ran.status.success());
    if !has_it {
        let why = format!(
            "{} has no module {module}; ./test installs it",
            python.display()
        );
        testkit::skip::skip("python", &why);
    }
    has_it.then_some(python)
}

fn ran(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}\n{err}");
    out
}

#[test]
fn the_official_client_speaks_to_both_transports() {
    let Some(python) = python("mcp") else { return };
    let env = TestEnv::with_samples();
    let script = repository().join("tools/clients/mcp_client.py");
    let told = ran(Command::new(&python)
        .arg(&script)
        .arg("stdio")
        .arg(env!("CARGO_BIN_EXE_throughline"))
        .args(["mcp", "--folder", "/code/widgets"])
        .env("THROUGHLINE_HOME", env.home().join("memory")));
    assert!(
        told.contains("memory_search") && told.contains("what-did-we-decide"),
        "{told}"
    );
    let daemon = Daemon::start(&env);
    let told = ran(Command::new(&python)
        .arg(&script)
        .args(["http", &format!("http://{}/mcp", daemon.address)])
        .env("TOKEN", &daemon.token)
        .env("FOLDER", "/code/widgets"));
    assert!(
        told.contains("memory_search") && told.contains("what-did-we-decide"),
        "{told}"
    );
}

#[test]
fn the_inspector_speaks_to_both_transports_and_finds_no_fault_with_the_schemas() {
    let bin = target().join("node/node_modules/.bin");
    if !bin.join("mcp-inspector").exists() {
        let why = format!("{} has no mcp-inspector; ./test installs it", bin.display());
        return testkit::skip::skip("inspector", &why);
    }
    let env = TestEnv::with_samples();
    let script = repository().join("tools/clients/inspector");
    let told = ran(Command::new(&script)
        .arg(&bin)
        .args(["stdio", env!("CARGO_BIN_EXE_throughline")])
        .args(["mcp", "--folder", "/code/widgets"])
        .env("THROUGHLINE_HOME", env.home().join("memory")));
    assert!(told.contains("The Inspector was here"), "{told}");
    let daemon = Daemon::start(&env);
    let told = ran(Command::new(&script)
        .arg(&bin)
        .args(["http", &format!("http://{}/mcp", daemon.address)])
        .env("TOKEN", &daemon.token)
        .env("FOLDER", "/code/widgets"));
    assert!(told.contains("The Inspector was here"), "{told}");
}

#[test]
fn the_description_is_true() {
    let Some(python) = python("schemathesis") else {
        return;
    };
    let env = TestEnv::with_samples();
    let config = env.home().join("memory/config.toml");
    std::fs::write(&config, "[serve]\nrequests_per_second = 100000.0").unwrap();
    let daemon = Daemon::start(&env);
    let fact = json!({ "text": "There is something to find here" });
    daemon.post("/memory/remember", &fact);
    let schemathesis = python.with_file_name("schemathesis");
    let told = ran(Command::new(schemathesis)
        .args(["run", &format!("http://{}/openapi.json", daemon.address)])
        .args([
            "--header",
            &format!("Authorization: Bearer {}", daemon.token),
        ])
        // An event stream never ends.
        .args(["--exclude-path", "/events"])
        // The clean-up of a workspace that the generator guesses would leave nothing to find.
        .args(["--exclude-path", "/workspaces"])
        // What the schema cannot say (a time, an id that exists) is refused with 400. An empty
        // parameter counts as not given, so values that are sent as nothing are accepted.
        .args([
            "--exclude-checks",
            "positive_data_acceptance,negative_data_rejection",
        ])
        .args([
            "--max-examples", "25", "--seed", "1", "--phases", "examples,coverage,fuzzing",
        ])
        .args(["--request-timeout", "60", "--no-color"])
        .current_dir(env.home()));
    println!("{told}");
    assert_eq!(daemon.get("/health")["status"], "ok");
}
