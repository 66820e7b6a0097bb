//! The running summaries of sessions, kept current.
//!
//! [`renew_pending`] is the stage: it looks at the sessions that have changed and writes the summaries that are
//! due, by a model where there is one, else with the embedded extractor; [`summarize`] writes one now. Both
//! read only the records that came since the last look. [`current`] is what a compaction takes, [`running`] what it waits for.
//! [`live`] brings a summary up to the last message.

pub mod live;

use jiff::{SignedDuration, Timestamp};
use memory::summary::{SummaryLimits, Template};
use memory::{MessageId, SessionId, SessionKind, Summary, Tokens, Usage};
use store::{
    Lease, LeaseKind, LeaseOutcome, NewSummary, SessionPosition, Store, StoredSummary, SummaryInfo,
    SummaryMethod, SummaryProgress, SummaryWrite,
};
use thiserror::Error;

use crate::compact::wait::ExtractionStatus;
use crate::due::{
    SessionProgress, SummaryCheckpoint, SummaryThresholds, UpdateDecision, decide_update,
};
use crate::embedded::{RecordView, SummaryBuilder, render_summary};
use crate::extract::{self, SummaryEditTask};
use crate::model::{ModelSession, ModelUnavailable};
use crate::transcript::SessionTranscript;

/// A session without activity for so long is not live. Its summary is made when somebody asks for it.
pub const LIVE_WINDOW: SignedDuration = SignedDuration::from_hours(48);
/// Sessions that one run looks at.
const SESSIONS_MAX: usize = 256;
/// Sessions that a model is asked about in one run, the latest first; the others get what needs no model.
const ASKED_MAX: usize = 4;
/// What a model wrote is left to it until it is this many times `more` tokens behind.
const BEHIND_MAX: u64 = 4;
/// What a model gets to read at once.
const TRANSCRIPT_TOKENS_MAX: Tokens = Tokens(60_000);
/// An extraction must end before its lease is taken for dead.
pub const EXTRACTION_TIME_MAX: SignedDuration = SignedDuration::from_secs(55);

/// How summaries are written.
#[derive(Clone, Debug)]
pub struct SummarySettings {
    pub thresholds: SummaryThresholds,
    pub limits: SummaryLimits,
    pub template: Template,
    pub instructions: String,
    /// A model writes the summaries: what it wrote is left to it.
    pub has_model: bool,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            thresholds: SummaryThresholds::default(),
            limits: SummaryLimits::default(),
            template: Template::default(),
            instructions: extract::DEFAULT_INSTRUCTIONS.to_owned(),
            has_model: false,
        }
    }
}

/// Who writes a summary.
#[derive(Clone, Copy, Debug)]
pub enum SummaryAuthor<'a> {
    Embedded,
    Model(&'a ModelSession<'a>),
    /// A model that goes on from the session's own request, which stays in front as it was sent: the
    /// provider's cache knows it. Whoever sent the request holds it; a log does not.
    ForkedModel(&'a ModelSession<'a>, &'a serde_json::Value),
}

/// What a run over all sessions came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryReport {
    pub examined: usize,
    pub written: Vec<SessionId>,
    /// How many of them a model wrote.
    pub by_model: usize,
    /// Why no model was asked any more.
    pub refused: Option<String>,
    /// It was asked to stop before it was through.
    pub interrupted: bool,
}

/// A summary that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSummary {
    pub version: u64,
    pub way: SummaryMethod,
    pub usage: Usage,
    pub edits: usize,
    /// What a model wanted and did not get.
    pub denied: Vec<String>,
}

