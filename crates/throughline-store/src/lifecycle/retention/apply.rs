//! Applying an eviction plan, session by session, each in its own transaction.

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

/// A plan estimates the size of sessions; where it estimated too much, the rest is planned again.
const ROUNDS_MAX: usize = 4;
/// Free pages are returned to the file system when they have this size, and are this share (one in
/// five) of the file.
const VACUUM_BYTES_MIN: u64 = 16 << 20;
const VACUUM_SHARE: u64 = 5;

/// Larger than any group of the writer, so that an eviction is a transaction of its own.
const SESSION_WEIGHT: usize = 1_000_000;

/// What retention did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// How many bytes of raw pages were freed.
    pub freed: u64,
    /// How many bytes of pages are raw now.
    pub final_usage: u64,
    pub distilled: u64,
    /// The number of evicted sessions per pass.
    pub evicted: BTreeMap<EvictionPass, usize>,
    /// Sessions that were evicted without a digest.
    pub data_loss: Vec<SessionId>,
    pub age: DeleteAfterStatus,
    pub over_hard_cap_bytes: u64,
    pub over_distilled_cap_bytes: u64,
    /// The file was shrunk; otherwise its free pages are used again.
    pub given_back: bool,
}

impl Store {
    /// Returns what would be evicted.
    pub fn plan_eviction(
        &self,
        policy: &RetentionPolicy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<(DiskUsage, EvictionPlan)> {
        let usage = self.disk_usage(now)?;
        let sessions = if self.may_need_eviction(&usage, policy, now)? {
            self.retained_sessions(&usage, now - quiet, now)?
        } else {
            Vec::new()
        };
        let mut eviction = plan(&usage, &sessions, policy, now);
        // A store without any session cannot get smaller, so it is not reported as too large.
        if sessions.is_empty() {
            eviction.over_hard_cap_bytes = 0;
        }
        Ok((usage, eviction))
    }

    /// Says whether anything may have to be evicted, so that the scan of all records is mostly
    /// avoided.
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

    /// Evicts what the policy does not keep. Text that was captured since the last run stays until
    /// the next one.
    pub fn evict(
        &self,
        policy: &RetentionPolicy,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<RetentionReport> {
        let (before, mut eviction) = self.plan_eviction(policy, quiet, now)?;
        let mut out = RetentionReport::unchanged(&before);
        // Of several processes, one deletes the share of a day.
        if matches!(eviction.age, DeleteAfterStatus::HeldBack(_))
            && !self.claim_delete_after(now)?
        {
            eviction.remove_pass(EvictionPass::DeleteAfter);
            eviction.age = DeleteAfterStatus::Paused;
        }
        out.age = eviction.age;
        let mut usage = before;
        for round in 0..ROUNDS_MAX {
            let evicted = self.apply_eviction(&eviction, quiet, now)?;
            out.count(&eviction, &evicted);
            if evicted.is_empty() {
                break;
            }
            if round > 0 || self.disk_usage(now)?.raw_bytes > policy.raw_soft_cap_bytes {
                self.merge_index()?;
            }
            (usage, eviction) = self.plan_eviction(policy, quiet, now)?;
            // `delete_after` applies once per run.
            eviction.remove_pass(EvictionPass::DeleteAfter);
            eviction.age = DeleteAfterStatus::Done;
        }
        if self.has_new_captures(now)? {
            let stamp = move |tx: &Transaction<'_>, _: &mut WriterState| stamp_captures(tx, now);
            self.write(stamp)?;
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

    /// Evicts the planned sessions, and returns those that were evicted. A session that has grown,
    /// become active or been pinned since stays.
    pub fn apply_eviction(
        &self,
        eviction: &EvictionPlan,
        quiet: SignedDuration,
        now: Timestamp,
    ) -> Result<HashSet<SessionId>> {
        let mut evicted = HashSet::new();
        for evict in &eviction.sessions {
            let (own, before) = (evict.clone(), now - quiet);
            let ticket =
                self.writer()
                    .submit(SESSION_WEIGHT, CommitMode::Immediate, move |tx, writer| {
                        evict::evict(tx, writer, &own, before, now)
                    });
            if ticket.wait()? == EvictOutcome::Evicted {
                evicted.insert(evict.session.clone());
            }
        }
        Ok(evicted)
    }

    fn claim_delete_after(&self, now: Timestamp) -> Result<bool> {
        let claim = move |tx: &Transaction<'_>, _: &mut WriterState| {
            maintenance::claim_if_due(tx, AGE_HELD_BACK_TASK, super::plan::DELETE_AFTER_PAUSE, now)
        };
        self.write(claim)
    }

    /// Removes the terms of deleted records from the index.
    fn merge_index(&self) -> Result<()> {
        let merge = |tx: &Transaction<'_>, writer: &mut WriterState| {
            writer.index.flush(tx)?;
            crate::index::purge_deleted_terms(tx)
        };
        self.write(merge)
    }

    /// Returns free pages to the file system if there are many. A full disk or another process that
    /// keeps the file open is not an error, because the pages are used again.
    pub fn vacuum_if_worthwhile(&self, now: Timestamp) -> Result<bool> {
        let usage = self.disk_usage(now)?;
        let file = usage.raw_bytes + usage.distilled_bytes + usage.free_bytes;
        if usage.free_bytes < VACUUM_BYTES_MIN || usage.free_bytes * VACUUM_SHARE < file {
            return Ok(false);
        }
        let connection = crate::open::connection::open_writer(self.path(), self.key.as_ref())?;
        let shrunk = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
        if let Err(error) = &shrunk {
            tracing::warn!(%error, "cannot shrink the store; its free pages will be reused");
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
    /// Returns the report of a run that evicted nothing.
    pub fn unchanged(usage: &DiskUsage) -> Self {
        Self {
            final_usage: usage.raw_bytes,
            distilled: usage.distilled_bytes,
            evicted: EvictionPass::ALL.iter().map(|pass| (*pass, 0)).collect(),
            ..Self::default()
        }
    }

    /// Returns the number of evicted sessions.
    pub fn sessions(&self) -> usize {
        self.evicted.values().sum()
    }

    fn count(&mut self, eviction: &EvictionPlan, evicted: &HashSet<SessionId>) {
        let evicted = eviction
            .sessions
            .iter()
            .filter(|evict| evicted.contains(&evict.session));
        for evict in evicted {
            *self.evicted.entry(evict.pass).or_default() += 1;
            if evict.data_loss {
                self.data_loss.push(evict.session.clone());
            }
        }
    }
}
