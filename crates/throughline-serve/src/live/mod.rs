//! The memory layers of live sessions.
//!
//! The daemon keeps the working memory of up to [`SESSIONS_MAX`] sessions and the context cache of
//! their workspaces. [`LiveLayers::feed`] reads new records after every sweep: each lookup is
//! counted in the layer that answers it before anything is inserted. [`LiveLayers::flush`] writes
//! caches, archived cards and counts to the store.
//!
//! Everything here can be built again from the store: [`from_store::recent_memory`] is what a
//! process without a daemon uses. The lock is held only for work in memory, so that no hook waits
//! for a read of the store. When text is forgotten or redacted, the store raises its generation and
//! all cards are dropped before the next use.

mod feed;
pub mod from_store;
mod prefetch;
mod restored;
mod session;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use memory::layers::{
    Card, CardKey, ContextCache, Layer, LayerEffects, LookupSource, SessionMemory,
};
use memory::{MemoryItem, SessionId};
use store::{FeedPosition, LayerCounts, LayerFlush, Store};

pub use self::restored::{RestoredCard, RestoredFiles};
pub use self::session::LiveSession;
pub use self::start::EarlierWork;

/// How many sessions are live at most; the least recently used one is closed first.
pub const SESSIONS_MAX: usize = 32;
/// A session that needs more memory is closed.
pub const SESSION_BYTES_MAX: usize = 4 << 20;
/// Caches and counts are written at most this often.
const FLUSH_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// A session without a record for this long is closed.
const QUIET_AFTER: SignedDuration = SignedDuration::from_hours(2);
/// Counts that wait to be written are kept for at most this many workspaces.
const WORKSPACES_MAX: usize = 64;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// The layers of the live sessions, shared by all threads of a process.
#[derive(Debug, Default)]
pub struct LiveLayers {
    state: Mutex<LiveState>,
}

#[derive(Debug, Default)]
struct LiveState {
    position: Option<FeedPosition>,
    generation: Option<i64>,
    sessions: BTreeMap<SessionId, LiveSession>,
    workspaces: BTreeMap<String, LiveWorkspace>,
    flushed_at: Option<Timestamp>,
}

/// What the sessions of a workspace share.
#[derive(Debug, Default)]
struct LiveWorkspace {
    /// `None` until the stored cache has been read.
    cache: Option<ContextCache>,
    is_changed: bool,
    archived: Vec<(CardKey, Card)>,
    counts: BTreeMap<i64, LayerCounts>,
}

impl LiveWorkspace {
    fn count(&mut self, source: LookupSource, layer: Layer, now: Timestamp) {
        let day = self.counts.entry(day(now)).or_default();
        *day.lookups.entry((source, layer)).or_default() += 1;
    }

    fn measure(&mut self, name: &'static str, value: u64, now: Timestamp) {
        let day = self.counts.entry(day(now)).or_default();
        day.figures.entry(name).or_default().add(value);
    }

    /// Moves the cards that left a layer to the next one.
    fn apply(&mut self, effects: LayerEffects, now: Timestamp) {
        let cache = self.cache.get_or_insert_default();
        for (key, card) in effects.to_cache {
            let more = cache.insert(key, card, now);
            self.archived.extend(more.archived);
            self.is_changed = true;
        }
        self.archived.extend(effects.archived);
    }
}

fn day(now: Timestamp) -> i64 {
    now.as_millisecond().div_euclid(MILLIS_PER_DAY)
}

impl LiveLayers {
    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops every card if text was forgotten or redacted since the last use.
    fn check_generation(&self, store: &Store) -> store::Result<i64> {
        let generation = store.card_generation()?;
        let mut state = self.lock();
        if state.generation.is_some_and(|known| known != generation) {
            state.sessions.clear();
            for workspace in state.workspaces.values_mut() {
                workspace.cache = None;
                workspace.archived.clear();
                workspace.is_changed = false;
            }
        }
        state.generation = Some(generation);
        Ok(generation)
    }