/// Why no summary was written. The old one stays.
#[derive(Debug, Error)]
pub enum SummaryError {
    #[error("the store does not know the session")]
    UnknownSession,
    #[error("a subagent's session has no summary of its own")]
    Subagent,
    #[error("nothing was said or done in the session")]
    EmptySession,
    #[error("somebody else has been writing it since {since}")]
    Busy { since: Timestamp },
    #[error("the session is being compacted")]
    Compacting,
    #[error("it took too long, and somebody else has taken over")]
    LeaseLost,
    #[error("nothing new was said since the summary was written")]
    NoNewRecords,
    #[error("the model edited nothing")]
    NoEdits { denied: Vec<String> },
    #[error(transparent)]
    ModelUnavailable(#[from] ModelUnavailable),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A summary as a compaction takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningSummary {
    pub summary: Summary,
    pub file: String,
    /// The last message that it covers.
    pub last: Option<MessageId>,
}

/// Looks at the live sessions that have changed, and writes the summaries that are due.
pub fn update_pending_summaries(
    store: &Store,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    stop: &dyn Fn() -> bool,
    now: Timestamp,
) -> store::Result<SummaryReport> {
    let since = now.saturating_sub(LIVE_WINDOW).unwrap_or(Timestamp::MIN);
    let mut renewed = SummaryReport::default();
    let mut asked = 0;
    for session in store.sessions_to_summarize(since, SESSIONS_MAX)? {
        if stop() {
            renewed.interrupted = true;
            break;
        }
        renewed.examined += 1;
        // Who has just said no says it to the next session too, after as long a wait.
        let how = match how {
            // One request belongs to one session, so a run over all of them has none to go on from.
            SummaryAuthor::Model(asker) | SummaryAuthor::ForkedModel(asker, _)
                if asked < ASKED_MAX && renewed.refused.is_none() =>
            {
                SummaryAuthor::Model(asker)
            }
            _ => SummaryAuthor::Embedded,
        };
        match renew(store, &session, settings, how, now) {
            Ok(done) => {
                asked +=
                    usize::from(done.by == Some(SummaryMethod::Model) || done.refused.is_some());
                renewed.by_model += usize::from(done.by == Some(SummaryMethod::Model));
                renewed.refused = renewed.refused.or(done.refused);
                renewed.written.extend(done.by.map(|_| session));
            }
            // One session must not keep the others from their summaries.
            Err(error) => tracing::warn!(%session, %error, "its summary is not written"),
        }
    }
    Ok(renewed)
}

/// What became of one session in a run.
#[derive(Default)]
struct SessionUpdate {
    by: Option<SummaryMethod>,
    refused: Option<String>,
}

/// Writes a session's summary if it is due.
fn renew(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    now: Timestamp,
) -> Result<SessionUpdate, SummaryError> {
    let scene = SummaryJob::of(store, session, now)?;
    store.save_summary_progress(session, &scene.look())?;
    if !matches!(
        decide_update(&scene.progress(), &settings.thresholds),
        UpdateDecision::Update(_)
    ) {
        return Ok(SessionUpdate::default());
    }
    let mut turn = SessionUpdate::default();
    if let SummaryAuthor::Model(asker) = how {
        let asker = ModelSession {
            purpose: "summary",
            session: Some(session),
            ..*asker
        };
        let begun = (asker.clock.now)();
        match write(store, &scene, settings, SummaryAuthor::Model(&asker), begun) {
            Err(SummaryError::ModelUnavailable(refused)) => {
                turn.refused = Some(refused.to_string())
            }
            Err(SummaryError::NoEdits { .. }) => {}
            done => return settled(done),
        }
    }
    if settings.has_model && scene.is_left_to_model(&settings.thresholds) {
        return Ok(turn);
    }
    let written = settled(write(store, &scene, settings, SummaryAuthor::Embedded, now))?;
    Ok(SessionUpdate {
        by: written.by,
        ..turn
    })
}

/// Somebody else being at it is no failure.
fn settled(done: Result<WrittenSummary, SummaryError>) -> Result<SessionUpdate, SummaryError> {
    match done {
        Ok(done) => Ok(SessionUpdate {
            by: Some(done.way),
            refused: None,
        }),
        Err(
            SummaryError::Busy { .. }
            | SummaryError::LeaseLost
            | SummaryError::EmptySession
            | SummaryError::NoNewRecords,
        ) => Ok(SessionUpdate::default()),
        Err(error) => Err(error),
    }
}

/// Writes a session's summary now, due or not.
pub fn write_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    now: Timestamp,
) -> Result<WrittenSummary, SummaryError> {
    let scene = SummaryJob::of(store, session, now)?;
    match scene.kind {
        SessionKind::Subagent => return Err(SummaryError::Subagent),
        _ if scene.compacting => return Err(SummaryError::Compacting),
        _ if scene.fold.is_empty() => return Err(SummaryError::EmptySession),
        _ => {}
    }
    store.save_summary_progress(session, &scene.look())?;
    write(store, &scene, settings, how, now)
}

/// Returns what the embedded extractor would write.
pub fn draft_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    now: Timestamp,
) -> Result<Summary, SummaryError> {
    let scene = SummaryJob::of(store, session, now)?;
    if scene.fold.is_empty() {
        return Err(SummaryError::EmptySession);
    }
    let before = store.summary(session)?;
    Ok(scene.embedded(store, settings, before.as_ref()))
}

