//! Patterns that recur across sessions, the user's decisions about them, and the queue of
//! decisions for the team's hub.
//!
//! A pattern is stored as JSON: its form belongs to the detector. It is replaced by every run, and
//! deleted as soon as one of its sessions is forgotten.

use jiff::Timestamp;
use memory::SessionId;
use rusqlite::{Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;

/// A pattern as the detector found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternRow {
    pub id: String,
    pub kind: String,
    pub name: String,
    /// The whole pattern as JSON.
    pub data: String,
    pub sessions: Vec<SessionId>,
}

/// A decision about a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Review {
    pub pattern: String,
    /// `approve`, `reject` or `discuss`.
    pub decision: String,
    pub why: Option<String>,
    /// A hash of the evidence that the decision was based on.
    pub evidence: String,
    pub sessions: u64,
    pub flavors: u64,
    pub at: Option<Timestamp>,
}

/// A decision that waits to be sent to the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuedDecision {
    pub id: i64,
    pub payload: String,
}

impl Store {
    /// Replaces all stored patterns by those of a new run.
    pub fn put_patterns(&self, patterns: Vec<PatternRow>, now: Timestamp) -> Result<()> {
        let redactor = self.redactor_handle();
        let clean = move |text: &str| redactor.clean(text).into_owned().as_str().to_owned();
        self.write(move |tx, _| {
            tx.execute("DELETE FROM pattern_sessions", [])?;
            tx.execute("DELETE FROM patterns", [])?;
            for pattern in &patterns {
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO patterns (id, kind, name, data, at)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    pattern.id,
                    pattern.kind,
                    clean(&pattern.name),
                    clean(&pattern.data),
                    now.as_millisecond(),
                ])?;
                for session in &pattern.sessions {
                    tx.prepare_cached(
                        "INSERT OR IGNORE INTO pattern_sessions (pattern, session)
                         SELECT ?1, id FROM sessions WHERE name = ?2",
                    )?
                    .execute(params![pattern.id, session.as_str()])?;
                }
            }
            Ok(())
        })
    }

    /// Returns the stored patterns as JSON, in the order of their ids.
    pub fn patterns(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT data FROM patterns ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Records a decision and queues it for the hub. The same decision about the same evidence for
    /// the same reason is recorded once. Returns whether it was new.
    pub fn put_review(&self, review: Review, payload: String) -> Result<bool> {
        let redactor = self.redactor_handle();
        let clean = move |text: &str| redactor.clean(text).into_owned().as_str().to_owned();
        self.write(move |tx, _| {
            let why = review.why.as_deref().map(&clean);
            let last: Option<(String, String, Option<String>)> = tx
                .prepare_cached(
                    "SELECT decision, evidence, why FROM review_log WHERE pattern = ?1
                     ORDER BY id DESC LIMIT 1",
                )?
                .query_map([&review.pattern], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?
                .next()
                .transpose()?;
            if last
                == Some((
                    review.decision.clone(),
                    review.evidence.clone(),
                    why.clone(),
                ))
            {
                return Ok(false);
            }
            tx.prepare_cached(
                "INSERT INTO review_log (pattern, decision, why, evidence, sessions, flavors, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                review.pattern,
                review.decision,
                why,
                review.evidence,
                review.sessions,
                review.flavors,
                review.at.map(Timestamp::as_millisecond),
            ])?;
            let id = tx.last_insert_rowid();
            tx.prepare_cached("INSERT INTO decision_queue (review, payload) VALUES (?1, ?2)")?
                .execute(params![id, clean(&payload)])?;
            Ok(true)
        })
    }

    /// Returns all decisions, the oldest first.
    pub fn reviews(&self) -> Result<Vec<Review>> {
        const SQL: &str = "SELECT pattern, decision, why, evidence, sessions, flavors, at
            FROM review_log ORDER BY id";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SQL)?;
            let rows = statement.query_map([], |row| {
                Ok(Review {
                    pattern: row.get(0)?,
                    decision: row.get(1)?,
                    why: row.get(2)?,
                    evidence: row.get(3)?,
                    sessions: row.get(4)?,
                    flavors: row.get(5)?,
                    at: timestamp_from_millis(row.get(6)?),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the decisions that were not sent yet, the oldest first.
    pub fn queued_decisions(&self) -> Result<Vec<QueuedDecision>> {
        const SQL: &str = "SELECT id, payload FROM decision_queue WHERE sent IS NULL ORDER BY id";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SQL)?;
            let rows = statement.query_map([], |row| {
                Ok(QueuedDecision {
                    id: row.get(0)?,
                    payload: row.get(1)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Marks a queued decision as sent.
    pub fn mark_decision_sent(&self, id: i64, now: Timestamp) -> Result<()> {
        self.write(move |tx, _| {
            tx.prepare_cached("UPDATE decision_queue SET sent = ?2 WHERE id = ?1")?
                .execute([id, now.as_millisecond()])?;
            Ok(())
        })
    }
}

/// Deletes the patterns that were found in a session, and the unsent decisions about them, which
/// quote its text.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    const OF_SESSION: &str = "SELECT pattern FROM pattern_sessions WHERE session = ?1";
    for sql in [
        format!(
            "UPDATE decision_queue SET payload = '', sent = coalesce(sent, 0) WHERE review IN
             (SELECT id FROM review_log WHERE pattern IN ({OF_SESSION}))"
        ),
        format!("DELETE FROM patterns WHERE id IN ({OF_SESSION})"),
        format!("DELETE FROM pattern_sessions WHERE pattern IN ({OF_SESSION})"),
    ] {
        tx.prepare_cached(&sql)?.execute([session])?;
    }
    Ok(())
}
