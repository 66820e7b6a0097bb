//! Tombstones keep forgotten records and sessions out while an agent's own log still has them.
//!
//! A tombstone is a handful of keyed hashes. A record has a hash of its text and position, which
//! its copies in forks share, one of its text in its session, one of its position in its log, and,
//! if it is a prompt, one of the text alone, because the agents' prompt histories name no session.
//! A session has a hash of its name and those of its records that a later fork could repeat. Every
//! batch is checked against them, however it arrives ([`blocked`]).

mod blocked;
mod carry;

use std::collections::HashMap;

use jiff::Timestamp;
use memory::{Flavor, MessageId, RecordId, RecordKind, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::ingest::sanitizer::CleanRecord;
use crate::ingest::sources::UNREAD_HEAD;
use crate::ingest::writer::CommitMode;
use crate::lifecycle::forget;
use crate::records::sessions::timestamp_from_millis;
use redact::Redactor;

pub(crate) use self::blocked::{BlockedContent, blocked_by_tombstones};
pub use self::carry::CarriedTombstones;
pub(crate) use self::carry::carry_over;

/// A shorter prompt ("yes", "go on") is too common to be blocked without its session.
const PROMPT_BYTES_MIN: usize = 12;

/// A tombstone as `throughline forget --list` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tombstone {
    /// The id of the tombstone, not of the forgotten record or session.
    pub id: String,
    pub kind: TombstoneKind,
    pub agent: String,
    pub records: u64,
    pub forgotten: Option<Timestamp>,
}

memory::named_enum! {
    /// What a tombstone blocks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TombstoneKind {
        Record = "record",
        Session = "session",
    }
}

/// The outcome of removing a tombstone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiftOutcome {
    Lifted(Tombstone),
    Unknown,
    Ambiguous(usize),
}

/// What a key is a hash of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TombstoneKeyKind {
    Session = 0,
    Copy = 1,
    Text = 2,
    Entry = 3,
    Prompt = 4,
    Title = 5,
}

pub(crate) type TombstoneKey = ([u8; 16], TombstoneKeyKind);

impl Store {
    /// Lists the tombstones, the latest first.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(&format!("{SELECT} ORDER BY at DESC, kind, hex(name)"))?;
            let rows = statement.query_map([], tombstone)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Removes a tombstone, named by its own id or by the session or record that it blocks. The
    /// forgotten records come back with the next sweep if the agent's log still has them.
    pub fn lift_tombstone(&self, name: &str) -> Result<LiftOutcome> {
        let redactor = self.redactor_handle();
        let name = name.to_owned();
        let work = move |tx: &Transaction<'_>, _: &mut _| lift(tx, &redactor, &name);
        self.writer().submit(1, CommitMode::Immediate, work).wait()
    }
}

const SELECT: &str =
    "SELECT lower(hex(substr(name, 1, 6))), kind, flavor, records, at FROM tombstones";

fn tombstone(row: &rusqlite::Row<'_>) -> rusqlite::Result<Tombstone> {
    let kind: String = row.get(1)?;
    Ok(Tombstone {
        id: row.get(0)?,
        kind: if kind == TombstoneKind::Session.name() {
            TombstoneKind::Session
        } else {
            TombstoneKind::Record
        },
        agent: row.get(2)?,
        records: row.get(3)?,
        forgotten: timestamp_from_millis(row.get(4)?),
    })
}

