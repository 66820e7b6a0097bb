//! The running summaries of sessions, kept current.
//!
//! [`renew_pending`] is the stage: it looks at the sessions that have changed and writes the summaries that are
//! due, by a model where there is one, else with the embedded extractor; [`summarize`] writes one now. Both
//! read only the records that came since the last look. [`current`] is what a compaction takes, [`running`] what it waits for.
//! [`live`] brings a summary up to the last message.

pub mod live;

use jiff::{SignedDuration, Timestamp};
use memory::summary::{Limits, Template};
use memory::{MessageId, SessionId, SessionKind, Summary, Tokens, Usage};
use store::{
    Asked, Kept, Lease, Look, NewSummary, Notes, Reached, Store, StoredSummary, Way, Work,
};
use thiserror::Error;

use crate::compact::wait::Extraction;
use crate::due::{Progress, Thresholds, Verdict, Written, due};
use crate::embedded::{Fold, Step, render};
use crate::extract::{self, Fork};
use crate::model::{Asker, Refused};
use crate::transcript::Transcript;

/// A session without activity for so long is not live. Its summary is made when somebody asks for it.
pub const LIVE_FOR: SignedDuration = SignedDuration::from_hours(48);
/// Sessions that one run looks at.
const SESSIONS_MAX: usize = 256;
/// Sessions that a model is asked about in one run, the latest first; the others get what needs no model.
const ASKED_MAX: usize = 4;
/// What a model wrote is left to it until it is this many times `more` tokens behind.
const BEHIND_MAX: u64 = 4;
/// What a model gets to read at once.
const TRANSCRIPT_TOKENS_MAX: Tokens = Tokens(60_000);
/// An extraction must end before its lease is taken for dead.
pub const TIME_MAX: SignedDuration = SignedDuration::from_secs(55);

/// How summaries are written.
#[derive(Clone, Debug)]
pub struct Settings {
    pub thresholds: Thresholds,
    pub limits: Limits,
    pub template: Template,
    pub instructions: String,
    /// A model writes the summaries: what it wrote is left to it.
    pub has_model: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            limits: Limits::default(),
            template: Template::default(),
            instructions: extract::INSTRUCTIONS.to_owned(),
            has_model: false,
        }
    }
}

/// Who writes a summary.
#[derive(Clone, Copy, Debug)]
pub enum How<'a> {
    Embedded,
    Model(&'a Asker<'a>),
    /// A model that goes on from the session's own request, which stays in front as it was sent: the
    /// provider's cache knows it. Whoever sent the request holds it; a log does not.
    Fork(&'a Asker<'a>, &'a serde_json::Value),
}

/// What a run over all sessions came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    pub looked: usize,
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
pub struct Done {
    pub version: u64,
    pub way: Way,
    pub usage: Usage,
    pub edits: usize,
    /// What a model wanted and did not get.
    pub denied: Vec<String>,
}

