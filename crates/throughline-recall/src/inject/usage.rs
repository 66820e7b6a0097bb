//! Whether a session used what was put before it.
//!
//! A memory was used when the session afterwards names what the memory names (files, commands,
//! identifiers) and the prompt did not. Words that any text has do not count.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use memory::RecordKind;
use serde::Serialize;
use store::{Injection, Store, StoredRecord};

use super::item_text;

/// A session that did nothing for this long is looked at.
const IDLE_MIN: SignedDuration = SignedDuration::from_mins(30);
/// What a session does later than this has other reasons.
const USE_WINDOW: SignedDuration = SignedDuration::from_hours(2);
/// Injections that one call looks at.
const INJECTIONS_MAX: usize = 500;
/// Names that must turn up again; one can be chance.
const SHARED_WORDS_MIN: usize = 2;

/// What a look at past injections found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InjectionUseReport {
    pub injections: usize,
    pub used: usize,
    pub ignored: usize,
}

/// Looks at the injections whose sessions have gone quiet, and keeps which items were used.
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
                before.extend(distinctive_words(&record.content))
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

/// Says whether what was done names what the memory named and the prompts did not.
pub(crate) fn is_used(text: &str, prompted: &BTreeSet<String>, done: &BTreeSet<String>) -> bool {
    let own: BTreeSet<_> = distinctive_words(text)
        .difference(prompted)
        .cloned()
        .collect();
    let again = own.intersection(done).count();
    again >= SHARED_WORDS_MIN || (own.len() == 1 && again == 1)
}

/// Returns the words of a text that name something: files, flags, identifiers, numbers with
/// letters, and rare words.
pub(crate) fn distinctive_words(text: &str) -> BTreeSet<String> {
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
    fn used_is_what_turns_up_again() {
        let memory = "Tests run with `cargo nextest run -p store`";
        check(
            memory,
            "fix the flaky test",
            "command: cargo nextest run -p store flaky",
            true,
        );
        check(
            memory,
            "fix the flaky test",
            "I looked at the flaky code",
            false,
        );
        check(
            memory,
            "run cargo nextest for store",
            "cargo nextest run -p store",
            false,
        );
        check("use pnpm", "install it", "command: pnpm install", true);
    }
}
