//! From what was read of a source to what is written: sessions, scope, records, and the log itself.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use memory::words::says_little;
use memory::{
    Block, Entry, Message, Origin, Record, RecordId, Role, SessionId, SessionPatch, Title,
    TitleRank, Workspace,
};
use store::{
    Batch, Cursor, Door, From, Incoming, Log, NOT_CAPTURED, Oddities, Reading, Stamp, UNREAD,
};

use super::access::Access;
use super::in_flight::InFlight;
use super::{Report, Sweep};
use crate::scope::Scope;
use crate::scope::archive::LogFilter;
use crate::scope::withheld::{self, Judge};
use crate::tail::Chunk;
use crate::{Format, Source};

/// Turns the chunks of one source into batches.
pub(super) struct Intake<'a> {
    pub source: &'a Source,
    pub scope: &'a Scope,
    pub access: Access<'a>,
    pub door: Door<'a>,
    /// The records met so far in a source that is read again from its start.
    pub held: HashSet<RecordId>,
    pub batches: usize,
    /// Where the source's cursor stands when the next batch is written.
    pub after: Option<Cursor>,
    pub archive: bool,
    pub judge: Judge,
    pub filter: LogFilter,
}

impl Intake<'_> {
    pub fn batch(&mut self, chunk: Chunk, source: usize, in_flight: &InFlight) -> Report {
        let mut counted = Sweep::default();
        counted.count(self.source, &chunk);
        let Chunk {
            parsed,
            mut cursor,
            last,
            restarted,
            log,
            modified,
            ..
        } = chunk;
        let incoming = self.incoming(parsed.entries, modified);
        if self.access.denies_source() && self.source.format != Format::Database {
            return self.nothing(&cursor, source, counted);
        }
        let odd = Oddities {
            skipped: parsed
                .skipped
                .iter()
                .map(|s| (s.line, s.why.to_string()))
                .collect(),
            unknown: parsed.unknown,
        };
        self.learn_withheld();
        let cleaned = self.door.clean(incoming);
        counted.clamped = cleaned.clamped;
        if restarted {
            self.held.extend(cleaned.ids.iter().copied());
        }
        let reading = self.reading(restarted, last);
        cursor.state = cursor.state.map(|state| self.scope.clean_state(state));
        let after = self.after.replace(cursor.clone());
        let log = log.filter(|_| self.archive).map(|log| self.log(log));
        let from = From {
            flavor: self.source.flavor,
            path: &self.source.path,
            cursor,
            reading,
            odd,
            log,
        };
        let batch = Batch::new(&mut self.door, cleaned, from).after(after);
        // Given back when the batch is written and dropped.
        let share = in_flight.take(batch.size_bytes());
        let batch = batch.holding(share);
        Report::Batch {
            source,
            batch: Box::new(batch),
            counted,
        }
    }

    fn reading(&mut self, restarted: bool, last: bool) -> Reading {
        let first = self.batches == 0;
        self.batches += 1;
        match (restarted, last) {
            (false, _) => Reading::Continued,
            (true, true) => Reading::Replaced {
                held: std::mem::take(&mut self.held),
                restarted: first,
            },
            (true, false) if first => Reading::Restarted,
            (true, false) => Reading::Rereading,
        }
    }

    /// Returns a batch that only remembers what the file looks like: nothing of it may be kept.
    /// Should it change, it is read from its start, so that its workspace is known again. What was
    /// captured of it before the workspace was denied stays.
    fn nothing(&mut self, cursor: &Cursor, source: usize, counted: Sweep) -> Report {
        // A source whose workspace is not known yet is looked at again by the next sweep.
        let stamp = if self.access.met_denied {
            cursor.stamp
        } else {
            Stamp::default()
        };
        let cursor = Cursor {
            key: cursor.key,
            stamp,
            settled: cursor.settled,
            head: UNREAD,
            ..Cursor::default()
        };
        let after = self.after.replace(cursor.clone());
        let from = From {
            flavor: self.source.flavor,
            path: Path::new(NOT_CAPTURED),
            cursor,
            reading: Reading::Continued,
            odd: Oddities::default(),
            log: None,
        };
        let cleaned = self.door.clean(Incoming::default());
        let batch = Batch::new(&mut self.door, cleaned, from).after(after);
        Report::Batch {
            source,
            batch: Box::new(batch),
            counted: Sweep {
                unknown: BTreeMap::new(),
                ..counted
            },
        }
    }

    /// Notes what the messages lost, so that neither later text nor the log brings it back.
    fn learn_withheld(&mut self) {
        let withheld = self.judge.take();
        for (session, text) in withheld.credentials {
            let values = withheld::values(&text);
            self.door.withhold_values(&session, &values);
            self.filter.add_credentials(&text);
        }
        for text in withheld.outside {
            self.filter.add_outside(&text);
        }
        self.filter.add_calls(self.judge.calls());
    }

    /// Returns a piece of the log without what its records withhold.
    fn log(&mut self, log: Log) -> Log {
        let text = if self.access.is_shared && self.scope.is_selective() {
            self.access.shared_lines(self.source.flavor, &log.text)
        } else {
            log.text
        };
        let text = self.filter.apply(self.scope, text);
        self.filter.end_chunk();
        Log { text, ..log }
    }

    fn incoming(&mut self, entries: Vec<Entry>, modified: Option<Timestamp>) -> Incoming {
        let mut patches: BTreeMap<SessionId, SessionPatch> = BTreeMap::new();
        let mut messages = Vec::new();
        let mut usage = Vec::new();
        for entry in entries {
            match entry {
                Entry::Session(patch) => match patches.get_mut(&patch.id) {
                    Some(known) => known.merge(patch),
                    None => {
                        patches.insert(patch.id.clone(), patch);
                    }
                },
                Entry::Message(message) => {
                    touch(&mut patches, &message, self.source);
                    entitle(&mut patches, &message);
                    messages.push(message);
                }
                Entry::Usage(entry) => usage.push(entry),
            }
        }
        for patch in patches.values_mut() {
            downgrade_small_talk(patch);
        }
        let mut sessions: Vec<(SessionPatch, Option<Workspace>)> = patches
            .into_values()
            .map(|mut patch| {
                patch.file_time = modified;
                let workspace = self.access.note(&patch);
                (patch, workspace)
            })
            .collect();
        sessions.retain(|(patch, _)| self.access.allows(&patch.id));
        usage.retain(|entry| self.access.allows(&entry.session));
        let records = messages
            .into_iter()
            .flat_map(|message| self.records(message))
            .collect();
        Incoming {
            records,
            sessions,
            usage,
        }
    }

    fn records(&mut self, mut message: Message) -> Vec<Record> {
        if !self.access.allows(&message.session) {
            return Vec::new();
        }
        let workspace = self.access.workspace(&message.session);
        let root = workspace.as_ref().map(|workspace| workspace.root.as_str());
        self.judge.apply(self.scope, &mut message, root);
        memory::record::records(message)
    }
}

