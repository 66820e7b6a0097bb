//! Brings a summary up to the last message of its session.
//!
//! [`refresh_summary`] writes it, at the end of a turn or of a session. [`current_notes`] only
//! returns it, including records that are not stored yet, for a hook that cannot wait for a write.

use jiff::Timestamp;
use memory::summary::Template;
use memory::{SessionId, Summary, Usage};
use store::{Lease, NewSummary, Store, StoredSummary, SummaryMethod, SummaryWrite};

use super::CURRENT_STATE;
use super::embedded::current_state;
use super::job::SummaryJob;
use super::state::{SensitiveText, UnstoredTail, latest_state};
use super::update::{SummaryAuthor, SummaryError, SummarySettings, write_under_lease};
use crate::record_view::ExtractorRecord;

/// The maximum number of records since the last checkpoint that a hook with a deadline processes.
const UNFOLDED_RECORDS_MAX: u64 = 400;

/// Brings the summary of a session up to its last record and says whether anything was written. The
/// first summary is written once the session is long enough. In notes of a model, only the section
/// about the state of the work is updated.
pub fn refresh_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    now: Timestamp,
) -> Result<bool, SummaryError> {
    let job = SummaryJob::load(store, session, now)?;
    job.start(store)?;
    let is_first = job.info.version == 0;
    if settings.has_model || job.info.method == Some(SummaryMethod::Model) {
        if is_first {
            return Ok(false);
        }
        return job.with_lease(store, now, |lease| write_current_state(store, &job, lease));
    }
    let is_current = if is_first {
        job.builder.tokens < settings.thresholds.first_tokens
    } else {
        job.info.tokens == job.builder.tokens
            && job.info.tool_calls == job.builder.tool_calls
            && job.info.last.as_ref() == job.builder.last_cut_point()
    };
    if is_current {
        return Ok(false);
    }
    write_under_lease(store, &job, settings, SummaryAuthor::Embedded, now).map(|_| true)
}

/// Replaces only the section about the state of the work. The rest of the summary still covers what
/// it covered before.
fn write_current_state(
    store: &Store,
    job: &SummaryJob,
    lease: &Lease,
) -> Result<bool, SummaryError> {
    let Some(before) = store.summary(&job.session)? else {
        return Ok(false);
    };
    let mut summary = Summary::parse(&before.text);
    let state = current_state(&job.builder);
    let stored = summary.get(CURRENT_STATE);
    if stored.is_none_or(|stored| stored.trim() == state.trim()) {
        return Ok(false);
    }
    summary.set(CURRENT_STATE, state);
    let info = before.info;
    let written = store.write_summary(
        lease,
        &NewSummary {
            text: summary.to_string(),
            method: info.method.unwrap_or(SummaryMethod::Embedded),
            at: lease.since,
            last: info.last,
            tokens: info.tokens,
            tool_calls: info.tool_calls,
            usage: Usage::default(),
            duration_ms: 0,
            thresholds: [0; 3],
        },
    )?;
    match written {
        SummaryWrite::Written { .. } => Ok(true),
        SummaryWrite::LeaseLost => Err(SummaryError::LeaseLost),
    }
}

/// Returns the notes of a session as of its last message, stored or not. It writes nothing, and its
/// cost is bounded: if there are many records since the last checkpoint, only the section about the
/// state of the work is updated.
pub fn current_notes(
    store: &Store,
    session: &SessionId,
    tail: UnstoredTail<'_>,
    sensitive: SensitiveText,
    now: Timestamp,
) -> Result<Option<Summary>, SummaryError> {
    let stored = store.summary(session)?;
    let is_by_model = stored
        .as_ref()
        .is_some_and(|stored| stored.info.method == Some(SummaryMethod::Model));
    let new_records = store.unsummarized_records(session)?.unwrap_or_default();
    if !is_by_model && tail.is_complete && new_records <= UNFOLDED_RECORDS_MAX {
        return draft_current_notes(store, session, tail, stored.as_ref(), now).map(Some);
    }
    let state = latest_state(store, session, tail, sensitive)?.unwrap_or_default();
    let mut summary = match &stored {
        Some(stored) => Summary::parse(&stored.text),
        None => Summary::default(),
    };
    summary.set(CURRENT_STATE, state);
    Ok(Some(summary))
}

/// Returns the summary that the embedded extractor would write from all known records.
fn draft_current_notes(
    store: &Store,
    session: &SessionId,
    tail: UnstoredTail<'_>,
    stored: Option<&StoredSummary>,
    now: Timestamp,
) -> Result<Summary, SummaryError> {
    let mut job = match SummaryJob::load(store, session, now) {
        // A new session may not be stored at all.
        Err(SummaryError::UnknownSession) => SummaryJob::for_unstored(session),
        job => job?,
    };
    let last = job.position;
    for record in tail.records {
        let is_new = (record.line, record.ordinal) > (last.line, last.ordinal);
        if last.records == 0 || is_new {
            job.builder.add_record(&ExtractorRecord::from(record));
        }
    }
    let mut settings = SummarySettings::default();
    if let Some(stored) = stored {
        // The user may have configured other headings.
        settings.template = Template(Summary::parse(&stored.text));
    }
    Ok(job.render(&settings, stored))
}
