//! Digests: one row per session, and which sessions need one.
//!
//! A digest is current while its revision is that of the session: a session that grew after its
//! digest counts as not digested. Where records were evicted, the digest from that time is the
//! base, and the digest of later records is added to it.

use std::collections::HashMap;

use jiff::Timestamp;
use memory::{Digest, Session, SessionId, Signal};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::derived::signals::{self, CleanSignals};
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::writer::{CommitMode, WriterState};
use crate::records::sessions::{self, SessionRef, timestamp_from_millis};
use crate::{Store, Ticket};
use redact::{Redactor, Secret, SessionSecrets};

/// A session whose records have no current digest.
#[derive(Clone, Debug)]
pub struct PendingDigest {
    pub session: Session,
    /// The digest of records that were evicted.
    pub base: Option<Digest>,
    revision: i64,
}

/// A stored digest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredDigest {
    pub made: Option<Timestamp>,
    /// The session has changed since the digest was made.
    pub stale: bool,
    /// How many records were evicted without a digest, because space had run out.
    pub lost: u64,
    #[serde(flatten)]
    pub digest: Digest,
}

/// A digest with all texts redacted.
#[derive(Debug)]
pub(crate) struct CleanDigest {
    version: u32,
    outcome: &'static str,
    trust: i64,
    json: String,
}

impl CleanDigest {
    pub(crate) fn new(mut digest: Digest, mut clean: impl FnMut(&str) -> String) -> Self {
        digest.for_each_text(|text| *text = clean(text));
        Self {
            version: digest.version,
            outcome: digest.outcome.name(),
            trust: digest.trust.lowest() as i64,
            json: serde_json::to_string(&digest).unwrap_or_default(),
        }
    }
}

impl Store {
    /// Returns the sessions without activity since `before` that have no digest of this version of
    /// their current records. A session whose log has a wrong clock, in the future, counts as
    /// inactive.
    pub fn pending_digests(
        &self,
        version: u32,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<PendingDigest>> {
        const SQL: &str = "
            SELECT s.id, s.name, s.revision, d.base
            FROM sessions s
            LEFT JOIN digests d ON d.session = s.id
            LEFT JOIN evictions e ON e.session = s.id
            WHERE s.records > coalesce(e.records, 0)
              AND (d.session IS NULL OR d.revision <> s.revision OR d.version < ?1)
              AND (coalesce(s.ended, s.started, 0) <= ?2
                OR coalesce(s.ended, s.started, 0) > ?3)
            ORDER BY s.id";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SQL)?;
            let mut rows = statement.query(params![
                version,
                before.as_millisecond(),
                now.as_millisecond() + CLOCK_SLACK_MS,
            ])?;
            let mut ids = Vec::new();
            let mut found = HashMap::new();
            while let Some(row) = rows.next()? {
                ids.push(row.get::<_, i64>(0)?);
                let base: Option<String> = row.get(3)?;
                let base = base.and_then(|json| serde_json::from_str(&json).ok());
                found.insert(row.get::<_, String>(1)?, (row.get(2)?, base));
            }
            let sessions = sessions::sessions_by_ids(connection, &ids)?;
            Ok(sessions
                .into_iter()
                .filter_map(|session| {
                    let (revision, base) = found.remove(session.id.as_str())?;
                    Some(PendingDigest {
                        session,
                        base,
                        revision,
                    })
                })
                .collect())
        })
    }

    /// Stores the digest of a session with its signals. A session that has changed since stays
    /// pending, and a digest that another process has made of more records stays.
    pub fn put_digest(
        &self,
        pending: &PendingDigest,
        digest: Digest,
        signals: Vec<Signal>,
        now: Timestamp,
    ) -> Ticket<()> {
        let redactor = self.redactor();
        let clean = |text: &str| redactor.clean(text).into_owned().as_str().to_owned();
        let signals = CleanSignals::new(signals, clean);
        let clean = CleanDigest::new(digest, clean);
        let (name, revision) = (pending.session.id.clone(), pending.revision);
        let weight = DIGEST_WEIGHT;
        self.writer()
            .submit(weight, CommitMode::Grouped, move |tx, writer| {
                write_digest(tx, writer, &name, revision, (&clean, &signals), now)
            })
    }

    /// Returns the digest of a session.
    pub fn digest(&self, session: &SessionId) -> Result<Option<StoredDigest>> {
        const SQL: &str = "
            SELECT d.made, d.revision <> s.revision, coalesce(e.lost, 0), d.data
            FROM sessions s JOIN digests d ON d.session = s.id
            LEFT JOIN evictions e ON e.session = s.id
            WHERE s.name = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SQL)?;
            let found = statement
                .query_row([session.as_str()], |row| {
                    let json: String = row.get(3)?;
                    Ok(StoredDigest {
                        made: timestamp_from_millis(row.get(0)?),
                        stale: row.get(1)?,
                        lost: row.get(2)?,
                        digest: serde_json::from_str(&json).unwrap_or_default(),
                    })
                })
                .optional()?;
            Ok(found)
        })
    }
}

