//! Planning an eviction: a pure decision about measured sessions.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use memory::SessionId;
use serde::Serialize;

use super::DiskUsage;

/// `delete_after` takes at most one in this many sessions per run, so that a wrong clock cannot
/// empty the store.
const DELETE_AFTER_SHARE: usize = 10;
/// `delete_after` may take this many sessions per run, however few there are.
const DELETE_AFTER_COUNT_MIN: usize = 10;
/// How long `delete_after` waits after a run that postponed sessions.
pub(super) const DELETE_AFTER_PAUSE: SignedDuration = SignedDuration::from_hours(24);
/// A clock that is further ahead of the newest session is taken to be wrong.
const CLOCK_AHEAD_MAX: SignedDuration = SignedDuration::from_hours(24 * 180);
/// Logs from other machines may be this far ahead of our clock.
const CLOCK_BEHIND_MAX: SignedDuration = SignedDuration::from_hours(24);

/// How much raw text is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Digested sessions are evicted above this size. Below it no session is, whatever its age.
    pub raw_soft_cap_bytes: u64,
    /// Any session may be evicted above this size.
    pub raw_hard_cap_bytes: u64,
    /// Digested sessions that were captured longer ago are packed, and are evicted first above the
    /// soft cap; `None` for no age.
    pub raw_max_age: Option<SignedDuration>,
    /// Digested sessions that were captured longer ago are evicted even below the soft cap; `None`,
    /// the default, for never.
    pub delete_after: Option<SignedDuration>,
    /// Above this size retention warns; distilled data is never evicted.
    pub distilled_cap_bytes: u64,
    /// Exceptions for workspaces. The first that matches applies.
    pub workspaces: Vec<WorkspacePolicy>,
}

/// The exceptions of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspacePolicy {
    /// A part of the workspace's key.
    pub workspace: String,
    pub raw_soft_cap_bytes: Option<u64>,
    /// `None` for the general age, `Some(None)` for no age.
    pub raw_max_age: Option<Option<SignedDuration>>,
    /// `None` for the general setting, `Some(None)` for never.
    pub delete_after: Option<Option<SignedDuration>>,
}

impl RetentionPolicy {
    fn workspace_policy(&self, session: &RetainedSession) -> Option<&WorkspacePolicy> {
        let key = session.workspace.as_deref()?;
        let mut all = self.workspaces.iter();
        all.find(|policy| key.contains(policy.workspace.as_str()))
    }

    fn max_age(&self, session: &RetainedSession) -> Option<SignedDuration> {
        let own = self
            .workspace_policy(session)
            .and_then(|policy| policy.raw_max_age);
        own.unwrap_or(self.raw_max_age)
    }

    fn delete_after(&self, session: &RetainedSession) -> Option<SignedDuration> {
        let own = self
            .workspace_policy(session)
            .and_then(|policy| policy.delete_after);
        own.unwrap_or(self.delete_after)
    }

    /// Returns the shortest age at which any session is deleted.
    pub(super) fn shortest_delete_after(&self) -> Option<SignedDuration> {
        let own = self.workspaces.iter().filter_map(|own| own.delete_after);
        own.chain([self.delete_after]).flatten().min()
    }
}

/// A session with raw text in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedSession {
    pub session: SessionId,
    pub workspace: Option<String>,
    /// The time of the last activity.
    pub last: Timestamp,
    /// When the text was last captured; `None` while the sweep that reads it is running.
    pub captured: Option<Timestamp>,
    pub bytes: u64,
    pub state: RetentionState,
    /// A pinned fact was taken from the session.
    pub pinned: bool,
    /// The agent no longer has the log, or never had one.
    pub only_copy: bool,
}

impl RetainedSession {
    /// Says whether the text was captured longer ago than `age`. A session cannot have been
    /// captured before its last activity, so a capture time from a slow clock does not count.
    fn is_older_than(&self, age: SignedDuration, now: Timestamp) -> bool {
        let Some(captured) = self.captured else {
            return false;
        };
        let since = if self.last <= now {
            captured.max(self.last)
        } else {
            captured
        };
        now.duration_since(since) > age
    }
}

