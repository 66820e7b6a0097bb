//! The search index: terms by row, written together at the end of a transaction.
//!
//! FTS5 gathers new terms in memory, but writes them out whenever a statement in between could
//! fail half-way. Kept together they make one large segment instead of many small ones to merge,
//! which halves the cost of a sweep.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use memory::Kind;
use rusqlite::{Connection, Transaction, params};

use crate::error::Result;
use crate::marks::{self, Mark};
use crate::sessions::{Known, timestamp};
use crate::terms::{Document, SCOPE};
use crate::writer::Hurry;
use crate::{Store, blocks, records, terms};

/// The full-text tables: what must be rebuilt, and cleaned of what is forgotten.
pub const TABLES: &[&str] = &["search"];

/// More waiting terms than this are written before the end.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// Terms that wait to be indexed.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    entries: Vec<(i64, String)>,
    marks: BTreeMap<i64, Option<Mark>>,
    size_bytes: usize,
}

/// A row on its way into the index.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub row: i64,
    pub session: Known,
    pub kind: Kind,
    pub at: Option<Timestamp>,
    /// How long the record's text is.
    pub size_bytes: usize,
    /// What [`Document::terms`] made of the record.
    pub terms: &'a str,
}

/// Merges the segments of every full-text table into one, so that nothing is left of deleted rows.
/// A table that takes deleted terms out at once has nothing left.
pub(crate) fn purge(tx: &Transaction<'_>) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'
         AND sql NOT LIKE '%fts5vocab%'",
    )?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        let name = name?;
        if deletes_at_once(tx, &name)? {
            continue;
        }
        tx.execute(
            &format!("INSERT INTO {name} ({name}) VALUES ('optimize')"),
            [],
        )?;
    }
    Ok(())
}

/// Says whether a full-text table is set to `secure-delete`, which works where the terms of a row are
/// told when it is deleted; a `contentless_delete` table is not told them.
fn deletes_at_once(tx: &Transaction<'_>, table: &str) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM {table}_config WHERE k = 'secure-delete' AND v = 1)
         AND NOT EXISTS (SELECT 1 FROM sqlite_schema
            WHERE name = ?1 AND sql LIKE '%contentless!_delete%' ESCAPE '!')"
    );
    Ok(tx.query_row(&sql, [table], |row| row.get(0))?)
}

