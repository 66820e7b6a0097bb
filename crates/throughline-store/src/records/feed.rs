//! The feed: what has changed since a position, new records and forgotten ones.
//!
//! Row numbers are the order, so a listener can continue after a restart of either side, and sees
//! what other processes wrote. Facts and summaries change in place: for those a listener compares
//! versions.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use memory::{FactId, RecordId, RecordKind, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;
use crate::records::{SUBMITTED_ID, kind_from_number};

/// The position up to which a listener has read the feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedPosition {
    pub record: i64,
    pub tombstone: i64,
}

/// A new record, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedRecord {
    pub row: i64,
    pub id: RecordId,
    /// The id that the program which submitted the record gave it.
    pub submitted_id: Option<String>,
    pub kind: RecordKind,
    pub at: Option<jiff::Timestamp>,
    pub session: SessionId,
    pub workspace: Option<String>,
}

/// The changes since a position, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedChanges {
    pub new_records: Vec<FeedRecord>,
    /// The numbers of new tombstones, and how many records each covers.
    pub forgotten: Vec<(i64, u64)>,
}

/// A fact or a summary, as the key of its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionedItem {
    Fact(FactId),
    Summary(SessionId),
}

impl Store {
    /// Returns every fact and summary with a version number that differs once the item has changed.
    pub fn item_versions(&self) -> Result<BTreeMap<VersionedItem, u64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, text, tags, kind, trust, pinned, seen, times, superseded FROM facts",
            )?;
            let facts = statement.query_map([], |row| {
                let mut hasher = DefaultHasher::new();
                for column in 1..=8 {
                    hash_value(row.get_ref(column)?, &mut hasher);
                }
                let id = FactId::from_bytes(row.get(0)?);
                Ok((VersionedItem::Fact(id), hasher.finish()))
            })?;
            let mut all: BTreeMap<_, _> = facts.collect::<Result<_, _>>()?;
            let mut statement = connection.prepare_cached(
                "SELECT s.name, m.version FROM summaries m JOIN sessions s ON s.id = m.session
                 WHERE m.version > 0",
            )?;
            let summaries = statement.query_map([], |row| {
                let session = SessionId::new(row.get::<_, String>(0)?);
                Ok((VersionedItem::Summary(session), row.get(1)?))
            })?;
            for summary in summaries {
                let (standing, version) = summary?;
                all.insert(standing, version);
            }
            Ok(all)
        })
    }

    /// Returns the current end of the feed.
    pub fn feed_end(&self) -> Result<FeedPosition> {
        self.read(latest_position)
    }

    /// Returns the changes after `heard`, at most `limit` of each kind, and advances it.
    ///
    /// Numbers of deleted rows are used again. Where the last row is before the position, the
    /// position moves back to it.
    pub fn changes_since(&self, position: &mut FeedPosition, limit: usize) -> Result<FeedChanges> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let last = latest_position(connection)?;
            position.record = position.record.min(last.record);
            position.tombstone = position.tombstone.min(last.tombstone);
            let mut statement = connection.prepare_cached(&format!(
                "SELECT r.row, r.id, r.kind, r.at, s.name, w.key, {SUBMITTED_ID} FROM records r
                 JOIN sessions s ON s.id = r.session
                 LEFT JOIN workspaces w ON w.id = s.workspace
                 WHERE r.row > ?1 ORDER BY r.row LIMIT ?2",
            ))?;
            let new_records =
                statement.query_map(params![position.record, limit], read_new_record)?;
            let new_records: Vec<_> = new_records.collect::<Result<_, _>>()?;
            let mut statement = connection.prepare_cached(
                "SELECT id, records FROM tombstones WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?;
            let forgotten = statement.query_map(params![position.tombstone, limit], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            let forgotten: Vec<(i64, u64)> = forgotten.collect::<Result<_, _>>()?;
            position.record = new_records.last().map_or(position.record, |last| last.row);
            position.tombstone = forgotten.last().map_or(position.tombstone, |last| last.0);
            Ok(FeedChanges {
                new_records,
                forgotten,
            })
        })
    }
}

fn hash_value(value: ValueRef<'_>, hasher: &mut DefaultHasher) {
    match value {
        ValueRef::Null => 0_u8.hash(hasher),
        ValueRef::Integer(number) => number.hash(hasher),
        ValueRef::Real(number) => number.to_bits().hash(hasher),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(hasher),
    }
}

fn latest_position(connection: &Connection) -> Result<FeedPosition> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
    Ok(FeedPosition {
        record: number("SELECT coalesce(max(row), 0) FROM records")?,
        tombstone: number("SELECT coalesce(max(id), 0) FROM tombstones")?,
    })
}

fn read_new_record(row: &Row<'_>) -> rusqlite::Result<FeedRecord> {
    Ok(FeedRecord {
        row: row.get(0)?,
        id: RecordId::from_bytes(row.get(1)?),
        kind: kind_from_number(row.get(2)?),
        at: timestamp_from_millis(row.get(3)?),
        session: SessionId::new(row.get::<_, String>(4)?),
        workspace: row.get(5)?,
        submitted_id: row.get(6)?,
    })
}
