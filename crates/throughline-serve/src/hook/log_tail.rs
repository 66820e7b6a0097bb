//! The end of a session's log that is not stored yet, read and redacted for an answer.

use std::path::{Path, PathBuf};

use capture::unstored::{SessionLog, UnstoredRecords, read_unstored_records};
use distill::summary::{SensitiveText, UnstoredTail, latest_state};
use jiff::Timestamp;
use memory::{Flavor, Record, RecordKind, SessionId};

use super::HookContext;

/// The number of stored records among which the last prompt is searched.
const RECENT_STEPS_MAX: usize = 200;

/// The records of a log that are not stored yet.
#[derive(Debug)]
pub(super) struct LogTail {
    records: Vec<Record>,
    is_complete: bool,
}

impl LogTail {
    /// Reads the end of a session's log: the log that the agent names, or else the one that the
    /// store has read.
    pub(super) fn read(
        context: &HookContext<'_>,
        session: &SessionId,
        flavor: Flavor,
        named: Option<&Path>,
    ) -> store::Result<Self> {
        let path = match named {
            Some(path) => Some(path.to_owned()),
            None => context.store.session_log_path(session)?.map(PathBuf::from),
        };
        let Some(path) = path else {
            // The session has no log, so the stored records are complete.
            return Ok(Self {
                records: Vec::new(),
                is_complete: true,
            });
        };
        let log = SessionLog {
            path: &path,
            flavor,
            session,
            workspace: &context.workspace.workspace,
        };
        let UnstoredRecords { records, complete } =
            read_unstored_records(context.store, &log, context.scope, context.now)?;
        let is_complete = complete;
        if records.is_empty() {
            return Ok(Self {
                records,
                is_complete,
            });
        }
        Ok(Self {
            records: context.store.sanitizer().redact_records(records),
            is_complete,
        })
    }

    /// Returns whether all of the log is stored, as far as is known.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.is_complete
    }

    /// Returns whether the log was read to its end.
    pub(super) fn is_fully_read(&self) -> bool {
        self.is_complete
    }

    /// Returns the time of the last record.
    pub(super) fn last_at(&self) -> Option<Timestamp> {
        self.records.iter().filter_map(|record| record.at).max()
    }

    pub(super) fn unstored(&self) -> UnstoredTail<'_> {
        UnstoredTail {
            records: &self.records,
            is_complete: self.is_complete,
        }
    }

    /// Returns the last prompt of the session.
    pub(super) fn last_prompt(
        &self,
        context: &HookContext<'_>,
        session: &SessionId,
    ) -> store::Result<Option<String>> {
        let unstored = self.records.iter().rev();
        let mut prompts = unstored.filter(|record| record.kind == RecordKind::Prompt);
        if let Some(prompt) = prompts.next() {
            return Ok(Some(prompt.content.clone()));
        }
        let steps = context.store.last_steps(session, RECENT_STEPS_MAX)?;
        let last = steps.iter().rfind(|step| step.kind == RecordKind::Prompt);
        let record = match last {
            Some(step) => context.store.read_record(step.id)?,
            None => None,
        };
        Ok(record.map(|record| record.content))
    }

    /// Describes the state of the session after its last message.
    pub(super) fn state(
        &self,
        context: &HookContext<'_>,
        session: &SessionId,
    ) -> store::Result<Option<String>> {
        latest_state(
            context.store,
            session,
            self.unstored(),
            sensitive_text_policy(context),
        )
    }
}

/// Returns whether the user allows sensitive text to be quoted.
pub(super) fn sensitive_text_policy(context: &HookContext<'_>) -> SensitiveText {
    match context.recall.include_sensitive {
        true => SensitiveText::Quoted,
        false => SensitiveText::Withheld,
    }
}