/// Says whether an indexed row holds a word, in whatever form.
pub(crate) fn holds(connection: &Connection, word: &str) -> Result<bool> {
    let mut all = Vec::new();
    terms::words(word, |word| all.push(terms::term(&word)));
    let mut statement =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM search WHERE search MATCH ?1)")?;
    for term in all {
        if statement.query_row([crate::search::quote(&term)], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the rows that hold every word of a question as it was typed, and not only other forms of it.
pub(crate) fn rows_with_all(connection: &Connection, question: &str) -> Result<Vec<i64>> {
    let Some((expression, words)) = crate::search::all_words(question) else {
        return Ok(Vec::new());
    };
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM search WHERE search MATCH ?1")?;
    let rows = statement.query_map([expression], |row| row.get(0))?;
    let rows = rows.collect::<Result<Vec<i64>, _>>()?;
    let mut found = Vec::new();
    for row in rows {
        for stored in records::rows_of(connection, "row = ?1", &[&row])? {
            let around = [stored.path.as_deref(), stored.tool.as_deref()];
            let text = around
                .into_iter()
                .flatten()
                .fold(stored.text, |text, part| text + "\n" + part);
            let text = text.to_lowercase();
            if words.iter().all(|word| text.contains(word)) {
                found.push(row);
            }
        }
    }
    Ok(found)
}

impl Waiting {
    /// Adds a row. The scope's words let the index do the filtering.
    pub fn add(&mut self, tx: &Transaction<'_>, entry: &Entry<'_>) -> Result<()> {
        let Known {
            id,
            workspace,
            flavor,
        } = entry.session;
        let (kind, flavor) = (entry.kind as i64, flavor.name().replace('-', ""));
        let terms = format!(
            "{} {SCOPE}w{workspace} {SCOPE}s{id} {SCOPE}k{kind} {SCOPE}f{flavor}",
            entry.terms
        );
        self.size_bytes += terms.len();
        self.entries.push((entry.row, terms));
        let mark = Mark::new(id, entry.at, entry.kind, entry.size_bytes);
        self.marks.insert(entry.row, Some(mark));
        if self.size_bytes > WAITING_BYTES_MAX {
            self.write(tx)
        } else {
            Ok(())
        }
    }

    /// Takes a row out of the index.
    pub fn remove(&mut self, tx: &Transaction<'_>, row: i64) -> Result<()> {
        self.marks.insert(row, None);
        if let Some(at) = self.entries.iter().rposition(|entry| entry.0 == row) {
            self.entries.remove(at);
            return Ok(());
        }
        tx.prepare_cached("DELETE FROM search WHERE rowid = ?1")?
            .execute([row])?;
        Ok(())
    }

    /// Writes what waits.
    pub fn write(&mut self, tx: &Transaction<'_>) -> Result<()> {
        marks::write(tx, &std::mem::take(&mut self.marks))?;
        let mut statement =
            tx.prepare_cached("INSERT INTO search (rowid, terms) VALUES (?1, ?2)")?;
        for (row, terms) in self.entries.drain(..) {
            statement.execute(params![row, terms])?;
        }
        self.size_bytes = 0;
        Ok(())
    }
}

/// Called with how many records are indexed, and of how many.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl Store {
    /// Makes the search index anew from the rows, all of it or nothing.
    pub fn rebuild_index(&self, progress: Progress) -> Result<u64> {
        self.writer()
            .submit(0, Hurry::Now, move |tx, names| {
                names.index.write(tx)?;
                rebuild(tx, &*progress)
            })
            .wait()
    }
}

/// Makes the index of a store whose rows were written for another one.
pub(crate) fn rebuild(tx: &Transaction<'_>, progress: &dyn Fn(u64, u64)) -> Result<u64> {
    for table in TABLES {
        tx.execute_batch(&format!(
            "INSERT INTO {table} ({table}) VALUES ('delete-all')"
        ))?;
    }
    tx.execute_batch("DELETE FROM marks")?;
    let total = tx.query_row("SELECT count(*) FROM records WHERE copy = 0", [], |row| {
        row.get(0)
    })?;
    let mut waiting = Waiting::default();
    let mut done = 0;
    each_row(tx, |entry| {
        waiting.add(tx, entry)?;
        done += 1;
        if done % 1000 == 0 {
            progress(done, total);
        }
        Ok(())
    })?;
    waiting.write(tx)?;
    for table in TABLES {
        tx.execute_batch(&format!(
            "INSERT INTO {table} ({table}) VALUES ('optimize')"
        ))?;
    }
    progress(done, total);
    Ok(done)
}

fn each_row(connection: &Connection, mut each: impl FnMut(&Entry<'_>) -> Result<()>) -> Result<()> {
    let sql = format!(
        "SELECT r.row, r.session, coalesce(s.workspace, 0), s.flavor, r.kind, r.at, r.tool, r.path,
            json_extract(r.metadata, '$.speaker'), {}
         FROM records r JOIN sessions s ON s.id = r.session WHERE r.copy = 0 ORDER BY r.row",
        records::TEXT
    );
    let cache = blocks::Cache::default();
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(flavor) = memory::Flavor::from_name(&row.get::<_, String>(3)?) else {
            continue;
        };
        let text = records::text_cached(connection, row, 9, &cache)?;
        let (tool, path, speaker): (Option<String>, Option<String>, Option<String>) =
            (row.get(6)?, row.get(7)?, row.get(8)?);
        let kind = records::kind(row.get(4)?);
        let document = Document {
            kind,
            text: &text,
            tool: tool.as_deref(),
            path: path.as_deref(),
            speaker: speaker.as_deref(),
        };
        each(&Entry {
            row: row.get(0)?,
            session: Known {
                id: row.get(1)?,
                workspace: row.get(2)?,
                flavor,
            },
            kind,
            at: timestamp(row.get(5)?),
            size_bytes: text.len(),
            terms: &document.terms(),
        })?;
    }
    Ok(())
}
