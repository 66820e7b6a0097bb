//! The end of a session's log as an answer needs it: read behind what is stored, and redacted.

use std::path::{Path, PathBuf};

use capture::unstored::{SessionLog, UnstoredRecords, read_unstored_records};
use distill::latest::{SensitiveText, UnstoredTail, latest_state};
use jiff::Timestamp;
use memory::{Flavor, Record, SessionId};

use super::HookContext;

/// What a log holds that is not stored yet.
#[derive(Debug)]
pub struct LogTail {
    records: Vec<Record>,
    is_complete: bool,
}

impl LogTail {
    /// Reads the end of a session's log. The agent may have named the log; else it is the one that
    /// the store has read.
    pub fn read(
        scene: &HookContext<'_>,
        session: &SessionId,
        flavor: Flavor,
        named: Option<&Path>,
    ) -> store::Result<Self> {
        let path = match named {
            Some(path) => Some(path.to_owned()),
            None => scene.store.session_log_path(session)?.map(PathBuf::from),
        };
        let Some(path) = path else {
            // Nobody writes a log of it: what is stored is all there is.
            return Ok(Self {
                records: Vec::new(),
                is_complete: true,
            });
        };
        let log = SessionLog {
            path: &path,
            flavor,
            session,
            workspace: scene.workspace,
        };
        let UnstoredRecords { records, complete } =
            read_unstored_records(scene.store, &log, &scene.settings.scope, scene.now)?;
        let is_complete = complete;
        if records.is_empty() {
            return Ok(Self {
                records,
                is_complete,
            });
        }
        Ok(Self {
            records: scene.store.sanitizer().redact_records(records),
            is_complete,
        })
    }

    /// Says whether everything that the log holds is stored, as far as is known.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.is_complete
    }

    /// Says whether nothing of the log was left unread.
    pub fn is_fully_read(&self) -> bool {
        self.is_complete
    }

    /// Returns the time of its last record.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.records.iter().filter_map(|record| record.at).max()
    }

    pub fn unstored(&self) -> UnstoredTail<'_> {
        UnstoredTail {
            records: &self.records,
            is_complete: self.is_complete,
        }
    }

    /// Returns how the session stands after its last message.
    pub fn state(
        &self,
        scene: &HookContext<'_>,
        session: &SessionId,
    ) -> store::Result<Option<String>> {
        latest_state(
            scene.store,
            session,
            self.unstored(),
            sensitive_text_policy(scene),
        )
    }
}

/// Says whether the user wants what may be sensitive to be quoted.
pub fn sensitive_text_policy(scene: &HookContext<'_>) -> SensitiveText {
    match scene.settings.injection.recall.include_sensitive {
        true => SensitiveText::Quoted,
        false => SensitiveText::Withheld,
    }
}
