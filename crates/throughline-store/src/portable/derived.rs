//! Data that Throughline itself made besides facts and digests: notes on sessions, model calls,
//! injections.

use std::fs;

use jiff::Timestamp;
use memory::SessionMarks;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::line::{bytes, decode_hex, encode_hex};
use crate::columns::columns;
use crate::derived::summaries;
use crate::error::Result;
use crate::ingest::sanitizer::Sanitizer;
use crate::records::marks;
use crate::records::sessions::timestamp_from_millis;

/// The running notes on a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SummaryLine {
    pub session: String,
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    pub tokens: u64,
    pub tool_calls: u64,
    pub text: String,
}

/// What the user says about a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MarksLine {
    pub session: String,
    #[serde(flatten)]
    pub marks: SessionMarks,
}

/// A call of a model that Throughline made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CallLine {
    pub at: Timestamp,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub model: String,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    pub outcome: String,
}

/// An injection: text that was added to a model's context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InjectionLine {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    pub at: Timestamp,
    /// A keyed hash, in hexadecimal digits.
    pub prompt: String,
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<i64>,
    pub looked: i64,
    pub items: Vec<InjectedLine>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InjectedLine {
    pub kind: String,
    pub item: String,
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<i64>,
}

/// Reads the notes on a session. Notes whose file is missing are ignored.
pub(super) fn summary(
    connection: &Connection,
    session: i64,
    name: &str,
) -> Result<Option<SummaryLine>> {
    use summary_columns as column;
    let columns = column::SQL;
    let sql = format!("SELECT {columns} FROM summaries WHERE session = ?1 AND version > 0");
    let line = connection
        .prepare_cached(&sql)?
        .query_row([session], |row| {
            Ok(SummaryLine {
                session: name.to_owned(),
                version: row.get(column::version)?,
                way: row.get(column::way)?,
                made: timestamp_from_millis(row.get(column::made)?),
                last_message: row.get(column::last_message)?,
                tokens: row.get(column::tokens)?,
                tool_calls: row.get(column::tool_calls)?,
                text: String::new(),
            })
        })
        .optional()?;
    let path = summaries::summary_path_beside(connection, name);
    Ok(line.and_then(|line| {
        let text = fs::read_to_string(path).ok()?;
        Some(SummaryLine { text, ..line })
    }))
}

columns! {
    /// The state of a session's summary; its text is a file.
    mod summary_columns {
        version: "version",
        way: "way",
        made: "made",
        last_message: "last_message",
        tokens: "tokens",
        tool_calls: "tool_calls",
    }
}

/// Reads the marks of a session, if it has any.
pub(super) fn marks(
    connection: &Connection,
    session: i64,
    name: &str,
) -> Result<Option<MarksLine>> {
    let marks = marks::read_marks(connection, session)?;
    Ok((marks != SessionMarks::default()).then(|| MarksLine {
        session: name.to_owned(),
        marks,
    }))
}

