//! Facts: repeated statements are merged; contradicted ones are superseded and kept as history.

mod lookup;
mod merge;

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{FactId, FactKind, RecordId, SessionId, Trust, Workspace};
use rusqlite::{OptionalExtension, Transaction, params};

pub(crate) use self::lookup::{FACTS, fact_columns};
pub use self::lookup::{FactFilter, FactScope};
pub use self::merge::FactOutcome;
use crate::derived::cards;
use crate::error::Result;
use crate::ingest::sanitizer::SENSITIVE_TAG;
use crate::ingest::writer::CommitMode;
use crate::{Store, Ticket};
use redact::CleanString;

/// A statement to store.
#[derive(Clone, Debug)]
pub struct NewFact {
    /// The workspace it holds in; everywhere when `None`.
    pub workspace: Option<Workspace>,
    pub kind: FactKind,
    pub text: String,
    pub tags: Vec<String>,
    pub trust: Trust,
    pub pinned: bool,
    /// When it was stated.
    pub at: Timestamp,
    /// The records it was extracted from. Empty when the user stated it directly.
    pub sources: Vec<RecordId>,
}

/// Which sessions a model is asked about.
#[derive(Clone, Copy, Debug)]
pub struct FactSessionFilter {
    /// Sessions without activity since then are ignored.
    pub since: Timestamp,
    /// A session without activity since then counts as finished.
    pub quiet_before: Timestamp,
    /// How many new records a finished session needs …
    pub new_records_min: u64,
    /// … and one that is still active.
    pub live_new_records_min: u64,
    pub limit: usize,
}

/// A redacted fact, ready to be written.
#[derive(Debug)]
struct CleanFact {
    id: FactId,
    workspace: Option<(CleanString, CleanString)>,
    kind: FactKind,
    text: CleanString,
    words: String,
    tags: Option<CleanString>,
    trust: Trust,
    pinned: bool,
    at: Timestamp,
    sources: Vec<RecordId>,
}

impl Store {
    /// Stores a fact and merges it with the existing ones.
    pub fn remember(&self, fact: NewFact) -> Result<FactOutcome> {
        let fact = self.clean_fact(fact);
        self.writer()
            .submit(1, CommitMode::Immediate, move |tx, names| {
                merge::merge_fact(tx, names, &fact)
            })
            .wait()
    }

