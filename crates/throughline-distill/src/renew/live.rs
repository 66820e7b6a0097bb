//! Notes that are current now: the stored summary brought up to the session's last message.
//!
//! [`refresh`] writes it, at the end of a turn or of a session. [`notes_now`] only returns it, with
//! what is not stored yet, for a reader who cannot wait for a write.

use jiff::Timestamp;
use memory::summary::Template;
use memory::{SessionId, SessionKind, Summary};
use store::{Lease, LeaseKind, NewSummary, Store, StoredSummary, SummaryMethod, SummaryWrite};

use super::{SummaryAuthor, SummaryError, SummaryJob, SummarySettings, write};
use crate::embedded::{RecordView, current_state};
use crate::latest::{SensitiveText, UnstoredTail, latest_state};

/// The section that says how the work stands.
pub const CURRENT_STATE: &str = "Current state";
/// Records behind the last look that a reader with a deadline folds in.
const BEHIND_MAX: u64 = 400;

/// Brings a session's summary up to its last record and says whether anything was written. The
/// first summary is written when the session is long enough for one. What a model writes is left to
/// it, but for the section that says how the work stands.
pub fn refresh_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    now: Timestamp,
) -> Result<bool, SummaryError> {
    let scene = SummaryJob::of(store, session, now)?;
    match scene.kind {
        SessionKind::Subagent => return Err(SummaryError::Subagent),
        _ if scene.compacting => return Err(SummaryError::Compacting),
        _ if scene.fold.is_empty() => return Err(SummaryError::EmptySession),
        _ => {}
    }
    store.save_summary_progress(session, &scene.look())?;
    let is_first = scene.notes.version == 0;
    if settings.has_model || scene.notes.method == Some(SummaryMethod::Model) {
        return match is_first {
            true => Ok(false),
            false => refresh_state(store, &scene, now),
        };
    }
    let is_current = scene.notes.tokens == scene.fold.tokens
        && scene.notes.tool_calls == scene.fold.tool_calls
        && scene.notes.last.as_ref() == scene.fold.last_cut_point();
    if (is_first && scene.fold.tokens < settings.thresholds.first_tokens)
        || (!is_first && is_current)
    {
        return Ok(false);
    }
    write(store, &scene, settings, SummaryAuthor::Embedded, now).map(|_| true)
}

/// Replaces the section that says how the work stands, and nothing else: the rest of the summary
/// covers what it covered before.
fn refresh_state(store: &Store, scene: &SummaryJob, now: Timestamp) -> Result<bool, SummaryError> {
    let lease = match store.acquire_lease(&scene.session, LeaseKind::Extraction, now)? {
        store::LeaseOutcome::Granted(lease) => lease,
        store::LeaseOutcome::Busy { since } => return Err(SummaryError::Busy { since }),
        store::LeaseOutcome::Unknown => return Err(SummaryError::UnknownSession),
    };
    let written = write_state(store, scene, &lease);
    store.release_lease(&lease)?;
    written
}

fn write_state(store: &Store, scene: &SummaryJob, lease: &Lease) -> Result<bool, SummaryError> {
    let Some(before) = store.summary(&scene.session)? else {
        return Ok(false);
    };
    let mut summary = Summary::parse(&before.text);
    let state = current_state(&scene.fold);
    let held = summary.get(CURRENT_STATE);
    if held.is_none_or(|held| held.trim() == state.trim()) {
        return Ok(false);
    }
    summary.set(CURRENT_STATE, state);
    let notes = before.info;
    let kept = store.write_summary(
        lease,
        &NewSummary {
            text: summary.to_string(),
            method: notes.method.unwrap_or(SummaryMethod::Embedded),
            at: lease.since,
            last: notes.last,
            tokens: notes.tokens,
            tool_calls: notes.tool_calls,
            usage: memory::Usage::default(),
            duration_ms: 0,
            thresholds: [0; 3],
        },
    )?;
    match kept {
        SummaryWrite::Written { .. } => Ok(true),
        SummaryWrite::LeaseLost => Err(SummaryError::LeaseLost),
    }
}

/// Returns a session's notes as of its last message, stored or not. Writes nothing, and its cost is
/// bounded: where much has come since the last look, only the section that says how the work stands
/// is made anew.
pub fn current_notes(
    store: &Store,
    session: &SessionId,
    tail: UnstoredTail<'_>,
    sensitive: SensitiveText,
    now: Timestamp,
) -> Result<Option<Summary>, SummaryError> {
    let stored = store.summary(session)?;
    let is_models = stored
        .as_ref()
        .is_some_and(|stored| stored.info.method == Some(SummaryMethod::Model));
    let behind = store.unsummarized_records(session)?.unwrap_or_default();
    if !is_models && tail.is_complete && behind <= BEHIND_MAX {
        return draft_now(store, session, tail, stored.as_ref(), now).map(Some);
    }
    let state = latest_state(store, session, tail, sensitive)?.unwrap_or_default();
    let mut summary = match &stored {
        Some(stored) => Summary::parse(&stored.text),
        None => Summary::default(),
    };
    summary.set(CURRENT_STATE, state);
    Ok(Some(summary))
}

/// Returns what the embedded extractor would write of everything that is known.
fn draft_now(
    store: &Store,
    session: &SessionId,
    tail: UnstoredTail<'_>,
    stored: Option<&StoredSummary>,
    now: Timestamp,
) -> Result<Summary, SummaryError> {
    let mut scene = match SummaryJob::of(store, session, now) {
        // A young session may not be stored at all.
        Err(SummaryError::UnknownSession) => SummaryJob::unknown(session),
        scene => scene?,
    };
    let mark = scene.mark;
    let is_new =
        |line: u64, ordinal: u32| mark.records == 0 || (line, ordinal) > (mark.line, mark.ordinal);
    for record in tail.records {
        if is_new(record.line, record.ordinal) {
            scene.fold.add_record(&RecordView::from(record));
        }
    }
    let mut settings = SummarySettings::default();
    if let Some(stored) = stored {
        // The user may have headings of their own.
        settings.template = Template(Summary::parse(&stored.text));
    }
    Ok(scene.embedded(store, &settings, stored))
}
