//! Current notes: those that are written at the end of a turn, and those that a hook gets before.

use memory::Record;

use super::*;
use crate::summary::{SensitiveText, UnstoredTail, current_notes, latest_state, refresh_summary};

impl World {
    fn refresh(&self, settings: &SummarySettings) -> bool {
        refresh_summary(&self.store, &self.session, settings, at(2)).unwrap()
    }

    fn section(&self, heading: &str) -> String {
        let summary = Summary::parse(&self.text());
        summary.get(heading).unwrap_or_default().to_owned()
    }

    /// Returns the records of messages that are not stored.
    fn unstored(&self, text: &str) -> Vec<Record> {
        let first = self.told.get();
        let mut messages = transcript(text);
        for message in &mut messages {
            message.line += first;
            message.id = MessageId::new(message.line.to_string());
        }
        messages
            .into_iter()
            .flat_map(record::project_records)
            .collect()
    }

    fn state(&self, tail: UnstoredTail<'_>) -> Option<String> {
        latest_state(&self.store, &self.session, tail, SensitiveText::Withheld).unwrap()
    }
}

const STORED: UnstoredTail<'static> = UnstoredTail {
    records: &[],
    is_complete: true,
};

#[test]
fn a_summary_is_brought_up_to_the_last_message() {
    let world = World::new();
    let settings = SummarySettings::default();
    world.tell("u go ~100\na say");
    assert!(!world.refresh(&settings), "too short for a summary");
    world.tell("u more ~5000\na say");
    assert!(world.refresh(&settings));
    assert!(!world.refresh(&settings), "nothing is new");
    world.tell("u now the docs\na done");
    assert!(world.refresh(&settings));
    let state = world.section("Current state");
    assert!(
        state.contains("> now the docs") && state.contains("> done"),
        "{state}"
    );
    assert_eq!(world.notes().last.unwrap().as_str(), "6");
}

#[test]
fn of_a_models_summary_only_the_state_is_made_anew() {
    let world = World::new();
    world.tell("u go ~5000\na say");
    world.renew();
    world.tell("u more\na say");
    let hint = "_How the parts of the system fit together_";
    let (done, _) = world.ask(vec![
        Act::Call(vec![
            world.edit(hint, &format!("{hint}\nMove the handlers.")),
        ]),
        Act::Say("done"),
    ]);
    done.unwrap();
    let before = world.notes();
    let settings = SummarySettings {
        has_model: true,
        ..SummarySettings::default()
    };
    world.tell("u now the docs\na done");
    assert!(world.refresh(&settings));
    let state = world.section("Current state");
    assert!(state.contains("> now the docs"), "{state}");
    assert!(
        world
            .section("System documentation")
            .contains("Move the handlers.")
    );
    // The notes of the model still cover the same messages.
    let after = world.notes();
    assert_eq!((after.method, after.last), (before.method, before.last));
    assert_eq!(after.tokens, before.tokens);
}

#[test]
fn the_first_summary_is_left_to_the_model_that_is_configured() {
    let world = World::new();
    world.tell("u go ~6000\na say");
    let settings = SummarySettings {
        has_model: true,
        ..SummarySettings::default()
    };
    assert!(!world.refresh(&settings));
    assert_eq!(world.notes().version, 0);
}

#[test]
fn the_state_is_that_of_the_last_message() {
    let world = World::new();
    world.tell("u first\na use #1\nu result #1\na said\nu second\na use #2");
    let state = world.state(STORED).unwrap();
    assert!(
        state.contains("> second") && !state.contains("> first"),
        "{state}"
    );
    assert!(state.contains("No result yet"), "{state}");
    assert!(
        !state.contains("> said"),
        "it answered another request: {state}"
    );
    let records = world.unstored("u result #2\na moved");
    let tail = UnstoredTail {
        records: &records,
        is_complete: true,
    };
    let state = world.state(tail).unwrap();
    assert!(
        state.contains("> second") && state.contains("> moved"),
        "{state}"
    );
    assert!(!state.contains("No result yet"), "{state}");
    let records = world.unstored("u result #2\nu third\na done");
    let tail = UnstoredTail {
        records: &records,
        is_complete: true,
    };
    let state = world.state(tail).unwrap();
    assert!(
        state.contains("> third") && state.contains("> done"),
        "{state}"
    );
}

#[test]
fn a_request_that_may_not_be_the_last_is_not_quoted() {
    let world = World::new();
    world.tell("u first\na said");
    let records = world.unstored("a moved");
    let state = |is_complete| {
        let records = &records;
        let tail = UnstoredTail {
            records,
            is_complete,
        };
        world.state(tail).unwrap()
    };
    assert!(state(true).contains("> first"));
    assert!(!state(false).contains("> first"));
    assert!(state(false).contains("> moved"));
}

#[test]
fn notes_are_current_without_being_written() {
    let world = World::new();
    world.tell("u Move the handlers. ~5000\na say");
    assert_eq!(world.renew(), 1);
    world.tell("u Never touch main.rs.\na fine");
    let records = world.unstored("u now the docs\na done");
    let tail = UnstoredTail {
        records: &records,
        is_complete: true,
    };
    let left_out = SensitiveText::Withheld;
    let notes = current_notes(&world.store, &world.session, tail, left_out, at(3));
    let notes = notes.unwrap().unwrap();
    let section = |heading: &str| notes.get(heading).unwrap_or_default().to_owned();
    assert!(section("Current state").contains("> now the docs"));
    assert!(section("Task").contains("Never touch main.rs."));
    assert_eq!(world.notes().version, 1, "nothing was written");
    let unknown = SessionId::of(Flavor::Claude, "unknown");
    let notes = current_notes(&world.store, &unknown, tail, left_out, at(3));
    let notes = notes.unwrap().unwrap();
    assert!(
        notes
            .get("Current state")
            .unwrap()
            .contains("> now the docs")
    );
}
