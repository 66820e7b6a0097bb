//! Tracks the sessions of a log so that each change is emitted only once.

use jiff::Timestamp;
use memory::{Flavor, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use serde::{Deserialize, Serialize};

use super::wire;
use crate::ParseOutput;
use crate::title::prompt_title;

/// A log contains one session, its subagents and rarely a resumed session. The oldest is dropped
/// beyond this.
const SESSIONS_MAX: usize = 64;

/// The sessions of one log. This is part of the stored state, so titles are kept as fingerprints
/// only.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionTracker(Vec<TrackedSession>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TrackedSession {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<SessionKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Fingerprints of the emitted titles, by rank.
    titles: [u32; 6],
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// The times have changed since they were emitted.
    widened: bool,
}

/// The session that a record belongs to.
#[derive(Clone, Debug)]
pub(crate) struct RecordSession {
    pub session: SessionId,
    pub parent: Option<SessionId>,
    pub kind: Option<SessionKind>,
}

impl RecordSession {
    pub(crate) fn is_subagent(&self) -> bool {
        self.kind == Some(SessionKind::Subagent)
    }
}

impl SessionTracker {
    /// Updates the session from a record and emits what changed.
    pub(crate) fn observe_record(
        &mut self,
        place: &RecordSession,
        record: &wire::Record<'_>,
        model: Option<&str>,
        out: &mut ParseOutput,
    ) {
        let known = self.tracked(&place.session);
        let mut patch = SessionPatch::new(place.session.clone(), Flavor::Claude);
        if place.kind.is_some() && known.kind != place.kind {
            known.kind = place.kind;
            patch.kind = place.kind;
            patch.parent.clone_from(&place.parent);
        }
        patch.version = update_if_changed(&mut known.version, record.version.get());
        patch.cwd = update_if_changed(&mut known.cwd, record.cwd.get());
        patch.branch = update_if_changed(&mut known.branch, record.git_branch.get());
        patch.model = update_if_changed(&mut known.model, model);
        if let Some(at) = record.timestamp.0 {
            let (started, ended) = (known.started.unwrap_or(at), known.ended.unwrap_or(at));
            known.widened |= known.started.is_none() || at < started || at > ended;
            known.started = Some(started.min(at));
            known.ended = Some(ended.max(at));
        }
        if patch != SessionPatch::new(place.session.clone(), Flavor::Claude) {
            out.push(patch);
        }
    }

    /// Emits a title unless it was emitted before.
    pub(crate) fn emit_title(
        &mut self,
        session: &SessionId,
        text: &str,
        rank: TitleRank,
        out: &mut ParseOutput,
    ) {
        let Some(text) = prompt_title(text) else {
            return;
        };
        let known_print = &mut self.tracked(session).titles[usize::from(rank.number())];
        let print = fingerprint(&text);
        // Only the first prompt becomes a title.
        if *known_print == print || (rank == TitleRank::FirstPrompt && *known_print != 0) {
            return;
        }
        *known_print = print;
        let mut patch = SessionPatch::new(session.clone(), Flavor::Claude);
        patch.title = Some(Title::new(text, rank));
        out.push(patch);
    }

    /// Emits the start and end times that have changed.
    pub(crate) fn emit_times(&mut self, out: &mut ParseOutput) {
        for known in self.0.iter_mut().filter(|known| known.widened) {
            known.widened = false;
            let session = SessionId::of(Flavor::Claude, &known.session);
            let mut patch = SessionPatch::new(session, Flavor::Claude);
            (patch.started, patch.ended) = (known.started, known.ended);
            out.push(patch);
        }
    }

    /// Returns the last folder and branch of a session.
    pub(crate) fn last_location(
        &mut self,
        session: &SessionId,
    ) -> (Option<String>, Option<String>) {
        let known = self.tracked(session);
        (known.cwd.clone(), known.branch.clone())
    }

    fn tracked(&mut self, session: &SessionId) -> &mut TrackedSession {
        let native = session.native();
        // Searched from the end: consecutive records nearly always belong to the same session.
        let at = match self.0.iter().rposition(|known| known.session == native) {
            Some(at) => at,
            None => {
                if self.0.len() == SESSIONS_MAX {
                    self.0.remove(0);
                }
                self.0.push(TrackedSession {
                    session: native.to_owned(),
                    ..TrackedSession::default()
                });
                self.0.len() - 1
            }
        };
        &mut self.0[at]
    }
}

fn update_if_changed(known: &mut Option<String>, reported: Option<&str>) -> Option<String> {
    let reported = reported.filter(|&reported| known.as_deref() != Some(reported))?;
    *known = Some(reported.to_owned());
    known.clone()
}

/// Returns a hash of a text that is never zero; zero stands for no text.
pub(crate) fn fingerprint(text: &str) -> u32 {
    let hash = blake3::hash(text.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}
