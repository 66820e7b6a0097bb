//! How the store is doing: sizes, counts, and whether everything is as it was written.

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

use crate::error::Result;
use crate::{Store, verify};

#[derive(Clone, Debug, Serialize)]
pub struct Health {
    pub format: i64,
    pub sqlite: String,
    /// Database, write-ahead log and shared memory together.
    pub size_bytes: u64,
    pub sessions: u64,
    pub records: u64,
    pub workspaces: u64,
    pub sources: u64,
    pub sources_gone: u64,
    /// What SQLite itself found wrong; empty when sound.
    pub problems: Vec<String>,
    /// Records whose text is not what was written; only looked for when asked.
    pub damaged: Option<u64>,
}

impl Store {
    /// Examines the store. `deep` also reads every text and compares it with its checksum.
    pub fn health(&self, deep: bool) -> Result<Health> {
        let size_bytes = ["", "-wal", "-shm"]
            .iter()
            .map(|suffix| {
                let path = format!("{}{suffix}", self.path.display());
                std::fs::metadata(Path::new(&path)).map_or(0, |file| file.len())
            })
            .sum();
        self.read(|connection| {
            let count =
                |sql: &str| -> Result<u64> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
            Ok(Health {
                format: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
                sqlite: rusqlite::version().to_owned(),
                size_bytes,
                sessions: count("SELECT count(*) FROM sessions WHERE records > 0")?,
                records: count("SELECT count(*) FROM records")?,
                workspaces: count("SELECT count(*) FROM workspaces")?,
                sources: count("SELECT count(*) FROM sources")?,
                sources_gone: count("SELECT count(*) FROM sources WHERE gone")?,
                problems: problems(connection)?,
                damaged: if deep {
                    Some(verify::damaged(connection, 1)?)
                } else {
                    None
                },
            })
        })
    }
}

fn problems(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA quick_check(20)")?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems: Vec<String> = rows.collect::<Result<_, _>>()?;
    problems.retain(|problem| problem != "ok");
    Ok(problems)
}
