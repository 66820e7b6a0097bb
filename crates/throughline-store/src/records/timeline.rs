//! Reading a session page by page, and counting what the store holds.

use jiff::Timestamp;
use memory::SessionId;
use rusqlite::{Row, params};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;
use crate::records::{self, StoredRecord};
use crate::texts::reader::TextReader;

/// How much the store holds, in all or in some workspaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreCounts {
    pub sessions: u64,
    pub records: u64,
    /// Current facts, without superseded ones.
    pub facts: u64,
    pub pins: u64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

impl Store {
    /// Returns at most `limit` records of a session in the order of its log, after the first
    /// `skip`.
    pub fn timeline(
        &self,
        session: &SessionId,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<StoredRecord>> {
        let sql = records::select_records(
            "WHERE s.name = ?1 ORDER BY r.line, r.ordinal, r.row LIMIT ?2 OFFSET ?3",
        );
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows =
                statement.query(params![session.as_str(), number(limit), number(skip)])?;
            let texts = TextReader::default();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(records::read_record(connection, row, &texts)?);
            }
            Ok(found)
        })
    }

    /// Counts what the store holds in these workspaces, by key, or in all.
    pub fn counts(&self, workspaces: Option<&[String]>) -> Result<StoreCounts> {
        let keys = workspaces.map(|keys| serde_json::to_string(keys).unwrap_or_default());
        self.read(|connection| {
            let within = "(?1 IS NULL OR workspace IN
                (SELECT id FROM workspaces WHERE key IN (SELECT value FROM json_each(?1))))";
            let sessions = format!(
                "SELECT count(*), coalesce(sum(records), 0), min(started),
                    max(coalesce(ended, started))
                 FROM sessions WHERE records > 0 AND {within}"
            );
            let facts = format!(
                "SELECT count(*), coalesce(sum(pinned), 0) FROM facts
                 WHERE superseded IS NULL AND ({within} OR workspace IS NULL)"
            );
            let read = |row: &Row<'_>| {
                Ok(StoreCounts {
                    sessions: row.get(0)?,
                    records: row.get(1)?,
                    first: timestamp_from_millis(row.get(2)?),
                    last: timestamp_from_millis(row.get(3)?),
                    ..StoreCounts::default()
                })
            };
            let counts = connection.query_row(&sessions, params![keys], read)?;
            let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let (facts, pins) = connection.query_row(&facts, params![keys], pair)?;
            Ok(StoreCounts {
                facts,
                pins,
                ..counts
            })
        })
    }
}