/// A session that ends later than this after now has a wrong clock.
pub(crate) const CLOCK_SLACK_MS: i64 = 24 * 60 * 60 * 1000;
/// How much of a commit group a digest takes.
const DIGEST_WEIGHT: usize = 20;

fn write_digest(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    name: &SessionId,
    revision: i64,
    (clean, found): (&CleanDigest, &CleanSignals),
    now: Timestamp,
) -> Result<()> {
    let session: Option<i64> = tx
        .prepare_cached("SELECT id FROM sessions WHERE name = ?1")?
        .query_row([name.as_str()], |row| row.get(0))
        .optional()?;
    let Some(session) = session else {
        return Ok(());
    };
    let has_row = digest_rows::unindex(tx, writer, session)?;
    let written = tx
        .prepare_cached(
            "INSERT INTO digests (session, version, revision, made, outcome, trust, data)
         SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM sessions WHERE name = ?1
         ON CONFLICT (session) DO UPDATE SET version = excluded.version,
            revision = excluded.revision, made = excluded.made, outcome = excluded.outcome,
            trust = excluded.trust, data = excluded.data
         WHERE excluded.revision >= digests.revision",
        )?
        .execute(params![
            name.as_str(),
            clean.version,
            revision,
            now.as_millisecond(),
            clean.outcome,
            clean.trust,
            clean.json,
        ])?;
    if written > 0 {
        signals::replace(tx, session, found)?;
    }
    if has_row {
        digest_rows::index(tx, writer, session)?;
    }
    Ok(())
}

/// Stores the digest from an import, unless the session has one.
pub(crate) fn import(
    tx: &Transaction<'_>,
    session: &str,
    digest: &CleanDigest,
    base: Option<&CleanDigest>,
    made: Timestamp,
) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO digests (session, version, revision, made, outcome, trust, data, base)
         SELECT id, ?2, revision, ?3, ?4, ?5, ?6, ?7 FROM sessions WHERE name = ?1
         ON CONFLICT (session) DO NOTHING",
    )?
    .execute(params![
        session,
        digest.version,
        made.as_millisecond(),
        digest.outcome,
        digest.trust,
        digest.json,
        base.map(|base| base.json.as_str()),
    ])?;
    Ok(())
}

/// Removes a digest that may mention a forgotten record; it is made again from the remaining ones.
/// The base, which covers evicted records, stays unless `met` finds something forgotten in it.
pub(crate) fn retract(
    tx: &Transaction<'_>,
    session: i64,
    met: impl Fn(&str) -> bool,
) -> Result<()> {
    match stored_json(tx, session)? {
        Some((_, Some(base))) if !met(&base) => tx
            .prepare_cached("UPDATE digests SET data = base, revision = -1 WHERE session = ?1")?
            .execute([session])?,
        _ => tx
            .prepare_cached("DELETE FROM digests WHERE session = ?1")?
            .execute([session])?,
    };
    Ok(())
}

/// Removes secrets from a digest that was made before they were recognised.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    session: SessionRef,
    fresh: &[Secret],
) -> Result<()> {
    let Some((data, base)) = stored_json(tx, session.id)? else {
        return Ok(());
    };
    // A shortened text may contain a part of a secret, so the redactor scans it again.
    let scrubbed = |json: String| {
        let digest: Digest = serde_json::from_str(&json).unwrap_or_default();
        let mut seen: SessionSecrets = redactor.session_with(fresh);
        CleanDigest::new(digest, |text| {
            redactor
                .clean_in_session(text, &mut seen)
                .into_owned()
                .as_str()
                .to_owned()
        })
        .json
    };
    let has_row = digest_rows::unindex(tx, writer, session.id)?;
    tx.prepare_cached("UPDATE digests SET data = ?2, base = ?3 WHERE session = ?1")?
        .execute(params![session.id, scrubbed(data), base.map(scrubbed)])?;
    if has_row {
        digest_rows::index(tx, writer, session.id)?;
    }
    Ok(())
}

fn stored_json(connection: &Connection, session: i64) -> Result<Option<(String, Option<String>)>> {
    Ok(connection
        .prepare_cached("SELECT data, base FROM digests WHERE session = ?1")?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}
