//! Letting go: session by session, each in a transaction of its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use memory::{Kind, RecordId, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use super::Usage;
use super::plan::{AgePass, Evict, Eviction, Pass, Policy, plan};
use crate::error::Result;
use crate::housekeeping::{self, AGE_HELD_BACK};
use crate::writer::{Hurry, Names};
use crate::{Store, blocks, bodies, raw, records};

/// A plan goes by shares; where they were too small, the rest is planned again.
const ROUNDS_MAX: usize = 4;
/// Free pages are given back to the file system when they are this much, and this part of the file.
const GIVEN_BACK_BYTES_MIN: u64 = 16 << 20;
const GIVEN_BACK_PART: u64 = 5;
/// What is kept of a record's id to know it again.
const ID_BYTES: usize = 8;

/// What retention did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retained {
    /// Bytes of pages that were raw before and are not any more.
    pub freed: u64,
    /// Bytes of pages that are raw now.
    pub final_usage: u64,
    pub distilled: u64,
    /// Sessions by the pass that let them go.
    pub evicted: BTreeMap<Pass, usize>,
    /// Sessions that went before a digest told of them.
    pub data_loss: Vec<SessionId>,
    pub age: AgePass,
    pub over_hard_cap_bytes: u64,
    pub over_distilled_cap_bytes: u64,
    /// The file was made smaller; else its free pages are used again.
    pub given_back: bool,
}

impl Store {
    /// Returns what would go.
    pub fn plan_eviction(
        &self,
        policy: &Policy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<(Usage, Eviction)> {
        let usage = self.usage_on_disk(now)?;
        let held = if self.is_pressed(&usage, policy, now)? {
            self.held(&usage, now - quiet, now)?
        } else {
            Vec::new()
        };
        let mut eviction = plan(&usage, &held, policy, now);
        // Nothing can go of a store that holds nothing but its own tables.
        if held.is_empty() {
            eviction.over_hard_cap_bytes = 0;
        }
        Ok((usage, eviction))
    }

    /// Says whether anything can have to go, so that a look at every record is spared.
    fn is_pressed(&self, usage: &Usage, policy: &Policy, now: Timestamp) -> Result<bool> {
        let cap = policy.raw_soft_cap_bytes.min(policy.raw_hard_cap_bytes);
        let own_caps = policy
            .workspaces
            .iter()
            .any(|own| own.raw_soft_cap_bytes.is_some());
        if usage.raw_bytes > cap || own_caps {
            return Ok(true);
        }
        let ages = policy.workspaces.iter().filter_map(|own| own.raw_max_age);
        let Some(age) = ages.chain([policy.raw_max_age]).flatten().min() else {
            return Ok(false);
        };
        let oldest = self.oldest_held()?;
        Ok(oldest.is_some_and(|oldest| now.duration_since(oldest) > age))
    }

    /// Lets go of what the policy does not keep.
    pub fn evict(
        &self,
        policy: &Policy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<Retained> {
        let (before, mut eviction) = self.plan_eviction(policy, quiet, now)?;
        let mut out = Retained::nothing(&before);
        // Of several processes, one lets a day's share go.
        if matches!(eviction.age, AgePass::HeldBack(_)) && !self.claim_age_pass(now)? {
            eviction.sessions.retain(|evict| evict.pass != Pass::Age);
            eviction.age = AgePass::Paused;
        }
        out.age = eviction.age;
        let mut usage = before;
        for round in 0..ROUNDS_MAX {
            let gone = self.apply(&eviction, quiet, now)?;
            out.count(&eviction, &gone);
            if gone.is_empty() {
                break;
            }
            if round > 0 || self.usage_on_disk(now)?.raw_bytes > policy.raw_soft_cap_bytes {
                self.merge_index()?;
            }
            (usage, eviction) = self.plan_eviction(policy, quiet, now)?;
            // Age counts once a run.
            eviction.sessions.retain(|evict| evict.pass != Pass::Age);
            eviction.age = AgePass::Done;
        }
        out.over_hard_cap_bytes = eviction.over_hard_cap_bytes;
        out.over_distilled_cap_bytes = eviction.over_distilled_cap_bytes;
        out.freed = before.raw_bytes.saturating_sub(usage.raw_bytes);
        out.final_usage = usage.raw_bytes;
        out.distilled = usage.distilled_bytes;
        if out.sessions() > 0 {
            out.given_back = self.give_back(now)?;
        }
        Ok(out)
    }

    /// Lets the planned sessions go, and returns those that did. One that grew, woke up or was
    /// pinned since it was planned stays.
    pub fn apply(
        &self,
        eviction: &Eviction,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<HashSet<SessionId>> {
        let mut gone = HashSet::new();
        for evict in &eviction.sessions {
            let (own, before) = (evict.clone(), now - quiet);
            let ticket = self
                .writer()
                .submit(SESSION_WEIGHT, Hurry::Now, move |tx, names| {
                    session(tx, names, &own, before, now)
                });
            if ticket.wait()? == Verdict::Gone {
                gone.insert(evict.session.clone());
            }
        }
        Ok(gone)
    }

    fn claim_age_pass(&self, now: Timestamp) -> Result<bool> {
        let claim = move |tx: &Transaction<'_>, _: &mut Names| {
            housekeeping::claim(tx, AGE_HELD_BACK, super::plan::AGE_PAUSE, now)
        };
        self.writer().submit(1, Hurry::Now, claim).wait()
    }

    /// Takes deleted texts out of the index, which else does it little by little.
    fn merge_index(&self) -> Result<()> {
        let merge = |tx: &Transaction<'_>, _: &mut Names| {
            tx.execute_batch("INSERT INTO search (search) VALUES ('optimize')")?;
            Ok(())
        };
        self.writer().submit(1, Hurry::Now, merge).wait()
    }

    /// Gives free pages back to the file system, if they are many. A disk too full for that, or
    /// another process that does not let go, is no error: the pages are used again.
    pub fn give_back(&self, now: Timestamp) -> Result<bool> {
        let usage = self.usage_on_disk(now)?;
        let file = usage.raw_bytes + usage.distilled_bytes + usage.free_bytes;
        if usage.free_bytes < GIVEN_BACK_BYTES_MIN || usage.free_bytes * GIVEN_BACK_PART < file {
            return Ok(false);
        }
        let connection = crate::open::writer(self.path())?;
        let shrunk = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
        if let Err(error) = &shrunk {
            tracing::warn!(%error, "the store's free pages stay in its file");
        }
        Ok(shrunk.is_ok())
    }
}

impl Retained {
    /// The report of a run that let nothing go.
    pub fn nothing(usage: &Usage) -> Self {
        Self {
            final_usage: usage.raw_bytes,
            distilled: usage.distilled_bytes,
            evicted: Pass::ALL.iter().map(|pass| (*pass, 0)).collect(),
            ..Self::default()
        }
    }