/// Returns the summary of a session as it stands.
pub fn load_running_summary(
    store: &Store,
    session: &SessionId,
) -> store::Result<Option<RunningSummary>> {
    let stored = store.summary(session)?;
    Ok(stored.map(|stored| RunningSummary {
        summary: Summary::parse(&stored.text),
        file: stored.path.display().to_string(),
        last: stored.info.last,
    }))
}

/// Says whether somebody writes the session's summary right now.
pub fn extraction_status(store: &Store, session: &SessionId, now: Timestamp) -> ExtractionStatus {
    match store.active_lease(session, LeaseKind::Extraction, now) {
        Ok(Some(since)) => ExtractionStatus::Running { since },
        Ok(None) => ExtractionStatus::Idle,
        Err(error) => {
            tracing::warn!(%session, %error, "not known whether its summary is being written");
            ExtractionStatus::Idle
        }
    }
}

/// A session before its summary is written.
struct SummaryJob {
    session: SessionId,
    kind: SessionKind,
    title: Option<String>,
    notes: SummaryInfo,
    fold: SummaryBuilder,
    mark: SessionPosition,
    compacting: bool,
}

impl SummaryJob {
    /// Reads the records that came since the last look, or all where those before have changed.
    fn of(store: &Store, session: &SessionId, now: Timestamp) -> Result<Self, SummaryError> {
        let (kind, title) = store
            .session_kind_and_title(session)?
            .ok_or(SummaryError::UnknownSession)?;
        let notes = store.summary_info(session)?.unwrap_or_default();
        let carried = notes
            .progress
            .state
            .as_deref()
            .and_then(SummaryBuilder::from_json);
        let (mut fold, mut mark) = match carried {
            Some(fold) => (fold, notes.progress.position),
            None => (SummaryBuilder::new(), SessionPosition::default()),
        };
        if !fold_after(store, session, &mut fold, &mut mark)? {
            (fold, mark) = (SummaryBuilder::new(), SessionPosition::default());
            fold_after(store, session, &mut fold, &mut mark)?;
        }
        Ok(Self {
            compacting: store
                .active_lease(session, LeaseKind::Compaction, now)?
                .is_some(),
            session: session.clone(),
            kind,
            title,
            notes,
            fold,
            mark,
        })
    }

    /// Returns a session of which nothing is stored.
    fn unknown(session: &SessionId) -> Self {
        Self {
            session: session.clone(),
            kind: SessionKind::Main,
            title: None,
            notes: SummaryInfo::default(),
            fold: SummaryBuilder::new(),
            mark: SessionPosition::default(),
            compacting: false,
        }
    }

    fn look(&self) -> SummaryProgress {
        SummaryProgress {
            state: self.fold.to_json(),
            position: self.mark,
        }
    }

    fn progress(&self) -> SessionProgress {
        let written = (self.notes.version > 0).then_some(SummaryCheckpoint {
            tokens: self.notes.tokens,
            tool_calls: self.notes.tool_calls,
        });
        SessionProgress {
            kind: self.kind,
            tokens: self.fold.tokens,
            tool_calls: self.fold.tool_calls,
            at_pause: !self.fold.asks_tool,
            compacting: self.compacting,
            last_summary: written,
        }
    }

    /// Says whether a model wrote the notes and can be expected to renew them.
    fn is_left_to_model(&self, thresholds: &SummaryThresholds) -> bool {
        let behind = self.fold.tokens.0.saturating_sub(self.notes.tokens.0);
        self.notes.method == Some(SummaryMethod::Model)
            && behind < thresholds.new_tokens.0.saturating_mul(BEHIND_MAX)
    }

    fn embedded(
        &self,
        store: &Store,
        settings: &SummarySettings,
        before: Option<&StoredSummary>,
    ) -> Summary {
        let file = store.summary_path(&self.session).display().to_string();
        let before = before.map(|before| Summary::parse(&before.text));
        let title = self.title.as_deref();
        render_summary(
            &self.fold,
            title,
            &settings.template,
            before.as_ref(),
            &settings.limits,
            &file,
        )
    }
}

fn fold_after(
    store: &Store,
    session: &SessionId,
    fold: &mut SummaryBuilder,
    mark: &mut SessionPosition,
) -> store::Result<bool> {
    store.each_record_after(session, *mark, |record| {
        fold.add_record(&RecordView::from(&record));
        mark.records += 1;
        (mark.line, mark.ordinal) = (record.line, record.ordinal);
    })
}

