//! Steps: the records of a session without their texts, for questions about what came after what.

use jiff::Timestamp;
use memory::{Record, RecordId, RecordKind, SessionId};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;
use crate::records::{self, StoredRecord};
use crate::texts::reader::{TEXT_COLUMNS, TextReader};

/// How many steps of a session are read at most.
const STEPS_MAX: i64 = 100_000;
/// How many steps after a call its result is searched for; agents return results soon.
const RESULT_STEPS_MAX: i64 = 2_000;
/// How many steps before a call its prompt is searched for.
const BEFORE_STEPS_MAX: i64 = 20_000;

/// A record without its text, with its position in the session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionStep {
    pub id: RecordId,
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub call: Option<String>,
    pub exit_code: Option<i64>,
    #[serde(skip)]
    position: (i64, i64),
}

impl SessionStep {
    /// Says whether the call of this result succeeded.
    pub fn succeeded(&self) -> bool {
        memory::command::call_succeeded(self.kind == RecordKind::Error, self.exit_code)
    }

    /// Says whether a record of the same session comes after this step in the log.
    pub fn precedes(&self, record: &Record) -> bool {
        let line = i64::try_from(record.line).unwrap_or(i64::MAX);
        self.position < (line, i64::from(record.ordinal))
    }
}

impl Store {
    /// Returns the steps of a session in order.
    pub fn steps(&self, session: &SessionId) -> Result<Vec<SessionStep>> {
        let sql = select_steps("WHERE s.name = ?1 ORDER BY r.line, r.ordinal LIMIT ?2");
        self.read(|connection| query_steps(connection, &sql, params![session.as_str(), STEPS_MAX]))
    }

    /// Returns the last steps of a session in order, at most `limit`.
    pub fn last_steps(&self, session: &SessionId, limit: usize) -> Result<Vec<SessionStep>> {
        let sql = select_steps(
            "WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
             ORDER BY r.line DESC, r.ordinal DESC LIMIT ?2",
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut steps = self
            .read(|connection| query_steps(connection, &sql, params![session.as_str(), limit]))?;
        steps.reverse();
        Ok(steps)
    }

    /// Returns the step of a record.
    pub fn read_step(&self, id: RecordId) -> Result<Option<SessionStep>> {
        let sql = select_steps("WHERE r.id = ?1");
        self.read(|connection| Ok(query_steps(connection, &sql, params![id.as_bytes()])?.pop()))
    }

    /// Returns the call of a result.
    pub fn call_for_result(&self, answer: &SessionStep) -> Result<Option<SessionStep>> {
        let sql = select_steps(
            "WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
               AND (r.line, r.ordinal) < (?2, ?3) ORDER BY r.line DESC, r.ordinal DESC LIMIT ?4",
        );
        let sql = format!(
            "SELECT * FROM ({sql}) WHERE kind = {} AND call = ?5 LIMIT 1",
            RecordKind::ToolUse as i64
        );
        self.find_related_step(answer, &sql, RESULT_STEPS_MAX)
    }

    /// Returns the result of a call.
    pub fn result_of_call(&self, call: &SessionStep) -> Result<Option<SessionStep>> {
        let sql = select_steps(
            "WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
               AND (r.line, r.ordinal) > (?2, ?3) ORDER BY r.line, r.ordinal LIMIT ?4",
        );
        let (result, error) = (RecordKind::ToolResult as i64, RecordKind::Error as i64);
        let sql = format!(
            "SELECT * FROM ({sql}) WHERE kind IN ({result}, {error}) AND call = ?5 LIMIT 1"
        );
        self.find_related_step(call, &sql, RESULT_STEPS_MAX)
    }

    fn find_related_step(
        &self,
        step: &SessionStep,
        sql: &str,
        steps_max: i64,
    ) -> Result<Option<SessionStep>> {
        let Some(call) = &step.call else {
            return Ok(None);
        };
        let (line, ordinal) = step.position;
        self.read(|connection| {
            let session = step.session.as_str();
            let values = params![session, line, ordinal, steps_max, call];
            Ok(query_steps(connection, sql, values)?.pop())
        })
    }

    /// Returns the last record of a kind before a step.
    pub fn last_before(
        &self,
        step: &SessionStep,
        kind: RecordKind,
    ) -> Result<Option<StoredRecord>> {
        let sql = "SELECT id FROM (SELECT r.id, r.kind FROM records r
              WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
              AND (r.line, r.ordinal) < (?2, ?3) ORDER BY r.line DESC, r.ordinal DESC LIMIT ?4)
            WHERE kind = ?5 LIMIT 1";
        let (line, ordinal) = step.position;
        let found = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let session = step.session.as_str();
            let values = params![session, line, ordinal, BEFORE_STEPS_MAX, kind as i64];
            let mut rows = statement.query(values)?;
            match rows.next()? {
                Some(row) => Ok(Some(RecordId::from_bytes(row.get(0)?))),
                None => Ok(None),
            }
        })?;
        match found {
            Some(id) => self.read_record(id),
            None => Ok(None),
        }
    }

    /// Returns the texts of a session's last prompts and answers, the latest first.
    pub fn last_utterances(&self, session: &SessionId, limit: usize) -> Result<Vec<String>> {
        let text = TEXT_COLUMNS;
        let sql = format!(
            "SELECT {text} FROM records r
             WHERE r.session = (SELECT id FROM sessions WHERE name = ?1)
               AND r.kind IN (0, 1, 8) ORDER BY r.line DESC, r.ordinal DESC LIMIT ?2"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows = statement.query(params![session.as_str(), limit])?;
            let mut texts = Vec::new();
            while let Some(row) = rows.next()? {
                texts.push(TextReader::default().read(connection, row, 0)?);
            }
            Ok(texts)
        })
    }
}

columns! {
    /// The aliases of `kind` and `call` are used by the queries around this one.
    mod col {
        id: "r.id AS id",
        kind: "r.kind AS kind",
        at: "r.at AS at",
        session: "s.name AS session",
        tool: "r.tool AS tool",
        path: "r.path AS path",
        call: "r.call AS call",
        exit_code: "CAST(json_extract(r.metadata, '$.exit_code') AS TEXT) AS exit_code",
        line: "r.line AS line",
        ordinal: "r.ordinal AS ordinal",
    }
}

/// Returns the query for steps with a condition and an order.
fn select_steps(rest: &str) -> String {
    format!(
        "SELECT {} FROM records r JOIN sessions s ON s.id = r.session {rest}",
        col::SQL
    )
}

fn query_steps(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<SessionStep>> {
    query_all(connection, sql, values, read_step)
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<SessionStep> {
    let exit_code: Option<String> = row.get(col::exit_code)?;
    Ok(SessionStep {
        id: RecordId::from_bytes(row.get(col::id)?),
        kind: records::kind_from_number(row.get(col::kind)?),
        at: timestamp_from_millis(row.get(col::at)?),
        session: SessionId::new(row.get::<_, String>(col::session)?),
        tool: row.get(col::tool)?,
        path: row.get(col::path)?,
        call: row.get(col::call)?,
        exit_code: exit_code.and_then(|code| code.parse().ok()),
        position: (row.get(col::line)?, row.get(col::ordinal)?),
    })
}
