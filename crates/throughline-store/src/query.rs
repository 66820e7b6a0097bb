//! Running a query and collecting its rows.

use rusqlite::{Connection, Params, Row};

use crate::error::Result;

/// Runs a query with a cached statement, and collects what `read` makes of its rows.
pub(crate) fn query_all<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<C> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
