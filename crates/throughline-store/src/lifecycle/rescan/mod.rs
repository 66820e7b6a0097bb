//! Rescans: today's redaction rules applied to stored text.
//!
//! Newer rules may find a secret in a text that older rules left alone. The texts of a session are
//! scanned together, so that a value found in one is replaced in all; then its logs, then text that
//! belongs to no session. What changes is rewritten, and the traces of the old text are removed as
//! after forgetting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use memory::words::StemmedText;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Transaction, params, params_from_iter};
use serde::Serialize;

use crate::derived::{cards, summaries};
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::writer::WriterState;
use crate::lifecycle::forget::{Traces, traces};
use crate::query::query_all;
use crate::records::sessions::session_ref;
use crate::records::{REDACTION_VERSION, RecordRow};
use crate::texts::compression::{cell_text, compressed_cell};
use crate::texts::logs;
use crate::{Store, records};
use redact::{CheckedTexts, CleanString, Redactor, SessionSecrets};

/// Which stored texts are scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescanScope {
    /// Texts that were redacted by older rules.
    Outdated,
    All,
}

/// What a rescan found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RescanReport {
    pub looked_at: usize,
    pub changed: usize,
    /// The number of new redaction marks, by rule.
    pub marks: BTreeMap<String, usize>,
    pub traces: Traces,
}

/// How far a rescan has come, in sessions.
#[derive(Clone, Copy, Debug)]
pub struct RescanProgress {
    pub sessions: usize,
    pub sessions_total: usize,
}

impl Store {
    /// Counts what today's rules would change.
    pub fn preview_rescan(
        &self,
        which: RescanScope,
        progress: &dyn Fn(RescanProgress),
    ) -> Result<RescanReport> {
        let mut rescan = RescanReport::default();
        self.read(|connection| {
            let mut seen = SessionSecrets::default();
            let sessions = sessions_to_scan(connection, which)?;
            for (done, &session) in sessions.iter().enumerate() {
                progress(RescanProgress {
                    sessions: done,
                    sessions_total: sessions.len(),
                });
                let found = scan_session(connection, &self.redactor, session, which, &mut seen)?;
                rescan.add_findings(&found);
            }
            if which == RescanScope::All || rescan.looked_at > 0 {
                rescan.add_findings(&scan_other_text(connection, &self.redactor, &mut seen)?);
            }
            Ok(())
        })?;
        Ok(rescan)
    }

    /// Applies today's rules. Each session is one transaction, so that an interrupted rescan
    /// continues with the next one.
    pub fn rescan(
        &self,
        which: RescanScope,
        now: Timestamp,
        progress: &dyn Fn(RescanProgress),
    ) -> Result<RescanReport> {
        let mut rescan = RescanReport::default();
        let sessions = self.read(|connection| sessions_to_scan(connection, which))?;
        for (done, &session) in sessions.iter().enumerate() {
            progress(RescanProgress {
                sessions: done,
                sessions_total: sessions.len(),
            });
            let redactor = self.redactor_handle();
            let work = move |tx: &Transaction<'_>, writer: &mut WriterState| {
                let mut seen = SessionSecrets::default();
                let found = scan_session(tx, &redactor, session, which, &mut seen)?;
                apply_findings(tx, writer, session, &found, now)?;
                Ok(found)
            };
            rescan.add_findings(&self.write(work)?);
        }
        if which == RescanScope::All || rescan.looked_at > 0 {
            let redactor = self.redactor_handle();
            let work = move |tx: &Transaction<'_>, writer: &mut WriterState| {
                let found = scan_other_text(tx, &redactor, &mut SessionSecrets::default())?;
                apply_findings(tx, writer, 0, &found, now)?;
                writer.clear_ids();
                Ok(found)
            };
            rescan.add_findings(&self.write(work)?);
        }
        if rescan.changed > 0 {
            rescan.traces =
                traces::remove_traces(&self.path, self.key.as_ref(), traces::READER_WAIT)?.traces;
        }
        Ok(rescan)
    }
}

/// The texts that must be rewritten.
#[derive(Default)]
struct RescanFindings {
    looked_at: usize,
    texts: Vec<(RecordRow, CleanString)>,
    cells: Vec<ChangedCell>,
    /// Pieces of logs, with their new text.
    pieces: Vec<(logs::TextLocation, CleanString)>,
    /// The file of the session's summary, with its new text.
    summary_file: Option<(PathBuf, CleanString)>,
    marks: BTreeMap<String, usize>,
}

