//! Periodic maintenance: packing old sessions every week, merging equal facts every month, deleting
//! unreferenced rows every year.
//!
//! Each task records when it ran, so that callers may ask for due tasks as often as they like.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::derived::cards;
use crate::error::Result;
use crate::ingest::writer::WriterState;
use crate::texts::packs::PackReport;

/// A session without activity for this long is packed.
pub const PACKED_AFTER: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Superseded facts are kept for this long.
const HISTORY_RETENTION: SignedDuration = SignedDuration::from_hours(24 * 365);
/// The entry in the table of tasks which says that `delete_after` has postponed some sessions.
pub(crate) const AGE_HELD_BACK_TASK: &str = "age_held_back";

memory::named_enum! {
    /// A periodic task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MaintenanceTask {
        /// Pack the sessions without activity for a month.
        Archive = "archive",
        /// Merge facts that say the same.
        Consolidate = "consolidate",
        /// Delete rows that nothing refers to.
        CleanUp = "clean_up",
    }
}

impl MaintenanceTask {
    pub const fn interval(self) -> SignedDuration {
        SignedDuration::from_hours(match self {
            Self::Archive => 24 * 7,
            Self::Consolidate => 24 * 30,
            Self::CleanUp => 24 * 365,
        })
    }
}

/// What maintenance did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MaintenanceReport {
    pub done: Vec<MaintenanceTask>,
    pub packed: PackReport,
    /// How many facts were merged into others.
    pub merged_facts: usize,
    /// How many unreferenced rows were deleted.
    pub cleared: usize,
}

impl Store {
    /// Runs the tasks that are due. An interrupted task is due again. Sessions are packed after a
    /// month without activity, and digested ones at the latest `raw_max_age` after they were
    /// captured.
    pub fn run_due_tasks(
        &self,
        now: Timestamp,
        raw_max_age: Option<SignedDuration>,
        stop: &AtomicBool,
        progress: &dyn Fn(&PackReport),
    ) -> Result<MaintenanceReport> {
        let mut report = MaintenanceReport::default();
        for task in self.due_tasks(now)? {
            match task {
                MaintenanceTask::Archive => {
                    let aged = raw_max_age.map(|age| now - age);
                    report.packed =
                        self.pack_old_sessions(now - PACKED_AFTER, aged, stop, progress)?;
                }
                MaintenanceTask::Consolidate => report.merged_facts = self.consolidate_facts()?,
                MaintenanceTask::CleanUp => report.cleared = self.delete_unreferenced(now)?,
            }
            // A task that was told to stop may be incomplete, so it is not marked as done.
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let note =
                move |tx: &Transaction<'_>, _: &mut WriterState| mark_done(tx, task.name(), now);
            self.write(note)?;
            report.done.push(task);
        }
        Ok(report)
    }

    /// Returns the tasks that are due.
    pub fn due_tasks(&self, now: Timestamp) -> Result<Vec<MaintenanceTask>> {
        self.read(|connection| {
            let mut due = Vec::new();
            for task in MaintenanceTask::ALL {
                if is_due(last_run(connection, *task)?, task.interval(), now) {
                    due.push(*task);
                }
            }
            Ok(due)
        })
    }

    /// Merges facts of the same workspace, kind and trust with the same words, and returns how many
    /// were merged. The older fact stays and supersedes the other. Pinned facts are left alone.
    pub fn consolidate_facts(&self) -> Result<usize> {
        self.write(|tx, _| merge_equal_facts(tx))
    }

    /// Deletes rows that nothing refers to, and returns their number.
    pub fn delete_unreferenced(&self, now: Timestamp) -> Result<usize> {
        let before = (now - HISTORY_RETENTION).as_millisecond();
        self.write(move |tx, writer| delete_unreferenced_rows(tx, writer, before))
    }
}

/// A task that ran later than now ran under a wrong clock, and is due.
fn is_due(last: Option<i64>, every: SignedDuration, now: Timestamp) -> bool {
    last.is_none_or(|last| {
        let since_ms = now.as_millisecond() - last;
        since_ms < 0 || i128::from(since_ms) >= every.as_millis()
    })
}

fn last_run(connection: &Connection, task: MaintenanceTask) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT at FROM chores WHERE name = ?1")?
        .query_row([task.name()], |row| row.get(0))
        .optional()?)
}

pub(crate) fn mark_done(tx: &Transaction<'_>, name: &str, now: Timestamp) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO chores (name, at) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET at = excluded.at",
    )?
    .execute(params![name, now.as_millisecond()])?;
    Ok(())
}

