//! Export: sessions by name, each with its records, then logs and facts.

use std::io::Write;

use jiff::Timestamp;
use memory::{RecordId, SessionId};
use rusqlite::{Connection, params};

use super::line::{
    DigestLine, EXPORT_FORMAT, ExportLine, FactLine, LogLine, SessionLine, SourceLine,
    WorkspaceLine, encode_hex,
};
use super::rows::{
    eviction_columns, eviction_line, fact_line, record_columns, record_line, session_columns,
    session_line, usage_columns, usage_line,
};
use super::{derived, signature};
use crate::Store;
use crate::derived::facts::{FACTS, fact_columns};
use crate::derived::signals;
use crate::error::{Error, Result};
use crate::records::sessions::timestamp_from_millis;
use crate::salvage::verify::DamagedTexts;
use crate::texts::reader::TextReader;
use redact::Redactor;

/// What to export. The default exports everything.
#[derive(Clone, Debug, Default)]
pub struct ExportFilter {
    /// Records from this time on, and the sessions that have some.
    pub since: Option<Timestamp>,
    /// A part of the workspace's key or root.
    pub workspace: Option<String>,
    pub session: Option<SessionId>,
    /// Whether the agents' own logs are left out.
    pub without_logs: bool,
}

/// The report of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ExportReport {
    pub sessions: usize,
    pub records: usize,
    pub facts: usize,
    /// Records that were left out because their stored text is damaged.
    pub damaged: DamagedTexts,
}

impl Store {
    /// Writes a consistent snapshot of what the filter selects as JSON Lines. `progress` is called
    /// with the number of sessions written and their total.
    pub fn export(
        &self,
        filter: &ExportFilter,
        out: &mut dyn Write,
        progress: &dyn Fn(usize, usize),
    ) -> Result<ExportReport> {
        self.read(|connection| {
            // One read transaction, so that records, digests and facts belong to the same moment
            // although the store is written meanwhile.
            let snapshot = connection.unchecked_transaction()?;
            let mut export = Exporter {
                connection: &snapshot,
                redactor: self.redactor(),
                filter,
                out,
                exported: ExportReport::default(),
            };
            export.run(progress)?;
            Ok(export.exported)
        })
    }
}

struct Exporter<'a> {
    connection: &'a Connection,
    /// Signs the lines, so that this store recognises them.
    redactor: &'a Redactor,
    filter: &'a ExportFilter,
    out: &'a mut dyn Write,
    exported: ExportReport,
}

