//! Working memory: the cards of one live session, least recently used out first.
//!
//! The task and the last files are pinned. Predicted cards enter silently and leave before used
//! ones. When the memory is nearly full, cards that were idle for hours go to long-term memory.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Card, CardKey, LayerEffects, elapsed};
use crate::{RecordId, Tokens};

/// How much working memory holds.
pub const WORKING_TOKENS_MAX: Tokens = Tokens(50_000);
/// How many of the last files are pinned.
pub const PINNED_FILES: usize = 10;
/// How many predicted cards are held that were not used yet.
pub const SEEDS_MAX: usize = 25;
/// Predictions are made again after this many interactions.
pub const REFRESH_INTERVAL: u64 = 5;
/// Cards that are not in use are shortened after this many interactions.
pub const COMPRESS_INTERVAL: u64 = 10;
/// Above this share, in percent, idle cards go to long-term memory.
pub const FULL_PERCENT: u64 = 80;
/// A card that was not used for this long is idle.
pub const IDLE_AFTER: SignedDuration = SignedDuration::from_hours(2);

/// The cards of one live session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkingMemory {
    entries: BTreeMap<CardKey, WorkingEntry>,
    /// The keys by their last use, the least recent first.
    order: BTreeMap<u64, CardKey>,
    next_use: u64,
    tokens: Tokens,
    interactions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct WorkingEntry {
    card: Card,
    used_at: Timestamp,
    /// The position in `order`.
    last_use: u64,
    /// True until the session uses the card.
    predicted: bool,
}

