//! A session whose summary is about to be updated.

use jiff::Timestamp;
use memory::{SessionId, SessionKind, Summary};
use store::{
    Lease, LeaseKind, LeaseOutcome, SessionPosition, Store, StoredSummary, SummaryInfo,
    SummaryMethod, SummaryProgress,
};

use super::embedded::{SummaryBuilder, render_summary};
use super::schedule::{SessionProgress, SummaryCheckpoint, SummaryThresholds};
use super::update::{SummaryError, SummarySettings};
use crate::record_view::ExtractorRecord;

/// The embedded extractor does not overwrite the notes of a model unless they are behind by this
/// many times the threshold of new tokens.
const MODEL_LAG_MAX: u64 = 4;

/// The records of a session up to now, reduced to the state of the embedded extractor.
pub(super) struct SummaryJob {
    pub(super) session: SessionId,
    kind: SessionKind,
    title: Option<String>,
    /// The last summary that was written.
    pub(super) info: SummaryInfo,
    pub(super) builder: SummaryBuilder,
    /// The last record in `builder`.
    pub(super) position: SessionPosition,
    compacting: bool,
}

impl SummaryJob {
    /// Reads the records since the last checkpoint, or all of them if earlier ones have changed.
    pub(super) fn load(
        store: &Store,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Self, SummaryError> {
        let (kind, title) = store
            .session_kind_and_title(session)?
            .ok_or(SummaryError::UnknownSession)?;
        let compacting = store.active_lease(session, LeaseKind::Compaction, now)?;
        let mut job = Self {
            kind,
            title,
            info: store.summary_info(session)?.unwrap_or_default(),
            compacting: compacting.is_some(),
            ..Self::for_unstored(session)
        };
        let saved = job.info.progress.state.as_deref();
        if let Some(builder) = saved.and_then(SummaryBuilder::from_json) {
            (job.builder, job.position) = (builder, job.info.progress.position);
        }
        if !job.add_new_records(store)? {
            (job.builder, job.position) = (SummaryBuilder::new(), SessionPosition::default());
            job.add_new_records(store)?;
        }
        Ok(job)
    }

    /// Returns the job of a session that is not stored yet.
    pub(super) fn for_unstored(session: &SessionId) -> Self {
        Self {
            session: session.clone(),
            kind: SessionKind::Main,
            title: None,
            info: SummaryInfo::default(),
            builder: SummaryBuilder::new(),
            position: SessionPosition::default(),
            compacting: false,
        }
    }

    /// Adds the records after `position`. Returns `false` if the records before it have changed.
    fn add_new_records(&mut self, store: &Store) -> store::Result<bool> {
        let (builder, position) = (&mut self.builder, &mut self.position);
        store.each_record_after(&self.session, *position, |record| {
            builder.add_record(&ExtractorRecord::from(&record));
            position.records += 1;
            (position.line, position.ordinal) = (record.line, record.ordinal);
        })
    }

    /// Saves the progress, unless the session cannot have a summary now.
    pub(super) fn start(&self, store: &Store) -> Result<(), SummaryError> {
        match self.kind {
            SessionKind::Subagent => return Err(SummaryError::Subagent),
            _ if self.compacting => return Err(SummaryError::Compacting),
            _ if self.builder.is_empty() => return Err(SummaryError::EmptySession),
            _ => {}
        }
        self.save_progress(store)
    }

    pub(super) fn save_progress(&self, store: &Store) -> Result<(), SummaryError> {
        let progress = SummaryProgress {
            state: self.builder.to_json(),
            position: self.position,
        };
        Ok(store.save_summary_progress(&self.session, &progress)?)
    }

    pub(super) fn progress(&self) -> SessionProgress {
        let last_summary = (self.info.version > 0).then_some(SummaryCheckpoint {
            tokens: self.info.tokens,
            tool_calls: self.info.tool_calls,
        });
        SessionProgress {
            kind: self.kind,
            tokens: self.builder.tokens,
            tool_calls: self.builder.tool_calls,
            at_pause: !self.builder.asks_tool,
            turn_is_complete: self.builder.turn_is_complete(),
            compacting: self.compacting,
            last_summary,
        }
    }

    /// Says whether a model wrote the notes and can be expected to update them.
    pub(super) fn is_left_to_model(&self, thresholds: &SummaryThresholds) -> bool {
        let new_tokens = self.builder.tokens.0.saturating_sub(self.info.tokens.0);
        self.info.method == Some(SummaryMethod::Model)
            && new_tokens < thresholds.new_tokens.0.saturating_mul(MODEL_LAG_MAX)
    }

    /// Returns the summary of the embedded extractor.
    pub(super) fn render(
        &self,
        settings: &SummarySettings,
        before: Option<&StoredSummary>,
    ) -> Summary {
        let before = before.map(|before| Summary::parse(&before.text));
        render_summary(
            &self.builder,
            self.title.as_deref(),
            &settings.template,
            before.as_ref(),
            &settings.limits,
            &self.rest(),
        )
    }

    /// Returns where the rest of a section that was cut is. The summary itself does not have it.
    fn rest(&self) -> String {
        format!("the output of `throughline show {}`", self.session.native())
    }

    /// Returns the path of the summary.
    pub(super) fn file(&self, store: &Store) -> String {
        store.summary_path(&self.session).display().to_string()
    }

    /// Takes the lease of the session, does the work and releases the lease.
    pub(super) fn with_lease<T>(
        &self,
        store: &Store,
        now: Timestamp,
        work: impl FnOnce(&Lease) -> Result<T, SummaryError>,
    ) -> Result<T, SummaryError> {
        let lease = match store.acquire_lease(&self.session, LeaseKind::Extraction, now)? {
            LeaseOutcome::Granted(lease) => lease,
            LeaseOutcome::Busy { since } => return Err(SummaryError::Busy { since }),
            LeaseOutcome::Unknown => return Err(SummaryError::UnknownSession),
        };
        let done = work(&lease);
        store.release_lease(&lease)?;
        done
    }
}