/// Longest title made of a prompt.
const TITLE_CHARS_MAX: usize = 120;

/// Offers a prompt as its session's title. It is taken where the session has none that says what it
/// is about.
fn entitle(patches: &mut BTreeMap<SessionId, SessionPatch>, message: &Message) {
    let Some(patch) = patches.get_mut(&message.session) else {
        return;
    };
    let is_typed = message.origin == Origin::Human && message.role == Role::User;
    let is_titled = patch
        .title
        .as_ref()
        .is_some_and(|title| title.rank > TitleRank::FirstPrompt || !says_little(&title.text));
    if !is_typed || is_titled {
        return;
    }
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    let line = text.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    // A shell command says little of what the session is about.
    if let Some(line) = line.filter(|line| !line.starts_with('!') && !says_little(line)) {
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
        && says_little(&title.text)
    {
        title.rank = TitleRank::SmallTalk;
    }
}

/// Notes when and where a message was, for its session.
fn touch(patches: &mut BTreeMap<SessionId, SessionPatch>, message: &Message, source: &Source) {
    let patch = patches
        .entry(message.session.clone())
        .or_insert_with(|| SessionPatch::new(message.session.clone(), source.flavor));
    if let Some(at) = message.at {
        patch.touch(at);
    }
    if patch.cwd.is_none() {
        patch.cwd.clone_from(&message.cwd);
    }
}
