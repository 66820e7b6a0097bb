//! Leases: one at a time, also across processes.
//!
//! A lease is a row. Whoever dies holding one loses it after [`STALE_AFTER`], so a crash blocks
//! nobody for long; and because the row names its holder, one who was slow cannot write any more.

use jiff::{SignedDuration, Timestamp};
use memory::SessionId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::Store;
use crate::error::{Error, Result};
use crate::ingest::writer::CommitMode;
use crate::records::sessions::timestamp_from_millis;

/// A lease that is this old has been lost.
pub const STALE_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// What is done to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseKind {
    /// Its summary is being written.
    Extraction,
    /// It is being compacted.
    Compaction,
    /// A model is being asked for its facts.
    Facts,
}

impl LeaseKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Compaction => "compaction",
            Self::Facts => "facts",
        }
    }
}

/// The right to work on a session. Give it back with [`Store::release`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub session: SessionId,
    pub kind: LeaseKind,
    pub since: Timestamp,
    pub(crate) number: i64,
    pub(crate) holder: [u8; 16],
}

/// What became of asking for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    Granted(Lease),
    /// Somebody else holds it.
    Busy {
        since: Timestamp,
    },
    /// The store does not know the session.
    Unknown,
}

impl Store {
    /// Asks for the lease of a session's work. One that is stale changes hands.
    pub fn acquire_lease(
        &self,
        session: &SessionId,
        work: LeaseKind,
        now: Timestamp,
    ) -> Result<LeaseOutcome> {
        let mut holder = [0; 16];
        getrandom::fill(&mut holder)
            .map_err(|error| Error::io(self.path())(std::io::Error::other(error.to_string())))?;
        let session = session.clone();
        let ticket = self
            .writer()
            .submit(1, CommitMode::Immediate, move |tx, _| {
                let Some(number) = session_number(tx, &session)? else {
                    return Ok(LeaseOutcome::Unknown);
                };
                if let Some((_, since)) = lease_holder(tx, number, work)?
                    && !is_stale(since, now)
                {
                    return Ok(LeaseOutcome::Busy { since });
                }
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO leases (session, kind, holder, since)
                 VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![
                    number,
                    work.name(),
                    holder,
                    now.as_millisecond()
                ])?;
                Ok(LeaseOutcome::Granted(Lease {
                    session: session.clone(),
                    kind: work,
                    since: now,
                    number,
                    holder,
                }))
            });
        ticket.wait()
    }

    /// Gives a lease back, unless it has been lost to another.
    pub fn release_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        let ticket = self
            .writer()
            .submit(1, CommitMode::Immediate, move |tx, _| {
                tx.prepare_cached(
                    "DELETE FROM leases WHERE session = ?1 AND kind = ?2 AND holder = ?3",
                )?
                .execute(params![
                    lease.number,
                    lease.kind.name(),
                    lease.holder
                ])?;
                Ok(())
            });
        ticket.wait()
    }

    /// Returns since when somebody has been working on a session; `None` for nobody, or somebody
    /// who must have died.
    pub fn active_lease(
        &self,
        session: &SessionId,
        work: LeaseKind,
        now: Timestamp,
    ) -> Result<Option<Timestamp>> {
        self.read(|connection| {
            let Some(number) = session_number(connection, session)? else {
                return Ok(None);
            };
            let held = lease_holder(connection, number, work)?.map(|(_, since)| since);
            Ok(held.filter(|since| !is_stale(*since, now)))
        })
    }
}

/// Says whether a lease is still its holder's. Only counts inside a transaction that writes.
pub(crate) fn is_held(tx: &Transaction<'_>, lease: &Lease) -> Result<bool> {
    let held = lease_holder(tx, lease.number, lease.kind)?;
    Ok(held.is_some_and(|(holder, _)| holder == lease.holder))
}

/// A clock that was set back must not make a lease immortal, so the distance counts both ways.
fn is_stale(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since).abs() >= STALE_AFTER
}

fn lease_holder(
    connection: &Connection,
    number: i64,
    work: LeaseKind,
) -> Result<Option<([u8; 16], Timestamp)>> {
    let row: Option<([u8; 16], i64)> = connection
        .prepare_cached("SELECT holder, since FROM leases WHERE session = ?1 AND kind = ?2")?
        .query_row(params![number, work.name()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(row.and_then(|(holder, since)| Some((holder, timestamp_from_millis(Some(since))?))))
}

/// Returns the number of a session's row.
pub(crate) fn session_number(connection: &Connection, session: &SessionId) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT id FROM sessions WHERE name = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?)
}
