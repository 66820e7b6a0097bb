//! Finds out which of the shown items a session used.
//!
//! An item counts as used when the session afterwards mentions files, commands or identifiers that
//! the item mentions and the prompts did not. Common words do not count.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use memory::RecordKind;
use serde::Serialize;
use store::{Injection, Store, StoredRecord};

use super::item_text;

/// Sessions are examined after they were idle for this long.
const IDLE_MIN: SignedDuration = SignedDuration::from_mins(30);
/// Actions later than this after the injection are not attributed to it.
const USE_WINDOW: SignedDuration = SignedDuration::from_hours(2);
/// Injections that one call examines.
const INJECTIONS_MAX: usize = 500;
/// Distinctive words that must recur; a single one may be a coincidence.
const SHARED_WORDS_MIN: usize = 2;

/// How many items of past injections were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InjectionUseReport {
    pub injections: usize,
    pub used: usize,
    pub ignored: usize,
}

/// Examines the injections of sessions that became idle, and stores which items were used.
pub fn score_past_injections(store: &Store, now: Timestamp) -> store::Result<InjectionUseReport> {
    let mut report = InjectionUseReport::default();
    for injection in store.unscored_injections(now - IDLE_MIN, INJECTIONS_MAX)? {
        let used = find_used_items(store, &injection)?;
        report.injections += 1;
        report.used += used.iter().filter(|used| **used).count();
        report.ignored += used.iter().filter(|used| !**used).count();
        store.set_used(&injection.name, &used)?;
    }
    Ok(report)
}

fn find_used_items(store: &Store, injection: &Injection) -> store::Result<Vec<bool>> {
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    if let Some(session) = &injection.session {
        let span = injection.at..=injection.at + USE_WINDOW;
        store.each_record(session, |record| match record.at {
            Some(at) if span.contains(&at) && is_agent_action(&record) => {
                after.extend(distinctive_words(&record.content));
            }
            Some(_) if record.kind == RecordKind::Prompt => {
                before.extend(distinctive_words(&record.content));
            }
            _ => {}
        })?;
    }
    injection
        .items
        .iter()
        .map(|injected| Ok(is_used(&item_text(store, &injected.item)?, &before, &after)))
        .collect()
}

fn is_agent_action(record: &StoredRecord) -> bool {
    matches!(record.kind, RecordKind::Assistant | RecordKind::ToolUse)
}

/// Returns whether the actions mention what the item mentions and the prompts did not.
fn is_used(text: &str, prompted: &BTreeSet<String>, done: &BTreeSet<String>) -> bool {
    let own: BTreeSet<_> = distinctive_words(text)
        .difference(prompted)
        .cloned()
        .collect();
    let again = own.intersection(done).count();
    again >= SHARED_WORDS_MIN || (own.len() == 1 && again == 1)
}

/// Returns the distinctive words of a text: files, flags, identifiers, numbers with letters, and
/// rare words.
fn distinctive_words(text: &str) -> BTreeSet<String> {
    memory::words::split_words(text)
        .filter(|word| {
            let is_name = word.contains(['_', '/', '.', '-']) || word.contains(char::is_numeric);
            (is_name && word.len() >= 3)
                || (word.len() >= 4 && memory::words::weight(&memory::words::stem(word)) >= 1.0)
        })
        .map(|word| memory::words::stem(&word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(memory: &str, prompt: &str, done: &str, used: bool) {
        assert_eq!(
            is_used(memory, &distinctive_words(prompt), &distinctive_words(done)),
            used,
            "{memory:?}"
        );
    }

    #[test]
    fn an_item_is_used_if_its_words_recur() {
        let memory = "Tests run with `cargo nextest run -p store`";
        check(
            memory,
            "fix the flaky test",
            "command: cargo nextest run -p store flaky",
            true,
        );
        check(
            memory, "fix the flaky test", "I looked at the flaky code", false,
        );
        check(
            memory, "run cargo nextest for store", "cargo nextest run -p store", false,
        );
        check("use pnpm", "install it", "command: pnpm install", true);
    }
}