    /// Returns the files of a live session that are restored after a compaction, and counts the
    /// lookups. Returns `None` if the session is not live; then the store has to answer.
    pub fn restore(
        &self,
        store: &Store,
        session: &SessionId,
        now: Timestamp,
    ) -> store::Result<Option<RestoredFiles>> {
        self.check_generation(store)?;
        let mut state = self.lock();
        let LiveState {
            sessions,
            workspaces,
            ..
        } = &mut *state;
        let Some(live) = sessions.get(session) else {
            return Ok(None);
        };
        let restored = live.restored_files();
        let workspace = workspaces.entry(live.workspace.clone()).or_default();
        for path in restored.paths() {
            let key = CardKey::File(path.to_owned());
            let layer = if live.memory.working.contains(&key) {
                Layer::Working
            } else if workspace
                .cache
                .as_ref()
                .is_some_and(|c| c.contains(&key, now))
            {
                Layer::Cache
            } else {
                Layer::Store
            };
            workspace.count(LookupSource::Restore, layer, now);
        }
        Ok(Some(restored))
    }

    /// Returns the working memory of a live session.
    pub fn session_memory(
        &self,
        store: &Store,
        session: &SessionId,
    ) -> store::Result<Option<SessionMemory>> {
        self.check_generation(store)?;
        let state = self.lock();
        Ok(state.sessions.get(session).map(|live| live.memory.clone()))
    }

    /// Counts the items that were considered for a prompt. They were read from the store, so an
    /// item that no layer holds counts for the store; it enters the cache.
    ///
    /// `generation` is the store's before the items were read. If text was forgotten since, the
    /// items may hold it, so none of them enters the cache.
    pub fn count_prompt(
        &self,
        workspace: &str,
        session: Option<&SessionId>,
        items: &[(MemoryItem, String)],
        generation: i64,
        now: Timestamp,
    ) {
        if items.is_empty() {
            return;
        }
        let mut state = self.lock();
        let is_current = state.generation.is_none_or(|known| known == generation);
        let LiveState {
            sessions,
            workspaces,
            ..
        } = &mut *state;
        let mut working = session.and_then(|session| sessions.get_mut(session));
        let shared = workspaces.entry(workspace.to_owned()).or_default();
        for (item, text) in items {
            let key = item_key(*item);
            let held = working
                .as_deref_mut()
                .is_some_and(|live| live.memory.working.lookup(&key, now).is_some());
            let layer = if held {
                Layer::Working
            } else {
                read_cache(shared, working.as_deref_mut(), &key, now)
            };
            shared.count(LookupSource::Prompt, layer, now);
            let is_cached = is_current && shared.cache.is_some() && !text.is_empty();
            if layer == Layer::Store && is_cached {
                let card = item_card(*item, text);
                let effects = LayerEffects {
                    to_cache: vec![(key, card)],
                    ..LayerEffects::default()
                };
                shared.apply(effects, now);
            }
        }
    }

    /// Counts the cards that a client asked for; `None` is a card that the store does not have.
    ///
    /// `generation` is the store's before the cards were read. If text was forgotten since, the
    /// cards may hold it, so none of them enters the cache.
    pub fn count_pull(
        &self,
        store: &Store,
        workspace: &str,
        keys: &[(CardKey, Option<Card>)],
        generation: i64,
        now: Timestamp,
    ) -> store::Result<Vec<Layer>> {
        let is_current = self.check_generation(store)? == generation;
        self.load_cache(store, workspace)?;
        let mut state = self.lock();
        let LiveState {
            sessions,
            workspaces,
            ..
        } = &mut *state;
        let shared = workspaces.entry(workspace.to_owned()).or_default();
        let mut layers = Vec::new();
        for (key, card) in keys {
            let is_held = sessions.values_mut().any(|live| {
                live.workspace == workspace && live.memory.working.lookup(key, now).is_some()
            });
            let layer = match card {
                _ if is_held => Layer::Working,
                None => Layer::Miss,
                Some(_) => read_cache(shared, None, key, now),
            };
            shared.count(LookupSource::Pull, layer, now);
            if let (Layer::Store, Some(card), true) = (layer, card, is_current) {
                let effects = LayerEffects {
                    to_cache: vec![(key.clone(), card.clone())],
                    ..LayerEffects::default()
                };
                shared.apply(effects, now);
            }
            layers.push(layer);
        }
        Ok(layers)
    }

    /// Notes how long an answer took.
    pub fn measure_answer(&self, workspace: &str, micros: u64, now: Timestamp) {
        let mut state = self.lock();
        let shared = state.workspaces.entry(workspace.to_owned()).or_default();
        shared.measure("answer_us", micros, now);
    }

