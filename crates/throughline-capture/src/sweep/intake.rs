//! From what was read of a source to what is written: sessions, scope, records, and the log itself.

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
use super::{ReadEvent, SweepReport};
use crate::scope::CaptureScope;
use crate::scope::archive::LogFilter;
use crate::scope::withheld::{self, MessageFilter};
use crate::tail::SourceChunk;
use crate::{Source, SourceFormat};

/// Turns the chunks of one source into batches.
pub(super) struct BatchBuilder<'a> {
    pub source: &'a Source,
    pub scope: &'a CaptureScope,
    pub access: SourceAccess<'a>,
    pub door: Sanitizer<'a>,
    /// The records met so far in a source that is read again from its start.
    pub record_ids: HashSet<RecordId>,
    pub batches_built: usize,
    /// Where the source's cursor stands when the next batch is written.
    pub expected_cursor: Option<Cursor>,
    pub archive: bool,
    pub message_filter: MessageFilter,
    pub log_filter: LogFilter,
}

impl BatchBuilder<'_> {
    pub fn build(
        &mut self,
        chunk: SourceChunk,
        source: usize,
        in_flight: &InFlightBytes,
    ) -> ReadEvent {
        let mut counted = SweepReport::default();
        counted.count_chunk(self.source, &chunk);
        let SourceChunk {
            parsed,
            mut cursor,
            is_last: last,
            is_reread: restarted,
            log,
            modified,
            ..
        } = chunk;
        let incoming = self.collect_incoming(parsed.entries, modified);
        if self.access.denies_source() && self.source.format != SourceFormat::Database {
            return self.build_empty(&cursor, source, counted);
        }
        let odd = ParseIssues {
            skipped: parsed
                .skipped
                .iter()
                .map(|s| (s.line, s.reason.to_string()))
                .collect(),
            unknown: parsed.unknown_kinds,
        };
        self.register_withheld();
        let cleaned = self.door.clean(incoming);
        counted.clamped = cleaned.clamped;
        if restarted {
            self.record_ids.extend(cleaned.ids.iter().copied());
        }
        let reading = self.reading_mode(restarted, last);
        cursor.state = cursor
            .state
            .map(|state| self.scope.filter_reader_state(state));
        let after = self.expected_cursor.replace(cursor.clone());
        let log = log.filter(|_| self.archive).map(|log| self.filter_log(log));
        let from = BatchOrigin {
            flavor: self.source.flavor,
            path: &self.source.path,
            cursor,
            phase: reading,
            issues: odd,
            log,
        };
        let batch = Batch::new(&mut self.door, cleaned, from).after(after);
        // Given back when the batch is written and dropped.
        let share = in_flight.acquire(batch.size_bytes());
        let batch = batch.with_guard(share);
        ReadEvent::Batch {
            source,
            batch: Box::new(batch),
            counted,
        }
    }

    fn reading_mode(&mut self, restarted: bool, last: bool) -> ReadPhase {
        let first = self.batches_built == 0;
        self.batches_built += 1;
        match (restarted, last) {
            (false, _) => ReadPhase::Appended,
            (true, true) => ReadPhase::RereadEnd {
                held: std::mem::take(&mut self.record_ids),
                restarted: first,
            },
            (true, false) if first => ReadPhase::RereadStart,
            (true, false) => ReadPhase::RereadMiddle,
        }
    }

    /// Returns a batch that only remembers what the file looks like: nothing of it may be kept.
    /// Should it change, it is read from its start, so that its workspace is known again. What was
    /// captured of it before the workspace was denied stays.
    fn build_empty(&mut self, cursor: &Cursor, source: usize, counted: SweepReport) -> ReadEvent {
        // A source whose workspace is not known yet is looked at again by the next sweep.
        let stamp = if self.access.saw_denied {
            cursor.identity
        } else {
            SourceIdentity::default()
        };
        let cursor = Cursor {
            key: cursor.key,
            identity: stamp,
            complete: cursor.complete,
            head: UNREAD_HEAD,
            ..Cursor::default()
        };
        let after = self.expected_cursor.replace(cursor.clone());
        let from = BatchOrigin {
            flavor: self.source.flavor,
            path: Path::new(NOT_CAPTURED),
            cursor,
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: None,
        };
        let cleaned = self.door.clean(IncomingEntries::default());
        let batch = Batch::new(&mut self.door, cleaned, from).after(after);
        ReadEvent::Batch {
            source,
            batch: Box::new(batch),
            counted: SweepReport {
                unknown: BTreeMap::new(),
                ..counted
            },
        }
    }

    /// Notes what the messages lost, so that neither later text nor the log brings it back.
    fn register_withheld(&mut self) {
        let withheld = self.message_filter.take_withheld();
        for (session, text) in withheld.credentials {
            let values = withheld::secret_values(&text);
            self.door.withhold_values(&session, &values);
            self.log_filter.add_credentials(&text);
        }
        for text in withheld.outside {
            self.log_filter.add_outside(&text);
        }
        self.log_filter.add_calls(self.message_filter.calls());
    }

    /// Returns a piece of the log without what its records withhold.
    fn filter_log(&mut self, log: LogChunk) -> LogChunk {
        let text = if self.access.is_shared && self.scope.is_selective() {
            self.access
                .filter_shared_lines(self.source.flavor, &log.text)
        } else {
            log.text
        };
        let text = self.log_filter.apply(self.scope, text);
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
        self.message_filter.apply(self.scope, &mut message, root);
        memory::record::project_records(message)
    }
}

/// Longest title made of a prompt.
const TITLE_CHARS_MAX: usize = 120;

/// Offers a prompt as its session's title. It is taken where the session has none that says what it
/// is about.
fn offer_title(patches: &mut BTreeMap<SessionId, SessionPatch>, message: &Message) {
    let Some(patch) = patches.get_mut(&message.session) else {
        return;
    };
    let is_typed = message.origin == Origin::Human && message.role == Role::User;
    let is_titled = patch
        .title
        .as_ref()
        .is_some_and(|title| title.rank > TitleRank::FirstPrompt || !is_uninformative(&title.text));
    if !is_typed || is_titled {
        return;
    }
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    let line = text.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    // A shell command says little of what the session is about.
    if let Some(line) = line.filter(|line| !line.starts_with('!') && !is_uninformative(line)) {
        patch.title = Some(Title {
            text: line.chars().take(TITLE_CHARS_MAX).collect(),
            rank: TitleRank::LaterPrompt,
        });
    }
}

/// Lets a first prompt that says little give way to a later one that says more.
fn downgrade_small_talk(patch: &mut SessionPatch) {
    if let Some(title) = &mut patch.title
        && title.rank == TitleRank::FirstPrompt
        && is_uninformative(&title.text)
    {
        title.rank = TitleRank::SmallTalk;
    }
}

/// Notes when and where a message was, for its session.
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
