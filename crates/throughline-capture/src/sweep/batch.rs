//! Makes batches for the store of what was read from a source.
//!
//! A batch holds the changes to sessions, the records, the usage and, if the archive is on, the
//! text of the log. The scope is applied here: sessions of denied workspaces are dropped, and texts
//! that must not be kept are withheld from the messages and from the log.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use memory::words::is_uninformative;
use memory::{
    Block, LogEntry, Message, Origin, Record, RecordId, Role, SessionId, SessionPatch, Title,
    TitleRank, Workspace,
};
use store::{
    Batch, BatchOrigin, Cursor, IncomingEntries, LogChunk, NOT_CAPTURED, ParseIssues, ReadPhase,
    Sanitizer, SourceIdentity, UNREAD_HEAD,
};

use super::access::SourceAccess;
use super::in_flight::InFlightBytes;
use super::report::ChunkCounts;
use crate::scope::log_filter::LogFilter;
use crate::scope::message_filter::{MessageFilter, secret_values};
use crate::tail::SourceChunk;
use crate::title::prompt_title;
use crate::{Source, SourceFormat};

/// Turns the chunks of one source into batches.
pub(super) struct BatchBuilder<'a> {
    source: &'a Source,
    access: SourceAccess<'a>,
    sanitizer: Sanitizer<'a>,
    /// The records seen so far in a source that is read again from its start.
    record_ids: HashSet<RecordId>,
    batches_built: usize,
    /// The cursor that the store must hold when the next batch is written.
    expected_cursor: Option<Cursor>,
    archive: bool,
    message_filter: MessageFilter,
    log_filter: LogFilter,
}

impl<'a> BatchBuilder<'a> {
    pub(super) fn new(
        source: &'a Source,
        access: SourceAccess<'a>,
        sanitizer: Sanitizer<'a>,
        cursor: Option<&Cursor>,
        archive: bool,
    ) -> Self {
        Self {
            source,
            access,
            sanitizer,
            record_ids: HashSet::new(),
            batches_built: 0,
            expected_cursor: cursor.cloned(),
            archive,
            message_filter: MessageFilter::default(),
            log_filter: LogFilter::default(),
        }
    }

    /// Makes a batch of a chunk, once it may take up the memory it needs.
    pub(super) fn build(
        &mut self,
        chunk: SourceChunk,
        in_flight: &InFlightBytes,
    ) -> (Batch, ChunkCounts) {
        let mut counts = ChunkCounts::of(self.source, &chunk);
        let SourceChunk {
            parsed,
            mut cursor,
            is_last,
            is_reread,
            log,
            modified,
            ..
        } = chunk;
        let incoming = self.collect_incoming(parsed.entries, modified);
        if self.access.denies_source() && self.source.format != SourceFormat::Database {
            counts.unknown.clear();
            return (self.build_empty(&cursor), counts);
        }
        let skipped = parsed.skipped.iter();
        let skipped = skipped.map(|line| (line.line, line.reason.to_string()));
        let issues = ParseIssues {
            skipped: skipped.collect(),
            unknown: parsed.unknown_kinds,
        };
        self.register_withheld();
        let cleaned = self.sanitizer.clean(incoming);
        counts.clamped = cleaned.clamped;
        if is_reread {
            self.record_ids.extend(cleaned.ids.iter().copied());
        }
        let phase = self.read_phase(is_reread, is_last);
        let scope = self.access.scope;
        cursor.state = cursor.state.map(|state| scope.filter_reader_state(state));
        let expected = self.expected_cursor.replace(cursor.clone());
        let log = log.filter(|_| self.archive).map(|log| self.filter_log(log));
        let origin = BatchOrigin {
            flavor: self.source.flavor,
            path: &self.source.path,
            cursor,
            phase,
            issues,
            log,
        };
        let batch = Batch::new(&mut self.sanitizer, cleaned, origin).after(expected);
        // The permit is released when the batch has been written and is dropped.
        let permit = in_flight.acquire(batch.size_bytes());
        (batch.with_guard(permit), counts)
    }

    fn read_phase(&mut self, is_reread: bool, is_last: bool) -> ReadPhase {
        let is_first = self.batches_built == 0;
        self.batches_built += 1;
        match (is_reread, is_last) {
            (false, _) => ReadPhase::Appended,
            (true, true) => ReadPhase::RereadEnd {
                held: std::mem::take(&mut self.record_ids),
                restarted: is_first,
            },
            (true, false) if is_first => ReadPhase::RereadStart,
            (true, false) => ReadPhase::RereadMiddle,
        }
    }

    /// Returns a batch for a source of which nothing may be kept. It stores only the identity of
    /// the file, and a head that matches no file: when the file changes, it is read from its start,
    /// where it names its workspace. What was captured before the workspace was denied stays.
    fn build_empty(&mut self, cursor: &Cursor) -> Batch {
        // Without an identity, the next sweep reads the source again: its workspace is unknown.
        let identity = if self.access.saw_denied {
            cursor.identity
        } else {
            SourceIdentity::default()
        };
        let cursor = Cursor {
            key: cursor.key,
            identity,
            complete: cursor.complete,
            head: UNREAD_HEAD,
            ..Cursor::default()
        };
        let expected = self.expected_cursor.replace(cursor.clone());
        let origin = BatchOrigin {
            flavor: self.source.flavor,
            path: Path::new(NOT_CAPTURED),
            cursor,
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: None,
        };
        let cleaned = self.sanitizer.clean(IncomingEntries::default());
        Batch::new(&mut self.sanitizer, cleaned, origin).after(expected)
    }

