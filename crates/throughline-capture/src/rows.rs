//! Queries other programs' databases, whose columns depend on the program's version.

use std::collections::BTreeSet;

use store::foreign::ForeignDatabase;

/// Returns a `SELECT` of the columns by name, with `NULL` for columns that the table does not have.
pub fn select_columns(
    database: &ForeignDatabase,
    table: &str,
    wanted: &[&str],
) -> store::Result<String> {
    let there = table_columns(database, table)?;
    let listed: Vec<_> = wanted
        .iter()
        .map(|name| if there.contains(*name) { *name } else { "NULL" })
        .collect();
    Ok(format!("SELECT {} FROM {table}", listed.join(", ")))
}

/// Returns the names of a table's columns; empty if there is no such table.
pub fn table_columns(database: &ForeignDatabase, table: &str) -> store::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    database.each_row("SELECT name FROM pragma_table_info(?1)", &[&table], |row| {
        names.extend(row.text(0).map(str::to_owned));
    })?;
    Ok(names)
}
