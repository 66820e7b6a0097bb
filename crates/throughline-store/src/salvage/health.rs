//! The health of a store: sizes, counts, and whether rows and texts are intact.

use std::path::Path;

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::open::connection;
use crate::texts::logs;
use crate::texts::reader::TextReader;
use crate::{Store, records};

/// How many problems SQLite reports before it stops.
const PROBLEMS_MAX: usize = 20;

#[derive(Clone, Debug, Serialize)]
pub struct Health {
    pub format: i64,
    pub sqlite: String,
    /// The size of the database, its write-ahead log and its shared memory.
    pub size_bytes: u64,
    /// The write-ahead log alone.
    pub log_bytes: u64,
    pub sessions: u64,
    pub records: u64,
    pub workspaces: u64,
    pub sources: u64,
    pub sources_gone: u64,
    /// Forgotten text is still in the files, because another process was reading.
    pub traces: bool,
    /// Problems of rows and pages; empty for an intact store.
    pub problems: Vec<String>,
    /// The number of records and pieces of logs with damaged texts; `None` when texts were not
    /// checked.
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
            let mut problems = find_problems(connection, deep)?;
            let damaged = if deep {
                Some(count_damaged_texts(connection, &mut problems)?)
            } else {
                None
            };
            let mut count = |sql: &str| -> Result<u64> {
                let count = connection.query_row(sql, [], |row| row.get(0));
                count.or_else(|error| record_problem(error.into(), &mut problems).map(|()| 0))
            };
            let mut health = Health {
                format: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
                sqlite: rusqlite::version().to_owned(),
                size_bytes,
                log_bytes: connection::wal_bytes(&self.path),
                sessions: count("SELECT count(*) FROM sessions WHERE records > 0")?,
                records: count("SELECT count(*) FROM records")?,
                workspaces: count("SELECT count(*) FROM workspaces")?,
                sources: count("SELECT count(*) FROM sources")?,
                sources_gone: count("SELECT count(*) FROM sources WHERE gone")?,
                traces: count("SELECT count(*) FROM traces")? > 0,
                problems: Vec::new(),
                damaged,
            };
            health.problems = problems;
            Ok(health)
        })
    }
}

impl Health {
    /// Says whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.damaged.unwrap_or(0) == 0
    }

    /// Says whether the write-ahead log exceeds its limit, because a process keeps an old snapshot
    /// open.
    pub fn exceeds_wal_limit(&self) -> bool {
        self.log_bytes > connection::WAL_BYTES_MAX
    }
}

/// Runs SQLite's own checks of pages, indexes and the search index, and ours of the rows.
pub(crate) fn find_problems(connection: &Connection, deep: bool) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let check = if deep {
        "integrity_check"
    } else {
        "quick_check"
    };
    collect_problems(
        connection,
        &format!("PRAGMA {check}({PROBLEMS_MAX})"),
        &mut problems,
    )?;
    problems.retain(|problem| problem != "ok");
    if deep {
        let pieces = format!("SELECT count(*) FROM raw WHERE {}", logs::WITHOUT_TEXT);
        let pieces = (pieces.as_str(), "pieces of logs have no text");
        for (sql, what) in CONSISTENCY_CHECKS.iter().copied().chain([pieces]) {
            let found = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            match found {
                Ok(0) => {}
                Ok(count) => problems.push(format!("{count} {what}")),
                Err(error) => record_problem(error.into(), &mut problems)?,
            }
        }
    }
    Ok(problems)
}

/// Conditions that must hold although SQLite does not enforce them.
const CONSISTENCY_CHECKS: &[(&str, &str)] = &[
    (
        "SELECT count(*) FROM pragma_foreign_key_check",
        "rows refer to a missing row",
    ),
    (
        "SELECT coalesce(sum(abs(s.records - coalesce(e.records, 0)
            - (SELECT count(*) FROM records r WHERE r.session = s.id))), 0)
         FROM sessions s LEFT JOIN evictions e ON e.session = s.id",
        "records differ from the counts of their sessions",
    ),
];

/// Counts the records and pieces of logs whose texts are damaged.
fn count_damaged_texts(connection: &Connection, problems: &mut Vec<String>) -> Result<u64> {
    let mut damaged = 0;
    let mut count_damaged =
        |sql: &str, is_sound: &mut dyn FnMut(&Row<'_>) -> Result<()>| -> Result<()> {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                match is_sound(row) {
                    Ok(()) => {}
                    Err(error) if error.is_corrupt() => damaged += 1,
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
    let texts = TextReader::default();
    let records = count_damaged(&records::select_records(""), &mut |row| {
        records::read_record(connection, row, &texts).map(drop)
    });
    let distinct = "SELECT DISTINCT body, block, start, length, hash FROM raw
         ORDER BY block, start";
    let pieces = count_damaged(distinct, &mut |row| {
        texts.read_piece(connection, row, 0).map(drop)
    });
    for outcome in [records, pieces] {
        outcome.or_else(|error| record_problem(error, problems))?;
    }
    Ok(damaged)
}

fn collect_problems(connection: &Connection, sql: &str, problems: &mut Vec<String>) -> Result<()> {
    let list = || -> Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    match list() {
        Ok(list) => {
            problems.extend(list);
            Ok(())
        }
        Err(error) => record_problem(error, problems),
    }
}

/// Records an error as a problem if it means damage, and returns it otherwise.
fn record_problem(error: Error, problems: &mut Vec<String>) -> Result<()> {
    if !error.is_corrupt() {
        return Err(error);
    }
    let problem = error.to_string();
    if !problems.contains(&problem) {
        problems.push(problem);
    }
    Ok(())
}
