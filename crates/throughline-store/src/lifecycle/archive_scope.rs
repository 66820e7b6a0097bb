//! Applying today's capture scope to archived logs.
//!
//! Older versions archived whole logs, with the text of files that are never captured and with the
//! sessions of denied workspaces. Each store is scanned once.

use jiff::Timestamp;
use rusqlite::{Connection, Transaction};

use crate::Store;
use crate::error::Result;
use crate::ingest::sources;
use crate::ingest::writer::{CommitMode, WriterState};
use crate::lifecycle::forget::traces;
use crate::lifecycle::maintenance;
use crate::portable::ImportScope;
use crate::query::query_all;
use crate::texts::logs::{self, TextLocation};

/// The name of the task. A new rule for old archives gets a new name.
const SCRUB_TASK: &str = "archive-scope-1";

/// How many pieces of archived logs were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Pieces that were rewritten.
    pub rewritten: usize,
    /// Pieces of logs that must not be kept at all.
    pub erased: usize,
}

/// The new texts of one source's pieces.
#[derive(Debug, Default)]
struct SourceChange {
    source: i64,
    is_denied: bool,
    texts: Vec<(TextLocation, String)>,
}

impl Store {
    /// Applies the scope to logs that an older version archived, once for each store.
    pub fn scrub_archive(&self, scope: &dyn ImportScope, now: Timestamp) -> Result<ScrubReport> {
        let mut scrub = ScrubReport::default();
        if self.read(is_done)? {
            return Ok(scrub);
        }
        for source in self.read(archived_sources)? {
            let change = self.read(|connection| plan_source_change(connection, scope, source))?;
            if change.texts.is_empty() && !change.is_denied {
                continue;
            }
            let done = self
                .writer()
                .submit(1, CommitMode::Immediate, move |tx, _| {
                    traces::mark_pending(tx, now)?;
                    apply_source_change(tx, &change)
                });
            let done = done.wait()?;
            scrub.rewritten += done.rewritten;
            scrub.erased += done.erased;
        }
        if scrub != ScrubReport::default() {
            traces::remove_traces(&self.path, self.key.as_ref(), traces::READER_WAIT)?;
        }
        let note = |tx: &Transaction<'_>, _: &mut WriterState| {
            maintenance::mark_done(tx, SCRUB_TASK, Timestamp::UNIX_EPOCH)
        };
        self.write(note)?;
        Ok(scrub)
    }
}

fn is_done(connection: &Connection) -> Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chores WHERE name = ?1")?;
    Ok(statement.exists([SCRUB_TASK])?)
}

fn archived_sources(connection: &Connection) -> Result<Vec<i64>> {
    query_all(
        connection,
        "SELECT DISTINCT source FROM raw ORDER BY 1",
        [],
        |row| row.get(0),
    )
}

fn plan_source_change(
    connection: &Connection,
    scope: &dyn ImportScope,
    source: i64,
) -> Result<SourceChange> {
    let mut change = SourceChange {
        source,
        ..SourceChange::default()
    };
    let of_session = "SELECT 1 FROM source_sessions WHERE source = ?1";
    let is_captured = connection.prepare_cached(of_session)?.exists([source])?;
    let mut keep = scope.log_filter();
    let in_order = "source = ?1 ORDER BY generation, offset";
    for old in logs::text_locations(connection, in_order, &[&source])? {
        let Some(text) = logs::readable_text(connection, &old)? else {
            continue;
        };
        // A log without a session belongs to a denied workspace, or it is a history of prompts.
        if !is_captured && !scope.allows_log(&text) {
            change.is_denied = true;
            return Ok(change);
        }
        let kept = keep(text.clone());
        if kept != text {
            change.texts.push((old, kept));
        }
    }
    Ok(change)
}

fn apply_source_change(tx: &Transaction<'_>, change: &SourceChange) -> Result<ScrubReport> {
    let mut scrub = ScrubReport::default();
    if change.is_denied {
        scrub.erased = logs::delete_log(tx, change.source)?;
        sources::hide(tx, change.source)?;
        return Ok(scrub);
    }
    for (old, text) in &change.texts {
        // The piece may have been packed or forgotten since it was read, and then it is another
        // one.
        let now = logs::text_locations(tx, "source = ?1", &[&change.source])?;
        let Some(new) = logs::compress_text(text).filter(|_| now.contains(old)) else {
            continue;
        };
        logs::replace_text(tx, old, &new)?;
        scrub.rewritten += 1;
    }
    Ok(scrub)
}
