//! What a session starts with: the files that its task may need, and, if it continues the work on
//! a branch, the last interactions of the session before it.

use jiff::Timestamp;
use memory::layers::{Card, CardKey, SessionMemory, SessionTouches};
use memory::{RecordKind, SessionId};
use recall::seed::{FilePredictor, SeedRequest};
use store::{Store, StoredRecord};

use super::from_store::EARLIER_SESSIONS_MAX;

/// The most texts that are searched for names of files, and their length.
const HINTS_MAX: usize = 8;
const HINT_CHARS_MAX: usize = 2_000;

/// The properties of a session from which its files are predicted.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionOpening {
    /// Prompts and calls before the first file was used.
    hints: Vec<String>,
}

impl SessionOpening {
    /// Adds what a record says about the task.
    pub(super) fn add(&mut self, record: &StoredRecord, is_sensitive: bool) {
        let is_hint = matches!(record.kind, RecordKind::Prompt | RecordKind::ToolUse);
        if is_hint && !is_sensitive && self.hints.len() < HINTS_MAX {
            let text = record.content.chars().take(HINT_CHARS_MAX).collect();
            self.hints.push(text);
        }
    }

    pub(super) fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// What other sessions of the workspace did before a session started.
#[derive(Clone, Debug)]
pub struct EarlierWork {
    sessions: Vec<(SessionId, SessionTouches)>,
    branch: Option<String>,
    started: Timestamp,
}

impl EarlierWork {
    pub fn read(
        store: &Store,
        session: &SessionId,
        workspace: &str,
        branch: Option<String>,
        started: Timestamp,
    ) -> store::Result<Self> {
        let sessions = store.workspace_touches(workspace, started, EARLIER_SESSIONS_MAX)?;
        let others = sessions.into_iter().filter(|(id, _)| id != session);
        Ok(Self {
            sessions: others.collect(),
            branch,
            started,
        })
    }

    /// Returns the number of sessions that used files.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Returns a predictor of the session's files.
    pub fn predictor(&self, hints: &[String]) -> FilePredictor {
        let history: Vec<_> = self
            .sessions
            .iter()
            .map(|(_, files)| files.clone())
            .collect();
        let request = SeedRequest {
            branch: self.branch.as_deref(),
            hints,
            now: self.started,
        };
        FilePredictor::new(&history, &request)
    }

    /// Returns the session whose work goes on: the last one on the branch.
    pub fn continued(&self) -> Option<&SessionId> {
        let same = |files: &SessionTouches| files.branch.is_some() && files.branch == self.branch;
        let mut sessions = self.sessions.iter();
        sessions.find(|(_, files)| same(files)).map(|(id, _)| id)
    }

    /// Returns the cards of the last interactions of the session whose work goes on.
    pub fn continued_interactions(&self, store: &Store) -> store::Result<Vec<(CardKey, Card)>> {
        let Some(session) = self.continued() else {
            return Ok(Vec::new());
        };
        let checkpoints = distill::checkpoint::derive_checkpoints(store, session)?;
        let recent = checkpoints.last().map_or(&[][..], |last| &last.recent);
        let mut cards = Vec::new();
        for id in recent {
            let record = store.read_record(*id)?;
            let card = record
                .and_then(|record| SessionMemory::interaction_card(&record.layer_record(None)));
            cards.extend(card);
        }
        Ok(cards)
    }
}