    /// Passes on what was withheld from messages, so that neither later text nor the log holds it.
    fn register_withheld(&mut self) {
        let withheld = self.message_filter.take_withheld();
        for (session, text) in withheld.credentials {
            let values = secret_values(&text);
            self.sanitizer.withhold_values(&session, &values);
            self.log_filter.add_credentials(&text);
        }
        for text in withheld.outside {
            self.log_filter.add_outside(&text);
        }
        self.log_filter.add_calls(self.message_filter.calls());
    }

    /// Returns a piece of the log without what its records withhold.
    fn filter_log(&mut self, log: LogChunk) -> LogChunk {
        let scope = self.access.scope;
        let text = if self.access.is_shared && scope.is_selective() {
            self.access
                .filter_shared_lines(self.source.flavor, &log.text)
        } else {
            log.text
        };
        let text = self.log_filter.apply(scope, text);
        self.log_filter.drop_outside_lines();
        LogChunk { text, ..log }
    }

    fn collect_incoming(
        &mut self,
        entries: Vec<LogEntry>,
        modified: Option<Timestamp>,
    ) -> IncomingEntries {
        let mut patches: BTreeMap<SessionId, SessionPatch> = BTreeMap::new();
        let mut messages = Vec::new();
        let mut usage = Vec::new();
        for entry in entries {
            match entry {
                LogEntry::Session(patch) => match patches.get_mut(&patch.id) {
                    Some(known) => known.merge(patch),
                    None => {
                        patches.insert(patch.id.clone(), patch);
                    }
                },
                LogEntry::Message(message) => {
                    update_session_patch(&mut patches, &message, self.source);
                    offer_title(&mut patches, &message);
                    messages.push(message);
                }
                LogEntry::Usage(entry) => usage.push(entry),
            }
        }
        for patch in patches.values_mut() {
            downgrade_small_talk(patch);
        }
        let mut sessions: Vec<(SessionPatch, Option<Workspace>)> = patches
            .into_values()
            .map(|mut patch| {
                patch.file_time = modified;
                let workspace = self.access.record_workspace(&patch);
                (patch, workspace)
            })
            .collect();
        sessions.retain(|(patch, _)| self.access.allows(&patch.id));
        usage.retain(|entry| self.access.allows(&entry.session));
        let records = messages
            .into_iter()
            .flat_map(|message| self.project_records(message))
            .collect();
        IncomingEntries {
            records,
            sessions,
            usage,
        }
    }

    fn project_records(&mut self, mut message: Message) -> Vec<Record> {
        if !self.access.allows(&message.session) {
            return Vec::new();
        }
        let workspace = self.access.workspace_of_session(&message.session);
        let root = workspace.as_ref().map(|workspace| workspace.root.as_str());
        self.message_filter
            .apply(self.access.scope, &mut message, root);
        memory::record::project_records(message)
    }
}

/// Makes a prompt the title of its session, unless the session has an informative title already.
fn offer_title(patches: &mut BTreeMap<SessionId, SessionPatch>, message: &Message) {
    // Most messages end here, before the title is judged, which takes longer.
    if message.origin != Origin::Human || message.role != Role::User {
        return;
    }
    let Some(patch) = patches.get_mut(&message.session) else {
        return;
    };
    let is_titled = patch
        .title
        .as_ref()
        .is_some_and(|title| title.rank > TitleRank::FirstPrompt || !is_uninformative(&title.text));
    if is_titled {
        return;
    }
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    let line = text.and_then(|text| prompt_title(text));
    // A shell command says little about the subject of the session.
    if let Some(line) = line.filter(|line| !line.starts_with('!') && !is_uninformative(line)) {
        patch.title = Some(Title::new(line, TitleRank::LaterPrompt));
    }
}

/// Lowers the rank of an uninformative first prompt, so that a later one may replace it as title.
fn downgrade_small_talk(patch: &mut SessionPatch) {
    if let Some(title) = &mut patch.title
        && title.rank == TitleRank::FirstPrompt
        && is_uninformative(&title.text)
    {
        title.rank = TitleRank::SmallTalk;
    }
}

/// Adds the time and the folder of a message to the patch of its session.
fn update_session_patch(
    patches: &mut BTreeMap<SessionId, SessionPatch>,
    message: &Message,
    source: &Source,
) {
    let patch = patches
        .entry(message.session.clone())
        .or_insert_with(|| SessionPatch::new(message.session.clone(), source.flavor));
    if let Some(at) = message.at {
        patch.include_time(at);
    }
    if patch.cwd.is_none() {
        patch.cwd.clone_from(&message.cwd);
    }
}
