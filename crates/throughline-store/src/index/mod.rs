//! The search index: FTS5 terms per row, and looking rows up by them.
//!
//! This file writes the index. FTS5 collects new terms in memory, but flushes them whenever a
//! statement in between could fail half-way. [`PendingIndex`] therefore holds all changes until the
//! end of a transaction, so that they make one large segment instead of many small ones to merge,
//! which halves the cost of a sweep.
//!
//! [`terms`] turns texts and queries into terms, [`attributes`] stores eight bytes per row for
//! scoring, [`postings`] reads the lists of FTS5 directly into a [`row_set`], and [`lookup`] uses
//! these for a search. [`digest_rows`] indexes the digests of evicted sessions, and
//! [`pending_repair`] records when the index still holds deleted terms.

pub(crate) mod attributes;
pub(crate) mod digest_rows;
pub(crate) mod lookup;
pub(crate) mod pending_repair;
pub(crate) mod postings;
mod row_set;
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
use crate::records::SPEAKER_NAME;
use crate::records::sessions::{SessionRef, timestamp_from_millis};
use crate::texts::reader::{SCATTERED_BLOCKS, TEXT_COLUMNS, TextReader};
use crate::{Store, records};

/// Pending terms beyond this size are flushed before the end of the transaction.
const PENDING_BYTES_MAX: usize = 32 << 20;

/// This many rows are deleted in place even from the smallest index.
const IN_PLACE_DELETES_MIN: i64 = 20;
/// Deleting one row in place costs about as much as merging a thousand rows. With fewer rows per
/// deleted row than this, all segments are merged instead.
const ROWS_PER_IN_PLACE_DELETE: i64 = 1000;

/// Changes that wait to be written, by row: FTS5 only collects rows in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PendingIndex {
    changes: BTreeMap<i64, IndexChange>,
    size_bytes: usize,
}

#[derive(Debug, Default)]
struct IndexChange {
    /// The terms to remove from the index.
    removed: Option<String>,
    added: Option<(String, RowAttributes)>,
}

/// A row to be indexed.
#[derive(Debug)]
pub(crate) struct IndexRowEntry<'a> {
    pub row: i64,
    pub session: SessionRef,
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    /// The length of the record's text.
    pub size_bytes: usize,
    /// The result of [`IndexDocument::terms`].
    pub terms: &'a str,
}

/// Removes what is left in the index of deleted rows.
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

/// Makes FTS5 remove deleted terms from its pages, or only mark them as deleted.
fn set_secure_delete(tx: &Transaction<'_>, at_once: bool) -> Result<()> {
    tx.prepare_cached("INSERT INTO search (search, rank) VALUES ('secure-delete', ?1)")?
        .execute([at_once])?;
    Ok(())
}

/// Schedules a merge if more rows will be removed than can be deleted in place.
pub(crate) fn prepare_removal(tx: &Transaction<'_>, out: usize) -> Result<()> {
    if can_delete_in_place(tx, out)? {
        Ok(())
    } else {
        pending_repair::require_repair(tx, IndexRepair::Merge)
    }
}

/// Returns the FTS5 expression that every indexed row matches.
pub(crate) fn match_all_expression() -> String {
    let kind = |kind: &RecordKind| format!("\"{SCOPE}k{}\"", *kind as i64);
    let kinds: Vec<_> = RecordKind::ALL.iter().map(kind).collect();
    kinds.join(" OR ")
}

/// Says whether any indexed row contains a word in any form.
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

/// Returns the rows that contain every word of a query as it was typed, and not only other forms of
/// it. Rows of digests are included.
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
    /// Returns the terms of the row with the scope terms, by which FTS5 filters.
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

/// Returns a checksum that tells whether terms are those that a row was indexed with.
fn terms_checksum(terms: &str) -> u32 {
    let bytes = blake3::hash(terms.as_bytes());
    let bytes = bytes.as_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

impl PendingIndex {
    /// Adds a row.
    pub(crate) fn add(&mut self, tx: &Transaction<'_>, entry: &IndexRowEntry<'_>) -> Result<()> {
        let terms = entry.scoped_terms();
        self.size_bytes += terms.len();
        self.changes.entry(entry.row).or_default().added = Some((terms, entry.attributes()));
        self.flush_if_full(tx)
    }

    /// Says whether a row is indexed, or about to be.
    pub(crate) fn contains_row(&self, tx: &Transaction<'_>, row: i64) -> Result<bool> {
        match self.changes.get(&row) {
            Some(change) => Ok(change.added.is_some()),
            None => Ok(attributes::stored_checksum(tx, row)?.is_some()),
        }
    }

    /// Removes a row that was added as this entry.
    pub(crate) fn remove(&mut self, tx: &Transaction<'_>, entry: &IndexRowEntry<'_>) -> Result<()> {
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

    /// Removes a row whose indexed terms are no longer known.
    pub(crate) fn remove_unknown(&mut self, tx: &Transaction<'_>, row: i64) -> Result<()> {
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

    /// Writes the pending changes.
    pub(crate) fn flush(&mut self, tx: &Transaction<'_>) -> Result<()> {
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
        // FTS5 flushes its collected terms with the setting that is in force at that moment, so a
        // savepoint flushes the deletions first. Also, a row must not be deleted and inserted in
        // one flush: without column positions that leaves an entry which `secure-delete` later
        // corrupts.
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

/// Called with the number of indexed records, and their total.
pub type IndexProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl Store {
    /// Rebuilds the search index from the tables, in one transaction.
    pub fn rebuild_index(&self, progress: IndexProgress) -> Result<u64> {
        self.writer()
            .submit(0, CommitMode::Immediate, move |tx, writer| {
                writer.index.flush(tx)?;
                rebuild(tx, &*progress)
            })
            .wait()
    }
}

/// Rebuilds the index of a store whose rows were indexed in another format, or not at all.
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
            {SPEAKER_NAME}, r.tags, {TEXT_COLUMNS}
         FROM records r JOIN sessions s ON s.id = r.session WHERE r.copy = 0 ORDER BY r.row"
    );
    let texts = TextReader::with_blocks(SCATTERED_BLOCKS);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(flavor) = memory::Flavor::from_name(&row.get::<_, String>(3)?) else {
            continue;
        };
        let text = match texts.read(connection, row, 10) {
            Err(error @ Error::MissingText(_)) => {
                // A record with an unreadable text cannot be indexed, and must not stop the others.
                tracing::warn!(%error, "cannot index a record with an unreadable text");
                continue;
            }
            text => text?,
        };
        let (tool, path): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
        let (speaker, tags): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
        let kind = records::kind_from_number(row.get(4)?);
        let document = IndexDocument {
            kind,
            text: &text,
            tool: tool.as_deref(),
            path: path.as_deref(),
            speaker: speaker.as_deref(),
            tags: tags.as_deref(),
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
