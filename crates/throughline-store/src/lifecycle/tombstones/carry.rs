//! Copies tombstones into a restored store: a backup from before a record was forgotten must not
//! bring it back.

use jiff::Timestamp;
use memory::{RecordId, SessionId};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::{RecordIdentity, TombstoneFilter};
use crate::error::{Error, Result};
use crate::index;
use crate::ingest::writer::WriterState;
use crate::lifecycle::forget::{self, Selection};
use crate::records;
use crate::texts::reader::{TEXT_COLUMNS, TextReader};
use redact::Redactor;

/// The effect of a store's tombstones on the store that replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CarriedTombstones {
    /// Tombstones that were copied from the earlier store.
    pub tombstones: u64,
    /// Sessions and records that were deleted from the restored store.
    pub sessions: usize,
    pub records: usize,
    /// Tombstones that could not be copied: the restored store has another key, and they match
    /// nothing in it.
    pub left: u64,
    /// True when the earlier store could not be read, so that its tombstones are unknown.
    pub unreadable: bool,
}

impl CarriedTombstones {
    pub(crate) fn unreadable() -> Self {
        Self {
            unreadable: true,
            ..Self::default()
        }
    }
}

/// Deletes from `new` what was forgotten in `old`, and copies the tombstones. Each store's keyed
/// hashes are made by its own redactor.
pub(crate) fn carry_over(
    old: &Connection,
    old_redactor: &Redactor,
    new: &mut Connection,
    new_redactor: &Redactor,
    now: Timestamp,
) -> Result<CarriedTombstones> {
    let mut gate = TombstoneFilter::new(old, old_redactor)?;
    if gate.is_open() {
        return Ok(CarriedTombstones::default());
    }
    // The deleted rows must be gone from the bytes of the file before it becomes the store.
    new.pragma_update(None, "secure_delete", true)?;
    let selections = [
        Selection {
            sessions: forgotten_sessions(old, &mut gate, new)?,
            ..Selection::default()
        },
        Selection {
            records: forgotten_records(old, &gate, new)?,
            ..Selection::default()
        },
    ];
    let tx = new.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut carried = CarriedTombstones::default();
    for selection in selections.iter().filter(|selection| !selection.is_empty()) {
        let mut names = WriterState::default();
        let erased = forget::erase_selected(&tx, &mut names, new_redactor, selection, now)?;
        names.index.flush(&tx)?;
        index::purge_deleted_terms(&tx)?;
        // A store that is not in place yet has no write-ahead log and no copies to clean.
        tx.execute("DELETE FROM traces", [])?;
        carried.sessions += erased.sessions;
        carried.records += erased.records;
    }
    untitle(old, &gate, &tx)?;
    let all: u64 = old.query_row("SELECT count(*) FROM tombstones", [], |row| row.get(0))?;
    if old_redactor.keyed_hash_for("same key", &[]) == new_redactor.keyed_hash_for("same key", &[])
    {
        copy_rows(old, &tx)?;
        carried.tombstones = all;
    } else {
        let sql = "SELECT count(*) FROM tombstones WHERE at = ?1";
        carried.tombstones = tx.query_row(sql, [now.as_millisecond()], |row| row.get(0))?;
        carried.left = all.saturating_sub(carried.tombstones);
    }
    tx.commit()?;
    Ok(carried)
}

/// Returns the sessions of `new` that a tombstone of `old` blocks.
fn forgotten_sessions(
    old: &Connection,
    gate: &mut TombstoneFilter<'_>,
    new: &Connection,
) -> Result<Vec<SessionId>> {
    let mut found = Vec::new();
    let mut statement = new.prepare("SELECT name, parent FROM sessions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, parent): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        if gate.session(old, &name, parent.as_deref())? {
            found.push(SessionId::new(name));
        }
    }
    Ok(found)
}

/// Returns the records of `new` that a tombstone of `old` blocks.
fn forgotten_records(
    old: &Connection,
    gate: &TombstoneFilter<'_>,
    new: &Connection,
) -> Result<Vec<RecordId>> {
    let mut found = Vec::new();
    let sql = format!(
        "SELECT r.id, s.name, r.message, r.ordinal, r.kind, {TEXT_COLUMNS} FROM records r
         JOIN sessions s ON s.id = r.session"
    );
    let mut statement = new.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let texts = TextReader::default();
    while let Some(row) = rows.next()? {
        let (session, message): (String, String) = (row.get(1)?, row.get(2)?);
        let text = match texts.read(new, row, 5) {
            Err(Error::MissingText(_)) => String::new(),
            text => text?,
        };
        let place = RecordIdentity {
            id: RecordId::from_bytes(row.get(0)?),
            session: &session,
            message: &message,
            ordinal: row.get(3)?,
            kind: records::kind_from_number(row.get(4)?),
            text: &text,
        };
        if gate.place(old, &place)? {
            found.push(place.id);
        }
    }
    Ok(found)
}

/// Removes titles that were derived from forgotten records.
fn untitle(old: &Connection, gate: &TombstoneFilter<'_>, tx: &Transaction<'_>) -> Result<()> {
    let mut statement =
        tx.prepare("SELECT id, name, title FROM sessions WHERE title IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, title): (String, String) = (row.get(1)?, row.get(2)?);
        if gate.is_title_forgotten(old, &name, &title)? {
            let sql = "UPDATE sessions SET title = NULL, title_rank = 0 WHERE id = ?1";
            tx.prepare_cached(sql)?.execute([row.get::<_, i64>(0)?])?;
        }
    }
    Ok(())
}

/// Copies the tombstones with their keys.
fn copy_rows(old: &Connection, tx: &Transaction<'_>) -> Result<()> {
    let mut statement =
        old.prepare("SELECT id, name, kind, flavor, records, at FROM tombstones")?;
    let mut keys = old.prepare("SELECT key, sort FROM tombstone_keys WHERE tombstone = ?1")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, kind, flavor): (Vec<u8>, String, String) =
            (row.get(1)?, row.get(2)?, row.get(3)?);
        let (records, at): (i64, i64) = (row.get(4)?, row.get(5)?);
        // A tombstone that was set by the deletion above gets its original time back.
        let number: i64 = tx
            .prepare_cached(
                "INSERT INTO tombstones (name, kind, flavor, records, at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (name) DO UPDATE SET at = excluded.at,
                    records = max(records, excluded.records)
                 RETURNING id",
            )?
            .query_row(params![name, kind, flavor, records, at], |row| row.get(0))?;
        let mut found = keys.query([row.get::<_, i64>(0)?])?;
        while let Some(key) = found.next()? {
            tx.prepare_cached(
                "INSERT OR IGNORE INTO tombstone_keys (key, tombstone, sort) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![
                key.get::<_, Vec<u8>>(0)?,
                number,
                key.get::<_, i64>(1)?
            ])?;
        }
    }
    Ok(())
}