    /// Returns how many sessions went.
    pub fn sessions(&self) -> usize {
        self.evicted.values().sum()
    }

    fn count(&mut self, eviction: &Eviction, gone: &HashSet<SessionId>) {
        let gone = eviction
            .sessions
            .iter()
            .filter(|evict| gone.contains(&evict.session));
        for evict in gone {
            *self.evicted.entry(evict.pass).or_default() += 1;
            if evict.data_loss {
                self.data_loss.push(evict.session.clone());
            }
        }
    }
}

/// An eviction is a transaction of its own.
const SESSION_WEIGHT: usize = 1_000_000;

/// What became of a planned eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Gone,
    /// It is not what it was when it was planned.
    Changed,
}

/// What an eviction looks at again before it acts.
struct Now {
    id: i64,
    digested: bool,
    pinned: bool,
    live: bool,
}

fn session(
    tx: &Transaction<'_>,
    names: &mut Names,
    evict: &Evict,
    quiet_before: Timestamp,
    now: Timestamp,
) -> Result<Verdict> {
    let Some(state) = state(tx, &evict.session, quiet_before, now)? else {
        return Ok(Verdict::Changed);
    };
    let is_last_resort = evict.pass == Pass::Overflow;
    if state.pinned || !is_last_resort && (state.live || !state.digested) {
        return Ok(Verdict::Changed);
    }
    let rows = rows(tx, state.id)?;
    if rows.is_empty() {
        return Ok(Verdict::Changed);
    }
    note(tx, &state, &rows, evict.pass, now)?;
    let mut in_blocks: HashMap<i64, Vec<(usize, usize)>> = HashMap::new();
    for row in &rows {
        tx.prepare_cached("DELETE FROM records WHERE row = ?1")?
            .execute([row.row])?;
        if let Some((block, start, size)) = row.block {
            in_blocks.entry(block).or_default().push((start, size));
        }
    }
    for row in &rows {
        if let Some(body) = &row.body {
            bodies::release(tx, body)?;
        }
        if !row.copy {
            names.index.remove(tx, row.row)?;
            records::promote(tx, names, row.id)?;
        }
    }
    logs(tx, state.id)?;
    let mut in_blocks: Vec<_> = in_blocks.into_iter().collect();
    in_blocks.sort_unstable_by_key(|(block, _)| *block);
    for (block, parts) in in_blocks {
        blocks::blank_all(tx, block, &parts)?;
    }
    names.evicted.forget(state.id);
    Ok(Verdict::Gone)
}

fn state(
    tx: &Transaction<'_>,
    session: &SessionId,
    quiet_before: Timestamp,
    now: Timestamp,
) -> Result<Option<Now>> {
    const SQL: &str = "
        SELECT s.id, d.revision IS s.revision, EXISTS (
                SELECT 1 FROM fact_sources x JOIN facts f ON f.id = x.fact
                WHERE x.session = s.id AND f.pinned),
            coalesce(s.ended, s.started, 0) > ?2 AND coalesce(s.ended, s.started, 0) <= ?3
        FROM sessions s LEFT JOIN digests d ON d.session = s.id WHERE s.name = ?1";
    let late = now.as_millisecond() + crate::digests::CLOCK_SLACK_MS;
    Ok(tx
        .prepare_cached(SQL)?
        .query_row(
            params![session.as_str(), quiet_before.as_millisecond(), late],
            |row| {
                Ok(Now {
                    id: row.get(0)?,
                    digested: row.get(1)?,
                    pinned: row.get(2)?,
                    live: row.get(3)?,
                })
            },
        )
        .optional()?)
}