fn lift(tx: &Transaction<'_>, redactor: &Redactor, name: &str) -> Result<LiftOutcome> {
    let mut exact = vec![session_key(redactor, name).0];
    exact.extend(name.parse::<RecordId>().map(|id| copy_key(redactor, id).0));
    exact.extend(Flavor::ALL.iter().map(|flavor| {
        let id = SessionId::of(*flavor, name);
        session_key(redactor, id.as_str()).0
    }));
    let mut found = Vec::new();
    for key in &exact {
        let sql = "SELECT id FROM tombstones WHERE name = ?1";
        found.extend(
            tx.query_row(sql, [key], |row| row.get::<_, i64>(0))
                .optional()?,
        );
    }
    if found.is_empty() {
        let sql = "SELECT id FROM tombstones WHERE substr(lower(hex(name)), 1, length(?1)) = ?1";
        let mut statement = tx.prepare_cached(sql)?;
        let rows = statement.query_map([name.to_ascii_lowercase()], |row| row.get(0))?;
        found = rows.collect::<Result<_, _>>()?;
    }
    let [id] = found[..] else {
        return Ok(match found.len() {
            0 => LiftOutcome::Unknown,
            several => LiftOutcome::Ambiguous(several),
        });
    };
    let lifted = tx.query_row(&format!("{SELECT} WHERE id = ?1"), [id], tombstone)?;
    tx.execute("DELETE FROM tombstone_keys WHERE tombstone = ?1", [id])?;
    tx.execute("DELETE FROM tombstones WHERE id = ?1", [id])?;
    // The file that holds it is no longer known, so all logs of that agent are read again.
    let sql = "UPDATE sources SET offset = 0, line = 0, head = ?2, tail = ?2, size = 0, mtime = 0,
        archived = 0, state = NULL, forgotten = 0 WHERE flavor = ?1";
    tx.execute(sql, params![lifted.agent, UNREAD_HEAD])?;
    Ok(LiftOutcome::Lifted(lifted))
}

/// Sets a tombstone and returns its row id. An existing one gets the new keys as well.
pub(crate) fn insert_tombstone(
    tx: &Transaction<'_>,
    name: [u8; 16],
    kind: TombstoneKind,
    flavor: &str,
    keys: &[TombstoneKey],
    records: usize,
    now: Timestamp,
) -> Result<i64> {
    let id: i64 = tx
        .prepare_cached(
            "INSERT INTO tombstones (name, kind, flavor, records, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET records = max(records, excluded.records)
             RETURNING id",
        )?
        .query_row(
            params![name, kind.name(), flavor, records, now.as_millisecond()],
            |row| row.get(0),
        )?;
    add(tx, id, keys)?;
    Ok(id)
}

pub(crate) fn add(tx: &Transaction<'_>, id: i64, keys: &[TombstoneKey]) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT OR IGNORE INTO tombstone_keys (key, tombstone, sort) VALUES (?1, ?2, ?3)",
    )?;
    for (key, sort) in keys {
        statement.execute(params![key, id, *sort as i64])?;
    }
    Ok(())
}

pub(crate) fn session_key(redactor: &Redactor, name: &str) -> TombstoneKey {
    (
        redactor.keyed_hash_for("session", &[name.as_bytes()]),
        TombstoneKeyKind::Session,
    )
}

pub(crate) fn copy_key(redactor: &Redactor, id: RecordId) -> TombstoneKey {
    let shared = &id.as_bytes()[..RecordId::SHARED_BYTES];
    (
        redactor.keyed_hash_for("copy", &[shared]),
        TombstoneKeyKind::Copy,
    )
}

pub(crate) fn text_key(redactor: &Redactor, session: &str, text: &str) -> TombstoneKey {
    let hash = blake3::hash(text.as_bytes());
    let parts: &[&[u8]] = &[session.as_bytes(), hash.as_bytes()];
    (
        redactor.keyed_hash_for("text", parts),
        TombstoneKeyKind::Text,
    )
}

pub(crate) fn entry_key(
    redactor: &Redactor,
    session: &str,
    message: &str,
    ordinal: u32,
    kind: RecordKind,
) -> TombstoneKey {
    let (ordinal, kind) = (ordinal.to_le_bytes(), kind.name().as_bytes());
    let parts: &[&[u8]] = &[session.as_bytes(), message.as_bytes(), &ordinal, kind];
    (
        redactor.keyed_hash_for("entry", parts),
        TombstoneKeyKind::Entry,
    )
}

/// Returns the key of a prompt, unless it is too short to be distinctive.
pub(crate) fn prompt_key(redactor: &Redactor, text: &str) -> Option<TombstoneKey> {
    let text = text.trim();
    let hash = blake3::hash(text.as_bytes());
    (text.len() >= PROMPT_BYTES_MIN).then(|| {
        (
            redactor.keyed_hash_for("prompt", &[hash.as_bytes()]),
            TombstoneKeyKind::Prompt,
        )
    })
}