pub(super) fn calls(connection: &Connection) -> Result<Vec<CallLine>> {
    use call_columns as column;
    let columns = column::SQL;
    let sql = format!(
        "SELECT {columns} FROM model_calls c LEFT JOIN sessions s ON s.id = c.session
         ORDER BY c.at, c.purpose, s.name, c.model, c.input, c.output, c.id"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        Ok(CallLine {
            at: timestamp_from_millis(row.get(column::at)?).unwrap_or_default(),
            purpose: row.get(column::purpose)?,
            session: row.get(column::session)?,
            model: row.get(column::model)?,
            input: row.get(column::input)?,
            output: row.get(column::output)?,
            cache_read: row.get(column::cache_read)?,
            cache_write: row.get(column::cache_write)?,
            usd: row.get(column::usd)?,
            outcome: row.get(column::outcome)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

columns! {
    /// A model call `c` for the session `s`.
    mod call_columns {
        at: "c.at",
        purpose: "c.purpose",
        session: "s.name",
        model: "c.model",
        input: "c.input",
        output: "c.output",
        cache_read: "c.cache_read",
        cache_write: "c.cache_write",
        usd: "c.usd",
        outcome: "c.outcome",
    }
}

pub(super) fn injections(connection: &Connection) -> Result<Vec<InjectionLine>> {
    use injection_columns as column;
    let columns = column::SQL;
    let sql = format!("SELECT {columns} FROM injections ORDER BY at, name, id");
    let items = "SELECT kind, item, tokens, used FROM injected WHERE injection = ?1
         ORDER BY position";
    let mut statement = connection.prepare(&sql)?;
    let mut items = connection.prepare(items)?;
    let rows = statement.query_map([], |row| {
        let items = items.query_map([row.get::<_, i64>(column::id)?], injected_line)?;
        Ok(InjectionLine {
            name: row.get(column::name)?,
            session: row.get(column::session)?,
            workspace: row.get(column::workspace)?,
            at: timestamp_from_millis(row.get(column::at)?).unwrap_or_default(),
            prompt: encode_hex(&row.get::<_, Vec<u8>>(column::prompt)?),
            tokens: row.get(column::tokens)?,
            verdict: row.get(column::verdict)?,
            looked: row.get(column::looked)?,
            items: items.collect::<Result<_, _>>()?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

columns! {
    mod injection_columns {
        id: "id",
        name: "name",
        session: "session",
        workspace: "workspace",
        at: "at",
        prompt: "prompt",
        tokens: "tokens",
        verdict: "verdict",
        looked: "looked",
    }
}

fn injected_line(row: &Row<'_>) -> rusqlite::Result<InjectedLine> {
    Ok(InjectedLine {
        kind: row.get(0)?,
        item: encode_hex(&row.get::<_, Vec<u8>>(1)?),
        tokens: row.get(2)?,
        used: row.get(3)?,
    })
}

/// Redacts every text of a line.
pub(super) trait CleanLine {
    fn clean(self, sanitizer: &Sanitizer<'_>) -> Self;
}

fn cleaned(sanitizer: &Sanitizer<'_>, text: &str) -> String {
    sanitizer.clean_text(text).as_str().to_owned()
}

impl CleanLine for SummaryLine {
    fn clean(self, sanitizer: &Sanitizer<'_>) -> Self {
        Self {
            session: cleaned(sanitizer, &self.session),
            way: self.way.map(|text| cleaned(sanitizer, &text)),
            last_message: self.last_message.map(|text| cleaned(sanitizer, &text)),
            text: cleaned(sanitizer, &self.text),
            ..self
        }
    }
}

impl CleanLine for MarksLine {
    fn clean(self, sanitizer: &Sanitizer<'_>) -> Self {
        let SessionMarks { name, tags, .. } = &self.marks;
        Self {
            session: cleaned(sanitizer, &self.session),
            marks: SessionMarks {
                name: name.as_ref().map(|text| cleaned(sanitizer, text)),
                tags: tags.iter().map(|text| cleaned(sanitizer, text)).collect(),
                ..self.marks
            },
        }
    }
}

impl CleanLine for CallLine {
    fn clean(self, sanitizer: &Sanitizer<'_>) -> Self {
        Self {
            purpose: cleaned(sanitizer, &self.purpose),
            session: self.session.map(|text| cleaned(sanitizer, &text)),
            model: cleaned(sanitizer, &self.model),
            outcome: cleaned(sanitizer, &self.outcome),
            ..self
        }
    }
}

impl CleanLine for InjectionLine {
    fn clean(self, sanitizer: &Sanitizer<'_>) -> Self {
        Self {
            name: cleaned(sanitizer, &self.name),
            session: self.session.map(|text| cleaned(sanitizer, &text)),
            workspace: self.workspace.map(|text| cleaned(sanitizer, &text)),
            ..self
        }
    }
}

/// Writes the notes on a session that has none.
pub(super) fn write_summary(tx: &Transaction<'_>, line: &SummaryLine) -> Result<()> {
    let sql = "INSERT INTO summaries (session, looked, version, way, made, last_message, tokens,
            tool_calls)
         SELECT id, 0, ?2, ?3, ?4, ?5, ?6, ?7 FROM sessions WHERE name = ?1
         ON CONFLICT (session) DO UPDATE SET version = excluded.version, way = excluded.way,
            made = excluded.made, last_message = excluded.last_message,
            tokens = excluded.tokens, tool_calls = excluded.tool_calls
         WHERE version = 0";
    let written = tx.prepare_cached(sql)?.execute(params![
        line.session,
        line.version,
        line.way,
        line.made.map(Timestamp::as_millisecond),
        line.last_message,
        line.tokens,
        line.tool_calls,
    ])?;
    if written > 0 {
        let path = summaries::summary_path_beside(tx, &line.session);
        summaries::replace_summary_file(&path, &line.text)?;
    }
    Ok(())
}

/// Writes the marks of a session that has none.
pub(super) fn write_marks(tx: &Transaction<'_>, line: &MarksLine) -> Result<()> {
    let sql = "SELECT s.id FROM sessions s WHERE s.name = ?1
        AND NOT EXISTS (SELECT 1 FROM session_marks m WHERE m.session = s.id)";
    let mut statement = tx.prepare_cached(sql)?;
    let unmarked: Option<i64> = statement
        .query_row([&line.session], |row| row.get(0))
        .optional()?;
    match unmarked {
        Some(session) => marks::write_marks(tx, session, &line.marks),
        None => Ok(()),
    }
}

/// Adds a call to the ledger unless it is there already.
pub(super) fn write_call(tx: &Transaction<'_>, line: &CallLine) -> Result<()> {
    let sql = "INSERT INTO model_calls (at, purpose, session, model, input, output, cache_read,
            cache_write, usd, outcome)
         SELECT ?1, ?2, (SELECT id FROM sessions WHERE name = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10
         WHERE NOT EXISTS (SELECT 1 FROM model_calls WHERE at = ?1 AND purpose = ?2
            AND model = ?4 AND input = ?5 AND output = ?6 AND outcome = ?10)";
    tx.prepare_cached(sql)?.execute(params![
        line.at.as_millisecond(),
        line.purpose,
        line.session,
        line.model,
        line.input,
        line.output,
        line.cache_read,
        line.cache_write,
        line.usd,
        line.outcome,
    ])?;
    Ok(())
}

/// Writes an injection unless it exists already.
pub(super) fn write_injection(tx: &Transaction<'_>, line: &InjectionLine) -> Result<()> {
    let sql =
        "INSERT INTO injections (name, session, workspace, at, prompt, tokens, verdict, looked)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
         WHERE NOT EXISTS (SELECT 1 FROM injections WHERE name = ?1 AND at = ?4)
         RETURNING id";
    let prompt = decode_hex(&line.prompt).unwrap_or_default();
    let written: Option<i64> = tx
        .prepare_cached(sql)?
        .query_row(
            params![
                line.name,
                line.session,
                line.workspace,
                line.at.as_millisecond(),
                prompt,
                line.tokens,
                line.verdict,
                line.looked,
            ],
            |row| row.get(0),
        )
        .optional()?;
    let Some(injection) = written else {
        return Ok(());
    };
    let sql = "INSERT INTO injected (injection, position, kind, item, tokens, used)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for (position, item) in line.items.iter().enumerate() {
        if let (Some(id), Ok(position)) = (bytes(&item.item), i64::try_from(position)) {
            tx.prepare_cached(sql)?.execute(params![
                injection, position, item.kind, id, item.tokens, item.used
            ])?;
        }
    }
    Ok(())
}
