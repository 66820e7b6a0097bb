//! The format of the database: which migrations exist, and which of them a file has run.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::error::{Error, Result};
use crate::index::{self, digest_rows};

/// "thrl": tells our databases from those of other programs, also for `file`.
pub(crate) const APPLICATION_ID: i64 = 0x7468_726c;

/// The migrations in order; new ones are only appended. A store's `user_version` is the number of
/// migrations that it has run.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_start.sql"),
    include_str!("../migrations/0002_facts.sql"),
    include_str!("../migrations/0003_digests.sql"),
    include_str!("../migrations/0004_forget.sql"),
    include_str!("../migrations/0005_search.sql"),
    include_str!("../migrations/0006_injections.sql"),
    include_str!("../migrations/0007_summaries.sql"),
    include_str!("../migrations/0008_terms_go_at_once.sql"),
    include_str!("../migrations/0009_retention.sql"),
    include_str!("../migrations/0010_detached_records.sql"),
    include_str!("../migrations/0011_raw_hash.sql"),
    include_str!("../migrations/0012_events.sql"),
    include_str!("../migrations/0013_submitted_ids.sql"),
    include_str!("../migrations/0014_session_order.sql"),
    include_str!("../migrations/0015_learning.sql"),
    include_str!("../migrations/0016_session_marks.sql"),
    include_str!("../migrations/0017_layers.sql"),
    include_str!("../migrations/0018_context_cache.sql"),
    include_str!("../migrations/0019_capsules.sql"),
];

/// The format in which the search index got its present form; older indexes are rebuilt.
const INDEX_FORMAT: i64 = 8;

/// Returns the format that this program writes.
pub(crate) fn current_format() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Returns the format of a database: how many migrations it has run.
pub(crate) fn format_version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Fails unless a database is empty or a store of Throughline.
pub(crate) fn check_application_id(connection: &Connection, path: &Path) -> Result<()> {
    let not_a_store = || Error::NotAStore {
        path: path.to_owned(),
    };
    // One statement, because another process may be creating the store: it sees the state before or
    // after that transaction, never the tables without the id.
    let sql = "SELECT (SELECT application_id FROM pragma_application_id),
        (SELECT count(*) FROM sqlite_schema)";
    let (id, tables): (i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => not_a_store(),
            _ => error.into(),
        })?;
    if id != APPLICATION_ID && tables > 0 {
        return Err(not_a_store());
    }
    Ok(())
}

/// Migrates a database to a format, unless it has that format already.
pub(crate) fn migrate(connection: &mut Connection, path: &Path, target: i64) -> Result<()> {
    if format_version(connection)? == target {
        return Ok(());
    }
    // Another process may be migrating too, so the format is read again under the write lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run_migrations(&transaction, path, target)?;
    transaction.commit()?;
    Ok(())
}

/// Runs the migrations that a database lacks, and brings its search index up to date.
pub(crate) fn run_migrations(tx: &Transaction<'_>, path: &Path, target: i64) -> Result<()> {
    let found = format_version(tx)?;
    if found > target {
        return Err(Error::TooNew {
            path: path.to_owned(),
            found,
            known: target,
        });
    }
    let number = |format: i64| usize::try_from(format).unwrap_or(0);
    for migration in MIGRATIONS.iter().take(number(target)).skip(number(found)) {
        tx.execute_batch(migration)?;
    }
    if (1..INDEX_FORMAT).contains(&found) {
        tracing::info!(path = %path.display(), "rebuilding the search index");
        index::rebuild(tx, &|_, _| {})?;
    }
    if target == current_format() {
        digest_rows::index_missing(tx)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", target)?;
    Ok(())
}
