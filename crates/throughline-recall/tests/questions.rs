//! Who touched a file, how was it run, what fixed it: over a session as a log would give it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use throughline_recall::questions::{blame, fix, how};

const SESSION: &str = "
    session s1 in /src/shop
    u make the invoice totals round once
    a I look at the totals first.
    a use Bash cd /src/shop && cargo test totals
    t failed error[E0308]: mismatched types in /src/shop/src/totals.rs:42
    t edit /src/shop/src/cart.rs
    a use Bash cargo test totals
    t failed error[E0308]: mismatched types in /src/shop/src/totals.rs:44
    a The total must be a Decimal; I change its type.
    t edit /src/shop/src/totals.rs
    a use Bash cargo fmt
    t result done
    a use Bash cargo test totals
    t result test result: ok. 3 passed
    u thanks
";

#[test]
fn who_touched_a_file_and_why() {
    let store = testkit::store(SESSION);
    for path in [
        "src/totals.rs", "totals.rs", "/src/shop/src/totals.rs", "./src/totals.rs",
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
    let store = testkit::store(SESSION);
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
    let store = testkit::store(SESSION);
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