pub(crate) fn title_key(redactor: &Redactor, session: &str, title: &str) -> TombstoneKey {
    let parts: &[&[u8]] = &[session.as_bytes(), title.as_bytes()];
    (
        redactor.keyed_hash_for("title", parts),
        TombstoneKeyKind::Title,
    )
}

/// The parts of a record that its keys are made from.
struct RecordIdentity<'a> {
    id: RecordId,
    session: &'a str,
    message: &'a str,
    ordinal: u32,
    kind: RecordKind,
    text: &'a str,
}

/// Checks the contents of a batch against the tombstones.
#[derive(Debug)]
pub(crate) struct TombstoneFilter<'a> {
    redactor: &'a Redactor,
    /// True when the store has no tombstones. Most stores have none, and then no query is made.
    is_empty: bool,
    sessions: HashMap<String, bool>,
}

impl<'a> TombstoneFilter<'a> {
    pub(crate) fn new(tx: &Connection, redactor: &'a Redactor) -> Result<Self> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM tombstones)";
        let is_open = tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(Self {
            redactor,
            is_empty: is_open,
            sessions: HashMap::new(),
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_empty
    }

    /// Returns whether a session, or the session that started it, was forgotten.
    pub(crate) fn session(
        &mut self,
        tx: &Connection,
        name: &str,
        parent: Option<&str>,
    ) -> Result<bool> {
        if self.is_empty {
            return Ok(false);
        }
        if let Some(known) = self.sessions.get(name)
            && (*known || parent.is_none())
        {
            return Ok(*known);
        }
        let mut forgotten = false;
        for name in [Some(name), parent].into_iter().flatten() {
            // The name of a subagent's session starts with that of its parent.
            for (end, _) in name.match_indices('/').chain([(name.len(), "")]) {
                forgotten |= has(tx, session_key(self.redactor, &name[..end]))?;
            }
        }
        self.sessions.insert(name.to_owned(), forgotten);
        Ok(forgotten)
    }

    pub(crate) fn is_record_forgotten(
        &self,
        tx: &Connection,
        record: &CleanRecord,
    ) -> Result<bool> {
        if self.is_empty {
            return Ok(false);
        }
        self.place(
            tx,
            &RecordIdentity {
                id: record.id,
                session: record.session.as_str(),
                message: record.message.as_str(),
                ordinal: record.ordinal,
                kind: record.kind,
                text: record.content.as_str(),
            },
        )
    }

    /// Returns whether a record with these keys was forgotten.
    fn place(&self, tx: &Connection, record: &RecordIdentity<'_>) -> Result<bool> {
        let RecordIdentity {
            session, message, ..
        } = *record;
        let mut keys = vec![
            copy_key(self.redactor, record.id),
            text_key(self.redactor, session, record.text),
            entry_key(self.redactor, session, message, record.ordinal, record.kind),
        ];
        if MessageId::new(message).is_from_history() {
            keys.extend(prompt_key(self.redactor, record.text));
        }
        for key in keys {
            if has(tx, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn is_title_forgotten(
        &self,
        tx: &Connection,
        session: &str,
        title: &str,
    ) -> Result<bool> {
        if self.is_empty {
            return Ok(false);
        }
        has(tx, title_key(self.redactor, session, title))
    }

    /// Adds the forgotten prompts that a log holds verbatim, in any session.
    pub(crate) fn add_forgotten_prompts(
        &self,
        tx: &Connection,
        log: &str,
        needles: &mut forget::Needles,
    ) -> Result<()> {
        let sql = "SELECT EXISTS (SELECT 1 FROM tombstone_keys WHERE sort = ?1)";
        let any = tx
            .prepare_cached(sql)?
            .query_row([TombstoneKeyKind::Prompt as i64], |row| {
                row.get::<_, bool>(0)
            })?;
        if !any {
            return Ok(());
        }
        for literal in forget::json_strings(log) {
            if let Some(key) = prompt_key(self.redactor, &literal)
                && has(tx, key)?
            {
                needles.add(&literal);
            }
        }
        Ok(())
    }
}

fn has(connection: &Connection, (key, sort): TombstoneKey) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tombstone_keys WHERE sort = ?2 AND key = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![key, sort as i64], |row| row.get(0))?)
}
