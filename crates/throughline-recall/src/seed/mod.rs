//! Seeds: the files that a session will probably need, predicted from earlier sessions.
//!
//! A [`FilePredictor`] knows the files of a workspace. Before a session has touched any it ranks
//! them by a linear model over [`features`], and afterwards also by the files that earlier
//! sessions touched together. After a compaction it chooses the files that the session gets back.
//! It reads neither a clock nor the work tree.

mod features;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::layers::SessionTouches;
use serde::Serialize;

use self::features::collect_candidates;
use self::words::path_words;

/// How many of the last files of a compacted session are restored.
const RECENT_FILES_MAX: usize = 10;
/// How many files that it may need next are restored with them.
const PREDICTED_FILES_MAX: usize = 10;
/// How many more files are named after them without a card.
const POINTERS_MAX: usize = 30;
/// How many of the pointers are kept for files that the session has not used.
const PREDICTED_POINTERS_MIN: usize = 10;
/// How many of the session's last files decide which files go with them.
const CONTEXT_FILES_MAX: usize = 10;

/// The first files of a session say most about its task: with each of them, predictions are made
/// again at once.
const OPENING_FILES: usize = 3;

/// Says whether a session has just used one of its first files.
pub fn is_opening(session: &SessionTouches) -> bool {
    (1..=OPENING_FILES).contains(&session.files.len())
}

/// The facts about a session from which its files are predicted.
#[derive(Clone, Copy, Debug)]
pub struct SeedRequest<'a> {
    pub branch: Option<&'a str>,
    /// Texts that may name files: the first prompt, and commands and searches before the first
    /// touch.
    pub hints: &'a [String],
    pub now: Timestamp,
}

/// A predicted file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seed {
    pub path: String,
    pub score: f64,
    /// What spoke most for the file.
    pub reason: &'static str,
}

/// The files that a compacted session gets back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestoredPaths {
    /// Files that are restored with their cards, the last used first.
    pub files: Vec<Seed>,
    /// More files, which are only named.
    pub pointers: Vec<Seed>,
}

/// The files of a workspace, ready to be ranked for one session.
#[derive(Clone, Debug, Default)]
pub struct FilePredictor {
    files: Vec<KnownFile>,
    /// The positions in `files` that each earlier session touched.
    sessions: Vec<BTreeSet<usize>>,
    index: BTreeMap<String, usize>,
}

/// A file that earlier sessions touched.
#[derive(Clone, Debug)]
struct KnownFile {
    path: String,
    score: f64,
    reason: &'static str,
    name: BTreeSet<String>,
    /// The positions in `sessions` of those that touched it.
    sessions: Vec<usize>,
}

impl FilePredictor {
    /// Collects what earlier sessions say about each file. `history` may be in any order.
    pub fn new(history: &[SessionTouches], request: &SeedRequest<'_>) -> Self {
        let candidates = collect_candidates(history, request);
        let mut index = BTreeMap::new();
        let mut files = Vec::new();
        for (path, candidate) in &candidates {
            let (score, reason) = candidate.score();
            index.insert((*path).to_owned(), files.len());
            files.push(KnownFile {
                path: (*path).to_owned(),
                score,
                reason,
                name: path_words(words::name(path)),
                sessions: Vec::new(),
            });
        }
        let mut sessions = Vec::new();
        for session in history {
            let known = session.files.iter().filter(|file| file.first < request.now);
            let known = known.filter_map(|file| index.get(&file.path).copied());
            let known: BTreeSet<usize> = known.collect();
            for file in &known {
                files[*file].sessions.push(sessions.len());
            }
            sessions.push(known);
        }
        Self {
            files,
            sessions,
            index,
        }
    }

    /// Says whether an earlier session touched a file.
    pub fn knows(&self, path: &str) -> bool {
        self.index.contains_key(path)
    }

    /// Ranks the files for a session that has touched none, the best first.
    pub fn rank_seeds(&self, limit: usize) -> Vec<Seed> {
        let seeds = self.files.iter().map(|file| Seed {
            path: file.path.clone(),
            score: file.score,
            reason: file.reason,
        });
        best(seeds.collect(), limit)
    }

    /// Ranks the files that a session may touch next, the best first. Files that it has touched
    /// are left out.
    pub fn predict_next(&self, session: &SessionTouches, limit: usize) -> Vec<Seed> {
        let touched: BTreeSet<&str> = session.files.iter().map(|f| f.path.as_str()).collect();
        let context = ContextFiles::new(self, session);
        let open = self.files.iter().enumerate();
        let open = open.filter(|(_, file)| !touched.contains(file.path.as_str()));
        let seeds = open.map(|(position, file)| context.score(position, file));
        best(seeds.collect(), limit)
    }

