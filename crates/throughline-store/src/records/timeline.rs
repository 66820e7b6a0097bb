//! Reading a session page by page, and counting what the store holds.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId};
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;
use crate::records::{self, StoredRecord, kind_from_number};
use crate::texts::reader::{TEXT_COLUMNS, TextReader};

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

/// What the records of a session are, in the order of its log: a column for each property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionOutline {
    pub kind: Vec<RecordKind>,
    /// For each record, the position of its tool in `tools`.
    pub tool: Vec<Option<usize>>,
    /// The size of each text.
    pub bytes: Vec<u64>,
    /// When each record was made, in milliseconds since 1970.
    pub at: Vec<Option<i64>>,
    /// The names of the tools, each once.
    pub tools: Vec<String>,
    /// Records that belong to an earlier call and do not stand directly after it, because the
    /// agent made several calls at once: the position of the record, and the position of the
    /// record of the same call that it follows.
    pub follows: Vec<(usize, usize)>,
    /// The changed files, with the positions of their changes.
    pub changes: BTreeMap<String, Vec<usize>>,
}

impl SessionOutline {
    fn tool_number(&mut self, tool: String) -> usize {
        let known = self.tools.iter().position(|name| *name == tool);
        known.unwrap_or_else(|| {
            self.tools.push(tool);
            self.tools.len() - 1
        })
    }
}

/// The last record of each call so far, while the records of a session are read in their order.
#[derive(Default)]
struct CallOrder {
    last: HashMap<String, usize>,
    /// The last record that does not stand directly after its call.
    moved: Option<usize>,
}

impl CallOrder {
    /// Returns the position of a record with that of the record it follows, if another record
    /// stands between them.
    fn place(&mut self, at: usize, kind: RecordKind, call: String) -> Option<(usize, usize)> {
        let before = self.last.insert(call, at);
        let before = before.filter(|_| kind != RecordKind::ToolUse)?;
        if before + 1 == at && self.moved != Some(before) {
            return None;
        }
        self.moved = Some(at);
        Some((at, before))
    }
}

impl Store {
    /// Returns at most `limit` records of a session in the order of its log, after the first
    /// `skip`. The records that are skipped are counted in the index and not read.
    pub fn timeline(
        &self,
        session: &SessionId,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<StoredRecord>> {
        let sql = records::select_records(
            "WHERE r.row IN (
                 SELECT row FROM records WHERE session = (SELECT id FROM sessions WHERE name = ?1)
                 ORDER BY line, ordinal, row LIMIT ?2 OFFSET ?3)
             ORDER BY r.line, r.ordinal, r.row",
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

    /// Returns how many records the timeline of a session has.
    pub fn timeline_length(&self, session: &SessionId) -> Result<usize> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT count(*) FROM records
                 WHERE session = (SELECT id FROM sessions WHERE name = ?1)",
            )?;
            Ok(statement.query_row([session.as_str()], |row| row.get(0))?)
        })
    }

    /// Returns how many records come before a record in the timeline of its session.
    pub fn timeline_position(&self, record: RecordId) -> Result<Option<usize>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT (SELECT count(*) FROM records b WHERE b.session = r.session
                     AND (b.line, b.ordinal, b.row) < (r.line, r.ordinal, r.row))
                 FROM records r WHERE r.id = ?1",
            )?;
            let position = statement.query_row([record.as_bytes()], |row| row.get(0));
            Ok(position.optional()?)
        })
    }

    /// Returns the outline of a session: what its records are, without their texts.
    pub fn outline(&self, session: &SessionId) -> Result<SessionOutline> {
        let mut outline = SessionOutline::default();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT kind, tool, size, at, call, path FROM records
                 WHERE session = (SELECT id FROM sessions WHERE name = ?1)
                 ORDER BY line, ordinal, row",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut calls = CallOrder::default();
            while let Some(row) = rows.next()? {
                let at = outline.kind.len();
                let kind = kind_from_number(row.get(0)?);
                if let Some(call) = row.get::<_, Option<String>>(4)? {
                    outline.follows.extend(calls.place(at, kind, call));
                }
                if kind == RecordKind::Artifact
                    && let Some(path) = row.get(5)?
                {
                    outline.changes.entry(path).or_default().push(at);
                }
                outline.kind.push(kind);
                let tool: Option<String> = row.get(1)?;
                let number = tool.map(|tool| outline.tool_number(tool));
                outline.tool.push(number);
                outline.bytes.push(row.get(2)?);
                outline.at.push(row.get(3)?);
            }
            Ok(outline)
        })
    }

    /// Returns the prompts of a session and when they were sent, in the order of its log.
    pub fn prompt_times(&self, session: &SessionId) -> Result<Vec<(RecordId, Timestamp)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, at FROM records
                 WHERE session = (SELECT id FROM sessions WHERE name = ?1) AND kind = ?2
                 ORDER BY line, ordinal, row",
            )?;
            let kind = RecordKind::Prompt as i64;
            let mut rows = statement.query(params![session.as_str(), kind])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let id = RecordId::from_bytes(row.get(0)?);
                found.extend(timestamp_from_millis(row.get(1)?).map(|sent| (id, sent)));
            }
            Ok(found)
        })
    }

    /// Returns the positions of the records of a session whose text `matches`, at most `limit`.
    pub fn find_in_session(
        &self,
        session: &SessionId,
        limit: usize,
        mut matches: impl FnMut(&str) -> bool,
    ) -> Result<Vec<usize>> {
        let sql = format!(
            "SELECT {TEXT_COLUMNS} FROM records r
             WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
             ORDER BY r.line, r.ordinal, r.row"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([session.as_str()])?;
            let texts = TextReader::default();
            let mut found = Vec::new();
            let mut position = 0;
            while let Some(row) = rows.next()?
                && found.len() < limit
            {
                if matches(&texts.read(connection, row, 0)?) {
                    found.push(position);
                }
                position += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what `CallOrder` says about records, each with its kind and its call.
    fn place_all(records: &[(RecordKind, &str)]) -> Vec<(usize, usize)> {
        let mut order = CallOrder::default();
        let records = records.iter().enumerate();
        let placed = records.map(|(at, (kind, call))| order.place(at, *kind, (*call).to_owned()));
        placed.flatten().collect()
    }

    #[test]
    fn records_after_their_call_stay_where_they_are() {
        use RecordKind::{Artifact, ToolResult, ToolUse};
        let one_by_one = [
            (ToolUse, "a"),
            (ToolResult, "a"),
            (Artifact, "a"),
            (ToolUse, "b"),
            (ToolResult, "b"),
        ];
        assert_eq!(place_all(&one_by_one), []);
    }

    #[test]
    fn results_of_calls_made_at_once_follow_their_own_call() {
        use RecordKind::{Artifact, ToolResult, ToolUse};
        let at_once = [
            (ToolUse, "a"),
            (ToolUse, "b"),
            (ToolResult, "a"),
            (Artifact, "a"),
            (ToolResult, "b"),
        ];
        assert_eq!(place_all(&at_once), [(2, 0), (3, 2), (4, 1)]);
    }
}