/// A record that goes.
struct Going {
    row: i64,
    id: RecordId,
    kind: Kind,
    copy: bool,
    block: Option<(i64, usize, usize)>,
    body: Option<Vec<u8>>,
}

fn rows(connection: &Connection, session: i64) -> Result<Vec<Going>> {
    let mut statement = connection.prepare_cached(
        "SELECT row, id, kind, copy, block, start, size, body FROM records WHERE session = ?1
         ORDER BY row",
    )?;
    let rows = statement.query_map([session], |row| {
        let block: Option<i64> = row.get(4)?;
        let start: Option<usize> = row.get(5)?;
        let size: usize = row.get(6)?;
        Ok(Going {
            row: row.get(0)?,
            id: RecordId::from_bytes(row.get(1)?),
            kind: records::kind(row.get(2)?),
            copy: row.get(3)?,
            block: block.zip(start).map(|(block, start)| (block, start, size)),
            body: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes down what goes, before it does.
fn note(
    tx: &Transaction<'_>,
    state: &Now,
    rows: &[Going],
    pass: Pass,
    now: Timestamp,
) -> Result<()> {
    let count = |kind: Kind| rows.iter().filter(|row| row.kind == kind).count();
    let ids: Vec<u8> = rows
        .iter()
        .flat_map(|row| row.id.as_bytes()[..ID_BYTES].to_vec())
        .collect();
    let lost = if state.digested { 0 } else { rows.len() };
    // The concatenation of blobs is text to SQLite.
    tx.prepare_cached(
        "INSERT INTO evictions (session, at, pass, records, prompts, tool_calls, errors, lost, ids)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (session) DO UPDATE SET at = excluded.at, pass = excluded.pass,
            records = records + excluded.records, prompts = prompts + excluded.prompts,
            tool_calls = tool_calls + excluded.tool_calls, errors = errors + excluded.errors,
            lost = lost + excluded.lost, ids = CAST(ids || excluded.ids AS BLOB)",
    )?
    .execute(params![
        state.id,
        now.as_millisecond(),
        pass.name(),
        rows.len(),
        count(Kind::Prompt),
        count(Kind::ToolUse),
        count(Kind::Error),
        lost,
        ids,
    ])?;
    // An older digest, too, tells more than none.
    tx.prepare_cached("UPDATE digests SET base = data WHERE session = ?1")?
        .execute([state.id])?;
    Ok(())
}

/// Deletes the logs of a session, but for those in which another session's records still are.
fn logs(tx: &Transaction<'_>, session: i64) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT x.source FROM source_sessions x WHERE x.session = ?1 AND NOT EXISTS (
            SELECT 1 FROM source_sessions y WHERE y.source = x.source AND EXISTS (
                SELECT 1 FROM records r WHERE r.session = y.session))",
    )?;
    let sources: Vec<i64> = statement
        .query_map([session], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for source in sources {
        let kept = raw::kept_of(tx, "source = ?1", &[&source])?;
        tx.prepare_cached("DELETE FROM raw WHERE source = ?1")?
            .execute([source])?;
        kept.iter().try_for_each(|kept| raw::release(tx, kept))?;
    }
    Ok(())
}

/// The records that were evicted, asked for once per session.
#[derive(Debug, Default)]
pub(crate) struct Evicted {
    sessions: HashMap<i64, HashSet<[u8; ID_BYTES]>>,
}

impl Evicted {
    /// Says whether a record of a session was evicted.
    pub fn holds(&mut self, connection: &Connection, session: i64, id: RecordId) -> Result<bool> {
        let ids = self.of(connection, session)?;
        let mut first = [0; ID_BYTES];
        first.copy_from_slice(&id.as_bytes()[..ID_BYTES]);
        Ok(ids.contains(&first))
    }

    /// Says whether any record of a session was evicted.
    pub fn any(&mut self, connection: &Connection, session: i64) -> Result<bool> {
        Ok(!self.of(connection, session)?.is_empty())
    }

    fn forget(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    fn of(&mut self, connection: &Connection, session: i64) -> Result<&HashSet<[u8; ID_BYTES]>> {
        if !self.sessions.contains_key(&session) {
            let ids: Option<Vec<u8>> = connection
                .prepare_cached("SELECT ids FROM evictions WHERE session = ?1")?
                .query_row([session], |row| row.get(0))
                .optional()?;
            let (ids, _) = ids.as_deref().unwrap_or_default().as_chunks::<ID_BYTES>();
            let ids = ids.iter().copied().collect();
            self.sessions.insert(session, ids);
        }
        Ok(self.sessions.entry(session).or_default())
    }
}
