//! Ids of evicted records: reading a log again must not bring them back. Only records that an
//! earlier version evicted by age may return.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::Store;
use crate::derived::signals;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;

/// When and why records of a session were evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionInfo {
    pub at: Timestamp,
    pass: String,
    by_age_alone: bool,
}

impl EvictionInfo {
    /// Returns the reason as the end of a sentence.
    pub fn reason(&self) -> &'static str {
        match self.pass.as_str() {
            "delete_after" => "because it was older than delete_after_days",
            "workspace_cap" => "because its workspace was above its soft cap",
            "hard_cap" | "overflow" => "because the store was above its hard cap",
            _ if self.by_age_alone => "because an earlier version removed old sessions",
            _ => "because the store was above its soft cap",
        }
    }
}

impl Store {
    /// Returns when and why records of a session were last evicted.
    pub fn eviction_info(&self, session: &SessionId) -> Result<Option<EvictionInfo>> {
        let sql =
            "SELECT e.at, e.pass, e.reread FROM evictions e JOIN sessions s ON s.id = e.session
                   WHERE s.name = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let removal = statement.query_row([session.as_str()], |row| {
                Ok(EvictionInfo {
                    at: timestamp_from_millis(row.get(0)?).unwrap_or_default(),
                    pass: row.get(1)?,
                    by_age_alone: row.get(2)?,
                })
            });
            Ok(removal.optional()?)
        })
    }
}

/// How many bytes of an evicted record's id are stored.
pub(super) const ID_PREFIX_BYTES: usize = 8;

type IdPrefix = [u8; ID_PREFIX_BYTES];

/// The ids of evicted records, read once per session.
#[derive(Debug, Default)]
pub(crate) struct EvictedRecords {
    sessions: HashMap<i64, SessionEvictions>,
    /// Sessions with returned records that are not recorded yet.
    returning: BTreeSet<i64>,
}

/// The evicted ids of one session.
#[derive(Debug, Default)]
struct SessionEvictions {
    ids: HashSet<IdPrefix>,
    /// The records may be stored again.
    reread: bool,
    /// The kinds of records that returned and whose ids are still in the table.
    returned: Vec<RecordKind>,
}

impl EvictedRecords {
    /// Says whether a record of a session was evicted and must not be stored again.
    pub(crate) fn is_evicted(
        &mut self,
        connection: &Connection,
        session: i64,
        id: RecordId,
    ) -> Result<bool> {
        let marks = self.session_entry(connection, session)?;
        Ok(!marks.reread && marks.ids.contains(&id_prefix(id)))
    }

    /// Says whether any record of a session was evicted and must not be stored again.
    pub(crate) fn has_evicted(&mut self, connection: &Connection, session: i64) -> Result<bool> {
        let marks = self.session_entry(connection, session)?;
        Ok(!marks.reread && !marks.ids.is_empty())
    }

    /// Removes the id of a record that was stored again.
    pub(crate) fn note_return(
        &mut self,
        connection: &Connection,
        session: i64,
        id: RecordId,
        kind: RecordKind,
    ) -> Result<()> {
        let marks = self.session_entry(connection, session)?;
        if marks.reread && marks.ids.remove(&id_prefix(id)) {
            marks.returned.push(kind);
            self.returning.insert(session);
        }
        Ok(())
    }

    /// Records which records were stored again. When the last one of a session returns, its
    /// eviction is deleted, and its digest is made from the records again instead of being
    /// extended. Returns the sessions that are no longer evicted.
    pub(crate) fn write_returned(&mut self, tx: &Transaction<'_>) -> Result<Vec<i64>> {
        let mut whole = Vec::new();
        for session in std::mem::take(&mut self.returning) {
            let marks = self.session_entry(tx, session)?;
            let returned = std::mem::take(&mut marks.returned);
            if marks.ids.is_empty() {
                tx.prepare_cached("DELETE FROM evictions WHERE session = ?1")?
                    .execute([session])?;
                tx.prepare_cached("UPDATE digests SET base = NULL WHERE session = ?1")?
                    .execute([session])?;
                signals::unmark_evicted(tx, session)?;
                marks.reread = false;
                whole.push(session);
            } else {
                update_remaining(tx, session, &marks.ids, &returned)?;
            }
        }
        Ok(whole)
    }

    pub(crate) fn forget(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    fn session_entry(
        &mut self,
        connection: &Connection,
        session: i64,
    ) -> Result<&mut SessionEvictions> {
        match self.sessions.entry(session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let row: Option<(Vec<u8>, bool)> = connection
                    .prepare_cached("SELECT ids, reread FROM evictions WHERE session = ?1")?
                    .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let (ids, reread) = row.unwrap_or_default();
                let (ids, _) = ids.as_chunks::<ID_PREFIX_BYTES>();
                Ok(unknown.insert(SessionEvictions {
                    ids: ids.iter().copied().collect(),
                    reread,
                    returned: Vec::new(),
                }))
            }
        }
    }
}

/// Says whether any record of a session was evicted.
pub(crate) fn has_evictions(connection: &Connection, session: i64) -> Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM evictions WHERE session = ?1")?;
    Ok(statement.exists([session])?)
}

fn id_prefix(id: RecordId) -> IdPrefix {
    let mut first = [0; ID_PREFIX_BYTES];
    first.copy_from_slice(&id.as_bytes()[..ID_PREFIX_BYTES]);
    first
}

/// Stores the ids that are still evicted.
fn update_remaining(
    tx: &Transaction<'_>,
    session: i64,
    left: &HashSet<IdPrefix>,
    returned: &[RecordKind],
) -> Result<()> {
    let mut ids: Vec<_> = left.iter().copied().collect();
    ids.sort_unstable();
    let count = |kind: RecordKind| returned.iter().filter(|known| **known == kind).count();
    tx.prepare_cached(
        "UPDATE evictions SET records = ?2, prompts = max(prompts - ?3, 0),
            tool_calls = max(tool_calls - ?4, 0), errors = max(errors - ?5, 0),
            lost = min(lost, ?2), ids = ?6
         WHERE session = ?1",
    )?
    .execute(params![
        session,
        ids.len(),
        count(RecordKind::Prompt),
        count(RecordKind::ToolUse),
        count(RecordKind::Error),
        ids.concat(),
    ])?;
    Ok(())
}
