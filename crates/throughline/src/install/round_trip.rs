//! Property tests: for any configuration, install, install again and uninstall restore the file.

use std::path::PathBuf;

use memory::Flavor;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::document::{self, ConfigFormat, DesiredContent, DesiredEntry};
use super::json::edit;
use super::json::scan::scan;
use super::manifest::{ManifestEntry, content_hash};
use super::plan::{self, ConfigFileChange, InstallTarget, InstalledFile, OriginalCopy};

fn hook(event: &'static str) -> DesiredEntry {
    DesiredEntry::Hook {
        event,
        command: "throughline hook".to_owned(),
        group: r#"{"hooks":[{"type":"command","command":"throughline hook","timeout":5}]}"#
            .to_owned(),
    }
}

fn json_target() -> InstallTarget {
    let server = DesiredEntry::Server {
        list: "mcpServers",
        server: r#"{"command":"throughline","args":["mcp"]}"#.to_owned(),
    };
    let allowed = DesiredEntry::AllowedTool {
        name: "mcp__throughline__memory_get".to_owned(),
    };
    let needed = DesiredEntry::Member {
        key: "version",
        value: "1",
    };
    InstallTarget::new(
        Flavor::Claude,
        PathBuf::from("settings.json"),
        DesiredContent::Json(vec![
            needed,
            hook("SessionStart"),
            hook("Stop"),
            server,
            allowed,
        ]),
    )
}

fn toml_target() -> InstallTarget {
    InstallTarget::new(
        Flavor::Codex,
        PathBuf::from("config.toml"),
        DesiredContent::Toml {
            program: "throughline".to_owned(),
        },
    )
}

/// Returns the manifest entry after a change, and the saved original.
fn entry(change: &ConfigFileChange) -> (ManifestEntry, Option<String>) {
    let OriginalCopy::Save(original) = change.original.clone() else {
        panic!("a first change keeps its original");
    };
    let entry = ManifestEntry {
        agent: change.agent.name().to_owned(),
        original: original.as_ref().map(|_| "kept".to_owned()),
        after: content_hash(change.after.as_ref().unwrap()),
        made: change.created_members.clone(),
        folders: Vec::new(),
    };
    (entry, original)
}

fn remove(
    target: &InstallTarget,
    text: &str,
    entry: Option<&ManifestEntry>,
    original: Option<String>,
) -> Option<String> {
    let installed = InstalledFile {
        agent: target.agent,
        path: target.path.clone(),
        text: Some(text.to_owned()),
        desired: None,
        entry,
        original,
    };
    plan::plan_file_removal(&installed).unwrap().unwrap().after
}

/// Installs, installs again, and uninstalls with the manifest entry.
fn check(target: &InstallTarget, text: Option<&str>) -> Result<(), TestCaseError> {
    let Ok(Some(change)) = plan::plan_file_install(target, text, None) else {
        return Err(TestCaseError::fail("refused"));
    };
    let after = change.after.clone().unwrap();
    let (entry, original) = entry(&change);
    prop_assert!(document::is_installed(&after, &target.desired).unwrap());
    let again = plan::plan_file_install(target, Some(&after), Some(&entry)).unwrap();
    prop_assert!(again.is_none(), "again: {again:?}");
    let back = remove(target, &after, Some(&entry), original);
    prop_assert_eq!(back.as_deref(), text);
    Ok(())
}

/// Whitespace and comments between tokens.
fn trivia() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        4 => Just(" ".to_owned()),
        4 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" /* a remark */ ".to_owned()),
        1 => Just(" // \"another\": {[\n".to_owned()),
    ]
}

fn wrapped(brackets: [&str; 2], slots: &[String], blank: &str, trailing: bool) -> String {
    let comma = if trailing && !slots.is_empty() {
        ","
    } else {
        ""
    };
    let slots = slots.join(&format!(",{blank}"));
    format!("{}{blank}{slots}{comma}{blank}{}", brackets[0], brackets[1])
}

const LIST: [&str; 2] = ["[", "]"];
const OBJECT: [&str; 2] = ["{", "}"];

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("null".to_owned()),
        "[a-z{}\\[\\],:/ é]{0,8}".prop_map(|text| Value::from(text).to_string()),
        Just(r#""\" // \\ throughline hook""#.to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let member = ("[a-e]", trivia(), inner.clone())
            .prop_map(|(key, blank, value)| format!("\"{key}\"{blank}:{blank}{value}"));
        let list = prop::collection::vec(inner, 0..4);
        let members = prop::collection::vec(member, 0..4);
        prop_oneof![
            (list, trivia(), any::<bool>())
                .prop_map(|(slots, blank, trailing)| wrapped(LIST, &slots, &blank, trailing)),
            (members, trivia(), any::<bool>())
                .prop_map(|(slots, blank, trailing)| wrapped(OBJECT, &slots, &blank, trailing)),
        ]
    })
}