    /// Chooses the files that a compacted session gets back: its last ones, then the others of
    /// the session and of earlier sessions that it may need next.
    pub fn restored_files(&self, session: &SessionTouches) -> RestoredPaths {
        let mut own: Vec<_> = session.files.iter().enumerate().collect();
        own.sort_by_key(|(position, file)| (Reverse(file.last), Reverse(*position)));
        let seed = |path: &str, reason| Seed {
            path: path.to_owned(),
            score: 0.0,
            reason,
        };
        let last = own.iter().take(RECENT_FILES_MAX);
        let mut files: Vec<Seed> = last.map(|(_, f)| seed(&f.path, "used last")).collect();
        // A file that was edited or read again is needed again more often than a new one.
        let mut older: Vec<_> = own.iter().skip(RECENT_FILES_MAX).collect();
        older.sort_by_key(|(_, file)| Reverse(file.touches.min(3) + 2 * file.edits.min(2)));
        let older = older.into_iter();
        let mut older = older.map(|(_, file)| seed(&file.path, "used in this session"));
        files.extend(older.by_ref().take(PREDICTED_FILES_MAX));
        let room = (RECENT_FILES_MAX + PREDICTED_FILES_MAX).saturating_sub(files.len());
        let mut predicted = self.predict_next(session, room + POINTERS_MAX).into_iter();
        files.extend(predicted.by_ref().take(room));
        let mut pointers: Vec<Seed> = older.take(POINTERS_MAX - PREDICTED_POINTERS_MIN).collect();
        pointers.extend(predicted.take(POINTERS_MAX - pointers.len()));
        RestoredPaths { files, pointers }
    }

    /// Returns how probable each file is in a session that touches `path`, by position.
    fn touched_together(&self, path: &str) -> BTreeMap<usize, f64> {
        let mut together: BTreeMap<usize, f64> = BTreeMap::new();
        let Some(file) = self
            .index
            .get(path)
            .and_then(|position| self.files.get(*position))
        else {
            return together;
        };
        // One session more than there were keeps a single coincidence from looking certain.
        let share = 1.0 / (file.sessions.len() as f64 + 1.0);
        let sessions = file
            .sessions
            .iter()
            .filter_map(|session| self.sessions.get(*session));
        for position in sessions.flatten() {
            *together.entry(*position).or_default() += share;
        }
        together
    }
}

/// The files that a session touched, and what earlier sessions touched with them.
struct ContextFiles<'a> {
    /// For each of the last files: how probable each file is in a session that touches it.
    shares: Vec<BTreeMap<usize, f64>>,
    folders: BTreeMap<&'a str, f64>,
    stems: BTreeSet<String>,
    names: Vec<BTreeSet<String>>,
}

impl<'a> ContextFiles<'a> {
    fn new(predictor: &FilePredictor, session: &'a SessionTouches) -> Self {
        let mut recent: Vec<_> = session.files.iter().collect();
        recent.sort_by_key(|file| Reverse(file.last));
        recent.truncate(CONTEXT_FILES_MAX);
        let shares = recent
            .iter()
            .map(|file| predictor.touched_together(&file.path));
        let mut folders = BTreeMap::new();
        let share = 1.0 / session.files.len().max(1) as f64;
        for file in &session.files {
            *folders.entry(words::folder(&file.path)).or_default() += share;
        }
        let names = recent.iter().take(CONTEXT_FILES_MAX / 2);
        Self {
            shares: shares.collect(),
            folders,
            stems: session
                .files
                .iter()
                .map(|file| words::stem(&file.path))
                .collect(),
            names: names
                .map(|file| path_words(words::name(&file.path)))
                .collect(),
        }
    }

    /// Scores a file by the files that were touched already.
    fn score(&self, position: usize, file: &KnownFile) -> Seed {
        let share = |shares: &BTreeMap<usize, f64>| shares.get(&position).copied().unwrap_or(0.0);
        let best_share = self.shares.iter().map(share).fold(0.0, f64::max);
        let mean_share = self.shares.iter().map(share).sum::<f64>();
        let mean_share = mean_share / self.shares.len().max(1) as f64;
        let folder = words::folder(&file.path);
        let folder = self.folders.get(folder).copied().unwrap_or_default();
        let is_partner = self.stems.contains(&words::stem(&file.path));
        let alike = self
            .names
            .iter()
            .map(|other| words::overlap(&file.name, other));
        let with_touched = 1.5 * best_share
            + 1.3 * mean_share
            + 0.8 * folder
            + if is_partner { 1.0 } else { 0.0 }
            + 0.5 * alike.fold(0.0, f64::max);
        let together = with_touched > file.score;
        Seed {
            path: file.path.clone(),
            score: file.score + with_touched,
            reason: if together {
                "used with these files"
            } else {
                file.reason
            },
        }
    }
}

fn best(mut seeds: Vec<Seed>, limit: usize) -> Vec<Seed> {
    seeds.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.path.cmp(&b.path))
    });
    seeds.truncate(limit);
    seeds
}
