//! One live session: its memory, and the files that it will probably need next.

use jiff::Timestamp;
use memory::layers::working::SEEDS_MAX;
use memory::layers::{Card, CardKey, LayerEffects, SessionMemory};
use memory::{SessionId, SessionKind};
use recall::seed::{FilePredictor, Seed};

use super::restored::RestoredFiles;
use super::start::{EarlierWork, SessionOpening};

/// A session whose working memory is in the daemon.
#[derive(Clone, Debug)]
pub struct LiveSession {
    pub memory: SessionMemory,
    pub workspace: String,
    pub(super) cwd: Option<String>,
    pub(super) kind: SessionKind,
    pub(super) parent: Option<SessionId>,
    pub(super) title: Option<String>,
    /// Ranks files by earlier sessions; made when the session becomes live, and again with the
    /// prompts before its first file.
    pub(super) predictor: FilePredictor,
    pub(super) opening: SessionOpening,
    pub(super) earlier: EarlierWork,
    pub(super) used_at: Timestamp,
}

impl LiveSession {
    pub(super) fn restored_files(&self) -> RestoredFiles {
        RestoredFiles::choose(&self.memory, &self.predictor)
    }

    /// Ranks the files again by what the session was asked before its first file.
    pub(super) fn seed_for_task(&mut self, now: Timestamp) -> LayerEffects {
        self.predictor = self.earlier.predictor(self.opening.hints());
        self.seed(now)
    }

    /// Predicts the next files again. Their cards hold no more than the path and the reason.
    pub(super) fn seed(&mut self, now: Timestamp) -> LayerEffects {
        let seeds = if self.memory.touches.files.is_empty() {
            self.predictor.rank_seeds(SEEDS_MAX)
        } else {
            self.predictor.predict_next(&self.memory.touches, SEEDS_MAX)
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
