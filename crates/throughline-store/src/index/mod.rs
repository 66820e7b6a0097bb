//! The search index: terms by row, written together at the end of a transaction.
//!
//! FTS5 gathers new terms in memory, but writes them out whenever a statement in between could
//! fail half-way. Kept together they make one large segment instead of many small ones to merge,
//! which halves the cost of a sweep.

pub(crate) mod attributes;
pub(crate) mod digest_rows;
pub(crate) mod lookup;
pub(crate) mod pending_repair;
pub(crate) mod postings;
pub mod search;
pub(crate) mod signals;
pub(crate) mod snippet;
pub mod terms;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use memory::RecordKind;
use rusqlite::{Connection, Transaction, params};

use crate::error::{Error, Result};
use crate::index::attributes::RowAttributes;
use crate::index::pending_repair::IndexRepair;
use crate::index::terms::{IndexDocument, SCOPE};
use crate::ingest::writer::CommitMode;
use crate::records::sessions::{SessionRef, timestamp_from_millis};
use crate::texts::reader::{SCATTERED_BLOCKS, TEXT_COLUMNS, TextReader};
use crate::{Store, records};

/// More waiting terms than this are written before the end.
const PENDING_BYTES_MAX: usize = 32 << 20;

/// So few may go at once from the smallest index.
const IN_PLACE_DELETES_MIN: i64 = 20;
/// Rows for each row taken out, below which all pages are merged instead: to take one out at once costs about as
/// much as to merge a thousand.
const ROWS_PER_IN_PLACE_DELETE: i64 = 1000;

/// What waits to be written, by row: FTS5 gathers only what comes in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PendingIndex {
    changes: BTreeMap<i64, IndexChange>,
    size_bytes: usize,
}

#[derive(Debug, Default)]
struct IndexChange {
    /// Terms that the index holds and shall not.
    removed: Option<String>,
    added: Option<(String, RowAttributes)>,
}

/// A row on its way into the index.
#[derive(Debug)]
pub(crate) struct IndexRowEntry<'a> {
    pub row: i64,
    pub session: SessionRef,
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    /// How long the record's text is.
    pub size_bytes: usize,
    /// What [`Document::terms`] made of the record.
    pub terms: &'a str,
}

/// Leaves nothing in the index of rows that were taken out.
pub(crate) fn purge_deleted_terms(tx: &Transaction<'_>) -> Result<()> {
    match pending_repair::pending_repair(tx)? {
        None => Ok(()),
        Some(IndexRepair::Merge) => {
            fts_command(tx, "optimize")?;
            pending_repair::clear_repairs(tx)
        }
        Some(IndexRepair::Rebuild) => rebuild(tx, &|_, _| {}).map(drop),
    }
}

fn fts_command(tx: &Transaction<'_>, command: &str) -> Result<()> {
    tx.prepare_cached("INSERT INTO search (search) VALUES (?1)")?
        .execute([command])?;
    Ok(())
}

/// Lets FTS5 remove terms from its pages, or only note that they are gone.
fn set_secure_delete(tx: &Transaction<'_>, at_once: bool) -> Result<()> {
    tx.prepare_cached("INSERT INTO search (search, rank) VALUES ('secure-delete', ?1)")?
        .execute([at_once])?;
    Ok(())
}

/// Lets what is about to be taken out be merged away, when it is too much to go at once.
pub(crate) fn prepare_removal(tx: &Transaction<'_>, out: usize) -> Result<()> {
    if can_delete_in_place(tx, out)? {
        Ok(())
    } else {
        pending_repair::require_repair(tx, IndexRepair::Merge)
    }
}

/// Returns the question that every indexed row answers.
pub(crate) fn match_all_expression() -> String {
    let kind = |kind: &RecordKind| format!("\"{SCOPE}k{}\"", *kind as i64);
    let kinds: Vec<_> = RecordKind::ALL.iter().map(kind).collect();
    kinds.join(" OR ")
}