struct ChangedCell {
    column: &'static TextColumn,
    key: Value,
    text: CleanString,
    /// The text is stored compressed.
    is_compressed: bool,
}

/// A column that contains captured text.
struct TextColumn {
    table: &'static str,
    key: &'static str,
    column: &'static str,
}

const fn text_column(table: &'static str, key: &'static str, column: &'static str) -> TextColumn {
    TextColumn { table, key, column }
}

/// The columns of a session's own rows.
const RECORD_COLUMNS: &[TextColumn] = &[
    text_column("records", "row", "path"),
    text_column("records", "row", "metadata"),
    text_column("records", "row", "tags"),
    text_column("records", "row", "tool"),
    text_column("summaries", "session", "state"),
    text_column("checkpoints", "id", "data"),
];

/// The columns of rows that belong to no single session.
const OTHER_COLUMNS: &[TextColumn] = &[
    text_column("sessions", "id", "title"),
    text_column("sessions", "id", "cwd"),
    text_column("sessions", "id", "branch"),
    text_column("contexts", "id", "cwd"),
    text_column("contexts", "id", "branch"),
    text_column("sources", "id", "path"),
    text_column("sources", "id", "state"),
    text_column("session_marks", "session", "name"),
    text_column("session_marks", "session", "tags"),
    text_column("facts", "id", "text"),
    text_column("facts", "id", "tags"),
    text_column("digests", "session", "data"),
    text_column("digests", "session", "base"),
    text_column("events", "id", "figures"),
    text_column("signals", "id", "name"),
    text_column("signals", "id", "text"),
    text_column("context_cache", "id", "card"),
    text_column("context_cache", "id", "key"),
    text_column("archived_cards", "id", "card"),
    text_column("archived_cards", "id", "key"),
    text_column("capsules", "id", "name"),
    text_column("capsules", "id", "data"),
    text_column("patterns", "id", "name"),
    text_column("patterns", "id", "data"),
    text_column("review_log", "id", "why"),
    text_column("decision_queue", "id", "payload"),
    text_column("workspaces", "id", "key"),
    text_column("roots", "path", "path"),
];

fn sessions_to_scan(connection: &Connection, which: RescanScope) -> Result<Vec<i64>> {
    let sql = "SELECT DISTINCT session FROM records WHERE ?1 OR redaction < ?2 ORDER BY 1";
    let all = which == RescanScope::All;
    query_all(connection, sql, params![all, REDACTION_VERSION], |row| {
        row.get(0)
    })
}

/// Scans the records of a session, its summary and its logs. Values that are found are added to
/// `seen`.
fn scan_session(
    connection: &Connection,
    redactor: &Redactor,
    session: i64,
    which: RescanScope,
    seen: &mut SessionSecrets,
) -> Result<RescanFindings> {
    let records = records::rows_where(connection, "session = ?1", &[&session])?;
    let mut secrets = SessionSecrets::default();
    for stored in &records {
        redactor.collect_secrets(&stored.text, &mut secrets);
    }
    let mut scan = TextScan::new(connection, redactor, &mut secrets);
    let outdated = outdated_rows(connection, session, which)?;
    for stored in records {
        scan.found.looked_at += usize::from(outdated.contains(&stored.row));
        if let Some(clean) = scan.redacted(&stored.text) {
            scan.found.texts.push((stored, clean));
        }
    }
    for column in RECORD_COLUMNS {
        scan.scan_column(column, "session = ?1", Some(session))?;
    }
    let in_session = "source IN (SELECT source FROM source_sessions WHERE session = ?1)";
    scan.scan_log_pieces(in_session, Some(session))?;
    scan.scan_summary_file(session)?;
    let found = scan.found;
    for secret in secrets.new_values() {
        redactor.collect_secrets(&secret.value, seen);
    }
    Ok(found)
}

/// Scans text that belongs to no single session: paths, titles, facts, and logs without a session.
fn scan_other_text(
    connection: &Connection,
    redactor: &Redactor,
    seen: &mut SessionSecrets,
) -> Result<RescanFindings> {
    let mut scan = TextScan::new(connection, redactor, seen);
    for column in OTHER_COLUMNS {
        scan.scan_column(column, "1", None)?;
    }
    scan.scan_log_pieces("source NOT IN (SELECT source FROM source_sessions)", None)?;
    Ok(scan.found)
}