    /// Stores the facts of a session and the number of records they were extracted from,
    /// atomically. The ticket completes when both are on disk, at the latest at [`Store::flush`].
    pub fn remember_session_facts(
        &self,
        session: &SessionId,
        records: u64,
        facts: Vec<NewFact>,
    ) -> Ticket<Vec<FactOutcome>> {
        let facts: Vec<_> = facts
            .into_iter()
            .map(|fact| self.clean_fact(fact))
            .collect();
        let session = session.clone();
        self.writer()
            .submit(facts.len(), CommitMode::Grouped, move |tx, names| {
                let merged = facts
                    .iter()
                    .map(|fact| merge::merge_fact(tx, names, fact))
                    .collect::<Result<_>>()?;
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO fact_looks (session, records)
                     SELECT id, ?2 FROM sessions WHERE name = ?1",
                )?
                .execute(params![session.as_str(), records])?;
                Ok(merged)
            })
    }

    /// Replaces a fact by another version of it and returns the new id. A version with the same
    /// words keeps the id; otherwise the old fact becomes history.
    pub fn replace_fact(&self, old: FactId, new: NewFact) -> Result<FactId> {
        let new = self.clean_fact(new);
        self.write(move |tx, names| {
            let id = match new.id == old {
                true => old,
                false => merge::merge_fact(tx, names, &new)?.id,
            };
            let sql = "UPDATE facts SET kind = ?2, text = ?3, words = ?4, tags = ?5, pinned = ?6
                 WHERE id = ?1";
            let tags = new.tags.as_ref().map(CleanString::as_str);
            let (kind, text) = (new.kind.name(), new.text.as_str());
            tx.prepare_cached(sql)?.execute(params![
                id.as_bytes(),
                kind,
                text,
                new.words,
                tags,
                new.pinned
            ])?;
            if id != old {
                let sql = "UPDATE facts SET superseded = ?2, pinned = 0 WHERE id = ?1";
                tx.prepare_cached(sql)?
                    .execute(params![old.as_bytes(), id.as_bytes()])?;
            }
            cards::forget_facts(tx)?;
            Ok(id)
        })
    }

    /// Pins or unpins a fact. Returns whether it exists.
    pub fn set_pinned(&self, id: FactId, pinned: bool) -> Result<bool> {
        self.writer()
            .submit(1, CommitMode::Immediate, move |tx, _| {
                let sql = "UPDATE facts SET pinned = ?2 WHERE id = ?1";
                Ok(tx.execute(sql, params![id.as_bytes(), pinned])? > 0)
            })
            .wait()
    }

    /// Deletes a fact and every reference to it. Returns whether it existed.
    pub fn forget_fact(&self, id: FactId) -> Result<bool> {
        self.writer()
            .submit(1, CommitMode::Immediate, move |tx, _| delete(tx, id))
            .wait()
    }

    /// Returns quiet sessions that have changed since they were last searched for facts, and how
    /// many records each has. Quiet is what has not gone on since `before`. The prompt of a
    /// subagent is written by a model; that of a headless run usually by a person.
    pub fn sessions_to_scan_for_facts(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(SessionId, u64)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.name, s.records FROM sessions s
                 LEFT JOIN fact_looks l ON l.session = s.id
                 WHERE s.kind <> 'subagent' AND s.records > 0
                   AND coalesce(s.ended, s.started, 0) < ?1
                   AND (l.records IS NULL OR l.records <> s.records)
                 ORDER BY coalesce(s.ended, s.started, 0), s.name LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![before.as_millisecond(), limit], |row| {
                Ok((SessionId::new(row.get::<_, String>(0)?), row.get(1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how many records a session has, if it is not a subagent's and has changed since it
    /// was last searched for facts.
    pub fn records_to_scan_for_facts(&self, session: &SessionId) -> Result<Option<u64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.records FROM sessions s LEFT JOIN fact_looks l ON l.session = s.id
                 WHERE s.name = ?1 AND s.kind <> 'subagent' AND s.records > 0
                   AND (l.records IS NULL OR l.records <> s.records)",
            )?;
            Ok(statement
                .query_row([session.as_str()], |row| row.get(0))
                .optional()?)
        })
    }

    /// Returns the main sessions that a model has not been asked about since their last activity:
    /// finished ones, and active ones with enough new records. The latest come first, each with the
    /// time of the last model call, which the ledger records.
    pub fn sessions_for_model_facts(
        &self,
        ask: &FactSessionFilter,
    ) -> Result<Vec<(SessionId, Option<Timestamp>)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT name, asked FROM (
                    SELECT s.id, s.name, coalesce(s.ended, s.started) AS last,
                        (SELECT max(c.at) FROM model_calls c WHERE c.session = s.id
                            AND c.purpose = 'facts' AND c.outcome = 'ok') AS asked
                    FROM sessions s
                    WHERE s.kind = 'main' AND coalesce(s.ended, s.started) >= ?1) q
                 WHERE (asked IS NULL OR asked < last)
                   AND (SELECT count(*) FROM records r WHERE r.session = q.id
                        AND coalesce(r.at, 0) > coalesce(asked, -1))
                       >= CASE WHEN last < ?2 THEN ?3 ELSE ?4 END
                 ORDER BY last DESC, name LIMIT ?5",
            )?;
            let rows = statement.query_map(
                params![
                    ask.since.as_millisecond(),
                    ask.quiet_before.as_millisecond(),
                    ask.new_records_min,
                    ask.live_new_records_min,
                    i64::try_from(ask.limit).unwrap_or(i64::MAX)
                ],
                |row| {
                    let asked: Option<i64> = row.get(1)?;
                    let asked = asked.and_then(|at| Timestamp::from_millisecond(at).ok());
                    Ok((SessionId::new(row.get::<_, String>(0)?), asked))
                },
            )?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn clean_fact(&self, fact: NewFact) -> CleanFact {
        let clean = |text: &str| self.redactor().clean(text).into_owned();
        let text = clean(fact.text.trim());
        let mut tags = fact.tags;
        if text.sensitive() {
            tags.push(SENSITIVE_TAG.to_owned());
        }
        let tags =
            (!tags.is_empty()).then(|| clean(&serde_json::to_string(&tags).unwrap_or_default()));
        let workspace = fact.workspace.map(|w| (clean(&w.key), clean(&w.root)));
        let key = workspace.as_ref().map(|(key, _)| key.as_str());
        CleanFact {
            id: FactId::from_text(key, text.as_str()),
            words: StemmedText::parse(text.as_str()).to_line(),
            workspace,
            kind: fact.kind,
            text,
            tags,
            trust: fact.trust,
            pinned: fact.pinned,
            at: fact.at,
            sources: fact.sources,
        }
    }
}

fn delete(tx: &Transaction<'_>, id: FactId) -> Result<bool> {
    for sql in [
        "DELETE FROM fact_sources WHERE fact = ?1",
        "DELETE FROM injected WHERE item = ?1",
    ] {
        tx.execute(sql, [id.as_bytes()])?;
    }
    cards::forget_facts(tx)?;
    Ok(tx.execute("DELETE FROM facts WHERE id = ?1", [id.as_bytes()])? > 0)
}

/// Returns the session of a record.
fn session_of(tx: &Transaction<'_>, record: RecordId) -> Result<Option<i64>> {
    Ok(tx
        .prepare_cached("SELECT session FROM records WHERE id = ?1")?
        .query_row([record.as_bytes()], |row| row.get(0))
        .optional()?)
}
