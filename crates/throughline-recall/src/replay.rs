//! Replays the touches of real sessions through the memory layers.
//!
//! The replay runs the policies of `memory::layers` and the predictions of [`crate::seed`]. A
//! lookup is counted before anything is inserted, and a prediction sees only what happened before
//! it: touches of sessions that run at the same time count from their own time on.
//!
//! The first sessions only fill the memory. Rates are shares of all touches after them; seeds are
//! ranked when a session starts, and again with its commands and searches before the first touch.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::Tokens;
use memory::layers::working::{SEEDS_MAX, WORKING_TOKENS_MAX};
use memory::layers::{
    CARD_TOKENS_MAX, Card, CardKey, ContextCache, Layer, LayerEffects, SessionTouches,
    WorkingMemory,
};
use serde::Serialize;

use crate::seed::{FilePredictor, Seed, SeedRequest, is_opening};

/// How many sessions fill the memory before anything is counted; of few sessions, a third.
const WARM_UP_SESSIONS: usize = 20;
/// How many touches after a compaction are compared with the restored files.
const TOUCHES_AFTER_COMPACTION: usize = 30;
/// How many files are prefetched for a file that is touched for the first time.
const PREFETCHED_FILES: usize = 5;
/// How many files beyond the seeds are prefetched when the predictions are made again.
const PREFETCHED_BEYOND_SEEDS: usize = 25;

/// Whether working memory predicts again as the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedRefresh {
    /// Only at the start.
    Never,
    /// After every few interactions.
    Periodic,
}