/// Whether a session is active, and whether it has a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionState {
    /// There was activity a short while ago.
    Live {
        digested: bool,
    },
    /// There is no digest of the current records.
    Undigested,
    Digested,
}

/// The sessions to evict, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EvictionPlan {
    pub sessions: Vec<PlannedEviction>,
    pub age: DeleteAfterStatus,
    /// How much remains above the hard cap: pinned sessions, and those that were just read.
    pub over_hard_cap_bytes: u64,
    /// How much distilled data exceeds its cap.
    pub over_distilled_cap_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedEviction {
    pub session: SessionId,
    /// The estimated share of the raw bytes.
    pub bytes: u64,
    pub last: Timestamp,
    pub pass: EvictionPass,
    /// The session has no digest.
    pub data_loss: bool,
}

memory::named_enum! {
    /// The rule that evicts a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EvictionPass {
        /// The user's `delete_after_days`, the only rule that applies below the soft cap.
        DeleteAfter = "delete_after",
        WorkspaceCap = "workspace_cap",
        /// The soft cap, among sessions older than `raw_max_age_days`.
        Age = "age",
        SoftCap = "soft_cap",
        HardCap = "hard_cap",
        /// The last resort: sessions that are active or have no digest.
        Overflow = "overflow",
    }
}

/// What `delete_after` did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeleteAfterStatus {
    #[default]
    Done,
    /// This many more sessions are old enough, and were postponed.
    HeldBack(usize),
    /// An earlier run postponed sessions less than a day ago.
    Paused,
    /// The clock is behind the times of the sessions.
    ClockBehind,
    /// The clock is far ahead of every known time.
    ClockAhead,
}

/// Plans an eviction.
pub fn plan(
    usage: &DiskUsage,
    sessions: &[RetainedSession],
    policy: &RetentionPolicy,
    now: Timestamp,
) -> EvictionPlan {
    let may_go = |session: &&RetainedSession| !session.pinned && session.captured.is_some();
    let mut oldest: Vec<&RetainedSession> = sessions.iter().filter(may_go).collect();
    oldest.sort_by(|a, b| (a.last, &a.session).cmp(&(b.last, &b.session)));
    // A session that the agent no longer has cannot be read again, so it comes last in every pass.
    oldest.sort_by_key(|session| session.only_copy);
    let mut planning = EvictionPlanner {
        raw_bytes: usage.raw_bytes,
        oldest,
        taken: HashSet::new(),
        plan: EvictionPlan::default(),
    };
    planning.plan.age = planning.delete_after(usage, sessions, policy, now);
    planning.workspace_caps(policy);
    let digested = |session: &RetainedSession| session.state == RetentionState::Digested;
    let is_aged = |session: &RetainedSession| {
        let max = policy.max_age(session);
        digested(session)
            && !session.only_copy
            && max.is_some_and(|max| session.is_older_than(max, now))
    };
    planning.evict_until(policy.raw_soft_cap_bytes, EvictionPass::Age, is_aged);
    planning.evict_until(policy.raw_soft_cap_bytes, EvictionPass::SoftCap, digested);
    planning.evict_until(policy.raw_hard_cap_bytes, EvictionPass::HardCap, digested);
    let undigested = |session: &RetainedSession| session.state == RetentionState::Undigested;
    planning.evict_until(
        policy.raw_hard_cap_bytes,
        EvictionPass::Overflow,
        undigested,
    );
    planning.evict_until(policy.raw_hard_cap_bytes, EvictionPass::Overflow, |_| true);
    let over = |bytes: u64, cap: u64| bytes.saturating_sub(cap);
    planning.plan.over_hard_cap_bytes = over(planning.raw_bytes, policy.raw_hard_cap_bytes);
    planning.plan.over_distilled_cap_bytes =
        over(usage.distilled_bytes, policy.distilled_cap_bytes);
    planning.plan
}

struct EvictionPlanner<'h> {
    raw_bytes: u64,
    /// The sessions that may be evicted, the oldest first.
    oldest: Vec<&'h RetainedSession>,
    taken: HashSet<&'h SessionId>,
    plan: EvictionPlan,
}

