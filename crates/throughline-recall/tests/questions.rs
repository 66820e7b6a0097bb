//! Who touched a file, how was it run, what fixed it: over a session as a log would give it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use std::path::Path;

use jiff::Timestamp;
use memory::{
    Block, CallId, Change, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch,
    ToolResult, ToolUse, Workspace,
};
use store::{Batch, Cursor, From, Incoming, Oddities, Reading, Store};
use throughline_recall::questions::{blame, fix, how};

/// Writes a session, one line per entry: `you`, `agent`, `run`, `ok`, `bad`, `edit`.
fn store(dir: &Path, script: &str) -> Store {
    let store = Store::open(dir).unwrap();
    let session = SessionId::of(Flavor::Claude, "s1");
    let mut records = Vec::new();
    let mut call = 0;
    let mut patch = SessionPatch::new(session.clone(), Flavor::Claude);
    for (line, entry) in script
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .enumerate()
    {
        let (what, text) = entry.split_once(' ').unwrap();
        let (origin, block) = match what {
            "you" => (Origin::Human, Block::Text(text.into())),
            "agent" => (Origin::Model, Block::Text(text.into())),
            "run" => {
                call += 1;
                let input = format!("{{\"command\":{text:?}}}");
                (
                    Origin::Model,
                    Block::ToolUse(ToolUse {
                        call: CallId::new(format!("c{call}")),
                        tool: "Bash".into(),
                        input,
                        path: None,
                    }),
                )
            }
            "ok" | "bad" => (
                Origin::Tool,
                Block::ToolResult(ToolResult {
                    call: Some(CallId::new(format!("c{call}"))),
                    tool: Some("Bash".into()),
                    content: text.into(),
                    is_error: what == "bad",
                    exit_code: Some(i64::from(what == "bad")),
                    ..ToolResult::default()
                }),
            ),
            "edit" => (
                Origin::Tool,
                Block::ToolResult(ToolResult {
                    tool: Some("Edit".into()),
                    path: Some(text.into()),
                    content: "done".into(),
                    changes: vec![Change {
                        path: text.into(),
                        diff: "+x".into(),
                    }],
                    ..ToolResult::default()
                }),
            ),
            other => panic!("{other}"),
        };
        let mut message = Message::new(
            MessageId::new(format!("m{line}")),
            session.clone(),
            Role::User,
            origin,
        );
        message.blocks = vec![block];
        message.line = line as u64;
        let at = Timestamp::from_second(1_767_600_000 + line as i64 * 60).unwrap();
        message.at = Some(at);
        message.cwd = Some("/src/shop".into());
        patch.touch(at);
        records.extend(memory::record::records(message));
    }
    let workspace = Workspace {
        key: "example.com/shop".into(),
        root: "/src/shop".into(),
    };
    let mut door = store.door();
    let cleaned = door.clean(Incoming {
        records,
        sessions: vec![(patch, Some(workspace))],
        usage: Vec::new(),
    });
    let from = From {
        flavor: Flavor::Claude,
        path: Path::new("/logs/a.jsonl"),
        cursor: Cursor {
            key: [1; 16],
            ..Cursor::default()
        },
        reading: Reading::Continued,
        odd: Oddities::default(),
        log: None,
    };
    let batch = Batch::new(&mut door, cleaned, from);
    drop(door);
    let ticket = store.append(batch);
    store.flush().unwrap();
    ticket.wait().unwrap();
    store
}

const SESSION: &str = "
    you make the invoice totals round once
    agent I look at the totals first.
    run cd /src/shop && cargo test totals
    bad error[E0308]: mismatched types in /src/shop/src/totals.rs:42
    edit /src/shop/src/cart.rs
    run cargo test totals
    bad error[E0308]: mismatched types in /src/shop/src/totals.rs:44
    agent The total must be a Decimal; I change its type.
    edit /src/shop/src/totals.rs
    run cargo fmt
    ok done
    run cargo test totals
    ok test result: ok. 3 passed
    you thanks
";

#[test]
fn who_touched_a_file_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), SESSION);
    for path in [
        "src/totals.rs",
        "totals.rs",
        "/src/shop/src/totals.rs",
        "./src/totals.rs",
    ] {
        let blames = blame(&store, path, None, 5).unwrap();
        assert_eq!(blames.len(), 1, "{path}");
        assert_eq!(blames[0].touch.edits, 1);
        assert_eq!(
            blames[0].prompt.as_deref(),
            Some("make the invoice totals round once")
        );
        assert_eq!(
            blames[0].said.as_deref(),
            Some("The total must be a Decimal; I change its type.")
        );
    }
    assert!(blame(&store, "otals.rs", None, 5).unwrap().is_empty());
    assert!(
        blame(&store, "totals.rs", Some("example.com/other"), 5)
            .unwrap()
            .is_empty()
    );
    assert!(blame(&store, "", None, 5).unwrap().is_empty());
}

#[test]
fn how_it_was_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), SESSION);
    let ways = how(&store, "cargo test", None, 5).unwrap();
    assert_eq!(ways.len(), 1);
    assert_eq!(
        (ways[0].command.as_str(), ways[0].succeeded, ways[0].failed),
        ("cargo test totals", 1, 2)
    );
    assert_eq!(ways[0].last.exit_code, Some(0));
    assert_eq!(ways[0].last.cwd.as_deref(), Some("/src/shop"));
    assert!(
        ways[0]
            .failure
            .as_deref()
            .unwrap()
            .starts_with("error[E0308]")
    );
    assert!(how(&store, "cargo bench", None, 5).unwrap().is_empty());
}

#[test]
fn what_made_an_error_go_away() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), SESSION);
    let known = fix(
        &store,
        "error[E0308]: mismatched types in /other/clone/src/totals.rs:7",
        None,
        5,
    )
    .unwrap();
    assert_eq!(known.occurrences.len(), 2);
    assert_eq!(
        known.occurrences[0].command.as_deref(),
        Some("cargo test totals")
    );
    // What was done before the last failure was not the cure.
    assert_eq!(known.ways.len(), 1);
    assert_eq!(known.ways[0].files, ["/src/shop/src/totals.rs"]);
    assert_eq!(known.ways[0].commands, ["cargo fmt"]);
    assert_eq!(
        known.ways[0].said.as_deref(),
        Some("The total must be a Decimal; I change its type.")
    );
    let unknown = fix(&store, "segmentation fault in libfoo", None, 5).unwrap();
    assert!(unknown.occurrences.is_empty() && unknown.ways.is_empty());
    for text in ["", "\"", "error: ' OR 1=1 --", "🧪\0"] {
        fix(&store, text, None, 5).unwrap();
    }
}
