//! Agents' databases, made for a test of rows that are written out as JSON.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use store::foreign::ForeignDatabase;

use super::fixtures::source;
use crate::{Adapter, ParseOutput, SourceFormat};

/// Creates a database from lines of JSON: `{"table","sql"}` for a table, then `{"table","row"}` for
/// each row. It is in WAL mode, as agents' databases are.
pub(crate) fn build_database(path: &Path, tables: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "wal")
        .unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    for line in tables.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(sql) = line["sql"].as_str() {
            connection.execute_batch(sql).unwrap();
        } else {
            insert_row(&connection, line["table"].as_str().unwrap(), &line["row"]);
        }
    }
    connection
}

/// Inserts a row, or replaces the one with its key.
pub(crate) fn insert_row(connection: &Connection, table: &str, row: &Value) {
    let row = row.as_object().unwrap();
    let names: Vec<_> = row.keys().map(|name| format!("`{name}`")).collect();
    let placeholders = vec!["?"; names.len()].join(", ");
    let sql = format!(
        "INSERT OR REPLACE INTO {table} ({}) VALUES ({placeholders})",
        names.join(", ")
    );
    let cells = row.values().map(|value| match value {
        Value::Null => Cell::Null,
        Value::Bool(flag) => Cell::Integer((*flag).into()),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Cell::Real(number.as_f64().unwrap()), Cell::Integer),
        Value::String(text) => Cell::Text(text.clone()),
        json => Cell::Text(json.to_string()),
    });
    connection
        .execute(&sql, rusqlite::params_from_iter(cells))
        .unwrap();
}

/// Reads the rows that are new since `state`, and returns the state for the next call.
pub(crate) fn read_new_rows(
    adapter: &Adapter,
    path: &Path,
    state: Option<&str>,
) -> (ParseOutput, String) {
    let mut out = ParseOutput::default();
    let source = source(adapter, path, SourceFormat::Database);
    let database = ForeignDatabase::open(path).unwrap();
    let state = adapter
        .read_rows(&source, &database, state, &mut out)
        .unwrap();
    (out, state)
}
