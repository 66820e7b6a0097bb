//! Deciding about a pattern in the web page, in a real browser.

#![expect(clippy::disallowed_methods, reason = "runs Node and a browser")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{LearningEnv, NOW};
use crate::serve::client::Daemon;

#[test]
fn a_pattern_is_rejected_approved_and_withdrawn_with_the_keyboard() {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if !PathBuf::from(&chromium).exists() {
        return testkit::skip::skip("chromium", "it is not installed; ./test installs it");
    }
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/web");
    if !tools.join("node_modules").exists() {
        return testkit::skip::skip(
            "node",
            "tools/web has no node_modules; ./test installs them",
        );
    }
    let env = LearningEnv::new();
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    env.run(&["detect"], NOW, b"");
    let _daemon = Daemon::start(&env.env);
    let url = env.env.run(&["web", "--print"]).stdout;
    let output = Command::new("node")
        .current_dir(tools)
        .env("CHROMIUM", chromium)
        .args(["pattern_journey.mjs", url.trim(), "b0c618ebf6fc"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    let file = env.shop().join(".throughline/patterns/b0c618ebf6fc.md");
    let entry = fs::read_to_string(file).unwrap();
    assert!(entry.contains("status = \"withdrawn\""), "{entry}");
    let reviews = env.json(&["curate", "--json"], NOW);
    assert!(
        !reviews["pending"].to_string().contains("b0c618ebf6fc"),
        "{reviews}"
    );
}