fn outdated_rows(
    connection: &Connection,
    session: i64,
    which: RescanScope,
) -> Result<BTreeSet<i64>> {
    let sql = "SELECT row FROM records WHERE session = ?1 AND (?2 OR redaction < ?3)";
    let all = which == RescanScope::All;
    query_all(
        connection,
        sql,
        params![session, all, REDACTION_VERSION],
        |row| row.get(0),
    )
}

/// A scan in progress: the secrets that it knows, and the texts that must be rewritten.
struct TextScan<'a> {
    connection: &'a Connection,
    redactor: &'a Redactor,
    secrets: &'a mut SessionSecrets,
    found: RescanFindings,
}

impl<'a> TextScan<'a> {
    fn new(
        connection: &'a Connection,
        redactor: &'a Redactor,
        secrets: &'a mut SessionSecrets,
    ) -> Self {
        Self {
            connection,
            redactor,
            secrets,
            found: RescanFindings::default(),
        }
    }

    /// Redacts a text, and returns the result if it differs.
    fn redacted(&mut self, text: &str) -> Option<CleanString> {
        let clean = self.redactor.clean_in_session(text, self.secrets);
        if !clean.is_changed() {
            return None;
        }
        self.found.count_new_marks(text, clean.as_str());
        Some(clean.into_owned())
    }

    /// Scans the cells of a column. `session` is the parameter of the condition, if it has one.
    fn scan_column(
        &mut self,
        column: &'static TextColumn,
        condition: &str,
        session: Option<i64>,
    ) -> Result<()> {
        let TextColumn {
            table,
            key,
            column: name,
        } = column;
        let sql = format!(
            "SELECT {key}, {name} FROM {table} WHERE {condition} AND {name} IS NOT NULL ORDER BY 1"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(session))?;
        while let Some(row) = rows.next()? {
            let cell = row.get_ref(1)?;
            let is_compressed = matches!(cell, ValueRef::Blob(_));
            let text = cell_text(cell).and_then(|text| self.redacted(&text));
            if let Some(text) = text {
                self.found.cells.push(ChangedCell {
                    column,
                    key: row.get(0)?,
                    text,
                    is_compressed,
                });
            }
        }
        Ok(())
    }

    fn scan_log_pieces(&mut self, condition: &str, session: Option<i64>) -> Result<()> {
        let sql = format!("SELECT DISTINCT body, block, start, length FROM raw WHERE {condition}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let locations: Vec<logs::TextLocation> = statement
            .query_map(params_from_iter(session), |row| {
                logs::TextLocation::from_row(row, 0)
            })?
            .collect::<Result<_, _>>()?;
        for location in locations {
            let Some(text) = logs::readable_text(self.connection, &location)? else {
                continue;
            };
            let clean =
                self.redactor
                    .clean_lines(&text, &CheckedTexts::default(), self.secrets, &mut []);
            if clean.as_str() != text {
                self.found.count_new_marks(&text, clean.as_str());
                self.found.pieces.push((location, clean));
            }
        }
        Ok(())
    }

    /// Scans the file of a session's summary.
    fn scan_summary_file(&mut self, session: i64) -> Result<()> {
        let name: String = self
            .connection
            .prepare_cached("SELECT name FROM sessions WHERE id = ?1")?
            .query_row([session], |row| row.get(0))?;
        let path = summaries::summary_path_beside(self.connection, &name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(());
        };
        if let Some(clean) = self.redacted(&text) {
            self.found.summary_file = Some((path, clean));
        }
        Ok(())
    }
}

fn apply_findings(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: i64,
    found: &RescanFindings,
    now: Timestamp,
) -> Result<()> {
    if found.changed_count() > 0 {
        traces::mark_pending(tx, now)?;
        cards::raise_generation(tx)?;
    }
    if let Some(known) = session_ref(tx, session)? {
        for (stored, text) in &found.texts {
            records::replace_record_text(tx, writer, known, stored, text)?;
        }
    }
    let digests = found.digest_sessions();
    for session in &digests {
        digest_rows::unindex(tx, writer, *session)?;
    }
    let indexed = found.indexed_rows();
    for row in &indexed {
        records::unindex_row(tx, writer, *row)?;
    }
    for ChangedCell {
        column: place,
        key,
        text,
        is_compressed,
    } in &found.cells
    {
        let TextColumn {
            table,
            key: name,
            column,
        } = place;
        // Redaction may make two keys equal; the first row keeps the key, and the other is
        // replaced.
        let sql = format!("UPDATE OR REPLACE {table} SET {column} = ?2 WHERE {name} = ?1");
        let mut update = tx.prepare_cached(&sql)?;
        if *is_compressed {
            update.execute(params![key, compressed_cell(text.as_str())])?;
        } else {
            update.execute(params![key, text.as_str()])?;
        }
        if (*table, *column) == ("facts", "text") {
            tx.prepare_cached("UPDATE facts SET words = ?2 WHERE id = ?1")?
                .execute(params![key, StemmedText::parse(text.as_str()).to_line()])?;
        }
    }
    if let Some((path, text)) = &found.summary_file {
        summaries::replace_summary_file(path, text.as_str())?;
    }
    for row in indexed {
        records::index_row(tx, writer, row)?;
    }
    for session in digests {
        digest_rows::index(tx, writer, session)?;
    }
    for (kept, text) in &found.pieces {
        if let Some(body) = logs::compress_text(text.as_str()) {
            logs::replace_text(tx, kept, &body)?;
        }
    }
    tx.prepare_cached("UPDATE records SET redaction = ?2 WHERE session = ?1")?
        .execute([session, REDACTION_VERSION])?;
    Ok(())
}

impl RescanFindings {
    fn changed_count(&self) -> usize {
        let notes = usize::from(self.summary_file.is_some());
        self.texts.len() + self.cells.len() + self.pieces.len() + notes
    }

