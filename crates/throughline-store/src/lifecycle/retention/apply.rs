//! Letting go: session by session, each in a transaction of its own.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use memory::SessionId;
use rusqlite::Transaction;
use serde::Serialize;

use super::DiskUsage;
use super::evict::{self, EvictOutcome};
use super::measure::stamp_captures;
use super::plan::{DeleteAfterStatus, EvictionPass, EvictionPlan, RetentionPolicy, plan};
use crate::Store;
use crate::error::Result;
use crate::ingest::writer::{CommitMode, WriterState};
use crate::lifecycle::maintenance::{self, AGE_HELD_BACK_TASK};

/// A plan goes by shares; where they were too small, the rest is planned again.
const ROUNDS_MAX: usize = 4;
/// Free pages are given back to the file system when they are this much, and this part of the file.
const VACUUM_BYTES_MIN: u64 = 16 << 20;
const VACUUM_SHARE: u64 = 5;

/// An eviction is a transaction of its own.
const SESSION_WEIGHT: usize = 1_000_000;

/// What retention did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// Bytes of pages that were raw before and are not any more.
    pub freed: u64,
    /// Bytes of pages that are raw now.
    pub final_usage: u64,
    pub distilled: u64,
    /// Sessions by the pass that let them go.
    pub evicted: BTreeMap<EvictionPass, usize>,
    /// Sessions that went before a digest told of them.
    pub data_loss: Vec<SessionId>,
    pub age: DeleteAfterStatus,
    pub over_hard_cap_bytes: u64,
    pub over_distilled_cap_bytes: u64,
    /// The file was made smaller; else its free pages are used again.
    pub given_back: bool,
}