/// Why no summary was written. The old one stays.
#[derive(Debug, Error)]
pub enum Declined {
    #[error("the store does not know the session")]
    Unknown,
    #[error("a subagent's session has no summary of its own")]
    Subagent,
    #[error("nothing was said or done in the session")]
    Nothing,
    #[error("somebody else has been writing it since {since}")]
    Busy { since: Timestamp },
    #[error("the session is being compacted")]
    Compacting,
    #[error("it took too long, and somebody else has taken over")]
    Overtaken,
    #[error("nothing new was said since the summary was written")]
    NothingNew,
    #[error("the model edited nothing")]
    NothingEdited { denied: Vec<String> },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A summary as a compaction takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Current {
    pub summary: Summary,
    pub file: String,
    /// The last message that it covers.
    pub last: Option<MessageId>,
}

/// Looks at the live sessions that have changed, and writes the summaries that are due.
pub fn renew_pending(
    store: &Store,
    settings: &Settings,
    how: How<'_>,
    stop: &dyn Fn() -> bool,
    now: Timestamp,
) -> store::Result<Renewed> {
    let since = now.saturating_sub(LIVE_FOR).unwrap_or(Timestamp::MIN);
    let mut renewed = Renewed::default();
    let mut asked = 0;
    for session in store.sessions_to_look_at(since, SESSIONS_MAX)? {
        if stop() {
            renewed.interrupted = true;
            break;
        }
        renewed.looked += 1;
        // Who has just said no says it to the next session too, after as long a wait.
        let how = match how {
            // One request belongs to one session, so a run over all of them has none to go on from.
            How::Model(asker) | How::Fork(asker, _)
                if asked < ASKED_MAX && renewed.refused.is_none() =>
            {
                How::Model(asker)
            }
            _ => How::Embedded,
        };
        match renew(store, &session, settings, how, now) {
            Ok(done) => {
                asked += usize::from(done.by == Some(Way::Model) || done.refused.is_some());
                renewed.by_model += usize::from(done.by == Some(Way::Model));
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
struct Turn {
    by: Option<Way>,
    refused: Option<String>,
}

/// Writes a session's summary if it is due.
fn renew(
    store: &Store,
    session: &SessionId,
    settings: &Settings,
    how: How<'_>,
    now: Timestamp,
) -> Result<Turn, Declined> {
    let scene = Scene::of(store, session, now)?;
    store.save_look(session, &scene.look())?;
    if !matches!(
        due(&scene.progress(), &settings.thresholds),
        Verdict::Due(_)
    ) {
        return Ok(Turn::default());
    }
    let mut turn = Turn::default();
    if let How::Model(asker) = how {
        let asker = Asker {
            purpose: "summary",
            session: Some(session),
            ..*asker
        };
        let begun = (asker.clock.now)();
        match write(store, &scene, settings, How::Model(&asker), begun) {
            Err(Declined::Refused(refused)) => turn.refused = Some(refused.to_string()),
            Err(Declined::NothingEdited { .. }) => {}
            done => return settled(done),
        }
    }
    if settings.has_model && scene.is_left_to_model(&settings.thresholds) {
        return Ok(turn);
    }
    let written = settled(write(store, &scene, settings, How::Embedded, now))?;
    Ok(Turn {
        by: written.by,
        ..turn
    })
}

/// Somebody else being at it is no failure.
fn settled(done: Result<Done, Declined>) -> Result<Turn, Declined> {
    match done {
        Ok(done) => Ok(Turn {
            by: Some(done.way),
            refused: None,
        }),
        Err(
            Declined::Busy { .. } | Declined::Overtaken | Declined::Nothing | Declined::NothingNew,
        ) => Ok(Turn::default()),
        Err(error) => Err(error),
    }
}

/// Writes a session's summary now, due or not.
pub fn summarize(
    store: &Store,
    session: &SessionId,
    settings: &Settings,
    how: How<'_>,
    now: Timestamp,
) -> Result<Done, Declined> {
    let scene = Scene::of(store, session, now)?;
    match scene.kind {
        SessionKind::Subagent => return Err(Declined::Subagent),
        _ if scene.compacting => return Err(Declined::Compacting),
        _ if scene.fold.is_empty() => return Err(Declined::Nothing),
        _ => {}
    }
    store.save_look(session, &scene.look())?;
    write(store, &scene, settings, how, now)
}

/// Returns what the embedded extractor would write.
pub fn draft(
    store: &Store,
    session: &SessionId,
    settings: &Settings,
    now: Timestamp,
) -> Result<Summary, Declined> {
    let scene = Scene::of(store, session, now)?;
    if scene.fold.is_empty() {
        return Err(Declined::Nothing);
    }
    let before = store.summary(session)?;
    Ok(scene.embedded(store, settings, before.as_ref()))
}

/// Returns the summary of a session as it stands.
pub fn current(store: &Store, session: &SessionId) -> store::Result<Option<Current>> {
    let stored = store.summary(session)?;
    Ok(stored.map(|stored| Current {
        summary: Summary::parse(&stored.text),
        file: stored.path.display().to_string(),
        last: stored.notes.last,
    }))
}

/// Says whether somebody writes the session's summary right now.
pub fn running(store: &Store, session: &SessionId, now: Timestamp) -> Extraction {
    match store.working(session, Work::Extraction, now) {
        Ok(Some(since)) => Extraction::Running { since },
        Ok(None) => Extraction::Idle,
        Err(error) => {
            tracing::warn!(%session, %error, "not known whether its summary is being written");
            Extraction::Idle
        }
    }
}

/// A session before its summary is written.
struct Scene {
    session: SessionId,
    kind: SessionKind,
    title: Option<String>,
    notes: Notes,
    fold: Fold,
    mark: Reached,
    compacting: bool,
}

impl Scene {
    /// Reads the records that came since the last look, or all where those before have changed.
    fn of(store: &Store, session: &SessionId, now: Timestamp) -> Result<Self, Declined> {
        let (kind, title) = store.brief(session)?.ok_or(Declined::Unknown)?;
        let notes = store.notes(session)?.unwrap_or_default();
        let carried = notes.look.state.as_deref().and_then(Fold::read);
        let (mut fold, mut mark) = match carried {
            Some(fold) => (fold, notes.look.mark),
            None => (Fold::new(), Reached::default()),
        };
        if !fold_after(store, session, &mut fold, &mut mark)? {
            (fold, mark) = (Fold::new(), Reached::default());
            fold_after(store, session, &mut fold, &mut mark)?;
        }
        Ok(Self {
            compacting: store.working(session, Work::Compaction, now)?.is_some(),
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
            notes: Notes::default(),
            fold: Fold::new(),
            mark: Reached::default(),
            compacting: false,
        }
    }

    fn look(&self) -> Look {
        Look {
            state: self.fold.write(),
            mark: self.mark,
        }
    }

    fn progress(&self) -> Progress {
        let written = (self.notes.version > 0).then_some(Written {
            tokens: self.notes.tokens,
            tool_calls: self.notes.tool_calls,
        });
        Progress {
            kind: self.kind,
            tokens: self.fold.tokens,
            tool_calls: self.fold.tool_calls,
            at_pause: !self.fold.asks_tool,
            compacting: self.compacting,
            written,
        }
    }

    /// Says whether a model wrote the notes and can be expected to renew them.
    fn is_left_to_model(&self, thresholds: &Thresholds) -> bool {
        let behind = self.fold.tokens.0.saturating_sub(self.notes.tokens.0);
        self.notes.way == Some(Way::Model) && behind < thresholds.more.0.saturating_mul(BEHIND_MAX)
    }

    fn embedded(
        &self,
        store: &Store,
        settings: &Settings,
        before: Option<&StoredSummary>,
    ) -> Summary {
        let file = store.summary_path(&self.session).display().to_string();
        let before = before.map(|before| Summary::parse(&before.text));
        let title = self.title.as_deref();
        render(
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
    fold: &mut Fold,
    mark: &mut Reached,
) -> store::Result<bool> {
    store.each_record_after(session, *mark, |record| {
        fold.add(&Step::from(&record));
        mark.records += 1;
        (mark.line, mark.ordinal) = (record.line, record.ordinal);
    })
}

/// Writes under the lease, which is given back whatever happens.
fn write(
    store: &Store,
    scene: &Scene,
    settings: &Settings,
    how: How<'_>,
    now: Timestamp,
) -> Result<Done, Declined> {
    let lease = match store.lease(&scene.session, Work::Extraction, now)? {
        Asked::Granted(lease) => lease,
        Asked::Busy { since } => return Err(Declined::Busy { since }),
        Asked::Unknown => return Err(Declined::Unknown),
    };
    let done = write_leased(store, scene, settings, how, &lease);
    store.release(&lease)?;
    done
}

fn write_leased(
    store: &Store,
    scene: &Scene,
    settings: &Settings,
    how: How<'_>,
    lease: &Lease,
) -> Result<Done, Declined> {
    // Read under the lease: nobody else writes between.
    let before = store.summary(&scene.session)?;
    let (way, text, usage, edits, denied, ended) = match how {
        How::Embedded => {
            let text = scene.embedded(store, settings, before.as_ref()).to_string();
            (
                Way::Embedded,
                text,
                Usage::default(),
                0,
                Vec::new(),
                lease.since,
            )
        }
        How::Model(asker) | How::Fork(asker, _) => {
            let made = ask(store, scene, settings, how, asker, before.as_ref(), lease)?;
            if made.edits == 0 {
                return Err(Declined::NothingEdited {
                    denied: made.denied,
                });
            }
            let ended = (asker.clock.now)();
            (
                Way::Model,
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
            way,
            at: lease.since,
            last: scene.fold.last().cloned(),
            tokens: scene.fold.tokens,
            tool_calls: scene.fold.tool_calls,
            usage,
            duration_ms: u64::try_from(duration).unwrap_or_default(),
            thresholds: [thresholds.start.0, thresholds.more.0, thresholds.calls],
        },
    )?;
    match kept {
        Kept::Written { version } => Ok(Done {
            version,
            way,
            usage,
            edits,
            denied,
        }),
        Kept::Overtaken => Err(Declined::Overtaken),
    }
}

/// Lets a model edit the notes. The first time it gets what the embedded extractor knows to start from.
fn ask(
    store: &Store,
    scene: &Scene,
    settings: &Settings,
    how: How<'_>,
    asker: &Asker<'_>,
    before: Option<&StoredSummary>,
    lease: &Lease,
) -> Result<extract::Extracted, Declined> {
    let deadline = lease.since.saturating_add(TIME_MAX).unwrap_or(lease.since);
    let since = before.and_then(|before| before.notes.last.as_ref());
    let transcript = transcript(store, &scene.session, since)?;
    if transcript.is_empty() {
        return Err(Declined::NothingNew);
    }
    let notes = match before {
        Some(before) => before.text.clone(),
        None => scene.embedded(store, settings, None).to_string(),
    };
    let file = store.summary_path(&scene.session).display().to_string();
    let fork = Fork {
        notes: &notes,
        file: &file,
        transcript: &transcript.fenced(),
        instructions: &settings.instructions,
        limits: &settings.limits,
        parent: match how {
            How::Fork(_, parent) => Some(parent),
            How::Embedded | How::Model(_) => None,
        },
    };
    Ok(extract::extract(asker, &fork, deadline)?)
}

/// Gathers what came behind a message; everything where that message is not there.
fn transcript(
    store: &Store,
    session: &SessionId,
    since: Option<&MessageId>,
) -> store::Result<Transcript> {
    let mut transcript = Transcript::new(TRANSCRIPT_TOKENS_MAX);
    let mut all = Transcript::new(TRANSCRIPT_TOKENS_MAX);
    let (mut found, mut behind) = (false, false);
    store.each_record(session, |record| {
        let step = Step::from(&record);
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
