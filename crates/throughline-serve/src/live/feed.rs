//! Feeds the layers with new records: lookups are counted, then cards are made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jiff::Timestamp;
use memory::layers::working::WORKING_TOKENS_MAX;
use memory::layers::{CardKey, Layer, LayerEffects, LookupSource};
use memory::{RecordId, SessionId, SessionKind};
use recall::seed;
use store::{Store, StoredRecord};

use super::from_store::load_session;
use super::session::{LiveSession, seed_card};
use super::{
    LiveLayers, LiveState, QUIET_AFTER, SESSION_BYTES_MAX, SESSIONS_MAX, prefetch, read_cache,
};
use crate::ServeSettings;

/// How many new records are read at a time.
const BATCH_RECORDS: usize = 1_000;
/// How many files are prefetched for a file that is used for the first time.
const PREFETCHED_FILES: usize = 5;

impl LiveLayers {
    /// Starts at the current end of the store: earlier records are not counted.
    pub fn start(&self, store: &Store) -> store::Result<()> {
        let end = store.feed_end()?;
        self.lock().position.get_or_insert(end);
        Ok(())
    }

    /// Reads the records that are new since the last call. Only one thread may feed.
    pub fn feed(
        &self,
        store: &Store,
        settings: &ServeSettings,
        now: Timestamp,
    ) -> store::Result<()> {
        self.start(store)?;
        loop {
            let generation = self.check_generation(store)?;
            let mut position = self.lock().position.unwrap_or_default();
            let changes = store.changes_since(&mut position, BATCH_RECORDS)?;
            let mut by_session: BTreeMap<SessionId, Vec<RecordId>> = BTreeMap::new();
            for record in &changes.new_records {
                let records = by_session.entry(record.session.clone()).or_default();
                records.push(record.id);
            }
            for (session, records) in by_session {
                let fed = self.feed_session(store, settings, &session, &records, now)?;
                let mut state = self.lock();
                // Cards that were made of text which is forgotten by now are dropped.
                if store.card_generation()? == generation {
                    state.sessions.extend(fed.map(|live| (session, live)));
                }
            }
            self.lock().position = Some(position);
            if changes.new_records.len() < BATCH_RECORDS {
                break;
            }
        }
        self.close_sessions(now);
        Ok(())
    }

    /// Adds records to a session, which is taken out of the map meanwhile. Returns `None` if it is
    /// not live.
    fn feed_session(
        &self,
        store: &Store,
        settings: &ServeSettings,
        id: &SessionId,
        records: &[RecordId],
        now: Timestamp,
    ) -> store::Result<Option<LiveSession>> {
        let known = self.lock().sessions.remove(id);
        let mut live = match known {
            Some(live) => live,
            None => {
                let found = store.sessions_by_prefix(id.as_str(), 1)?.pop();
                let Some(session) = found.filter(|session| session.id == *id) else {
                    return Ok(None);
                };
                let ended = session.ended.or(session.started).unwrap_or(now);
                let is_quiet = now.duration_since(ended) > QUIET_AFTER;
                if session.workspace.is_none() || is_quiet {
                    return Ok(None);
                }
                let later: BTreeSet<RecordId> = records.iter().copied().collect();
                let mut live = load_session(store, &session, &later, now)?;
                live.seed(session.started.unwrap_or(now));
                live
            }
        };
        live.used_at = now;
        self.load_cache(store, &live.workspace)?;
        let mut last = None;
        for record in records {
            if let Some(record) = store.read_record(*record)? {
                self.add_record(store, settings, &mut live, &record, now)?;
                last = Some(record);
            }
        }
        if let (SessionKind::Subagent, Some(parent), Some(last)) = (live.kind, &live.parent, last) {
            self.set_agent(parent, id, &live, &last);
        }
        Ok(Some(live))
    }

    fn add_record(
        &self,
        store: &Store,
        settings: &ServeSettings,
        live: &mut LiveSession,
        record: &StoredRecord,
        now: Timestamp,
    ) -> store::Result<()> {
        let at = record.at.unwrap_or(now);
        let cwd = live.cwd.clone();
        let read = record.layer_record(cwd.as_deref());
        for key in live.memory.keys(&read) {
            self.look_up(store, live, &key, at)?;
        }
        let is_opening = live.memory.touches.files.is_empty();
        if is_opening {
            live.opening.add(record, read.is_sensitive);
        }
        let started = Instant::now();
        let change = live.memory.add(&read, at);
        self.apply(live, change.effects, started, at);
        if change.is_interaction {
            let percent = live.memory.working.tokens().0 * 100 / WORKING_TOKENS_MAX.0;
            self.with_workspace(live, |shared| {
                shared.measure("working_percent", percent, at);
            });
        }
        if change.is_task && is_opening {
            let effects = live.seed_for_task(at);
            self.apply(live, effects, Instant::now(), at);
        } else if change.refresh_due
            || change.new_file.is_some() && seed::is_opening(&live.memory.touches)
        {
            let effects = live.seed(at);
            self.apply(live, effects, Instant::now(), at);
        }
        if change.new_file.is_some() {
            let touches = &live.memory.touches;
            let next = live.predictor.predict_next(touches, PREFETCHED_FILES);
            let next = next.iter().map(seed_card).collect();
            self.prefetch(live, next, at);
        }
        if change.is_task && !read.is_sensitive {
            let cards = prefetch::task_cards(store, settings, live, &record.content, now)?;
            self.prefetch(live, cards, at);
        }
        Ok(())
    }

