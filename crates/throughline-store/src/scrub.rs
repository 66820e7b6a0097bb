//! Archived logs under today's scope.
//!
//! Older versions archived whole logs: with the text of files that are never captured, and with the
//! sessions of denied workspaces. Each store is looked through once.

use jiff::Timestamp;
use rusqlite::{Connection, Transaction};

use crate::error::Result;
use crate::forget::traces;
use crate::portable::ImportScope;
use crate::raw::{self, Kept};
use crate::writer::{Hurry, Names};
use crate::{Store, housekeeping, sources};

/// Names the chore; a new rule that old archives must obey gets a new name.
const CHORE: &str = "archive-scope-1";

/// What was done to the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveScrub {
    /// Pieces that were rewritten.
    pub rewritten: usize,
    /// Pieces of logs that must not be kept at all.
    pub erased: usize,
}

/// What one source's pieces become.
#[derive(Debug, Default)]
struct SourceChange {
    source: i64,
    is_denied: bool,
    texts: Vec<(Kept, String)>,
}

impl Store {
    /// Applies the scope to logs that an older version archived, once for each store.
    pub fn scrub_archive(&self, scope: &dyn ImportScope, now: Timestamp) -> Result<ArchiveScrub> {
        let mut scrub = ArchiveScrub::default();
        if self.read(is_done)? {
            return Ok(scrub);
        }
        for source in self.read(archived_sources)? {
            let change = self.read(|connection| change(connection, scope, source))?;
            if change.texts.is_empty() && !change.is_denied {
                continue;
            }
            let done = self.writer().submit(1, Hurry::Now, move |tx, _| {
                traces::note(tx, now)?;
                apply(tx, &change)
            });
            let done = done.wait()?;
            scrub.rewritten += done.rewritten;
            scrub.erased += done.erased;
        }
        if scrub != ArchiveScrub::default() {
            traces::clear(&self.path, self.key.as_ref(), traces::PATIENCE)?;
        }
        let note = |tx: &Transaction<'_>, _: &mut Names| {
            housekeeping::done(tx, CHORE, Timestamp::UNIX_EPOCH)
        };
        self.writer().submit(1, Hurry::Now, note).wait()?;
        Ok(scrub)
    }
}

fn is_done(connection: &Connection) -> Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chores WHERE name = ?1")?;
    Ok(statement.exists([CHORE])?)
}

fn archived_sources(connection: &Connection) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT DISTINCT source FROM raw ORDER BY 1")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn change(connection: &Connection, scope: &dyn ImportScope, source: i64) -> Result<SourceChange> {
    let mut change = SourceChange {
        source,
        ..SourceChange::default()
    };
    let of_session = "SELECT 1 FROM source_sessions WHERE source = ?1";
    let is_captured = connection.prepare_cached(of_session)?.exists([source])?;
    let mut keep = scope.log_filter();
    let in_order = "source = ?1 ORDER BY generation, offset";
    for old in raw::kept_of(connection, in_order, &[&source])? {
        let Some(text) = raw::readable_text(connection, &old)? else {
            continue;
        };
        // A log without a session was archived although its workspace is denied, or is a history.
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

fn apply(tx: &Transaction<'_>, change: &SourceChange) -> Result<ArchiveScrub> {
    let mut scrub = ArchiveScrub::default();
    if change.is_denied {
        scrub.erased = raw::erase(tx, change.source)?;
        sources::hide(tx, change.source)?;
        return Ok(scrub);
    }
    for (old, text) in &change.texts {
        // It may have been packed or forgotten since it was read; then the piece is another one.
        let now = raw::kept_of(tx, "source = ?1", &[&change.source])?;
        let Some(new) = raw::body(text).filter(|_| now.contains(old)) else {
            continue;
        };
        raw::replace_text(tx, old, &new)?;
        scrub.rewritten += 1;
    }
    Ok(scrub)
}
