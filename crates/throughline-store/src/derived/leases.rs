//! Leases: only one process at a time may work on a session.
//!
//! A lease is a row. A process that dies while it holds one loses it after [`STALE_AFTER`], so a
//! crash blocks others only for a while. The row names its holder, so that a slow process whose
//! lease was taken over cannot write any more.

use jiff::{SignedDuration, Timestamp};
use memory::SessionId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::Store;
use crate::error::{Error, Result};
use crate::records::sessions::timestamp_from_millis;

/// A lease of this age has expired.
pub(crate) const STALE_AFTER: SignedDuration = SignedDuration::from_secs(60);

memory::named_enum! {
    /// The kind of work that a lease allows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LeaseKind {
        /// Writing the session's summary.
        Extraction = "extraction",
        /// Compacting the session.
        Compaction = "compaction",
        /// Asking a model for the session's facts.
        Facts = "facts",
    }
}

/// The right to work on a session, returned with [`Store::release_lease`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub session: SessionId,
    pub kind: LeaseKind,
    pub since: Timestamp,
    pub(crate) number: i64,
    pub(crate) holder: [u8; 16],
}

/// The answer to a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    Granted(Lease),
    /// Another process holds the lease.
    Busy {
        since: Timestamp,
    },
    /// The store does not know the session.
    Unknown,
}

impl Store {
    /// Requests a lease for work on a session. A stale lease is taken over.
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
        self.write(move |tx, _| {
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
            .execute(params![number, work.name(), holder, now.as_millisecond()])?;
            Ok(LeaseOutcome::Granted(Lease {
                session: session.clone(),
                kind: work,
                since: now,
                number,
                holder,
            }))
        })
    }

    /// Releases a lease, unless another process has taken it over.
    pub fn release_lease(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write(move |tx, _| {
            tx.prepare_cached(
                "DELETE FROM leases WHERE session = ?1 AND kind = ?2 AND holder = ?3",
            )?
            .execute(params![lease.number, lease.kind.name(), lease.holder])?;
            Ok(())
        })
    }

    /// Returns since when a process has been working on a session; `None` when there is none, or
    /// its lease is stale.
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
            let holder = lease_holder(connection, number, work)?.map(|(_, since)| since);
            Ok(holder.filter(|since| !is_stale(*since, now)))
        })
    }
}

/// Says whether a lease still belongs to its holder. The answer only holds inside a write
/// transaction.
pub(crate) fn is_held(tx: &Transaction<'_>, lease: &Lease) -> Result<bool> {
    let current = lease_holder(tx, lease.number, lease.kind)?;
    Ok(current.is_some_and(|(holder, _)| holder == lease.holder))
}

/// The difference counts in both directions, so that a clock that was set back does not make a
/// lease last forever.
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
