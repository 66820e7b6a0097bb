//! Every fixture, read whole, in halves, and counted by other means.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;

use insta::assert_snapshot;
use jiff::Timestamp;
use memory::{Flavor, LogEntry};

use super::AIDER;
use crate::test_support::{check_all, fixtures, read_source, show_fixture, usage_by_key};
use crate::{ParseOutput, Source, SourceFormat, tail};

#[test]
fn real_runs() {
    assert_snapshot!(show_fixture(&AIDER, "upstream/.aider.chat.history.md"));
}

#[test]
fn without_hard_breaks() {
    assert_snapshot!(show_fixture(&AIDER, "myrepo/.aider.chat.history.md"));
}

#[test]
fn made() {
    assert_snapshot!(show_fixture(&AIDER, "made/.aider.chat.history.md"));
}

#[test]
fn all_fixtures_are_sound() {
    assert_eq!(check_all(&AIDER), BTreeMap::new());
    let sources = fixtures(&AIDER);
    assert_eq!(sources.len(), 3);
    for source in sources {
        assert!(
            AIDER.recognises(&read_source(&AIDER, &source).0),
            "{source:?}"
        );
    }
    assert!(!AIDER.recognises("# aider chat started at once\n"));
}

#[test]
fn every_bill_is_counted_once() {
    for source in fixtures(&AIDER) {
        let (text, parsed) = read_source(&AIDER, &source);
        let runs = text.find("# aider chat started").unwrap_or_default();
        let bills = text[runs..].matches("\n> Tokens: ").count();
        let counted = parsed
            .entries
            .iter()
            .filter(|e| matches!(e, LogEntry::Usage(_)));
        assert_eq!(counted.count(), bills, "{source:?}");
        let whole: u64 = text[runs..]
            .lines()
            .filter_map(|line| line.strip_prefix("> Tokens: ")?.split_once(" sent"))
            .filter_map(|(sent, _)| sent.replace(',', "").parse::<u64>().ok())
            .sum();
        let rounded = if bills > 0 && whole < 5000 { 12_000 } else { 0 };
        let (usage, _) = usage_by_key(&parsed);
        assert_eq!(
            usage.input + usage.cache_read + usage.cache_write,
            whole + rounded
        );
    }
}

/// A sweep that comes back to a line counts on from there.
#[test]
fn sweeps_count_the_lines_of_the_file() {
    let (text, whole) = {
        let source = &fixtures(&AIDER)[0];
        read_source(&AIDER, source)
    };
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".aider.chat.history.md");
    let source = Source {
        flavor: Flavor::Aider,
        path: path.clone(),
        format: SourceFormat::Lines,
    };
    let (mut cursor, mut lines) = (None, Vec::new());
    // Never settled: the clock stands before the file was written.
    let now = Timestamp::UNIX_EPOCH;
    let cuts = text.match_indices('\n').map(|(at, _)| at + 1);
    for cut in cuts {
        fs::write(&path, &text[..cut]).unwrap();
        tail::read_source(
            &AIDER,
            &source,
            cursor.clone().as_ref(),
            now,
            &mut |chunk| {
                lines.extend(numbers(&chunk.parsed));
                assert!(!chunk.is_reread);
                cursor = Some(chunk.cursor);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    }
    let whole = numbers(&whole);
    assert_eq!(lines, whole[..lines.len()]);
    assert!(lines.len() + 1 >= whole.len());
}

fn numbers(parsed: &ParseOutput) -> Vec<u64> {
    let messages = parsed.entries.iter().filter_map(|entry| match entry {
        LogEntry::Message(message) => Some(message.line),
        _ => None,
    });
    messages.collect()
}