impl Exporter<'_> {
    fn run(&mut self, progress: &dyn Fn(usize, usize)) -> Result<()> {
        self.write(&ExportLine::Export {
            format: EXPORT_FORMAT,
        })?;
        let sessions = self.sessions()?;
        self.workspaces(&sessions)?;
        let total = sessions.len();
        for (done, (number, line)) in (1..).zip(&sessions) {
            self.write(&ExportLine::Session(line.clone()))?;
            self.sources(*number, line)?;
            self.records(*number)?;
            self.usage(*number)?;
            self.eviction(*number, line)?;
            self.digest(*number, line)?;
            if let Some(summary) = derived::summary(self.connection, *number, &line.id)? {
                self.write(&ExportLine::Summary(summary))?;
            }
            if let Some(marks) = derived::marks(self.connection, *number, &line.id)? {
                self.write(&ExportLine::Marks(marks))?;
            }
            self.exported.sessions += usize::from(self.has_records(*number)?);
            progress(done, total);
        }
        if !self.filter.without_logs {
            self.logs(&sessions)?;
        }
        self.facts(&sessions)?;
        self.calls_and_injections(&sessions)?;
        self.out.flush().map_err(write_error)
    }

    fn write(&mut self, line: &ExportLine) -> Result<()> {
        let mut text = serde_json::to_vec(line).map_err(|error| write_error(error.into()))?;
        if line.is_signed() {
            signature::append(self.redactor, &mut text);
        }
        text.push(b'\n');
        self.out.write_all(&text).map_err(write_error)
    }

    /// Returns the row ids of the selected sessions. They fit into memory.
    fn sessions(&self) -> Result<Vec<(i64, SessionLine)>> {
        let columns = session_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace
             WHERE (?1 IS NULL OR instr(w.key, ?1) OR EXISTS
                (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, ?1)))
               AND (?2 IS NULL OR s.name = ?2)
               AND (?3 IS NULL OR coalesce(s.ended, s.started) >= ?3)
             ORDER BY s.name"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(
            params![
                self.filter.workspace,
                self.filter.session.as_ref().map(SessionId::as_str),
                self.since(),
            ],
            session_line,
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Says whether a session has records, as lists and reports count sessions. Of others only the
    /// id is known, for example of a subagent's parent.
    fn has_records(&self, session: i64) -> Result<bool> {
        let sql = "SELECT records > 0 FROM sessions WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([session], |row| row.get(0))?)
    }

    fn since(&self) -> Option<i64> {
        self.filter.since.map(Timestamp::as_millisecond)
    }

    /// Returns whether the filter selects everything.
    fn is_whole(&self) -> bool {
        let filter = self.filter;
        filter.workspace.is_none() && filter.session.is_none() && filter.since.is_none()
    }

    fn workspaces(&mut self, sessions: &[(i64, SessionLine)]) -> Result<()> {
        let mut statement = self
            .connection
            .prepare("SELECT id, key FROM workspaces ORDER BY key")?;
        let mut roots = self
            .connection
            .prepare("SELECT path FROM roots WHERE workspace = ?1 ORDER BY path")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let key: String = row.get(1)?;
            let used = |line: &SessionLine| line.workspace.as_deref() == Some(&key);
            if !self.is_whole() && !sessions.iter().any(|(_, line)| used(line)) {
                continue;
            }
            let paths = roots.query_map([row.get::<_, i64>(0)?], |row| row.get(0))?;
            let roots = paths.collect::<Result<_, _>>()?;
            self.write(&ExportLine::Workspace(WorkspaceLine { key, roots }))?;
        }
        Ok(())
    }

    fn sources(&mut self, session: i64, line: &SessionLine) -> Result<()> {
        let sql = "SELECT DISTINCT f.path FROM source_sessions x JOIN sources f ON f.id = x.source
             WHERE x.session = ?1 ORDER BY 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let line = SourceLine {
                session: line.id.clone(),
                path: row.get(0)?,
            };
            self.write(&ExportLine::Source(line))?;
        }
        Ok(())
    }

    fn records(&mut self, session: i64) -> Result<()> {
        let columns = record_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM records r JOIN sessions s ON s.id = r.session
             LEFT JOIN contexts c ON c.id = r.context
             WHERE r.session = ?1
               AND (?2 IS NULL OR coalesce(r.at, s.started) >= ?2)
             ORDER BY r.line, r.ordinal, r.id"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![session, self.since()])?;
        let texts = TextReader::default();
        while let Some(row) = rows.next()? {
            let id = RecordId::from_bytes(row.get(record_columns::id)?);
            let checksum = row.get(record_columns::checksum)?;
            let first = record_columns::content;
            match texts.read_verified(self.connection, row, first, id, checksum) {
                Ok(text) => {
                    self.write(&ExportLine::Record(record_line(row, text)?))?;
                    self.exported.records += 1;
                }
                // One damaged text must not cost the rest of the export; the report names it.
                Err(Error::ChecksumMismatch(_) | Error::MissingText(_)) => {
                    self.exported.damaged.add(format!("record {id}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn usage(&mut self, session: i64) -> Result<()> {
        let columns = usage_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM usage u JOIN sessions s ON s.id = u.session
             WHERE u.session = ?1 AND (?2 IS NULL OR coalesce(u.at, s.started) >= ?2)
             ORDER BY u.at, u.key"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![session, self.since()])?;
        while let Some(row) = rows.next()? {
            self.write(&ExportLine::Usage(usage_line(row)?))?;
        }
        Ok(())
    }

    fn eviction(&mut self, session: i64, of: &SessionLine) -> Result<()> {
        let columns = eviction_columns::SQL;
        let sql = format!("SELECT {columns} FROM evictions WHERE session = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let line = eviction_line(&of.id, row)?;
            self.write(&ExportLine::Eviction(line))?;
        }
        Ok(())
    }

    /// Writes the session's digest when it is up to date.
    fn digest(&mut self, session: i64, of: &SessionLine) -> Result<()> {
        let sql = "SELECT d.made, d.data, d.base FROM digests d JOIN sessions s ON s.id = d.session
             WHERE d.session = ?1 AND d.revision = s.revision";
        let read = |json: String| serde_json::from_str(&json).ok();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let Some(digest) = read(row.get(1)?) else {
                continue;
            };
            let line = DigestLine {
                session: of.id.clone(),
                made: timestamp_from_millis(row.get(0)?).unwrap_or_default(),
                digest,
                base: row.get::<_, Option<String>>(2)?.and_then(read),
                signals: signals::signals_where(self.connection, session, "NOT evicted")?,
                base_signals: signals::signals_where(self.connection, session, "evicted")?,
            };
            self.write(&ExportLine::Digest(line))?;
        }
        Ok(())
    }

    /// Writes the logs that the sessions were read from. A log that is known at one path from a
    /// sweep and from an import is written once, the longer one.
    fn logs(&mut self, sessions: &[(i64, SessionLine)]) -> Result<()> {
        let sql = "SELECT f.id, f.generation, f.flavor, f.path, max(r.held) FROM sources f
             JOIN (SELECT source, generation, sum(size) AS held FROM raw GROUP BY 1, 2) r
               ON r.source = f.id AND r.generation <= f.generation
             GROUP BY f.flavor, f.path ORDER BY f.flavor, f.path";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (source, generation) = (row.get(0)?, row.get(1)?);
            if self.is_whole() || self.is_source_of(source, sessions)? {
                let (flavor, path): (String, String) = (row.get(2)?, row.get(3)?);
                self.log(&flavor, &path, source, generation)?;
            }
        }
        Ok(())
    }

    fn is_source_of(&self, source: i64, sessions: &[(i64, SessionLine)]) -> Result<bool> {
        let sql = "SELECT session FROM source_sessions WHERE source = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([source])?;
        while let Some(row) = rows.next()? {
            let session: i64 = row.get(0)?;
            if sessions.iter().any(|(number, _)| *number == session) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes a log and its stored earlier generations.
    fn log(&mut self, flavor: &str, path: &str, source: i64, generation: i64) -> Result<()> {
        let sql = "SELECT offset, size, body, block, start, length, hash, ?2 - generation FROM raw
             WHERE source = ?1 AND generation <= ?2 ORDER BY generation DESC, offset";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([source, generation])?;
        let texts = TextReader::default();
        while let Some(row) = rows.next()? {
            let offset = row.get(0)?;
            let text = match texts.read_piece(self.connection, row, 2) {
                Ok(text) => text,
                Err(Error::MissingText(_)) => {
                    let what = format!("log {path} from byte {offset}");
                    self.exported.damaged.add(what);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let line = LogLine {
                flavor: flavor.to_owned(),
                path: path.to_owned(),
                offset,
                size: row.get(1)?,
                earlier: row.get(7)?,
                text,
            };
            self.write(&ExportLine::Log(line))?;
        }
        Ok(())
    }

    /// Writes facts: all of them, or those of the selected workspaces.
    fn facts(&mut self, sessions: &[(i64, SessionLine)]) -> Result<()> {
        let columns = fact_columns::SQL;
        let sql = format!("SELECT {columns} FROM {FACTS} ORDER BY f.id");
        let mut statement = self.connection.prepare(&sql)?;
        let mut sources = self.connection.prepare(
            "SELECT x.record, s.name FROM fact_sources x JOIN sessions s ON s.id = x.session
             WHERE x.fact = ?1 ORDER BY x.record",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: Vec<u8> = row.get(fact_columns::id)?;
            let mut line = fact_line(row)?;
            let sources = sources.query_map([&id], |row| {
                Ok((encode_hex(&row.get::<_, Vec<u8>>(0)?), row.get(1)?))
            })?;
            line.sources = sources.collect::<Result<_, _>>()?;
            if !self.is_whole() && !self.selects_fact(&line, sessions) {
                continue;
            }
            self.write(&ExportLine::Fact(line))?;
            self.exported.facts += 1;
        }
        Ok(())
    }

    /// Writes model calls and injections: all of them, or those of the selected sessions.
    fn calls_and_injections(&mut self, sessions: &[(i64, SessionLine)]) -> Result<()> {
        let of = |name: Option<&String>| sessions.iter().any(|(_, line)| Some(&line.id) == name);
        let whole = self.is_whole();
        for call in derived::calls(self.connection)? {
            if whole || of(call.session.as_ref()) {
                self.write(&ExportLine::Call(call))?;
            }
        }
        for injection in derived::injections(self.connection)? {
            if whole || of(injection.session.as_ref()) {
                self.write(&ExportLine::Injection(injection))?;
            }
        }
        Ok(())
    }

    fn selects_fact(&self, fact: &FactLine, sessions: &[(i64, SessionLine)]) -> bool {
        let of = |name: &String| sessions.iter().any(|(_, line)| line.id == *name);
        let in_workspace = |key: &String| {
            let here = |line: &SessionLine| line.workspace.as_ref() == Some(key);
            sessions.iter().any(|(_, line)| here(line))
        };
        let recent = self.filter.since.is_none_or(|since| fact.seen >= since);
        match &self.filter.session {
            Some(_) => fact.sources.iter().any(|(_, session)| of(session)),
            None => recent && fact.workspace.as_ref().is_none_or(in_workspace),
        }
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::Export(std::sync::Arc::new(error))
}
