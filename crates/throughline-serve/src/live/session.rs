//! One live session: its memory, and the files that it will probably need next.

use jiff::Timestamp;
use memory::layers::working::SEEDS_MAX;
use memory::layers::{Card, CardKey, LayerEffects, SessionMemory, TouchedFile};
use memory::{SessionId, SessionKind};
use recall::seed::{FilePredictor, Seed};

/// A session whose working memory is in the daemon.
#[derive(Clone, Debug)]
pub struct LiveSession {
    pub memory: SessionMemory,
    pub workspace: String,
    pub(super) cwd: Option<String>,
    pub(super) kind: SessionKind,
    pub(super) parent: Option<SessionId>,
    pub(super) title: Option<String>,
    /// Ranks files by earlier sessions; made when the session becomes live.
    pub(super) predictor: Option<FilePredictor>,
    pub(super) used_at: Timestamp,
}

/// The files that a compacted session gets back.
#[derive(Clone, Debug, Default)]
pub struct RestoredFiles {
    /// Files of the session, the last used first, with their cards.
    pub used: Vec<RestoredCard>,
    /// Files that earlier sessions used with them.
    pub predicted: Vec<Seed>,
}

/// A file of the session and what is kept of it.
#[derive(Clone, Debug)]
pub struct RestoredCard {
    pub file: TouchedFile,
    pub card: Option<Card>,
}

impl RestoredFiles {
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let used = self.used.iter().map(|used| used.file.path.as_str());
        used.chain(self.predicted.iter().map(|seed| seed.path.as_str()))
    }

    /// Chooses the files of a session: its last ones, then others that it may need next.
    pub fn choose(memory: &SessionMemory, predictor: &FilePredictor) -> Self {
        let mut restored = Self::default();
        for seed in predictor.restored_files(&memory.touches) {
            let files = &memory.touches.files;
            match files.iter().find(|file| file.path == seed.path) {
                Some(file) => restored.used.push(RestoredCard {
                    card: memory.working.peek(&CardKey::File(seed.path)).cloned(),
                    file: file.clone(),
                }),
                None => restored.predicted.push(seed),
            }
        }
        restored
    }
}

impl LiveSession {
    pub(super) fn restored_files(&self) -> RestoredFiles {
        let predictor = self.predictor.clone().unwrap_or_default();
        RestoredFiles::choose(&self.memory, &predictor)
    }

    /// Predicts the next files again. Their cards hold no more than the path and the reason.
    pub(super) fn seed(&mut self, now: Timestamp) -> LayerEffects {
        let Some(predictor) = &self.predictor else {
            return LayerEffects::default();
        };
        let seeds = if self.memory.touches.files.is_empty() {
            predictor.rank_seeds(SEEDS_MAX)
        } else {
            predictor.predict_next(&self.memory.touches, SEEDS_MAX)
        };
        let cards = seeds.iter().map(seed_card).collect();
        self.memory.working.seed(cards, now)
    }
}

pub(super) fn seed_card(seed: &Seed) -> (CardKey, Card) {
    let text = format!("{}: {}", seed.path, seed.reason);
    (
        CardKey::File(seed.path.clone()),
        Card::new(&text, Vec::new()),
    )
}