/// Says whether an indexed row holds a word, in whatever form.
pub(crate) fn contains_word(connection: &Connection, word: &str) -> Result<bool> {
    let mut all = Vec::new();
    terms::words(word, |word| all.push(terms::term(&word)));
    let mut statement =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM search WHERE search MATCH ?1)")?;
    for term in all {
        if statement.query_row([search::quote_term(&term)], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the rows that hold every word of a question as it was typed, and not only other forms
/// of it. Rows of digests are among them.
pub(crate) fn rows_with_all_words(connection: &Connection, question: &str) -> Result<Vec<i64>> {
    let Some((expression, words)) = search::all_words_expression(question) else {
        return Ok(Vec::new());
    };
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM search WHERE search MATCH ?1")?;
    let rows = statement.query_map([expression], |row| row.get(0))?;
    let rows = rows.collect::<Result<Vec<i64>, _>>()?;
    let mut found = Vec::new();
    for row in rows {
        if let Some(digest) = digest_rows::read_digest_row(connection, row)? {
            let text = digest.text.to_lowercase();
            found.extend(words.iter().all(|word| text.contains(word)).then_some(row));
        }
        for stored in records::rows_where_lossy(connection, "row = ?1", &[&row])? {
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

impl IndexRowEntry<'_> {
    /// Returns the row's terms with the scope's words, which let the index do the filtering.
    fn scoped_terms(&self) -> String {
        let SessionRef {
            id,
            workspace,
            flavor,
        } = self.session;
        let (kind, flavor) = (self.kind as i64, flavor.name().replace('-', ""));
        format!(
            "{} {SCOPE}w{workspace} {SCOPE}s{id} {SCOPE}k{kind} {SCOPE}f{flavor}",
            self.terms
        )
    }

    fn attributes(&self) -> RowAttributes {
        RowAttributes::new(self.session.id, self.at, self.kind, self.size_bytes)
    }
}

/// A sum by which terms are known again.
fn terms_checksum(terms: &str) -> u32 {
    let bytes = blake3::hash(terms.as_bytes());
    let bytes = bytes.as_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

impl PendingIndex {
    /// Adds a row.
    pub fn add(&mut self, tx: &Transaction<'_>, entry: &IndexRowEntry<'_>) -> Result<()> {
        let terms = entry.scoped_terms();
        self.size_bytes += terms.len();
        self.changes.entry(entry.row).or_default().added = Some((terms, entry.attributes()));
        self.flush_if_full(tx)
    }

    /// Says whether a row is in the index, or about to be.
    pub fn contains_row(&self, tx: &Transaction<'_>, row: i64) -> Result<bool> {
        match self.changes.get(&row) {
            Some(change) => Ok(change.added.is_some()),
            None => Ok(attributes::stored_checksum(tx, row)?.is_some()),
        }
    }

    /// Takes a row out that was added as this entry.
    pub fn remove(&mut self, tx: &Transaction<'_>, entry: &IndexRowEntry<'_>) -> Result<()> {
        if let Some(change) = self.changes.get_mut(&entry.row) {
            change.added = None;
            return Ok(());
        }
        let Some(known) = attributes::stored_checksum(tx, entry.row)? else {
            return Ok(());
        };
        let terms = entry.scoped_terms();
        if terms_checksum(&terms) != known {
            return self.remove_unknown(tx, entry.row);
        }
        self.size_bytes += terms.len();
        self.changes.entry(entry.row).or_default().removed = Some(terms);
        self.flush_if_full(tx)
    }

    /// Takes a row out whose terms nobody knows any more.
    pub fn remove_unknown(&mut self, tx: &Transaction<'_>, row: i64) -> Result<()> {
        let change = self.changes.entry(row).or_default();
        if change.added.take().is_none() {
            pending_repair::require_repair(tx, IndexRepair::Rebuild)?;
        }
        Ok(())
    }

    fn flush_if_full(&mut self, tx: &Transaction<'_>) -> Result<()> {
        if self.size_bytes > PENDING_BYTES_MAX {
            self.flush(tx)
        } else {
            Ok(())
        }
    }

    /// Writes what waits.
    pub fn flush(&mut self, tx: &Transaction<'_>) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.changes);
        self.size_bytes = 0;
        let trail = |change: &IndexChange| {
            let (terms, mark) = change.added.as_ref()?;
            Some((*mark, terms_checksum(terms)))
        };
        let trails = changes.iter().map(|(row, change)| (*row, trail(change)));
        attributes::write(tx, &trails.collect())?;
        let out = changes.values().filter(|change| change.removed.is_some());
        if can_delete_in_place(tx, out.count())? {
            return changes.iter().try_for_each(|(row, change)| {
                delete_terms(tx, *row, change)?;
                insert_terms(tx, *row, change)
            });
        }
        pending_repair::require_repair(tx, IndexRepair::Merge)?;
        set_secure_delete(tx, false)?;
        for (row, change) in &changes {
            delete_terms(tx, *row, change)?;
        }
        // FTS5 writes what it has gathered by the way that is set when it writes. And a row that goes and comes in
        // one writing must not be: without places it leaves an entry that `secure-delete` later garbles.
        tx.execute_batch("SAVEPOINT gathered; RELEASE gathered")?;
        set_secure_delete(tx, true)?;
        for (row, change) in &changes {
            insert_terms(tx, *row, change)?;
        }
        Ok(())
    }
}

fn can_delete_in_place(tx: &Transaction<'_>, out: usize) -> Result<bool> {
    if out == 0 {
        return Ok(true);
    }
    let latest: i64 = tx
        .prepare_cached("SELECT coalesce(max(page), 0) * 1024 FROM marks")?
        .query_row([], |row| row.get(0))?;
    let out = i64::try_from(out).unwrap_or(i64::MAX);
    let few = out.saturating_mul(ROWS_PER_IN_PLACE_DELETE)
        <= latest.max(IN_PLACE_DELETES_MIN * ROWS_PER_IN_PLACE_DELETE);
    Ok(few && pending_repair::pending_repair(tx)?.is_none())
}

fn delete_terms(tx: &Transaction<'_>, row: i64, change: &IndexChange) -> Result<()> {
    if let Some(terms) = &change.removed {
        let sql = "INSERT INTO search (search, rowid, terms) VALUES ('delete', ?1, ?2)";
        tx.prepare_cached(sql)?.execute(params![row, terms])?;
    }
    Ok(())
}

fn insert_terms(tx: &Transaction<'_>, row: i64, change: &IndexChange) -> Result<()> {
    if let Some((terms, _)) = &change.added {
        let sql = "INSERT INTO search (rowid, terms) VALUES (?1, ?2)";
        tx.prepare_cached(sql)?.execute(params![row, terms])?;
    }
    Ok(())
}

/// Called with how many records are indexed, and of how many.
pub type IndexProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl Store {
    /// Makes the search index anew from the rows, all of it or nothing.
    pub fn rebuild_index(&self, progress: IndexProgress) -> Result<u64> {
        self.writer()
            .submit(0, CommitMode::Immediate, move |tx, writer| {
                writer.index.flush(tx)?;
                rebuild(tx, &*progress)
            })
            .wait()
    }
}

/// Makes the index of a store whose rows were written for another one.
pub(crate) fn rebuild(tx: &Transaction<'_>, progress: &dyn Fn(u64, u64)) -> Result<u64> {
    fts_command(tx, "delete-all")?;
    tx.execute_batch("DELETE FROM marks")?;
    pending_repair::clear_repairs(tx)?;
    let total = tx.query_row("SELECT count(*) FROM records WHERE copy = 0", [], |row| {
        row.get(0)
    })?;
    let mut waiting = PendingIndex::default();
    let mut done = 0;
    each_index_entry(tx, |entry| {
        waiting.add(tx, entry)?;
        done += 1;
        if done % 1000 == 0 {
            progress(done, total);
        }
        Ok(())
    })?;
    digest_rows::index_all(tx, &mut waiting)?;
    waiting.flush(tx)?;
    fts_command(tx, "optimize")?;
    progress(done, total);
    Ok(done)
}

fn each_index_entry(
    connection: &Connection,
    mut each: impl FnMut(&IndexRowEntry<'_>) -> Result<()>,
) -> Result<()> {
    let sql = format!(
        "SELECT r.row, r.session, coalesce(s.workspace, 0), s.flavor, r.kind,
            coalesce(r.at, s.ended, s.started), r.tool, r.path,
            json_extract(r.metadata, '$.speaker'), {}
         FROM records r JOIN sessions s ON s.id = r.session WHERE r.copy = 0 ORDER BY r.row",
        TEXT_COLUMNS
    );
    let texts = TextReader::with_blocks(SCATTERED_BLOCKS);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(flavor) = memory::Flavor::from_name(&row.get::<_, String>(3)?) else {
            continue;
        };
        let text = match texts.read(connection, row, 9) {
            Err(error @ Error::MissingText(_)) => {
                // Nothing can be found in a text that cannot be read; the others still can.
                tracing::warn!(%error, "a record is left out of the search index");
                continue;
            }
            text => text?,
        };
        let (tool, path, speaker): (Option<String>, Option<String>, Option<String>) =
            (row.get(6)?, row.get(7)?, row.get(8)?);
        let kind = records::kind_from_number(row.get(4)?);
        let document = IndexDocument {
            kind,
            text: &text,
            tool: tool.as_deref(),
            path: path.as_deref(),
            speaker: speaker.as_deref(),
        };
        each(&IndexRowEntry {
            row: row.get(0)?,
            session: SessionRef {
                id: row.get(1)?,
                workspace: row.get(2)?,
                flavor,
            },
            kind,
            at: timestamp_from_millis(row.get(5)?),
            size_bytes: text.len(),
            terms: &document.terms(),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
