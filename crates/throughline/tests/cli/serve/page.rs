//! The web page in a real browser.

#![expect(clippy::disallowed_methods, reason = "runs Node and a browser")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::client::Daemon;
use crate::env::TestEnv;

fn tools() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/web")
}

/// Says whether Node and the packages of the page's tests are here; notes a skipped test if not.
fn has_node() -> bool {
    let is_ready = tools().join("node_modules").exists();
    if !is_ready {
        testkit::skip::skip(
            "node",
            "tools/web has no node_modules; ./test installs them",
        );
    }
    is_ready
}

/// Runs a program, and fails with what it printed if it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    printed
}

/// A transcript that tries to become markup, to load something from elsewhere, and to reorder text.
const ATTACK: &str = "zzattack <script>window.attacked=1</script>\
    <img src=x onerror=window.attacked=2> [x](javascript:window.attacked=3) \
    ![i](http://evil.test/a.png) **b** \u{202e}txt.exe\u{200b}";

#[test]
fn every_screen_works_with_the_keyboard_and_shows_no_markup_of_a_transcript() {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if !PathBuf::from(&chromium).exists() {
        return testkit::skip::skip("chromium", "it is not installed; ./test installs it");
    }
    if !has_node() {
        return;
    }
    let env = TestEnv::with_samples();
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude");
    env.run(&["ingest", "--root", &fixtures.display().to_string()]);
    let daemon = Daemon::start(&env);
    store_page_sessions(&daemon);
    let pictures = std::env::var("THROUGHLINE_PICTURES").unwrap_or_else(|_| "-".to_owned());
    let url = env.run(&["web", "--print"]).stdout;
    let mut journeys = Command::new("node");
    journeys
        .current_dir(tools())
        .env("CHROMIUM", chromium)
        .args(["journeys.mjs", url.trim(), &pictures]);
    let printed = run(&mut journeys);
    assert!(printed.lines().count() >= 17, "{printed}");
}

/// Stores the sessions that the journeys visit: an attack, a compaction, a live session, and
/// prompts with and without memory.
fn store_page_sessions(daemon: &Daemon) {
    let long = "zzlong ".to_owned() + &"x".repeat(1 << 20);
    let records = [
        ("claude:attack-1", "assistant", ATTACK),
        ("claude:attack-2", "assistant", &long),
        ("claude:live-1", "prompt", "Watch the live session"),
        (
            "claude:compacted-1",
            "prompt",
            "Rename the wombat table to marsupials",
        ),
        (
            "claude:compacted-1",
            "assistant",
            "The table **marsupials** is renamed.",
        ),
        (
            "claude:compacted-1",
            "prompt",
            "Never touch the legacy invoices again",
        ),
        (
            "claude:compacted-1",
            "summary",
            "The wombat table was renamed to marsupials.",
        ),
        ("claude:compacted-1", "prompt", "Go on"),
    ];
    for (n, (session, kind, text)) in records.into_iter().enumerate() {
        daemon.post(
            "/memory/record",
            &json!({
                "session_id": session, "type": kind, "content": text,
                "workspace": "/home/dev/proj", "ts": 1_763_370_000_000_u64 + n as u64,
            }),
        );
    }
    let prompt = "What did we decide about the reorder threshold in config.toml?";
    // The clock of the tests stands at this time, so the ledger finds the prompt of the answer.
    let sent = 1_794_819_600_000_u64;
    daemon.post(
        "/memory/record",
        &json!({
            "session_id": "claude:given-1", "type": "prompt", "content": prompt,
            "workspace": "/home/dev/proj", "ts": sent,
        }),
    );
    let given = daemon.post(
        "/memory/context",
        &json!({
            "prompt": prompt, "folder": "/home/dev/proj", "session_id": "claude:given-1",
        }),
    );
    assert_ne!(given["text"], "", "{given}");
    let silent = daemon.post(
        "/hook",
        &json!({
            "hook_event_name": "UserPromptSubmit", "session_id": "silent-1",
            "cwd": "/home/dev/proj",
            "transcript_path": "/home/dev/.claude/projects/p/silent-1.jsonl",
            "prompt": "Explain the xylophone tuning of the zeppelin museum",
        }),
    );
    assert_eq!(
        silent["silence"], "nothing in memory matches the prompt",
        "{silent}"
    );
}

/// The committed files are what the sources make, and the sources agree with the routes.
#[test]
fn the_embedded_page_is_built_from_its_sources() {
    if !has_node() {
        return;
    }
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let folder = tempfile::tempdir().unwrap();
    let description = folder.path().join("openapi.json");
    std::fs::write(&description, daemon.get("/openapi.json").to_string()).unwrap();
    let ui = tools().join("../../crates/throughline-web/ui");
    let types = folder.path().join("wire.d.ts");
    let mut generate = Command::new(tools().join("node_modules/.bin/openapi-typescript"));
    run(generate.arg(&description).arg("--output").arg(&types));
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    // The files are too long to print both.
    assert!(
        read(types) == read(ui.join("wire.d.ts")),
        "run tools/web/build --types FILE with /openapi.json in FILE, and commit wire.d.ts"
    );
    let dist = folder.path().join("dist");
    run(Command::new(tools().join("build")).env("DIST", &dist));
    let read_folder = |folder: PathBuf| {
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let read = |path: PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        };
        files.map(read).collect::<BTreeMap<_, _>>()
    };
    let (built, committed) = (read_folder(dist), read_folder(ui.join("../dist")));
    assert!(
        built.keys().eq(committed.keys()),
        "run tools/web/build and commit dist/"
    );
    for (name, bytes) in &built {
        assert!(
            committed.get(name) == Some(bytes),
            "{name}: run tools/web/build and commit dist/"
        );
    }
    let size = |names: &[&str]| -> usize { names.iter().map(|name| built[*name].len()).sum() };
    let first = size(&["app.js", "shared.js"]);
    assert!(
        first <= 100_000,
        "{first} bytes of script on the first load"
    );
    let all = first + size(&["more.js", "highlight.js"]);
    assert!(all <= 200_000, "{all} bytes of script");
}
