//! Every fixture, read whole, damaged, and counted by other means.

use std::collections::BTreeMap;
use std::path::Path;

use insta::assert_snapshot;
use memory::Usage;

use super::AMP;
use crate::SourceFormat;
use crate::test_support::{check_all, fixtures, read_source, show_fixture, usage_by_key};

#[test]
fn thread() {
    assert_snapshot!(show_fixture(
        &AMP,
        "threads/T-019ca26f-0000-7000-8000-000000000001.json"
    ));
}

#[test]
fn openai_thread() {
    assert_snapshot!(show_fixture(
        &AMP,
        "threads/T-019ca26f-0000-7000-8000-000000000002.json"
    ));
}

#[test]
fn all_fixtures_are_sound() {
    let unknown = BTreeMap::from([("content/hologram".to_owned(), 1)]);
    assert_eq!(check_all(&AMP), unknown);
    let sources = fixtures(&AMP);
    assert_eq!(sources.len(), 2);
    for source in sources {
        assert!(AMP.recognises(&read_source(&AMP, &source).0), "{source:?}");
    }
}

/// All tokens are counted once, whatever the names of their shares.
#[test]
fn usage_is_what_the_messages_add_up_to() {
    for source in fixtures(&AMP) {
        let (text, parsed) = read_source(&AMP, &source);
        let thread: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (mut sent, mut received) = (0, 0);
        for message in thread["messages"].as_array().unwrap() {
            let count = |key: &str| message["usage"][key].as_u64().unwrap_or_default();
            sent += count("totalInputTokens");
            received += count("outputTokens");
        }
        let (
            Usage {
                input,
                output,
                cache_read,
                cache_write,
                ..
            },
            _,
        ) = usage_by_key(&parsed);
        assert_eq!((input + cache_read + cache_write, output), (sent, received));
    }
}

#[test]
fn only_threads_are_claimed() {
    let claim = |relative: &str| AMP.claim(Path::new("/x"), Path::new(relative));
    assert_eq!(claim("threads/T-019c.json"), Some(SourceFormat::Document));
    for other in [
        "T-.json", "T-a.json.tmp", "history.jsonl", "T-a b.json", "session.json",
    ] {
        assert_eq!(claim(other), None, "{other}");
    }
}