impl<'h> EvictionPlanner<'h> {
    /// Plans the sessions that the user wants deleted at their age, unless the clock looks wrong.
    fn delete_after(
        &mut self,
        usage: &DiskUsage,
        sessions: &[RetainedSession],
        policy: &RetentionPolicy,
        now: Timestamp,
    ) -> DeleteAfterStatus {
        let is_old = |session: &RetainedSession| {
            let max = policy.delete_after(session);
            session.state == RetentionState::Digested
                && max.is_some_and(|max| session.is_older_than(max, now))
        };
        let old = self.candidates(is_old);
        if old.is_empty() {
            return DeleteAfterStatus::Done;
        }
        if let Some(wrong) = detect_wrong_clock(usage, sessions, now) {
            return wrong;
        }
        let paused = |at: Timestamp| now >= at && now.duration_since(at) < DELETE_AFTER_PAUSE;
        if usage.age_held_back.is_some_and(paused) {
            return DeleteAfterStatus::Paused;
        }
        let max = DELETE_AFTER_COUNT_MIN.max(sessions.len() / DELETE_AFTER_SHARE);
        for session in old.iter().take(max) {
            self.evict(session, EvictionPass::DeleteAfter);
        }
        match old.len().saturating_sub(max) {
            0 => DeleteAfterStatus::Done,
            more => DeleteAfterStatus::HeldBack(more),
        }
    }

    fn workspace_caps(&mut self, policy: &RetentionPolicy) {
        for own in &policy.workspaces {
            let Some(cap) = own.raw_soft_cap_bytes else {
                continue;
            };
            let here = self.candidates(|session| policy.workspace_policy(session) == Some(own));
            let mut bytes: u64 = here.iter().map(|session| session.bytes).sum();
            for session in here
                .iter()
                .filter(|session| session.state == RetentionState::Digested)
            {
                if bytes <= cap {
                    break;
                }
                bytes = bytes.saturating_sub(session.bytes);
                self.evict(session, EvictionPass::WorkspaceCap);
            }
        }
    }

    /// Plans the oldest sessions that `may_go` until at most `cap` bytes are left.
    fn evict_until(
        &mut self,
        cap: u64,
        pass: EvictionPass,
        may_go: impl Fn(&RetainedSession) -> bool,
    ) {
        for session in self.candidates(may_go) {
            if self.raw_bytes <= cap {
                return;
            }
            self.evict(session, pass);
        }
    }

    /// Returns the sessions that may still be planned, the oldest first.
    fn candidates(&self, may_go: impl Fn(&RetainedSession) -> bool) -> Vec<&'h RetainedSession> {
        let left = self.oldest.iter().copied();
        left.filter(|session| !self.taken.contains(&session.session) && may_go(session))
            .collect()
    }

    fn evict(&mut self, session: &'h RetainedSession, pass: EvictionPass) {
        self.raw_bytes = self.raw_bytes.saturating_sub(session.bytes);
        self.taken.insert(&session.session);
        self.plan.sessions.push(PlannedEviction {
            session: session.session.clone(),
            bytes: session.bytes,
            last: session.last,
            pass,
            data_loss: matches!(
                session.state,
                RetentionState::Undigested | RetentionState::Live { digested: false }
            ),
        });
    }
}

/// Returns how the clock contradicts the times of the sessions, if it does.
fn detect_wrong_clock(
    usage: &DiskUsage,
    sessions: &[RetainedSession],
    now: Timestamp,
) -> Option<DeleteAfterStatus> {
    let later = |session: &&RetainedSession| session.last > now + CLOCK_BEHIND_MAX;
    // A single log with a wrong date does not mean a wrong clock.
    if sessions.iter().filter(later).count() * 10 > sessions.len() {
        return Some(DeleteAfterStatus::ClockBehind);
    }
    let seen = sessions
        .iter()
        .map(|session| session.last)
        .chain(usage.newest);
    let newest = seen.filter(|last| *last <= now + CLOCK_BEHIND_MAX).max()?;
    (now.duration_since(newest) > CLOCK_AHEAD_MAX).then_some(DeleteAfterStatus::ClockAhead)
}