/// The user's own hooks and servers, or none.
fn own() -> impl Strategy<Value = Vec<String>> {
    let group = prop_oneof![
        Just(
            r#"{"matcher": "Edit", "hooks": [{"type": "command", "command": "lint"}]}"#.to_owned()
        ),
        Just("{\n      \"hooks\": [ ] }".to_owned()),
    ];
    let groups = (prop::collection::vec(group, 0..3), trivia(), any::<bool>())
        .prop_map(|(slots, blank, trailing)| wrapped(LIST, &slots, &blank, trailing));
    let events = prop::sample::subsequence(vec!["SessionStart", "Stop", "Other"], 0..=3);
    let hooks =
        (events, groups, trivia(), any::<bool>()).prop_map(|(events, groups, blank, trailing)| {
            let member = |event: &str| format!("\"{event}\":{blank}{groups}");
            let slots: Vec<_> = events.into_iter().map(member).collect();
            format!("\"hooks\": {}", wrapped(OBJECT, &slots, &blank, trailing))
        });
    let servers = prop_oneof![
        Just("\"mcpServers\": {}".to_owned()),
        Just("\"mcpServers\" :\n{ \"x\": {\"command\": \"x\"} // mine\n }".to_owned()),
    ];
    let permissions = prop_oneof![
        Just("\"permissions\": {}".to_owned()),
        Just(
            "\"permissions\": {\n  \"allow\": [ // mine\n \"Bash(ls)\", ], \"deny\": []}"
                .to_owned()
        ),
    ];
    let own = [hooks.boxed(), servers.boxed(), permissions.boxed()];
    own.map(|own| prop::option::of(own).boxed())
        .prop_map(|own| own.into_iter().flatten().collect())
}

fn configuration() -> impl Strategy<Value = String> {
    let member = ("[a-e]", trivia(), value())
        .prop_map(|(key, blank, value)| format!("\"{key}\"{blank}:{blank}{value}"));
    let members = prop::collection::vec(member, 0..4);
    let around = (prop_oneof![Just(""), Just("\u{feff}")], trivia(), trivia());
    (members, own(), trivia(), any::<bool>(), around).prop_map(
        |(mut members, own, blank, trailing, (mark, before, after))| {
            members.extend(own);
            let object = wrapped(OBJECT, &members, &blank, trailing);
            format!("{mark}{before}{object}{after}")
        },
    )
}

fn toml() -> impl Strategy<Value = String> {
    let lines = prop::sample::subsequence(
        vec![
            "# a remark",
            "model = \"m\" # why",
            "list = [\n  1,\n  2, # two\n]",
            "text = '''\n[mcp_servers.throughline]\n'''",
            "",
        ],
        0..=5,
    );
    let tables = prop::sample::subsequence(
        vec![
            "[mcp_servers.other]\ncommand = 'x'",
            "[a.b]\nc = { d = 1 }\n# end",
            "[[lists]]\nx = 1\n",
            "[projects.\"/home/x\"]\ntrust_level = \"trusted\"",
        ],
        0..=4,
    );
    (lines, tables, any::<bool>(), 0..3_usize).prop_map(|(lines, tables, crlf, ends)| {
        let text = [lines, tables].concat().join("\n") + &"\n".repeat(ends);
        if crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    })
}

