//! Checks the dependencies between crates.

#![expect(clippy::disallowed_methods, reason = "runs cargo metadata")]

use std::collections::BTreeMap;
use std::process::Command;

use crate::env::repository;

/// The crates of ours that each crate may depend on. A new edge should be the rarest change.
const EDGES: &[(&str, &[&str])] = &[
    ("memory", &[]),
    ("redact", &[]),
    ("store", &["memory", "redact"]),
    ("capture", &["memory", "store"]),
    ("recall", &["memory", "store"]),
    ("distill", &["memory", "redact", "store"]),
    (
        "serve",
        &[
            "capture", "distill", "learn", "memory", "recall", "redact", "store", "web",
        ],
    ),
    (
        "throughline",
        &[
            "capture", "distill", "learn", "memory", "recall", "redact", "serve", "store",
        ],
    ),
    ("learn", &["memory", "store"]),
    ("web", &[]),
    ("eval", &["memory", "recall", "store"]),
    ("testkit", &["memory", "store"]),
];

/// The only crates that may depend on these libraries.
const LIBRARY_USERS: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("ureq", &["distill"]),
    ("axum", &["serve"]),
    ("rmcp", &["serve"]),
    ("tokio", &["serve"]),
    ("clap", &["eval", "throughline"]),
    ("flate2", &["eval"]),
    ("indicatif", &["throughline"]),
    ("ctrlc", &["throughline"]),
];

#[test]
fn crates_use_only_what_they_may() {
    let uses = dependencies();
    for (name, used) in &uses {
        let (_, allowed) = EDGES
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("{name} is not in the table of edges"));
        for other in used {
            let Some(other) = ours(other) else { continue };
            assert!(allowed.contains(&other), "{name} must not use {other}");
        }
    }
    for (library, users) in LIBRARY_USERS {
        for (name, used) in &uses {
            let may = users.contains(&name.as_str());
            assert!(
                may || !used.iter().any(|u| u == library),
                "{name} must not know {library}"
            );
        }
    }
}

/// Returns the normal dependencies of each of our crates.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let name = package["name"].as_str().unwrap();
            let used = package["dependencies"].as_array().unwrap();
            let used = used
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                .collect();
            (ours(name).unwrap().to_owned(), used)
        })
        .collect()
}

fn ours(package: &str) -> Option<&str> {
    match package {
        "throughline" => Some(package),
        package => package.strip_prefix("throughline-"),
    }
}
