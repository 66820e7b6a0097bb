//! The context cache: cards that the sessions of a workspace share.
//!
//! The entry with the largest `age / (reads + 1)` is evicted first. An entry lives for a day after
//! its last use, longer if it is read often, and only for an hour if it was prefetched and never
//! read. Expired entries are archived, each once.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Card, CardKey, LayerEffects, elapsed};
use crate::{RecordId, Tokens};

/// How much the cache of a workspace holds.
pub const CACHE_TOKENS_MAX: Tokens = Tokens(20_000);
/// An entry that was read more often than this enters working memory.
pub const PROMOTE_ABOVE_READS: u32 = 5;
/// Times to live by the number of reads.
const TTL_PREFETCHED: SignedDuration = SignedDuration::from_hours(1);
const TTL: SignedDuration = SignedDuration::from_hours(24);
const TTL_OFTEN: (u32, SignedDuration) = (10, SignedDuration::from_hours(48));
const TTL_VERY_OFTEN: (u32, SignedDuration) = (20, SignedDuration::from_hours(72));

/// An entry of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEntry {
    pub card: Card,
    pub reads: u32,
    pub last: Timestamp,
    /// True until the entry is read for the first time.
    pub prefetched: bool,
}

impl CacheEntry {
    /// Returns how long the entry lives after its last use.
    pub fn ttl(&self) -> SignedDuration {
        match self.reads {
            0 if self.prefetched => TTL_PREFETCHED,
            reads if reads > TTL_VERY_OFTEN.0 => TTL_VERY_OFTEN.1,
            reads if reads > TTL_OFTEN.0 => TTL_OFTEN.1,
            _ => TTL,
        }
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        elapsed(self.last, now) > self.ttl()
    }

    /// Compares the urgency with which two entries are evicted: age by reads, without rounding.
    fn compare_urgency(&self, other: &Self, now: Timestamp) -> Ordering {
        let age = |entry: &Self| elapsed(entry.last, now).as_millis();
        let left = age(self) * i128::from(other.reads + 1);
        left.cmp(&(age(other) * i128::from(self.reads + 1)))
    }
}

/// The cache of one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextCache {
    entries: BTreeMap<CardKey, CacheEntry>,
    tokens: Tokens,
}

impl ContextCache {
    /// Restores a cache from its stored entries.
    pub fn from_entries(entries: impl IntoIterator<Item = (CardKey, CacheEntry)>) -> Self {
        let entries: BTreeMap<_, _> = entries.into_iter().collect();
        let tokens = entries.values().map(|entry| entry.card.tokens).sum();
        Self { entries, tokens }
    }

    pub fn entries(&self) -> impl Iterator<Item = (&CardKey, &CacheEntry)> {
        self.entries.iter()
    }

    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// Says whether a card is held that has not expired.
    pub fn contains(&self, key: &CardKey, now: Timestamp) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| !entry.is_expired(now))
    }

    /// Says whether a card was prefetched and not read since.
    pub fn is_prefetched(&self, key: &CardKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.prefetched)
    }

    /// Reads a card. An expired one is archived instead of returned; one that is read often is
    /// promoted.
    pub fn lookup(&mut self, key: &CardKey, now: Timestamp) -> (Option<Card>, LayerEffects) {
        let mut effects = LayerEffects::default();
        let Some(entry) = self.entries.get_mut(key) else {
            return (None, effects);
        };
        if entry.is_expired(now) {
            effects
                .archived
                .extend(self.remove(key).map(|card| (key.clone(), card)));
            return (None, effects);
        }
        entry.reads = entry.reads.saturating_add(1);
        entry.last = entry.last.max(now);
        entry.prefetched = false;
        let card = entry.card.clone();
        if entry.reads > PROMOTE_ABOVE_READS {
            effects.promoted.push((key.clone(), card.clone()));
        }
        (Some(card), effects)
    }

    /// Puts in a card that a session used. The number of reads stays.
    pub fn insert(&mut self, key: CardKey, card: Card, now: Timestamp) -> LayerEffects {
        let reads = self.entries.get(&key).map_or(0, |entry| entry.reads);
        self.put(key, card, reads, now, false)
    }

    /// Puts in a card that may be needed soon, unless it is there.
    pub fn prefetch(&mut self, key: CardKey, card: Card, now: Timestamp) -> LayerEffects {
        if self.contains(&key, now) {
            return LayerEffects::default();
        }
        self.put(key, card, 0, now, true)
    }

    /// Removes the expired entries. Each is in the effects once.
    pub fn expire(&mut self, now: Timestamp) -> LayerEffects {
        let mut effects = LayerEffects::default();
        let expired = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_expired(now));
        let expired: Vec<CardKey> = expired.map(|(key, _)| key.clone()).collect();
        for key in expired {
            effects
                .archived
                .extend(self.remove(&key).map(|card| (key, card)));
        }
        effects
    }

    /// Removes the cards that come from any of these records.
    pub fn invalidate(&mut self, is_gone: impl Fn(&RecordId) -> bool) {
        let stale = self.entries.iter();
        let stale = stale.filter(|(_, entry)| entry.card.made_of.iter().any(&is_gone));
        let stale: Vec<CardKey> = stale.map(|(key, _)| key.clone()).collect();
        for key in stale {
            self.remove(&key);
        }
    }

    fn put(
        &mut self,
        key: CardKey,
        card: Card,
        reads: u32,
        now: Timestamp,
        prefetched: bool,
    ) -> LayerEffects {
        let mut effects = LayerEffects::default();
        let expired = self
            .entries
            .get(&key)
            .is_some_and(|entry| entry.is_expired(now));
        let old = self.remove(&key);
        if expired {
            effects.archived.extend(old.map(|card| (key.clone(), card)));
        }
        self.tokens += card.tokens;
        let entry = CacheEntry {
            card,
            reads,
            last: now,
            prefetched,
        };
        self.entries.insert(key, entry);
        while self.tokens > CACHE_TOKENS_MAX {
            // The first of equally urgent entries goes, so that replays agree.
            let urgent = self.entries.iter().rev();
            let urgent = urgent.max_by(|(_, a), (_, b)| a.compare_urgency(b, now));
            let Some(key) = urgent.map(|(key, _)| key.clone()) else {
                break;
            };
            let expired = self
                .entries
                .get(&key)
                .is_some_and(|entry| entry.is_expired(now));
            let card = self.remove(&key);
            if expired {
                effects.archived.extend(card.map(|card| (key, card)));
            }
        }
        effects
    }

    fn remove(&mut self, key: &CardKey) -> Option<Card> {
        let entry = self.entries.remove(key)?;
        self.tokens.0 -= entry.card.tokens.0;
        Some(entry.card)
    }
}