/// Counts the comments in a text.
fn remarks(text: &str) -> usize {
    text.matches("remark").count() + text.matches("// mine").count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn json_comes_back_byte_for_byte(text in configuration()) {
        check(&json_target(), Some(&text))?;
    }

    #[test]
    fn toml_comes_back_byte_for_byte(text in toml()) {
        check(&toml_target(), Some(&text))?;
    }

    /// Without the original the bytes may differ, but not the values and the comments.
    #[test]
    fn without_the_original_the_meaning_comes_back(text in configuration()) {
        let target = json_target();
        let change = plan::plan_file_install(&target, Some(&text), None).unwrap().unwrap();
        let (mut entry, _) = entry(&change);
        entry.after = String::new();
        let after = change.after.unwrap();
        let back = remove(&target, &after, Some(&entry), None).unwrap();
        prop_assert_eq!(scan(&back).unwrap().to_value(), scan(&text).unwrap().to_value());
        prop_assert_eq!(remarks(&back), remarks(&text));
    }

    #[test]
    fn additions_of_the_user_are_kept(text in configuration(), rewritten in any::<bool>()) {
        let target = json_target();
        let change = plan::plan_file_install(&target, Some(&text), None).unwrap().unwrap();
        let (entry, original) = entry(&change);
        let mut edited = edit::set(change.after.as_ref().unwrap(), &["mine"], "[1]").unwrap();
        edited = edit::append(&edited, &["hooks", "Stop"], "{\"command\":\"mine\"}").unwrap();
        if rewritten {
            // Some agents rewrite their configuration files.
            edited = serde_json::to_string_pretty(&scan(&edited).unwrap().to_value()).unwrap();
        }
        let back = remove(&target, &edited, Some(&entry), original).unwrap();
        let mut expected = scan(&text).unwrap().to_value();
        expected["mine"] = json!([1]);
        if expected.get("hooks").is_none_or(Value::is_null) {
            expected["hooks"] = json!({});
        }
        let mut stop = expected["hooks"]["Stop"].as_array().cloned().unwrap_or_default();
        stop.push(json!({"command": "mine"}));
        expected["hooks"]["Stop"] = stop.into();
        if scan(&text).unwrap().member("hooks").is_none() {
            expected["version"] = json!(1);
        }
        prop_assert_eq!(scan(&back).unwrap().to_value(), expected);
    }

    #[test]
    fn toml_additions_of_the_user_are_kept(text in toml()) {
        let target = toml_target();
        let change = plan::plan_file_install(&target, Some(&text), None).unwrap().unwrap();
        let (entry, original) = entry(&change);
        let edited = format!("# mine\n{}\n[mine]\nx = 1\n", change.after.as_ref().unwrap());
        let back = remove(&target, &edited, Some(&entry), original).unwrap();
        let values = |text: &str| text.parse::<toml::Table>().unwrap();
        prop_assert_eq!(values(&back), values(&format!("{text}\n[mine]\nx = 1\n")));
        prop_assert!(back.starts_with("# mine\n"));
        prop_assert_eq!(back.contains("# a remark"), text.contains("# a remark"));
    }
}

#[test]
fn a_created_file_is_deleted_again() {
    for target in [json_target(), toml_target()] {
        check(&target, None).unwrap();
    }
    for blank in ["", "\n", "\u{feff}", " \r\n"] {
        check(&json_target(), Some(blank)).unwrap();
    }
}

#[test]
fn entries_of_an_older_release_are_replaced() {
    let old = r#"{"hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "/old/throughline hook"}]}],
        "Notification": [{"hooks": [
            {"type": "command", "command": "lint"},
            {"type": "command", "command": "throughline hook"}
        ]}]
    }, "mcpServers": {"throughline": {"command": "/old/throughline", "args": ["mcp"]}}}"#;
    let target = json_target();
    let change = plan::plan_file_install(&target, Some(old), None)
        .unwrap()
        .unwrap();
    let after = change.after.unwrap();
    let value = scan(&after).unwrap().to_value();
    assert_eq!(
        super::our_entries::find_our_hooks(&value).len(),
        2,
        "{after}"
    );
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 1);
    assert_eq!(value["mcpServers"]["throughline"]["command"], "throughline");
    let bare = document::remove_entries(&after, ConfigFormat::Json, None).unwrap();
    let value = scan(&bare).unwrap().to_value();
    let lint = json!({"type": "command", "command": "lint"});
    let lint = json!({"hooks": {"Notification": [{"hooks": [lint]}]}, "version": 1});
    assert_eq!(value, lint);
}

#[test]
fn hooks_of_the_user_in_our_file_are_kept() {
    let target = json_target();
    let change = plan::plan_file_install(&target, None, None)
        .unwrap()
        .unwrap();
    let (entry, original) = entry(&change);
    let after = change.after.unwrap();
    let edited = edit::append(&after, &["hooks", "mine"], "{\"bash\":\"date\"}").unwrap();
    let back = remove(&target, &edited, Some(&entry), original).unwrap();
    let expected = json!({"version": 1, "hooks": {"mine": [{"bash": "date"}]}});
    assert_eq!(scan(&back).unwrap().to_value(), expected);
}

#[test]
fn a_server_of_another_program_is_not_changed() {
    let text = r#"{"mcpServers": {"throughline": {"url": "http://127.0.0.1:1/mcp"}}}"#;
    let refused = plan::plan_file_install(&json_target(), Some(text), None).unwrap_err();
    assert_eq!(refused, document::ConfigEditError::ForeignServer);
    let untouched = document::remove_entries(text, ConfigFormat::Json, None).unwrap();
    assert_eq!(untouched, text);
}
