//! The search index: texts by row, written together at the end of a transaction.
//!
//! FTS5 gathers new texts in memory, but writes them out whenever a statement in between could
//! fail half-way. Kept together they make one large segment instead of many small ones to merge,
//! which halves the cost of a sweep.

use memory::Kind;
use rusqlite::{Connection, Transaction, params};

use crate::error::Result;
use crate::sessions::Known;

/// More waiting text than this is written before the end.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// Texts that wait to be indexed.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    texts: Vec<Text>,
    size_bytes: usize,
}

#[derive(Debug)]
struct Text {
    row: i64,
    scope: String,
    text: String,
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

/// Says whether an indexed row holds a word.
pub(crate) fn holds(connection: &Connection, word: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM search WHERE search MATCH ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([format!("text : \"{word}\"")], |row| row.get(0))?)
}

/// Returns the rows that hold every word of a question.
pub(crate) fn rows_with_all(connection: &Connection, question: &str) -> Result<Vec<i64>> {
    let Some(expression) = crate::search::all_words(question) else {
        return Ok(Vec::new());
    };
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM search WHERE search MATCH ?1")?;
    let rows = statement.query_map([expression], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Waiting {
    /// Adds the text of a row. The scope's words let the index do the filtering.
    pub fn add(
        &mut self,
        tx: &Transaction<'_>,
        row: i64,
        session: Known,
        kind: Kind,
        text: &str,
    ) -> Result<()> {
        let Known {
            id,
            workspace,
            flavor,
        } = session;
        let scope = format!("w{workspace} s{id} k{} f{}", kind as i64, flavor.name());
        self.size_bytes += text.len();
        self.texts.push(Text {
            row,
            scope,
            text: text.to_owned(),
        });
        if self.size_bytes > WAITING_BYTES_MAX {
            self.write(tx)
        } else {
            Ok(())
        }
    }

    /// Takes a row out of the index.
    pub fn remove(&mut self, tx: &Transaction<'_>, row: i64) -> Result<()> {
        if let Some(at) = self.texts.iter().rposition(|text| text.row == row) {
            self.texts.remove(at);
            return Ok(());
        }
        tx.prepare_cached("DELETE FROM search WHERE rowid = ?1")?
            .execute([row])?;
        Ok(())
    }

    /// Writes what waits.
    pub fn write(&mut self, tx: &Transaction<'_>) -> Result<()> {
        let mut statement =
            tx.prepare_cached("INSERT INTO search (rowid, text, scope) VALUES (?1, ?2, ?3)")?;
        for Text { row, scope, text } in self.texts.drain(..) {
            statement.execute(params![row, text, scope])?;
        }
        self.size_bytes = 0;
        Ok(())
    }
}
