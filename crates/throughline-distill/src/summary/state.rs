//! The state of a session at its last message: the last request, the work done since, the agent's
//! last message, and the open calls.
//!
//! The state is computed from the steps since the last prompt, most of whose texts are not read,
//! and from the records that are not stored yet. It is therefore always current, and its cost does
//! not grow with the session.

use std::collections::BTreeSet;

use memory::{MessageId, Record, RecordKind, SessionId, record};
use store::{Store, StoredRecord};

use super::embedded::{SummaryBuilder, current_state};
use crate::record_view::ExtractorRecord;

/// The maximum number of steps since the last prompt that are examined.
const STEPS_MAX: usize = 1_000;
/// The maximum number of open calls whose arguments are read.
const OPEN_CALLS_MAX: usize = 8;
/// Replaces a text that may contain a secret.
const WITHHELD: &str = "[left out: it may hold something private]";

/// The records at the end of a log that are not stored yet, redacted.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnstoredTail<'a> {
    pub records: &'a [Record],
    /// No records are missing between the stored ones and these.
    pub is_complete: bool,
}

/// Whether texts that may contain a secret are quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensitiveText {
    Quoted,
    Withheld,
}

/// Returns the state of a session, or `None` if nothing is known. A request is quoted only if it is
/// certain to be the last one.
pub fn latest_state(
    store: &Store,
    session: &SessionId,
    tail: UnstoredTail<'_>,
    sensitive: SensitiveText,
) -> store::Result<Option<String>> {
    let stored = store.last_steps(session, STEPS_MAX)?;
    let is_new = |record: &&Record| stored.last().is_none_or(|last| last.precedes(record));
    let new: Vec<_> = tail.records.iter().filter(is_new).collect();
    let mut turn = LatestTurn {
        builder: SummaryBuilder::new(),
        sensitive,
    };
    match new
        .iter()
        .rposition(|record| record.kind == RecordKind::Prompt)
    {
        Some(prompt) => turn.add_records(&new[prompt..]),
        None => {
            // If records are missing in between, the last stored request may not be the last one.
            if tail.is_complete {
                turn.add_stored(store, &stored)?;
            }
            turn.add_records(&new);
        }
    }
    let state = current_state(&turn.builder);
    Ok((!state.trim().is_empty()).then_some(state))
}

struct LatestTurn {
    builder: SummaryBuilder,
    sensitive: SensitiveText,
}

impl LatestTurn {
    fn add_records(&mut self, records: &[&Record]) {
        for record in records {
            let mut step = ExtractorRecord::from(*record);
            step.content = self.visible_text(&record.tags, &record.content);
            self.builder.add_record(&step);
        }
    }

    /// Adds the last prompt and the steps after it. Only the texts that are shown are read.
    fn add_stored(&mut self, store: &Store, stored: &[store::SessionStep]) -> store::Result<()> {
        let prompt = stored
            .iter()
            .rposition(|step| step.kind == RecordKind::Prompt);
        let since = match prompt {
            Some(prompt) => {
                let record = store.read_record(stored[prompt].id)?;
                self.add_stored_record(record.as_ref());
                &stored[prompt + 1..]
            }
            // The turn is longer than the examined steps, so its prompt is before them.
            None => {
                let before = stored.first();
                let before = before.map(|first| store.last_before(first, RecordKind::Prompt));
                self.add_stored_record(before.transpose()?.flatten().as_ref());
                stored
            }
        };
        let said = since
            .iter()
            .rposition(|step| step.kind == RecordKind::Assistant);
        let open = open_calls(since);
        let message = MessageId::new("");
        for (index, step) in since.iter().enumerate() {
            if said == Some(index) || open.contains(&index) {
                let record = store.read_record(step.id)?;
                self.add_stored_record(record.as_ref());
                continue;
            }
            self.builder.add_record(&ExtractorRecord {
                message: &message,
                kind: step.kind,
                tool: step.tool.as_deref(),
                path: step.path.as_deref(),
                call: step.call.as_deref(),
                content: "",
                exit_code: step.exit_code,
                cwd: None,
                branch: None,
            });
        }
        Ok(())
    }

    fn add_stored_record(&mut self, record: Option<&StoredRecord>) {
        if let Some(record) = record {
            let mut step = ExtractorRecord::from(record);
            step.content = self.visible_text(&record.tags, &record.content);
            self.builder.add_record(&step);
        }
    }

    fn visible_text<'a>(&self, tags: &[String], content: &'a str) -> &'a str {
        if record::is_sensitive(tags) && self.sensitive == SensitiveText::Withheld {
            return WITHHELD;
        }
        content
    }
}

/// Returns the indices of the last calls that have no result.
fn open_calls(steps: &[store::SessionStep]) -> BTreeSet<usize> {
    let is_result = |step: &&store::SessionStep| {
        matches!(step.kind, RecordKind::ToolResult | RecordKind::Error)
    };
    let answered: BTreeSet<_> = steps
        .iter()
        .filter(is_result)
        .filter_map(|step| step.call.as_deref())
        .collect();
    let is_open = |step: &store::SessionStep| {
        let call = step.call.as_deref();
        step.kind == RecordKind::ToolUse && call.is_some_and(|call| !answered.contains(call))
    };
    let indexed = steps.iter().enumerate().rev();
    indexed
        .filter(|(_, step)| is_open(step))
        .map(|(index, _)| index)
        .take(OPEN_CALLS_MAX)
        .collect()
}
