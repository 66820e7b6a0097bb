//! Signals: what happened in each session that may recur in others.
//!
//! The signals of a session are written with its digest, in the same transaction, and replaced
//! with it. When records are evicted, their signals are marked and stay. When a record is
//! forgotten, the signals of its session go and are made again without it.

use jiff::Timestamp;
use memory::{Flavor, RecordId, SessionId, SessionKind, Signal, SignalKind};
use redact::Redactor;
use rusqlite::{Connection, Transaction, params};

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;

/// A session with its signals.
#[derive(Clone, Debug)]
pub struct SessionSignals {
    pub session: SessionId,
    pub flavor: Flavor,
    pub kind: SessionKind,
    pub parent: Option<SessionId>,
    pub workspace: Option<String>,
    /// The version of the agent, and its model.
    pub agent_version: Option<String>,
    pub model: Option<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub prompts: u64,
    pub tool_calls: u64,
    pub signals: Vec<Signal>,
}

/// Signals with all texts redacted.
#[derive(Debug)]
pub(crate) struct CleanSignals(Vec<Signal>);

impl CleanSignals {
    pub(crate) fn new(mut signals: Vec<Signal>, mut clean: impl FnMut(&str) -> String) -> Self {
        for signal in &mut signals {
            signal.name = clean(&signal.name);
            signal.text = clean(&signal.text);
        }
        Self(signals)
    }
}

impl Store {
    /// Returns the sessions that have signals, in the order of their start.
    pub fn session_signals(&self, workspace: Option<&str>) -> Result<Vec<SessionSignals>> {
        const SESSIONS: &str = "
            SELECT s.id, s.name, s.flavor, s.kind, s.parent, w.key, s.version, s.model, s.started,
                s.ended, s.prompts, s.tool_calls
            FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace
            WHERE (?1 IS NULL OR w.key = ?1)
              AND EXISTS (SELECT 1 FROM signals x WHERE x.session = s.id)
            ORDER BY s.started, s.name";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SESSIONS)?;
            let mut rows = statement.query([workspace])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(flavor) = Flavor::from_name(&row.get::<_, String>(2)?) else {
                    continue;
                };
                sessions.push(SessionSignals {
                    session: SessionId::new(row.get::<_, String>(1)?),
                    flavor,
                    kind: SessionKind::from_name(&row.get::<_, String>(3)?).unwrap_or_default(),
                    parent: row.get::<_, Option<String>>(4)?.map(SessionId::new),
                    workspace: row.get(5)?,
                    agent_version: row.get(6)?,
                    model: row.get(7)?,
                    started: timestamp_from_millis(row.get(8)?),
                    ended: timestamp_from_millis(row.get(9)?),
                    prompts: row.get(10)?,
                    tool_calls: row.get(11)?,
                    signals: signals_where(connection, row.get(0)?, "1")?,
                });
            }
            Ok(sessions)
        })
    }
}

/// Returns the chosen signals of a session by kind and name.
pub(crate) fn signals_where(
    connection: &Connection,
    session: i64,
    condition: &str,
) -> Result<Vec<Signal>> {
    let sql = format!(
        "SELECT kind, name, text, times, ms, tokens, overcome, first_record, version FROM signals
         WHERE session = ?1 AND {condition} ORDER BY kind, name, evicted DESC"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([session])?;
    let mut signals: Vec<Signal> = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(kind) = SignalKind::from_name(&row.get::<_, String>(0)?) else {
            continue;
        };
        let record: Option<[u8; 16]> = row.get(7)?;
        let signal = Signal {
            kind,
            name: row.get(1)?,
            text: row.get(2)?,
            times: row.get(3)?,
            ms: row.get(4)?,
            tokens: row.get(5)?,
            overcome: row.get(6)?,
            first_record: record.map(RecordId::from_bytes),
            version: row.get(8)?,
        };
        match signals.last_mut() {
            Some(known) if (known.kind, &known.name) == (signal.kind, &signal.name) => {
                known.join(&signal);
            }
            _ => signals.push(signal),
        }
    }
    Ok(signals)
}