impl WorkingMemory {
    pub fn tokens(&self) -> Tokens {
        self.tokens
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn interactions(&self) -> u64 {
        self.interactions
    }

    pub fn contains(&self, key: &CardKey) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns a card without using it.
    pub fn peek(&self, key: &CardKey) -> Option<&Card> {
        self.entries.get(key).map(|entry| &entry.card)
    }

    /// Looks a card up and marks it as used.
    pub fn lookup(&mut self, key: &CardKey, now: Timestamp) -> Option<&Card> {
        let entry = self.entries.get_mut(key)?;
        self.order.remove(&entry.last_use);
        entry.last_use = self.next_use;
        entry.used_at = entry.used_at.max(now);
        entry.predicted = false;
        self.order.insert(self.next_use, key.clone());
        self.next_use += 1;
        Some(&entry.card)
    }

    /// Puts in a card that the session uses. The cards that had to leave are in the effects.
    pub fn insert(&mut self, key: CardKey, card: Card, now: Timestamp) -> LayerEffects {
        self.put(key, card, now, false);
        self.make_room()
    }

    /// Puts in the last interactions of the session that this one continues. Like predictions they
    /// are dropped when there is no room, but new predictions do not replace them.
    pub fn continue_from(
        &mut self,
        interactions: Vec<(CardKey, Card)>,
        now: Timestamp,
    ) -> LayerEffects {
        for (key, card) in interactions {
            if !self.contains(&key) {
                self.put(key, card, now, true);
            }
        }
        self.make_room()
    }

    /// Replaces the predicted files that were not used yet. The best seed comes first and leaves
    /// last; seeds that working memory holds already are skipped.
    pub fn seed(&mut self, seeds: Vec<(CardKey, Card)>, now: Timestamp) -> LayerEffects {
        let unused = self.predicted().filter(|key| key.file().is_some());
        let unused: Vec<CardKey> = unused.cloned().collect();
        for key in unused {
            self.remove(&key);
        }
        let fresh = seeds.into_iter().filter(|(key, _)| !self.contains(key));
        let fresh: Vec<_> = fresh.take(SEEDS_MAX).collect();
        for (key, card) in fresh.into_iter().rev() {
            self.put(key, card, now, true);
        }
        self.make_room()
    }

    /// Returns the keys of seeded cards that were not used yet, the best last.
    pub fn predicted(&self) -> impl Iterator<Item = &CardKey> {
        let keys = self.order.values();
        keys.filter(|key| self.entries.get(key).is_some_and(|entry| entry.predicted))
    }

    /// Returns the files that the session used, the most recent first.
    pub fn recent_files(&self) -> impl Iterator<Item = &str> {
        let used = |key: &&CardKey| self.entries.get(key).is_some_and(|entry| !entry.predicted);
        self.order
            .values()
            .rev()
            .filter(used)
            .filter_map(CardKey::file)
    }

    /// Returns the used cards, the most recent first.
    pub fn used_cards(&self) -> impl Iterator<Item = (&CardKey, &Card)> {
        let entries = self
            .order
            .values()
            .rev()
            .filter_map(|key| self.entries.get_key_value(key));
        let used = entries.filter(|(_, entry)| !entry.predicted);
        used.map(|(key, entry)| (key, &entry.card))
    }

    /// Counts an interaction. Returns true when the predictions are due to be made again.
    pub fn end_interaction(&mut self, now: Timestamp) -> (bool, LayerEffects) {
        self.interactions += 1;
        if self.interactions.is_multiple_of(COMPRESS_INTERVAL) {
            self.compress(now);
        }
        let is_due = self.interactions.is_multiple_of(REFRESH_INTERVAL);
        (is_due, self.archive_idle(now))
    }

    /// Archives idle cards if the memory is nearly full.
    pub fn archive_idle(&mut self, now: Timestamp) -> LayerEffects {
        let mut effects = LayerEffects::default();
        if self.tokens.0 * 100 <= WORKING_TOKENS_MAX.0 * FULL_PERCENT {
            return effects;
        }
        let pinned = self.pinned();
        let is_idle = |entry: &WorkingEntry| elapsed(entry.used_at, now) >= IDLE_AFTER;
        let idle = self
            .order
            .values()
            .filter(|key| !pinned.contains(key) && self.entries.get(key).is_some_and(is_idle));
        let idle: Vec<CardKey> = idle.cloned().collect();
        for key in idle {
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

    /// Shortens cards that were not used since long before, except pinned ones, to their first
    /// line.
    fn compress(&mut self, now: Timestamp) {
        let pinned: Vec<CardKey> = self.pinned().into_iter().cloned().collect();
        for (key, entry) in &mut self.entries {
            let is_idle = elapsed(entry.used_at, now) >= IDLE_AFTER;
            if is_idle && !entry.card.text.is_empty() && !pinned.contains(key) {
                self.tokens.0 -= entry.card.tokens.0;
                entry.card = entry.card.first_line();
                self.tokens += entry.card.tokens;
            }
        }
    }

    fn put(&mut self, key: CardKey, card: Card, now: Timestamp, predicted: bool) {
        self.remove(&key);
        self.tokens += card.tokens;
        self.order.insert(self.next_use, key.clone());
        let entry = WorkingEntry {
            card,
            used_at: now,
            last_use: self.next_use,
            predicted,
        };
        self.entries.insert(key, entry);
        self.next_use += 1;
    }

    fn remove(&mut self, key: &CardKey) -> Option<Card> {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.last_use);
        self.tokens.0 -= entry.card.tokens.0;
        Some(entry.card)
    }

    /// Returns the task and the last files.
    fn pinned(&self) -> Vec<&CardKey> {
        let used = |key: &&CardKey| self.entries.get(key).is_some_and(|entry| !entry.predicted);
        let files = self.order.values().rev().filter(used);
        let files = files.filter(|key| key.file().is_some()).take(PINNED_FILES);
        let task = self.entries.keys().filter(|key| **key == CardKey::Task);
        files.chain(task).collect()
    }

    /// Evicts the least recently used cards until the rest fits: unused predictions are dropped,
    /// used cards go to the cache.
    fn make_room(&mut self) -> LayerEffects {
        let mut effects = LayerEffects::default();
        while self.tokens > WORKING_TOKENS_MAX {
            let pinned = self.pinned();
            let mut evictable = self.order.values().filter(|key| !pinned.contains(key));
            let Some(key) = evictable.next().cloned() else {
                break;
            };
            let predicted = self.entries.get(&key).is_some_and(|entry| entry.predicted);
            let card = self.remove(&key);
            if !predicted {
                effects.to_cache.extend(card.map(|card| (key, card)));
            }
        }
        effects
    }
}
