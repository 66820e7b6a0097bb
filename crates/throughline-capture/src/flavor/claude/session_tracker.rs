//! What is known of the sessions in a log, so that only news of them is told.

use jiff::Timestamp;
use memory::{Flavor, LogEntry, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use serde::{Deserialize, Serialize};

use super::wire;
use crate::ParseOutput;

/// One log holds one session, its subagents at most, and rarely a resumed one.
const SESSIONS_MAX: usize = 64;

/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 120;

/// The sessions of one log. Part of the reader's state: names and times, and fingerprints of
/// titles, but no title.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionTracker(Vec<TrackedSession>);

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
    /// Fingerprints of the titles told, by rank.
    titles: [u32; 6],
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// Whether the times have widened since they were told.
    widened: bool,
}

/// The session that a record belongs to.
#[derive(Clone, Debug)]
pub struct RecordSession {
    pub session: SessionId,
    pub parent: Option<SessionId>,
    pub kind: Option<SessionKind>,
}

impl RecordSession {
    pub fn is_subagent(&self) -> bool {
        self.kind == Some(SessionKind::Subagent)
    }
}

impl SessionTracker {
    /// Takes in what a record of the conversation says, and tells what is new.
    pub fn observe_record(
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
            out.push(LogEntry::Session(patch));
        }
    }

    /// Tells a title, unless it was told before.
    pub fn emit_title(
        &mut self,
        session: &SessionId,
        text: &str,
        rank: TitleRank,
        out: &mut ParseOutput,
    ) {
        let text = text.trim_start().lines().next().unwrap_or("").trim_end();
        let text: String = text.chars().take(TITLE_CHARS_MAX).collect();
        if text.is_empty() {
            return;
        }
        let told = &mut self.tracked(session).titles[usize::from(rank.number())];
        let print = fingerprint(&text);
        // The first prompt stays the first.
        if *told == print || (rank == TitleRank::FirstPrompt && *told != 0) {
            return;
        }
        *told = print;
        let mut patch = SessionPatch::new(session.clone(), Flavor::Claude);
        patch.title = Some(Title { text, rank });
        out.push(LogEntry::Session(patch));
    }

    /// Tells how far the sessions reach, where that is new.
    pub fn emit_times(&mut self, out: &mut ParseOutput) {
        for known in self.0.iter_mut().filter(|known| known.widened) {
            known.widened = false;
            let session = SessionId::of(Flavor::Claude, &known.session);
            let mut patch = SessionPatch::new(session, Flavor::Claude);
            (patch.started, patch.ended) = (known.started, known.ended);
            out.push(LogEntry::Session(patch));
        }
    }

    /// Returns where a session stood last: folder and branch.
    pub fn last_location(&mut self, session: &SessionId) -> (Option<String>, Option<String>) {
        let known = self.tracked(session);
        (known.cwd.clone(), known.branch.clone())
    }

    fn tracked(&mut self, session: &SessionId) -> &mut TrackedSession {
        let native = session.native();
        // The session of the last record is the one of the next, nearly always.
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

fn update_if_changed(known: &mut Option<String>, said: Option<&str>) -> Option<String> {
    let said = said.filter(|&said| known.as_deref() != Some(said))?;
    *known = Some(said.to_owned());
    known.clone()
}

/// Returns a number for a text that is never zero.
pub fn fingerprint(text: &str) -> u32 {
    let hash = blake3::hash(text.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}