    /// Looks a key up in each layer and counts the one that has it.
    fn look_up(
        &self,
        store: &Store,
        live: &mut LiveSession,
        key: &CardKey,
        at: Timestamp,
    ) -> store::Result<()> {
        let source = if *key == CardKey::Task {
            LookupSource::Prompt
        } else {
            LookupSource::Touch
        };
        if live.memory.working.lookup(key, at).is_some() {
            self.with_workspace(live, |shared| shared.count(source, Layer::Working, at));
            return Ok(());
        }
        let workspace = live.workspace.clone();
        let layer = {
            let mut state = self.lock();
            let shared = state.workspaces.entry(workspace.clone()).or_default();
            read_cache(shared, Some(live), key, at)
        };
        let layer = match layer {
            Layer::Store if !is_in_store(store, live, key)? => Layer::Miss,
            layer => layer,
        };
        self.with_workspace(live, |shared| shared.count(source, layer, at));
        Ok(())
    }

    /// Moves the cards that left working memory, and measures how long the transition took.
    fn apply(&self, live: &LiveSession, effects: LayerEffects, started: Instant, at: Timestamp) {
        if effects == LayerEffects::default() {
            return;
        }
        self.with_workspace(live, |shared| {
            for _ in &effects.archived {
                shared.measure("archived", 1, at);
            }
            shared.apply(effects, at);
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            shared.measure("transition_us", micros, at);
        });
    }

    fn prefetch(
        &self,
        live: &LiveSession,
        cards: Vec<(CardKey, memory::layers::Card)>,
        at: Timestamp,
    ) {
        self.with_workspace(live, |shared| {
            for (key, card) in cards {
                let cache = shared.cache.get_or_insert_default();
                if live.memory.working.contains(&key) || cache.contains(&key, at) {
                    continue;
                }
                let effects = cache.prefetch(key, card, at);
                shared.archived.extend(effects.archived);
                shared.is_changed = true;
                shared.measure("prefetched", 1, at);
            }
        });
    }

    fn with_workspace(&self, live: &LiveSession, change: impl FnOnce(&mut super::LiveWorkspace)) {
        let mut state = self.lock();
        change(state.workspaces.entry(live.workspace.clone()).or_default());
    }

    /// Updates the card of a subagent in the memory of the session that started it.
    fn set_agent(
        &self,
        parent: &SessionId,
        agent: &SessionId,
        live: &LiveSession,
        last: &StoredRecord,
    ) {
        let title = live.title.as_deref().unwrap_or("subagent");
        let files = live.memory.touches.files.len();
        let calls = live.memory.working.interactions();
        let line = format!("{title}: {calls} interactions, {files} files");
        let at = last.at.unwrap_or(live.used_at);
        let mut state = self.lock();
        if let Some(parent) = state.sessions.get_mut(parent) {
            parent.memory.set_agent(agent.as_str(), &line, last.id, at);
        }
    }

    /// Closes sessions that are quiet, too large or too many. Their files stay in the cache.
    fn close_sessions(&self, now: Timestamp) {
        let mut state = self.lock();
        let LiveState {
            sessions,
            workspaces,
            ..
        } = &mut *state;
        let mut by_use: Vec<_> = sessions
            .iter()
            .map(|(id, live)| (live.used_at, id.clone()))
            .collect();
        by_use.sort();
        let too_many = by_use.len().saturating_sub(SESSIONS_MAX);
        for (index, (used_at, id)) in by_use.into_iter().enumerate() {
            let is_quiet = now.duration_since(used_at) > QUIET_AFTER;
            let is_large = sessions
                .get(&id)
                .is_some_and(|live| live.memory.bytes() > SESSION_BYTES_MAX);
            if index >= too_many && !is_quiet && !is_large {
                continue;
            }
            if let Some(live) = sessions.remove(&id) {
                let shared = workspaces.entry(live.workspace.clone()).or_default();
                let cards = live.memory.working.used_cards();
                let files = cards.filter(|(key, _)| key.file().is_some());
                let mut to_cache: Vec<_> = files
                    .map(|(key, card)| (key.clone(), card.clone()))
                    .collect();
                to_cache.reverse();
                let effects = LayerEffects {
                    to_cache,
                    ..LayerEffects::default()
                };
                shared.apply(effects, used_at);
            }
        }
    }
}

/// Says whether the store knew a key before the record that looks it up.
fn is_in_store(store: &Store, live: &LiveSession, key: &CardKey) -> store::Result<bool> {
    if let Some(path) = key.file() {
        let is_own = live.memory.touches.contains(path);
        if is_own || live.predictor.knows(path) {
            return Ok(true);
        }
    }
    Ok(store.archived_card(&live.workspace, key)?.is_some())
}
