//! Checking that a file has exactly the schema that our migrations create.
//!
//! A database can contain code: triggers, views and virtual tables run when the database is read or
//! written. A file from outside is accepted only if every statement of its schema is the one that
//! our migrations create for its format.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use crate::backup;
use crate::error::{Error, Result};
use crate::open::migrations;

/// How many differences an error names.
const NAMED_MAX: usize = 5;

/// Fails unless a database has the schema of its format.
pub(crate) fn check_schema(connection: &Connection, path: &Path) -> Result<()> {
    let format = migrations::format_version(connection)?;
    let known = migrations::current_format();
    if format > known {
        return Err(Error::TooNew {
            path: path.to_owned(),
            found: format,
            known,
        });
    }
    let mut expected = Connection::open_in_memory()?;
    migrations::migrate(&mut expected, path, format)?;
    let expected = schema_objects(&expected)?;
    let mut found = schema_objects(connection)?;
    // A backup has one more table.
    let carried = ("table".to_owned(), backup::CARRIED_TABLE.to_owned());
    if found
        .get(&carried)
        .is_some_and(|sql| sql == backup::CARRIED_TABLE_SQL)
    {
        found.remove(&carried);
    }
    let mut differences = Vec::new();
    for ((kind, name), sql) in &found {
        match expected.get(&(kind.clone(), name.clone())) {
            None => differences.push(format!("unknown {kind} {name:?}")),
            Some(ours) if ours != sql => differences.push(format!("changed {kind} {name:?}")),
            Some(_) => {}
        }
    }
    let missing = expected.keys().filter(|key| !found.contains_key(*key));
    differences.extend(missing.map(|(kind, name)| format!("no {kind} {name:?}")));
    if differences.is_empty() {
        return Ok(());
    }
    differences.truncate(NAMED_MAX);
    Err(Error::ForeignSchema {
        path: path.to_owned(),
        what: differences.join(", "),
    })
}

/// Returns the statements of a schema by kind and name. SQLite's own indexes and tables have none.
fn schema_objects(connection: &Connection) -> Result<BTreeMap<(String, String), String>> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sql: String = row.get(3)?;
        // The extra table of a backup is compared by its statement alone.
        let of = if table == name {
            sql
        } else {
            format!("{table}: {sql}")
        };
        Ok(((kind, name), of))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