/// Writes under the lease, which is given back whatever happens.
fn write(
    store: &Store,
    scene: &SummaryJob,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    now: Timestamp,
) -> Result<WrittenSummary, SummaryError> {
    let lease = match store.acquire_lease(&scene.session, LeaseKind::Extraction, now)? {
        LeaseOutcome::Granted(lease) => lease,
        LeaseOutcome::Busy { since } => return Err(SummaryError::Busy { since }),
        LeaseOutcome::Unknown => return Err(SummaryError::UnknownSession),
    };
    let done = write_leased(store, scene, settings, how, &lease);
    store.release_lease(&lease)?;
    done
}

fn write_leased(
    store: &Store,
    scene: &SummaryJob,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    lease: &Lease,
) -> Result<WrittenSummary, SummaryError> {
    // Read under the lease: nobody else writes between.
    let before = store.summary(&scene.session)?;
    let (way, text, usage, edits, denied, ended) = match how {
        SummaryAuthor::Embedded => {
            let text = scene.embedded(store, settings, before.as_ref()).to_string();
            (
                SummaryMethod::Embedded,
                text,
                Usage::default(),
                0,
                Vec::new(),
                lease.since,
            )
        }
        SummaryAuthor::Model(asker) | SummaryAuthor::ForkedModel(asker, _) => {
            let made = ask(store, scene, settings, how, asker, before.as_ref(), lease)?;
            if made.edits == 0 {
                return Err(SummaryError::NoEdits {
                    denied: made.denied,
                });
            }
            let ended = (asker.clock.now)();
            (
                SummaryMethod::Model,
                made.text,
                made.usage,
                made.edits,
                made.denied,
                ended,
            )
        }
    };
    let thresholds = &settings.thresholds;
    let duration = ended.duration_since(lease.since).as_millis();
    let kept = store.write_summary(
        lease,
        &NewSummary {
            text,
            method: way,
            at: lease.since,
            last: scene.fold.last_cut_point().cloned(),
            tokens: scene.fold.tokens,
            tool_calls: scene.fold.tool_calls,
            usage,
            duration_ms: u64::try_from(duration).unwrap_or_default(),
            thresholds: [
                thresholds.first_tokens.0,
                thresholds.new_tokens.0,
                thresholds.new_calls,
            ],
        },
    )?;
    match kept {
        SummaryWrite::Written { version } => Ok(WrittenSummary {
            version,
            way,
            usage,
            edits,
            denied,
        }),
        SummaryWrite::LeaseLost => Err(SummaryError::LeaseLost),
    }
}

/// Lets a model edit the notes. The first time it gets what the embedded extractor knows to start from.
fn ask(
    store: &Store,
    scene: &SummaryJob,
    settings: &SummarySettings,
    how: SummaryAuthor<'_>,
    asker: &ModelSession<'_>,
    before: Option<&StoredSummary>,
    lease: &Lease,
) -> Result<extract::SummaryEdit, SummaryError> {
    let deadline = lease
        .since
        .saturating_add(EXTRACTION_TIME_MAX)
        .unwrap_or(lease.since);
    let since = before.and_then(|before| before.info.last.as_ref());
    let transcript = transcript(store, &scene.session, since)?;
    if transcript.is_empty() {
        return Err(SummaryError::NoNewRecords);
    }
    let notes = match before {
        Some(before) => before.text.clone(),
        None => scene.embedded(store, settings, None).to_string(),
    };
    let file = store.summary_path(&scene.session).display().to_string();
    let fork = SummaryEditTask {
        notes: &notes,
        file: &file,
        transcript: &transcript.fenced(),
        instructions: &settings.instructions,
        limits: &settings.limits,
        parent_request: match how {
            SummaryAuthor::ForkedModel(_, parent) => Some(parent),
            SummaryAuthor::Embedded | SummaryAuthor::Model(_) => None,
        },
    };
    Ok(extract::edit_summary(asker, &fork, deadline)?)
}

/// Gathers what came behind a message; everything where that message is not there.
fn transcript(
    store: &Store,
    session: &SessionId,
    since: Option<&MessageId>,
) -> store::Result<SessionTranscript> {
    let mut transcript = SessionTranscript::new(TRANSCRIPT_TOKENS_MAX);
    let mut all = SessionTranscript::new(TRANSCRIPT_TOKENS_MAX);
    let (mut found, mut behind) = (false, false);
    store.each_record(session, |record| {
        let step = RecordView::from(&record);
        let is_it = since == Some(&record.message);
        found |= is_it;
        behind = found && !is_it;
        if behind {
            transcript.add(&step);
        } else if !found {
            all.add(&step);
        }
    })?;
    Ok(if found { transcript } else { all })
}

#[cfg(test)]
mod tests;