/// A session to replay.
#[derive(Clone, Debug)]
pub struct ReplaySession {
    pub start: Timestamp,
    pub branch: Option<String>,
    pub events: Vec<ReplayEvent>,
}

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct ReplayEvent {
    pub at: Timestamp,
    pub action: ReplayAction,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum ReplayAction {
    /// A tool call used a file; the result has this size.
    Touch {
        path: String,
        is_edit: bool,
        tokens: Tokens,
    },
    /// A command or a search named files without touching them.
    Mention {
        files: Vec<String>,
        text: String,
        tokens: Tokens,
    },
    /// A prompt, or a response with the results of its calls.
    Interaction,
    Compaction,
}

impl ReplayEvent {
    /// Returns the file that the event touches.
    fn touched(&self) -> Option<&str> {
        match &self.action {
            ReplayAction::Touch { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// The rates of a replay, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    pub sessions: usize,
    pub touches: usize,
    pub compactions: usize,
    pub l1: f64,
    pub l15: f64,
    pub l2: f64,
    pub miss: f64,
    pub precision_at_5: f64,
    pub recall_at_10: f64,
    pub recall_at_25: f64,
    /// The same among the files that an earlier session had touched.
    pub recall_at_10_of_seen: f64,
    /// The share of the next touches after a compaction whose file was restored or named.
    pub covered: f64,
    /// The share whose file was restored with a card.
    pub covered_by_cards: f64,
    /// The share of touches of files that were touched before.
    pub seen_before: f64,
    /// Hits in working memory among those.
    pub l1_of_seen: f64,
    /// The largest share of working memory that was in use.
    pub working_full: f64,
}

/// The counts of one session.
#[derive(Clone, Debug, Default)]
struct SessionCounts {
    layers: [usize; 4],
    precision_at_5: Option<f64>,
    recall_at_10: Option<f64>,
    recall_at_25: Option<f64>,
    recall_at_10_of_seen: Option<f64>,
    /// For each compaction: covered by all files that are named, and by those with cards.
    covered: Vec<[f64; 2]>,
    working_tokens_max: u64,
}

/// Replays all sessions. Returns the report of all that count, of their earlier and of their later
/// half.
pub fn replay(sessions: &[ReplaySession], refresh: SeedRefresh) -> [LayerReport; 3] {
    let warm_up = WARM_UP_SESSIONS.min(sessions.len() / 3);
    let mut cache = ContextCache::default();
    let mut known = BTreeMap::new();
    let mut counts = Vec::new();
    for index in 0..sessions.len() {
        counts.push(replay_session(
            sessions, index, refresh, &mut cache, &mut known,
        ));
    }
    let half = (sessions.len() / 2).max(warm_up);
    [
        summarize(&counts[warm_up..]),
        summarize(&counts[warm_up..half]),
        summarize(&counts[half..]),
    ]
}

fn replay_session(
    sessions: &[ReplaySession],
    index: usize,
    refresh: SeedRefresh,
    cache: &mut ContextCache,
    known: &mut BTreeMap<String, Card>,
) -> SessionCounts {
    let session = &sessions[index];
    let history: Vec<_> = sessions[..index]
        .iter()
        .map(|earlier| touches_before(earlier, session.start))
        .collect();
    let hints = hints_before_touches(session);
    let request = SeedRequest {
        branch: session.branch.as_deref(),
        hints: &hints,
        now: session.start,
    };
    let predictor = FilePredictor::new(&history, &request);
    let seeds = predictor.rank_seeds(SEEDS_MAX);
    let mut counts = SessionCounts::default();
    let mut working = WorkingMemory::default();
    working.seed(seed_cards(&seeds, known), session.start);
    let mut own = SessionTouches {
        branch: session.branch.clone(),
        files: Vec::new(),
    };
    let mut now = session.start;
    for (position, event) in session.events.iter().enumerate() {
        let at = event.at;
        match &event.action {
            ReplayAction::Compaction => {
                let restored = predictor.restored_files(&own);
                let next = &session.events[position..];
                let all = [&restored.files[..], &restored.pointers].concat();
                let shares = coverage(&all, next).zip(coverage(&restored.files, next));
                counts.covered.extend(shares.map(<[f64; 2]>::from));
            }
            ReplayAction::Interaction => {
                let (is_due, effects) = working.end_interaction(at);
                keep(cache, effects, at);
                if is_due && refresh == SeedRefresh::Periodic && !own.files.is_empty() {
                    let next = predictor.predict_next(&own, SEEDS_MAX + PREFETCHED_BEYOND_SEEDS);
                    let (seeds, more) = next.split_at(next.len().min(SEEDS_MAX));
                    working.seed(seed_cards(seeds, known), at);
                    prefetch(cache, &working, seed_cards(more, known), at);
                }
            }
            ReplayAction::Mention { files, tokens, .. } => {
                for path in files {
                    let key = CardKey::File(path.clone());
                    let card = Card::of_size(*tokens);
                    known.entry(path.clone()).or_insert_with(|| card.clone());
                    if !working.contains(&key) {
                        keep(cache, working.insert(key, card, at), at);
                    }
                }
            }
            ReplayAction::Touch {
                path,
                is_edit,
                tokens,
            } => {
                now = at;
                let key = CardKey::File(path.clone());
                let layer = look_up(&mut working, cache, known, &key, now);
                counts.layers[layer as usize] += 1;
                let card = Card::of_size(*tokens);
                known.insert(path.clone(), card.clone());
                keep(cache, working.insert(key, card, now), now);
                let is_new = !own.files.iter().any(|file| file.path == *path);
                own.add(path, *is_edit, now);
                if is_new && refresh == SeedRefresh::Periodic && is_opening(&own) {
                    let next = predictor.predict_next(&own, SEEDS_MAX);
                    working.seed(seed_cards(&next, known), now);
                }
                if is_new {
                    let next = predictor.predict_next(&own, PREFETCHED_FILES);
                    prefetch(cache, &working, seed_cards(&next, known), now);
                }
            }
        }
        counts.working_tokens_max = counts.working_tokens_max.max(working.tokens().0);
    }
    for file in &own.files {
        let key = CardKey::File(file.path.clone());
        let card = working.peek(&key).cloned();
        cache.insert(key, card.unwrap_or(Card::of_size(CARD_TOKENS_MAX)), now);
    }
    if !own.files.is_empty() && !seeds.is_empty() {
        score_seeds(&predictor, &seeds, &own, &mut counts);
    }
    counts
}

/// Looks a file up in every layer, before it is inserted anywhere.
fn look_up(
    working: &mut WorkingMemory,
    cache: &mut ContextCache,
    known: &BTreeMap<String, Card>,
    key: &CardKey,
    now: Timestamp,
) -> Layer {
    let is_known = key.file().is_some_and(|path| known.contains_key(path));
    if working.lookup(key, now).is_some() {
        Layer::Working
    } else if cache.lookup(key, now).0.is_some() {
        Layer::Cache
    } else if is_known {
        Layer::Store
    } else {
        Layer::Miss
    }
}

fn prefetch(
    cache: &mut ContextCache,
    working: &WorkingMemory,
    cards: Vec<(CardKey, Card)>,
    now: Timestamp,
) {
    for (key, card) in cards {
        if !working.contains(&key) {
            cache.prefetch(key, card, now);
        }
    }
}

/// Puts the cards that left working memory into the cache.
fn keep(cache: &mut ContextCache, effects: LayerEffects, now: Timestamp) {
    for (key, card) in effects.to_cache {
        cache.insert(key, card, now);
    }
}

/// Returns the cards of predicted files, as they were last made.
fn seed_cards(seeds: &[Seed], known: &BTreeMap<String, Card>) -> Vec<(CardKey, Card)> {
    let card = |seed: &Seed| {
        let card = known.get(&seed.path).cloned();
        let card = card.unwrap_or_else(|| Card::of_size(CARD_TOKENS_MAX));
        (CardKey::File(seed.path.clone()), card)
    };
    seeds.iter().map(card).collect()
}

/// Returns the files that a session had touched at a time.
fn touches_before(session: &ReplaySession, now: Timestamp) -> SessionTouches {
    let mut touches = SessionTouches {
        branch: session.branch.clone(),
        files: Vec::new(),
    };
    for event in session.events.iter().filter(|event| event.at < now) {
        if let ReplayAction::Touch { path, is_edit, .. } = &event.action {
            touches.add(path, *is_edit, event.at);
        }
    }
    touches
}

/// Returns the commands and searched folders before the first touch.
fn hints_before_touches(session: &ReplaySession) -> Vec<String> {
    let events = session.events.iter();
    let before = events.take_while(|event| event.touched().is_none());
    let hints = before.filter_map(|event| match &event.action {
        ReplayAction::Mention { text, .. } => Some(text.clone()),
        _ => None,
    });
    hints.collect()
}

/// Returns the share of the next touches whose file was restored.
fn coverage(restored: &[Seed], events: &[ReplayEvent]) -> Option<f64> {
    let next: Vec<&str> = events.iter().filter_map(ReplayEvent::touched).collect();
    let next = &next[..next.len().min(TOUCHES_AFTER_COMPACTION)];
    let covered = next
        .iter()
        .filter(|path| restored.iter().any(|seed| seed.path == **path));
    (!next.is_empty()).then(|| covered.count() as f64 / next.len() as f64)
}

fn score_seeds(
    predictor: &FilePredictor,
    seeds: &[Seed],
    own: &SessionTouches,
    counts: &mut SessionCounts,
) {
    let touched: BTreeSet<&str> = own.files.iter().map(|file| file.path.as_str()).collect();
    let hits = |limit: usize| {
        let hits = seeds
            .iter()
            .take(limit)
            .filter(|s| touched.contains(s.path.as_str()));
        hits.count() as f64
    };
    counts.precision_at_5 = Some(hits(5) / 5.0);
    counts.recall_at_10 = Some(hits(10) / touched.len() as f64);
    counts.recall_at_25 = Some(hits(25) / touched.len() as f64);
    let seen = touched.iter().filter(|path| predictor.knows(path)).count();
    counts.recall_at_10_of_seen = (seen > 0).then(|| hits(10) / seen as f64);
}

fn summarize(counts: &[SessionCounts]) -> LayerReport {
    let layer = |layer: Layer| -> usize {
        counts
            .iter()
            .map(|session| session.layers[layer as usize])
            .sum()
    };
    let touches: usize = Layer::ALL.iter().copied().map(layer).sum();
    let seen = touches - layer(Layer::Miss);
    let share = |part: usize, whole: usize| percent(part as f64 / whole.max(1) as f64);
    let mean = |value: fn(&SessionCounts) -> Option<f64>| {
        average(&counts.iter().filter_map(value).collect::<Vec<_>>())
    };
    let covered = |index: usize| -> Vec<f64> {
        let shares = counts.iter().flat_map(|session| &session.covered);
        shares.map(|shares| shares[index]).collect()
    };
    let (covered, covered_by_cards) = (covered(0), covered(1));
    let fullest = counts
        .iter()
        .map(|session| session.working_tokens_max)
        .max();
    let fullest = usize::try_from(fullest.unwrap_or_default()).unwrap_or(usize::MAX);
    let room = usize::try_from(WORKING_TOKENS_MAX.0).unwrap_or(usize::MAX);
    LayerReport {
        sessions: counts.len(),
        touches,
        compactions: covered.len(),
        l1: share(layer(Layer::Working), touches),
        l15: share(layer(Layer::Cache), touches),
        l2: share(layer(Layer::Store), touches),
        miss: share(layer(Layer::Miss), touches),
        precision_at_5: mean(|session| session.precision_at_5),
        recall_at_10: mean(|session| session.recall_at_10),
        recall_at_25: mean(|session| session.recall_at_25),
        recall_at_10_of_seen: mean(|session| session.recall_at_10_of_seen),
        covered: average(&covered),
        covered_by_cards: average(&covered_by_cards),
        seen_before: share(seen, touches),
        l1_of_seen: share(layer(Layer::Working), seen),
        working_full: share(fullest, room),
    }
}

fn average(values: &[f64]) -> f64 {
    // The sum of no numbers is negative zero, which would be printed as "-0".
    if values.is_empty() {
        return 0.0;
    }
    percent(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns a share in percent with one decimal place.
fn percent(share: f64) -> f64 {
    (share * 1_000.0).round() / 10.0
}
