//! What earlier sessions say about each file, as features of a linear model.
//!
//! The weights were fitted on the earlier half of the sessions of four repositories, each session
//! with the same weight, and rounded; `docs/design/layers.md` has the figures of the later half.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::layers::{SessionTouches, TouchedFile};

use super::SeedRequest;
use super::words::{folder, name, path_words};

/// Half-lives in sessions: what is older counts less.
const RECENT_HALF_LIFE: f64 = 5.0;
const STEADY_HALF_LIFE: f64 = 20.0;
const BRANCH_HALF_LIFE: f64 = 3.0;
const AUTHOR_HALF_LIFE: f64 = 4.0;
/// The first files of a session are those that agents read to find their way.
const FIRST_FILES: usize = 3;
/// Branches that everybody uses say nothing about the task.
const SHARED_BRANCHES: &[&str] = &["", "HEAD", "main", "master"];
/// The first part of a branch name that is not a person's name.
#[rustfmt::skip]
const BRANCH_KINDS: &[&str] = &[
    "bugfix", "chore", "docs", "feat", "feature", "fix", "refactor", "release", "test",
];
/// A shorter file name occurs in texts by accident.
const NAME_CHARS_MIN: usize = 7;

/// The features of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateFile {
    recent: f64,
    steady: f64,
    recent_edits: f64,
    first_files: f64,
    branch: f64,
    branch_touches: f64,
    branch_edits: f64,
    branch_folder: f64,
    author: f64,
    branch_words: f64,
    named: f64,
    hint_words: f64,
    searched_folder: f64,
    last_session: f64,
    sessions: f64,
    /// How many sessions ended after the first one that touched the file.
    first_rank: f64,
}

impl CandidateFile {
    /// Returns the score, and the part that contributed most to it.
    pub(super) fn score(&self) -> (f64, &'static str) {
        let log = f64::ln_1p;
        let frequent = 0.6 * log(self.steady)
            + 0.4 * log(self.first_files)
            + 0.25 * self.sessions / (self.first_rank + 4.0);
        let recent =
            0.4 * log(self.recent) + 0.4 * log(self.recent_edits) + 0.7 * self.last_session;
        let branch = 0.35 * log(self.branch)
            + 0.35 * log(self.branch_touches)
            + 0.3 * log(self.branch_edits)
            + 0.7 * log(self.branch_folder)
            + 1.2 * self.branch_words;
        let hinted = self.named + 0.7 * self.hint_words + 0.4 * self.searched_folder;
        let parts = [
            (frequent, "used often"),
            (recent, "used lately"),
            (branch, "used on this branch"),
            (0.5 * log(self.author), "used by the same author"),
            (hinted, "named in the task"),
        ];
        let most = parts.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let score = parts.iter().map(|part| part.0).sum();
        (score, most.map_or("", |part| part.1))
    }
}

/// Collects the features of every file that was touched before `now`.
pub(super) fn collect_candidates<'a>(
    history: &'a [SessionTouches],
    request: &SeedRequest<'_>,
) -> BTreeMap<&'a str, CandidateFile> {
    let mut sessions = earlier_sessions(history, request.now);
    sessions.sort_by_key(|session| Reverse(session.last));
    let branch = request.branch.unwrap_or_default();
    let own_branch = !SHARED_BRANCHES.contains(&branch);
    let author = branch_author(branch);
    let (mut on_branch, mut by_author) = (0, 0);
    let mut branch_folders: BTreeMap<&str, f64> = BTreeMap::new();
    let mut candidates: BTreeMap<&str, CandidateFile> = BTreeMap::new();
    for (rank, session) in sessions.iter().enumerate() {
        let is_branch = own_branch && session.branch == branch;
        let is_author = author.is_some() && branch_author(session.branch) == author;
        let branch_weight = half_life(on_branch, BRANCH_HALF_LIFE);
        let recent = half_life(rank, RECENT_HALF_LIFE);
        for (index, file) in session.files.iter().enumerate() {
            let candidate = candidates.entry(&file.path).or_default();
            let edits = f64::from(file.edits).ln_1p();
            candidate.sessions += 1.0;
            candidate.first_rank = rank as f64;
            candidate.recent += recent;
            candidate.steady += half_life(rank, STEADY_HALF_LIFE);
            candidate.recent_edits += edits * recent;
            if index < FIRST_FILES {
                candidate.first_files += half_life(rank, STEADY_HALF_LIFE);
            }
            if is_branch {
                candidate.branch += branch_weight;
                candidate.branch_touches += f64::from(file.touches).ln() * branch_weight;
                candidate.branch_edits += edits * branch_weight;
                *branch_folders.entry(folder(&file.path)).or_default() += branch_weight;
            }
            if is_author {
                candidate.author += half_life(by_author, AUTHOR_HALF_LIFE);
            }
            if rank == 0 {
                let after = session
                    .files
                    .iter()
                    .filter(|other| other.last > file.last)
                    .count();
                candidate.last_session = 1.0 / (1.0 + after as f64);
            }
        }
        on_branch += usize::from(is_branch);
        by_author += usize::from(is_author);
    }
    for (path, candidate) in &mut candidates {
        candidate.branch_folder = branch_folders
            .get(folder(path))
            .copied()
            .unwrap_or_default();
    }
    add_word_features(
        &mut candidates,
        if own_branch { branch } else { "" },
        request.hints,
    );
    candidates
}