/// Replaces the signals of a session's stored records.
pub(crate) fn replace(tx: &Transaction<'_>, session: i64, signals: &CleanSignals) -> Result<()> {
    delete(tx, session, "NOT evicted")?;
    insert(tx, session, signals, false)
}

/// Stores the signals from an import, unless the session has some.
pub(crate) fn import(
    tx: &Transaction<'_>,
    session: &str,
    signals: &CleanSignals,
    base: &CleanSignals,
) -> Result<()> {
    const SQL: &str = "SELECT id FROM sessions WHERE name = ?1
        AND NOT EXISTS (SELECT 1 FROM signals WHERE session = sessions.id)";
    let mut statement = tx.prepare_cached(SQL)?;
    let id = statement.query_map([session], |row| row.get(0))?.next();
    let Some(id) = id.transpose()? else {
        return Ok(());
    };
    insert(tx, id, signals, false)?;
    insert(tx, id, base, true)
}

fn insert(tx: &Transaction<'_>, session: i64, signals: &CleanSignals, evicted: bool) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO signals (session, kind, name, text, times, ms, tokens, overcome, first_record,
            version, evicted) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for signal in &signals.0 {
        insert.execute(params![
            session,
            signal.kind.name(),
            signal.name,
            signal.text,
            signal.times,
            signal.ms,
            signal.tokens,
            signal.overcome,
            signal.first_record.map(|record| *record.as_bytes()),
            signal.version,
            evicted,
        ])?;
    }
    Ok(())
}

/// Keeps the signals of records that are being evicted.
pub(crate) fn mark_evicted(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE signals SET evicted = 1 WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}

/// Removes the signals of evicted records, because the records have returned.
pub(crate) fn unmark_evicted(tx: &Transaction<'_>, session: i64) -> Result<()> {
    delete(tx, session, "evicted")
}

/// Removes the signals that may mention a forgotten record. Those of evicted records stay unless
/// `met` finds something forgotten in them.
pub(crate) fn retract(
    tx: &Transaction<'_>,
    session: i64,
    met: impl Fn(&str) -> bool,
) -> Result<()> {
    delete(tx, session, "NOT evicted")?;
    let mut statement =
        tx.prepare_cached("SELECT id, name || char(10) || text FROM signals WHERE session = ?1")?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
    for (id, text) in rows {
        if met(&text) {
            tx.prepare_cached("DELETE FROM signals WHERE id = ?1")?
                .execute([id])?;
        }
    }
    Ok(())
}

/// Removes secrets from signals that were written before they were recognised.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: i64,
    fresh: &[redact::Secret],
) -> Result<()> {
    let mut statement =
        tx.prepare_cached("SELECT id, name, text FROM signals WHERE session = ?1")?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<(i64, String, String)> = rows.collect::<Result<_, _>>()?;
    for (id, name, text) in rows {
        let mut seen = redactor.session_with(fresh);
        let mut clean = |text: &str| {
            let clean = redactor.clean_in_session(text, &mut seen).into_owned();
            clean.as_str().to_owned()
        };
        let (new_name, new_text) = (clean(&name), clean(&text));
        if (&new_name, &new_text) != (&name, &text) {
            tx.prepare_cached("UPDATE signals SET name = ?2, text = ?3 WHERE id = ?1")?
                .execute(params![id, new_name, new_text])?;
            super::patterns::forget_session(tx, session)?;
        }
    }
    Ok(())
}

fn delete(tx: &Transaction<'_>, session: i64, which: &str) -> Result<()> {
    let sql = format!("DELETE FROM signals WHERE session = ?1 AND {which}");
    tx.prepare_cached(&sql)?.execute([session])?;
    Ok(())
}
