//! Databases made for tests, and sources read as a sweep reads them.

use std::fs;
use std::path::{Path, PathBuf};

use memory::{LogEntry, Usage};
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use store::foreign::ForeignDatabase;

use crate::adapter::parse_text;
use crate::{Adapter, ParseOutput, Source, SourceFormat};

/// Makes a database of rows that were written out as JSON: `{"table","sql"}`, then
/// `{"table","row"}` for each row. It is in WAL mode, as agents' databases are.
pub fn database(path: &Path, tables: &str) -> Connection {
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
            insert(&connection, line["table"].as_str().unwrap(), &line["row"]);
        }
    }
    connection
}

/// Inserts a row, or replaces the one with its key.
pub fn insert(connection: &Connection, table: &str, row: &Value) {
    let row = row.as_object().unwrap();
    let names: Vec<_> = row.keys().map(|name| format!("`{name}`")).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!(
        "INSERT OR REPLACE INTO {table} ({}) VALUES ({marks})",
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

/// Reads what is new in a database, and returns the state for the next time.
pub fn read_rows(adapter: &dyn Adapter, path: &Path, state: Option<&str>) -> (ParseOutput, String) {
    let mut out = ParseOutput::default();
    let source = source(adapter, path, SourceFormat::Database);
    let database = ForeignDatabase::open(path).unwrap();
    let state = adapter
        .read_rows(&source, &database, state, &mut out)
        .unwrap();
    (out, state)
}

/// Reads a file whole.
pub fn read(adapter: &dyn Adapter, path: &Path, format: SourceFormat) -> ParseOutput {
    if format == SourceFormat::Database {
        return read_rows(adapter, path, None).0;
    }
    parse_text(
        adapter,
        &source(adapter, path, format),
        &fs::read_to_string(path).unwrap(),
    )
}

fn source(adapter: &dyn Adapter, path: &Path, format: SourceFormat) -> Source {
    Source {
        flavor: adapter.flavor(),
        path: path.to_owned(),
        format,
    }
}

/// Returns all files below a root that an adapter claims, in the order of their paths.
pub fn claimed(adapter: &dyn Adapter, root: &Path) -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root, &mut found);
    found.sort();
    let claim = |path: &PathBuf| adapter.claim(root, path.strip_prefix(root).unwrap());
    found
        .iter()
        .filter_map(|path| Some(source(adapter, path, claim(path)?)))
        .collect()
}

/// Adds up the usage of a reading.
pub fn total(parsed: &ParseOutput) -> Usage {
    let mut total = Usage::default();
    for entry in &parsed.entries {
        if let LogEntry::Usage(entry) = entry {
            total += entry.usage;
        }
    }
    total
}

/// Returns the names of the messages of a reading, in their order.
pub fn names(parsed: &ParseOutput) -> Vec<String> {
    let names = parsed.entries.iter().filter_map(|entry| match entry {
        LogEntry::Message(message) => Some(message.id.to_string()),
        _ => None,
    });
    names.collect()
}