    /// Returns the rows whose changed cells are also in the search index.
    fn indexed_rows(&self) -> BTreeSet<i64> {
        let cells = self.cells.iter();
        let of_records = cells.filter(|cell| cell.column.table == "records");
        let row = |cell: &ChangedCell| match cell.key {
            Value::Integer(row) => Some(row),
            _ => None,
        };
        of_records.filter_map(row).collect()
    }

    /// Returns the sessions whose title or digest changes.
    fn digest_sessions(&self) -> BTreeSet<i64> {
        let session =
            |cell: &ChangedCell| match (cell.column.table, cell.column.column, &cell.key) {
                ("sessions", "title", Value::Integer(id))
                | ("digests", "data", Value::Integer(id)) => Some(*id),
                _ => None,
            };
        self.cells.iter().filter_map(session).collect()
    }

    /// Counts the redaction marks that a text has gained.
    fn count_new_marks(&mut self, before: &str, after: &str) {
        let mut old = count_marks(before);
        for (rule, count) in count_marks(after) {
            let known = old.remove(rule).unwrap_or_default();
            if count > known {
                *self.marks.entry(rule.to_owned()).or_default() += count - known;
            }
        }
    }
}

impl RescanReport {
    fn add_findings(&mut self, found: &RescanFindings) {
        self.looked_at += found.looked_at;
        self.changed += found.changed_count();
        for (rule, count) in &found.marks {
            *self.marks.entry(rule.clone()).or_default() += count;
        }
    }
}

fn count_marks(text: &str) -> BTreeMap<&str, usize> {
    let mut marks = BTreeMap::new();
    for mark in text.split("[redacted:").skip(1) {
        if let Some((rule, _)) = mark.split_once(':') {
            *marks.entry(rule).or_default() += 1;
        }
    }
    marks
}

#[cfg(test)]
mod column_tests;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use memory::{Block, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch};

    use super::*;
    use crate::texts::blocks;
    use crate::texts::bodies;
    use crate::{Batch, BatchOrigin, Cursor, IncomingEntries, LogChunk, ParseIssues, ReadPhase};

