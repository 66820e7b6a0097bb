//! Whether a session used what was put before it.
//!
//! A memory was used when the session afterwards names what the memory names (files, commands,
//! identifiers) and the prompt did not. Words that any text has do not count.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use memory::Kind;
use serde::Serialize;
use store::{Injection, Store, StoredRecord};

use crate::recall::text_of;

/// A session that did nothing for this long is looked at.
const QUIET: SignedDuration = SignedDuration::from_mins(30);
/// What a session does later than this has other reasons.
const AFTER: SignedDuration = SignedDuration::from_hours(2);
/// Injections that one call looks at.
const INJECTIONS_MAX: usize = 500;
/// Names that must turn up again; one can be chance.
const NAMES_MIN: usize = 2;

/// What a look at past injections found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub injections: usize,
    pub used: usize,
    pub ignored: usize,
}

/// Looks at the injections whose sessions have gone quiet, and keeps which items were used.
pub fn look_at_pending(store: &Store, now: Timestamp) -> store::Result<Report> {
    let mut report = Report::default();
    for injection in store.injections_to_look_at(now - QUIET, INJECTIONS_MAX)? {
        let used = uses(store, &injection)?;
        report.injections += 1;
        report.used += used.iter().filter(|used| **used).count();
        report.ignored += used.iter().filter(|used| !**used).count();
        store.set_used(&injection.name, &used)?;
    }
    Ok(report)
}

fn uses(store: &Store, injection: &Injection) -> store::Result<Vec<bool>> {
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    if let Some(session) = &injection.session {
        let span = injection.at..=injection.at + AFTER;
        store.each_record(session, |record| match record.at {
            Some(at) if span.contains(&at) && is_deed(&record) => {
                after.extend(names(&record.content));
            }
            Some(_) if record.kind == Kind::Prompt => before.extend(names(&record.content)),
            _ => {}
        })?;
    }
    injection
        .items
        .iter()
        .map(|injected| Ok(is_used(&text_of(store, &injected.item)?, &before, &after)))
        .collect()
}

fn is_deed(record: &StoredRecord) -> bool {
    matches!(record.kind, Kind::Assistant | Kind::ToolUse)
}

/// Says whether what was done names what the memory named and the prompts did not.
pub fn is_used(text: &str, prompted: &BTreeSet<String>, done: &BTreeSet<String>) -> bool {
    let own: BTreeSet<_> = names(text).difference(prompted).cloned().collect();
    let again = own.intersection(done).count();
    again >= NAMES_MIN || (own.len() == 1 && again == 1)
}

/// Returns the words of a text that name something: files, flags, identifiers, numbers with
/// letters, and rare words.
pub fn names(text: &str) -> BTreeSet<String> {
    memory::words::split(text)
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
            is_used(memory, &names(prompt), &names(done)),
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