impl Store {
    /// Returns what would go.
    pub fn plan_eviction(
        &self,
        policy: &RetentionPolicy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<(DiskUsage, EvictionPlan)> {
        let usage = self.disk_usage(now)?;
        let held = if self.may_need_eviction(&usage, policy, now)? {
            self.retained_sessions(&usage, now - quiet, now)?
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
    fn may_need_eviction(
        &self,
        usage: &DiskUsage,
        policy: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<bool> {
        let cap = policy.raw_soft_cap_bytes.min(policy.raw_hard_cap_bytes);
        let own_caps = policy
            .workspaces
            .iter()
            .any(|own| own.raw_soft_cap_bytes.is_some());
        if usage.raw_bytes > cap || own_caps {
            return Ok(true);
        }
        let Some(age) = policy.shortest_delete_after() else {
            return Ok(false);
        };
        let oldest = self.oldest_captured()?;
        Ok(oldest.is_some_and(|oldest| now.duration_since(oldest) > age))
    }

    /// Evicts what the policy does not keep. What was captured since the last run stays, and may
    /// go in the next one.
    pub fn evict(
        &self,
        policy: &RetentionPolicy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<RetentionReport> {
        let (before, mut eviction) = self.plan_eviction(policy, quiet, now)?;
        let mut out = RetentionReport::unchanged(&before);
        // Of several processes, one deletes a day's share.
        if matches!(eviction.age, DeleteAfterStatus::HeldBack(_))
            && !self.claim_delete_after(now)?
        {
            eviction.remove_pass(EvictionPass::DeleteAfter);
            eviction.age = DeleteAfterStatus::Paused;
        }
        out.age = eviction.age;
        let mut usage = before;
        for round in 0..ROUNDS_MAX {
            let gone = self.apply_eviction(&eviction, quiet, now)?;
            out.count(&eviction, &gone);
            if gone.is_empty() {
                break;
            }
            if round > 0 || self.disk_usage(now)?.raw_bytes > policy.raw_soft_cap_bytes {
                self.merge_index()?;
            }
            (usage, eviction) = self.plan_eviction(policy, quiet, now)?;
            // `delete_after` counts once a run.
            eviction.remove_pass(EvictionPass::DeleteAfter);
            eviction.age = DeleteAfterStatus::Done;
        }
        if self.has_new_captures(now)? {
            let stamp = move |tx: &Transaction<'_>, _: &mut WriterState| stamp_captures(tx, now);
            self.writer()
                .submit(1, CommitMode::Immediate, stamp)
                .wait()?;
        }
        out.over_hard_cap_bytes = eviction.over_hard_cap_bytes;
        out.over_distilled_cap_bytes = eviction.over_distilled_cap_bytes;
        out.freed = before.raw_bytes.saturating_sub(usage.raw_bytes);
        out.final_usage = usage.raw_bytes;
        out.distilled = usage.distilled_bytes;
        if out.sessions() > 0 {
            out.given_back = self.vacuum_if_worthwhile(now)?;
        }
        if out.given_back {
            let usage = self.disk_usage(now)?;
            out.freed = before.raw_bytes.saturating_sub(usage.raw_bytes);
            (out.final_usage, out.distilled) = (usage.raw_bytes, usage.distilled_bytes);
        }
        Ok(out)
    }

    /// Lets the planned sessions go, and returns those that did. One that grew, woke up or was
    /// pinned since it was planned stays.
    pub fn apply_eviction(
        &self,
        eviction: &EvictionPlan,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<HashSet<SessionId>> {
        let mut gone = HashSet::new();
        for evict in &eviction.sessions {
            let (own, before) = (evict.clone(), now - quiet);
            let ticket =
                self.writer()
                    .submit(SESSION_WEIGHT, CommitMode::Immediate, move |tx, writer| {
                        evict::evict(tx, writer, &own, before, now)
                    });
            if ticket.wait()? == EvictOutcome::Evicted {
                gone.insert(evict.session.clone());
            }
        }
        Ok(gone)
    }

    fn claim_delete_after(&self, now: Timestamp) -> Result<bool> {
        let claim = move |tx: &Transaction<'_>, _: &mut WriterState| {
            maintenance::claim_if_due(tx, AGE_HELD_BACK_TASK, super::plan::DELETE_AFTER_PAUSE, now)
        };
        self.writer().submit(1, CommitMode::Immediate, claim).wait()
    }

    /// Takes what is left of deleted texts out of the index.
    fn merge_index(&self) -> Result<()> {
        let merge = |tx: &Transaction<'_>, writer: &mut WriterState| {
            writer.index.flush(tx)?;
            crate::index::purge_deleted_terms(tx)
        };
        self.writer().submit(1, CommitMode::Immediate, merge).wait()
    }

    /// Gives free pages back to the file system, if they are many. A disk too full for that, or
    /// another process that does not let go, is no error: the pages are used again.
    pub fn vacuum_if_worthwhile(&self, now: Timestamp) -> Result<bool> {
        let usage = self.disk_usage(now)?;
        let file = usage.raw_bytes + usage.distilled_bytes + usage.free_bytes;
        if usage.free_bytes < VACUUM_BYTES_MIN || usage.free_bytes * VACUUM_SHARE < file {
            return Ok(false);
        }
        let connection = crate::open::connection::open_writer(self.path(), self.key.as_ref())?;
        let shrunk = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
        if let Err(error) = &shrunk {
            tracing::warn!(%error, "the store's free pages stay in its file");
        }
        Ok(shrunk.is_ok())
    }
}

impl EvictionPlan {
    fn remove_pass(&mut self, pass: EvictionPass) {
        self.sessions.retain(|evict| evict.pass != pass);
    }
}

impl RetentionReport {
    /// The report of a run that let nothing go.
    pub fn unchanged(usage: &DiskUsage) -> Self {
        Self {
            final_usage: usage.raw_bytes,
            distilled: usage.distilled_bytes,
            evicted: EvictionPass::ALL.iter().map(|pass| (*pass, 0)).collect(),
            ..Self::default()
        }
    }

    /// Returns how many sessions went.
    pub fn sessions(&self) -> usize {
        self.evicted.values().sum()
    }

    fn count(&mut self, eviction: &EvictionPlan, gone: &HashSet<SessionId>) {
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