    /// A secret that no rule recognised when the text was stored, simulated by a write past the
    /// sanitizer.
    #[test]
    fn what_older_rules_let_in_goes() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let session = SessionId::of(Flavor::Claude, "s");
        let secret = format!("ghp_{}", "aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xY3z4Q");
        let mut incoming = IncomingEntries::default();
        for n in 0..30 {
            let name = MessageId::new(format!("m{n}"));
            let mut message = Message::new(name, session.clone(), Role::User, Origin::Human);
            let text = format!("prompt {n} with PLACEHOLDER_OF_FORTY_CHARACTERS_IN_IT_42 in it");
            message.blocks = vec![Block::Text(text)];
            incoming
                .records
                .extend(memory::record::project_records(message));
        }
        incoming
            .sessions
            .push((SessionPatch::new(session, Flavor::Claude), None));
        let mut sanitizer = store.sanitizer();
        let cleaned = sanitizer.clean(incoming);
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new("/logs/a.jsonl"),
            cursor: Cursor::default(),
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: Some(LogChunk {
                offset: 0,
                size: 50,
                text: "{\"t\":\"PLACEHOLDER_OF_FORTY_CHARACTERS_IN_IT_42\"}\n".into(),
            }),
        };
        let ticket = store.append(Batch::new(&mut sanitizer, cleaned, from));
        store.flush().unwrap();
        ticket.wait().unwrap();
        plant(&store, "PLACEHOLDER_OF_FORTY_CHARACTERS_IN_IT_42", &secret);
        let now = Timestamp::from_second(1_767_700_000).unwrap();
        assert_eq!(
            store
                .rescan(RescanScope::Outdated, now, &|_| {})
                .unwrap()
                .looked_at,
            0
        );
        let survey = store.preview_rescan(RescanScope::All, &|_| {}).unwrap();
        assert!(holds(&store, &secret));
        let rescan = store.rescan(RescanScope::All, now, &|_| {}).unwrap();
        assert_eq!((rescan.looked_at, rescan.changed), (30, 31));
        assert_eq!(rescan.marks.get("github-token"), Some(&31), "{rescan:?}");
        assert_eq!(
            (survey.changed, survey.marks),
            (rescan.changed, rescan.marks)
        );
        assert!(!holds(&store, &secret));
        assert_eq!(store.health(true).unwrap().damaged, Some(0));
        assert_eq!(
            store
                .rescan(RescanScope::All, now, &|_| {})
                .unwrap()
                .changed,
            0
        );
    }

    /// Replaces a word by a secret in blocks, bodies, the index and the checksums.
    fn plant(store: &Store, word: &str, secret: &str) {
        let connection = Connection::open(store.path()).unwrap();
        connection
            .execute_batch("PRAGMA secure_delete = ON")
            .unwrap();
        let stored = records::rows_where(&connection, "1", &[]).unwrap();
        for row in stored {
            let text = row.text.replace(word, secret);
            let hash = blake3::hash(text.as_bytes());
            let sum = crate::ingest::sanitizer::record_checksum(row.id, hash.as_bytes());
            let sql = "UPDATE records SET content = ?2, block = NULL, start = NULL, size = ?3,
                checksum = ?4 WHERE row = ?1";
            connection
                .execute(sql, params![row.row, text, text.len(), sum])
                .unwrap();
            let sql = "INSERT INTO search (rowid, terms) VALUES (?1, ?2)";
            connection.execute(sql, params![row.row, text]).unwrap();
        }
        connection.execute("DELETE FROM blocks", []).unwrap();
        let hash: Vec<u8> = connection
            .query_row("SELECT body FROM raw", [], |row| row.get(0))
            .unwrap();
        let text = bodies::read_body(&connection, &hash)
            .unwrap()
            .replace(word, secret);
        let data = zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        connection
            .execute("UPDATE bodies SET data = ?1", [data])
            .unwrap();
    }

    fn holds(store: &Store, secret: &str) -> bool {
        let tail = secret[6..].to_ascii_lowercase();
        let within = |bytes: &[u8]| {
            memchr::memmem::find(&bytes.to_ascii_lowercase(), tail.as_bytes()).is_some()
        };
        let folder = store.path().parent().unwrap();
        let files = crate::lifecycle::forget::managed_files(folder).unwrap();
        let connection = Connection::open(store.path()).unwrap();
        let texts = |sql: &str| -> Vec<Vec<u8>> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.collect::<Result<_, _>>().unwrap()
        };
        files
            .iter()
            .any(|file| within(&std::fs::read(&file.path).unwrap()))
            || texts("SELECT hash FROM bodies")
                .iter()
                .any(|hash| within(bodies::read_body(&connection, hash).unwrap().as_bytes()))
            || texts("SELECT CAST(id AS BLOB) FROM blocks")
                .iter()
                .any(|id| {
                    let id = String::from_utf8(id.clone()).unwrap().parse().unwrap();
                    within(
                        blocks::read_whole_block(&connection, id)
                            .unwrap()
                            .as_bytes(),
                    )
                })
    }
}
