//! What was evicted is known again, so that a log that is read again does not bring it back.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use memory::RecordId;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;

/// What is kept of a record's id to know it again.
pub(super) const ID_BYTES: usize = 8;

/// The records that were evicted, asked for once per session.
#[derive(Debug, Default)]
pub(crate) struct Evicted {
    sessions: HashMap<i64, HashSet<[u8; ID_BYTES]>>,
}

impl Evicted {
    /// Says whether a record of a session was evicted.
    pub fn holds(&mut self, connection: &Connection, session: i64, id: RecordId) -> Result<bool> {
        let ids = self.of(connection, session)?;
        let mut first = [0; ID_BYTES];
        first.copy_from_slice(&id.as_bytes()[..ID_BYTES]);
        Ok(ids.contains(&first))
    }

    /// Says whether any record of a session was evicted.
    pub fn any(&mut self, connection: &Connection, session: i64) -> Result<bool> {
        Ok(!self.of(connection, session)?.is_empty())
    }

    pub(super) fn forget(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    fn of(&mut self, connection: &Connection, session: i64) -> Result<&HashSet<[u8; ID_BYTES]>> {
        match self.sessions.entry(session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let ids: Option<Vec<u8>> = connection
                    .prepare_cached("SELECT ids FROM evictions WHERE session = ?1")?
                    .query_row([session], |row| row.get(0))
                    .optional()?;
                let (ids, _) = ids.as_deref().unwrap_or_default().as_chunks::<ID_BYTES>();
                Ok(unknown.insert(ids.iter().copied().collect()))
            }
        }
    }
}
