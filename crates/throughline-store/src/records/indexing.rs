//! The rows of records in the search index.
//!
//! A row leaves the index with the terms that it entered with, so every change of a text, a session
//! or a workspace removes the row first and adds it again afterwards.

use rusqlite::Transaction;

use super::rows::{RecordRow, rows_where, rows_where_lossy};
use super::sessions::{SessionRef, last_active, session_ref};
use crate::error::{Error, Result};
use crate::index::digest_rows;
use crate::ingest::writer::WriterState;

/// Indexes the records of a session again after its workspace became known or changed.
pub(crate) fn reindex_records(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    before: SessionRef,
    session: SessionRef,
) -> Result<()> {
    for stored in rows_where_lossy(tx, "session = ?1 AND copy = 0", &[&session.id])? {
        if stored.is_lost {
            writer.index.remove_unknown(tx, stored.row)?;
            continue;
        }
        remove_from_index_as(tx, writer, before, &stored)?;
        add_to_index(tx, writer, session, &stored, &stored.text)?;
    }
    if digest_rows::unindex_as(tx, writer, before)? {
        digest_rows::index(tx, writer, session.id)?;
    }
    Ok(())
}

/// Indexes the records of a session again that was in another workspace, or in none.
pub(crate) fn reindex_session(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: i64,
    workspace_before: i64,
) -> Result<()> {
    let Some(known) = session_ref(tx, session)? else {
        return Ok(());
    };
    let before = SessionRef {
        workspace: workspace_before,
        ..known
    };
    reindex_records(tx, writer, before, known)
}

/// Removes a row from the index. The record must not have changed since it was indexed.
pub(crate) fn unindex_row(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    if !writer.index.contains_row(tx, row)? {
        return Ok(());
    }
    match rows_where(tx, "row = ?1", &[&row]) {
        Ok(all) => all
            .iter()
            .try_for_each(|stored| remove_from_index(tx, writer, stored)),
        // A damaged record must be removable, so its text need not be readable.
        Err(Error::MissingText(_)) => writer.index.remove_unknown(tx, row),
        Err(error) => Err(error),
    }
}

/// Adds a row that is not in the index, unless it is a copy.
pub(crate) fn index_row(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    for stored in rows_where(tx, "row = ?1 AND copy = 0", &[&row])? {
        if let Some(session) = session_ref(tx, stored.session)? {
            add_to_index(tx, writer, session, &stored, &stored.text)?;
        }
    }
    Ok(())
}

/// Removes a record from the index that was read before it changes.
pub(super) fn remove_from_index(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    stored: &RecordRow,
) -> Result<()> {
    match session_ref(tx, stored.session)? {
        Some(session) => remove_from_index_as(tx, writer, session, stored),
        None if writer.index.contains_row(tx, stored.row)? => {
            writer.index.remove_unknown(tx, stored.row)
        }
        None => Ok(()),
    }
}

/// Removes a record that was indexed for this session.
pub(super) fn remove_from_index_as(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    stored: &RecordRow,
) -> Result<()> {
    if !writer.index.contains_row(tx, stored.row)? {
        return Ok(());
    }
    if stored.is_lost {
        return writer.index.remove_unknown(tx, stored.row);
    }
    let terms = stored.terms(&stored.text);
    writer
        .index
        .remove(tx, &stored.entry(session, &stored.text, &terms))
}

/// Adds a record with a text, which may differ from the one it was read with.
pub(super) fn add_to_index(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    stored: &RecordRow,
    text: &str,
) -> Result<()> {
    let terms = stored.terms(text);
    let mut entry = stored.entry(session, text, &terms);
    if entry.at.is_none() {
        entry.at = last_active(tx, session.id)?;
    }
    writer.index.add(tx, &entry)
}
