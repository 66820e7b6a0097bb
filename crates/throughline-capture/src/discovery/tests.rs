use std::collections::BTreeMap;

use super::*;
use crate::flavor::ADAPTERS;

/// Returns what discovery makes of one file in a folder whose name says nothing.
fn discover_copy(original: &Path, name: &str) -> Discovery {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("stuff").join(name);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(original, &copy).unwrap();
    let root = Root {
        path: copy,
        flavor: None,
    };
    discover(ADAPTERS, &[root])
}

/// Every log in the fixtures of an agent, under a name that no agent uses, is either read as that
/// agent's or by nobody, and each of these agents is known by its content.
#[test]
fn content_tells_whose_a_log_is() {
    let mut identified: BTreeMap<Flavor, usize> = BTreeMap::new();
    let known_by_content = [
        Flavor::Claude,
        Flavor::Codex,
        Flavor::Copilot,
        Flavor::Gemini,
        Flavor::Opencode,
        Flavor::Pi,
        Flavor::Qwen,
        Flavor::Kimi,
        Flavor::Continue,
        Flavor::Antigravity,
    ];
    for flavor in Flavor::ALL {
        let folder = testkit::fixture(flavor.name());
        let files = folder.is_dir().then(|| testkit::files_below(&folder));
        for file in files.unwrap_or_default() {
            let ending = file.extension().and_then(|ending| ending.to_str());
            let Some(ending @ ("jsonl" | "json" | "zst")) = ending else {
                continue;
            };
            let found = discover_copy(&file, &format!("copy of a log.{ending}"));
            for source in &found.sources {
                assert_eq!(source.flavor, *flavor, "{}", file.display());
                *identified.entry(*flavor).or_default() += 1;
            }
        }
    }
    for flavor in known_by_content {
        assert!(identified.contains_key(&flavor), "no log of {flavor:?}");
    }
}

#[test]
fn a_name_of_another_agent_does_not_mislead() {
    let files = testkit::files_below(&testkit::fixture("codex/sessions"));
    let rollout = files
        .iter()
        .find(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    // Claude Code names its logs so.
    let found = discover_copy(rollout, "019f0000-0000-4000-8000-000000000001.jsonl");
    let flavors: Vec<_> = found.sources.iter().map(|source| source.flavor).collect();
    assert_eq!(flavors, [Flavor::Codex]);
    let found = discover_copy(rollout, "session.txt");
    let flavors: Vec<_> = found.sources.iter().map(|source| source.flavor).collect();
    assert_eq!(flavors, [Flavor::Codex]);
}

#[test]
fn a_named_file_that_is_no_log_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("notes.jsonl", "{\"a\":1}\n{\"b\":2}\n"),
        ("data.json", "[1, 2, 3]"),
        ("package.json", "{\"name\": \"x\", \"session_id\": 4}"),
        ("program", "\u{7f}ELF, or anything else"),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        let root = |path: &Path| Root {
            path: path.to_owned(),
            flavor: None,
        };
        let found = discover(ADAPTERS, &[root(&path)]);
        assert!(found.sources.is_empty(), "{name}: {:?}", found.sources);
        assert_eq!(found.errors.len(), 1, "{name}");
        // In a folder full of other things it is passed over.
        let found = discover(ADAPTERS, &[root(dir.path())]);
        assert!(found.sources.is_empty() && found.errors.is_empty());
    }
}