/// A session as far as it is known at the time of the request.
struct EarlierSession<'a> {
    branch: &'a str,
    last: Timestamp,
    files: Vec<&'a TouchedFile>,
}

/// Returns what earlier sessions had touched before `now`: a session that still runs counts with
/// the files it has touched so far.
fn earlier_sessions(history: &[SessionTouches], now: Timestamp) -> Vec<EarlierSession<'_>> {
    let sessions = history.iter().filter_map(|session| {
        let files = session.files.iter().filter(|file| file.first < now);
        let files: Vec<_> = files.collect();
        let last = files.iter().map(|file| file.last).max()?;
        Some(EarlierSession {
            branch: session.branch.as_deref().unwrap_or_default(),
            last: last.min(now),
            files,
        })
    });
    sessions.collect()
}

/// Adds what branch name and hints say about the names of files. A word counts more the fewer
/// files have it.
fn add_word_features(
    candidates: &mut BTreeMap<&str, CandidateFile>,
    branch: &str,
    hints: &[String],
) {
    let branch_words = path_words(branch);
    let text = hints.join(" ");
    let hint_words = path_words(&text);
    let words: Vec<BTreeSet<String>> = candidates.keys().map(|path| path_words(path)).collect();
    let mut files_by_word: BTreeMap<&str, f64> = BTreeMap::new();
    for word in words.iter().flatten() {
        *files_by_word.entry(word).or_default() += 1.0;
    }
    let files = candidates.len() as f64;
    let rarity = |word: &String| {
        let count = files_by_word.get(word.as_str()).copied().unwrap_or(files);
        (files / count).ln() / (files + 1.0).ln()
    };
    for ((path, candidate), words) in candidates.iter_mut().zip(&words) {
        candidate.branch_words = branch_words.intersection(words).map(rarity).sum();
        let file_name = name(path);
        let is_named =
            text.contains(path) || (file_name.len() >= NAME_CHARS_MIN && text.contains(file_name));
        candidate.named = if is_named { 1.0 } else { 0.0 };
        candidate.hint_words = hint_words
            .intersection(&path_words(file_name))
            .map(rarity)
            .sum();
        let depths = hints.iter().filter_map(|hint| folder_depth(hint, path));
        candidate.searched_folder = depths.max().unwrap_or(0) as f64 / 4.0;
    }
}

/// Returns the depth of a folder that was searched, if the file is below it.
fn folder_depth(hint: &str, path: &str) -> Option<usize> {
    let folder = hint.trim_end_matches('/');
    let is_folder = !folder.is_empty() && folder != "." && !folder.contains(' ');
    let rest = path.strip_prefix(folder).filter(|_| is_folder)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| folder.split('/').count())
}

/// Returns the person that a branch is named after.
fn branch_author(branch: &str) -> Option<&str> {
    let (author, _) = branch.split_once('/')?;
    (!BRANCH_KINDS.contains(&author)).then_some(author)
}

fn half_life(steps: usize, half_life: f64) -> f64 {
    0.5_f64.powf(steps as f64 / half_life)
}