    /// Reads the stored cache of a workspace unless it is in memory.
    fn load_cache(&self, store: &Store, workspace: &str) -> store::Result<()> {
        let is_loaded = |state: &LiveState| {
            let known = state.workspaces.get(workspace);
            known.is_some_and(|known| known.cache.is_some())
        };
        if is_loaded(&self.lock()) {
            return Ok(());
        }
        let entries = store.context_cache(workspace)?;
        let mut state = self.lock();
        if !is_loaded(&state) {
            let shared = state.workspaces.entry(workspace.to_owned()).or_default();
            shared.cache = Some(ContextCache::from_entries(entries));
        }
        Ok(())
    }

    /// Writes caches, archived cards and counts, if a minute has passed or `force` is set.
    pub fn flush(&self, store: &Store, force: FlushMode, now: Timestamp) -> store::Result<()> {
        let generation = self.check_generation(store)?;
        let pending = {
            let mut state = self.lock();
            let due = state
                .flushed_at
                .is_none_or(|at| now.duration_since(at) >= FLUSH_INTERVAL || now < at);
            if !due && force == FlushMode::WhenDue {
                return Ok(());
            }
            state.flushed_at = Some(now);
            state.take_pending(generation, now)
        };
        for flush in pending {
            store.flush_layers(flush)?;
        }
        Ok(())
    }

    /// Returns how many sessions are live.
    pub fn live_sessions(&self) -> usize {
        self.lock().sessions.len()
    }
}

/// When a flush writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMode {
    /// If a minute has passed since the last one.
    WhenDue,
    Now,
}

impl LiveState {
    fn take_pending(&mut self, generation: i64, now: Timestamp) -> Vec<LayerFlush> {
        let mut pending = Vec::new();
        for (key, shared) in &mut self.workspaces {
            if let Some(cache) = &mut shared.cache {
                let expired = cache.expire(now).archived;
                let day = shared.counts.entry(day(now)).or_default();
                for _ in &expired {
                    day.figures.entry("expired").or_default().add(1);
                }
                shared.is_changed |= !expired.is_empty();
                shared.archived.extend(expired);
            }
            if !shared.is_changed && shared.archived.is_empty() && shared.counts.is_empty() {
                continue;
            }
            let entries = shared
                .cache
                .as_ref()
                .filter(|_| shared.is_changed)
                .map(|cache| {
                    let entries = cache.entries();
                    entries
                        .map(|(key, entry)| (key.clone(), entry.clone()))
                        .collect()
                });
            shared.is_changed = false;
            pending.push(LayerFlush {
                workspace: key.clone(),
                generation,
                cache: entries,
                archived: std::mem::take(&mut shared.archived),
                counts: std::mem::take(&mut shared.counts),
            });
        }
        // A workspace without a live session is read again when it is needed.
        let sessions = &self.sessions;
        let is_live = |key: &String| sessions.values().any(|live| live.workspace == *key);
        if self.workspaces.len() > WORKSPACES_MAX {
            self.workspaces.retain(|key, _| is_live(key));
        }
        pending
    }
}

/// Reads a key from the cache; a card that was read often enters the session's working memory.
fn read_cache(
    shared: &mut LiveWorkspace,
    live: Option<&mut LiveSession>,
    key: &CardKey,
    now: Timestamp,
) -> Layer {
    let Some(cache) = &mut shared.cache else {
        return Layer::Store;
    };
    let was_prefetched = cache.is_prefetched(key);
    let (card, effects) = cache.lookup(key, now);
    let is_hit = card.is_some();
    shared.is_changed |= is_hit || !effects.archived.is_empty();
    shared.archived.extend(effects.archived);
    let promoted = effects.promoted;
    if is_hit && was_prefetched {
        shared.measure("prefetch_used", 1, now);
    }
    if let Some(live) = live {
        for (key, card) in promoted {
            shared.measure("promoted", 1, now);
            let effects = live.memory.working.insert(key, card, now);
            shared.apply(effects, now);
        }
    }
    if is_hit { Layer::Cache } else { Layer::Store }
}

fn item_key(item: MemoryItem) -> CardKey {
    match item {
        MemoryItem::Fact(id) => CardKey::Fact(id.to_string()),
        MemoryItem::Record(id) => CardKey::Record(id.to_string()),
    }
}

fn item_card(item: MemoryItem, text: &str) -> Card {
    let sources = match item {
        MemoryItem::Record(id) => vec![id],
        MemoryItem::Fact(_) => Vec::new(),
    };
    Card::new(text, sources)
}