/// Records that a task runs now if it is due, and returns whether it is.
pub(crate) fn claim_if_due(
    tx: &Transaction<'_>,
    name: &str,
    every: SignedDuration,
    now: Timestamp,
) -> Result<bool> {
    let last = tx
        .prepare_cached("SELECT at FROM chores WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    let is_due = is_due(last, every, now);
    if is_due {
        mark_done(tx, name, now)?;
    }
    Ok(is_due)
}

fn merge_equal_facts(tx: &Transaction<'_>) -> Result<usize> {
    let mut statement = tx.prepare_cached(
        "SELECT id, coalesce(workspace, 0), kind, trust, text FROM facts
         WHERE superseded IS NULL AND NOT pinned ORDER BY made, id",
    )?;
    let rows = statement.query_map([], |row| {
        let text = normalize_fact_text(&row.get::<_, String>(4)?);
        let key = (row.get(1)?, row.get(2)?, row.get(3)?, text);
        Ok((row.get(0)?, key))
    })?;
    let facts: Vec<(Vec<u8>, FactKey)> = rows.collect::<Result<_, _>>()?;
    let mut first: HashMap<FactKey, Vec<u8>> = HashMap::new();
    let mut merged = 0;
    for (id, key) in facts {
        if let Some(kept) = first.get(&key) {
            merge_fact_into(tx, kept, &id)?;
            merged += 1;
        } else {
            first.insert(key, id);
        }
    }
    Ok(merged)
}

/// Workspace, kind, trust and normalized text.
type FactKey = (i64, String, i64, String);

/// Returns the text of a fact without capitals, articles and punctuation. Every other word counts,
/// and so does their order.
fn normalize_fact_text(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && !"'_/.+#-".contains(c));
    let words = words.map(|word| word.trim_matches(['.', '\'', '-']));
    words
        .filter(|word| !word.is_empty() && !["a", "an", "the", "please"].contains(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn merge_fact_into(tx: &Transaction<'_>, kept: &[u8], other: &[u8]) -> Result<()> {
    tx.prepare_cached(
        "UPDATE facts SET times = facts.times + o.times, seen = max(facts.seen, o.seen)
         FROM (SELECT times, seen FROM facts WHERE id = ?2) o WHERE facts.id = ?1",
    )?
    .execute([kept, other])?;
    tx.prepare_cached(
        "INSERT OR IGNORE INTO fact_sources (fact, record, session)
         SELECT ?1, record, session FROM fact_sources WHERE fact = ?2",
    )?
    .execute([kept, other])?;
    tx.prepare_cached("UPDATE facts SET superseded = ?1 WHERE id = ?2")?
        .execute([kept, other])?;
    cards::forget_facts(tx)
}

fn delete_unreferenced_rows(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    before: i64,
) -> Result<usize> {
    let mut cleared = 0;
    for sql in [
        "DELETE FROM bodies WHERE hash NOT IN (SELECT body FROM records WHERE body IS NOT NULL)
            AND hash NOT IN (SELECT body FROM raw)",
        "DELETE FROM blocks WHERE id NOT IN (SELECT block FROM records WHERE block IS NOT NULL)
            AND id NOT IN (SELECT block FROM raw WHERE block IS NOT NULL)",
        "DELETE FROM contexts WHERE id NOT IN (SELECT context FROM records)",
        "DELETE FROM skips WHERE source IN (SELECT id FROM sources WHERE gone)
            AND source NOT IN (SELECT source FROM records)",
        "DELETE FROM drift WHERE source IN (SELECT id FROM sources WHERE gone)
            AND source NOT IN (SELECT source FROM records)",
        "DELETE FROM fact_sources WHERE fact NOT IN (SELECT id FROM facts)",
    ] {
        cleared += tx.execute(sql, [])?;
    }
    let history = "superseded IS NOT NULL AND NOT pinned AND seen < ?1";
    tx.execute(
        &format!("DELETE FROM fact_sources WHERE fact IN (SELECT id FROM facts WHERE {history})"),
        [before],
    )?;
    cleared += tx.execute(&format!("DELETE FROM facts WHERE {history}"), [before])?;
    writer.contexts.clear();
    Ok(cleared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_say_the_same() {
        assert_eq!(
            normalize_fact_text("Use the tabs, please."),
            normalize_fact_text("use tabs")
        );
        for (one, other) in [
            ("use tabs", "do not use tabs"),
            ("tabs over spaces", "spaces over tabs"),
            ("limit is 5", "limit is 6"),
            ("use C++", "use C"),
        ] {
            assert_ne!(normalize_fact_text(one), normalize_fact_text(other));
        }
    }

    #[test]
    fn a_clock_that_was_wrong_does_not_stop_chores() {
        let now: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
        let week = MaintenanceTask::Archive.interval();
        let ms = now.as_millisecond();
        assert!(is_due(None, week, now));
        assert!(!is_due(Some(ms), week, now));
        assert!(!is_due(Some(ms - 6 * 86_400_000), week, now));
        assert!(is_due(Some(ms - 7 * 86_400_000), week, now));
        assert!(is_due(Some(ms + 86_400_000), week, now));
    }
}
