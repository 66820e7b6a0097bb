//! From what was read of a source to what is written: sessions, scope, records, and the log itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory::{Entry, Message, Record, SessionId, SessionPatch, Workspace};
use store::{Batch, Cursor, Door, From, Incoming, Oddities, Reading};

use super::in_flight::InFlight;
use super::{Report, Sweep};
use crate::git::Workspaces;
use crate::scope::Scope;
use crate::tail::Chunk;
use crate::{Format, Source};

/// Turns the chunks of one source into batches.
pub(super) struct Intake<'a> {
    pub source: &'a Source,
    pub scope: &'a Scope,
    pub workspaces: &'a mut Workspaces,
    pub door: Door<'a>,
    /// The workspace of each session met in this source.
    pub roots: HashMap<SessionId, Workspace>,
    pub kept: HashSet<memory::RecordId>,
    pub batches: usize,
    /// Where the source's cursor stands when the next batch is written.
    pub after: Option<Cursor>,
    pub archive: bool,
}

impl Intake<'_> {
    pub fn batch(&mut self, chunk: Chunk, source: usize, in_flight: &InFlight) -> Report {
        let mut counted = Sweep::default();
        counted.count(self.source, &chunk);
        let (last, restarted) = (chunk.last, chunk.restarted);
        let odd = Oddities {
            skipped: chunk
                .parsed
                .skipped
                .iter()
                .map(|s| (s.line, s.why.to_string()))
                .collect(),
            unknown: chunk.parsed.unknown,
        };
        let understood = !chunk.parsed.entries.is_empty();
        let incoming = self.incoming(chunk.parsed.entries);
        let cleaned = self.door.clean(incoming);
        counted.clamped = cleaned.clamped;
        if restarted {
            self.kept.extend(cleaned.ids.iter().copied());
        }
        let first = self.batches == 0;
        self.batches += 1;
        let is_document = self.source.format == Format::Document;
        let reading = match (restarted, last) {
            (false, _) => Reading::Continued,
            (true, true) if !self.kept.is_empty() => {
                let kept = Some(std::mem::take(&mut self.kept));
                Reading::Replaced {
                    kept,
                    restarted: first,
                }
            }
            // It never held records, so what it says now is all there is to keep.
            (true, true) if is_document && understood => Reading::Replaced {
                kept: None,
                restarted: first,
            },
            // A source that holds nothing any more was lost, not rewritten.
            (true, _) if first => Reading::Restarted,
            (true, _) => Reading::Rereading,
        };
        let after = self.after.replace(chunk.cursor.clone());
        let from = From {
            flavor: self.source.flavor,
            path: &self.source.path,
            cursor: chunk.cursor,
            reading,
            odd,
            log: chunk.log.filter(|_| self.archive),
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

    fn incoming(&mut self, entries: Vec<Entry>) -> Incoming {
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
                    messages.push(message);
                }
                Entry::Usage(entry) => usage.push(entry),
            }
        }
        let sessions: Vec<_> = patches
            .into_values()
            .map(|patch| self.with_workspace(patch))
            .collect();
        let records = messages
            .into_iter()
            .flat_map(|message| self.records(message))
            .collect();
        let is_allowed = |id: &SessionId| {
            self.roots
                .get(id)
                .is_none_or(|workspace| self.scope.allows(workspace))
        };
        Incoming {
            records,
            sessions: sessions
                .into_iter()
                .filter(|(patch, _)| is_allowed(&patch.id))
                .collect(),
            usage: usage
                .into_iter()
                .filter(|entry| is_allowed(&entry.session))
                .collect(),
        }
    }

    fn with_workspace(&mut self, patch: SessionPatch) -> (SessionPatch, Option<Workspace>) {
        let workspace = match (&patch.cwd, &patch.remote) {
            (Some(cwd), remote) => {
                Some(self.scope.alias(self.workspaces.of(cwd, remote.as_deref())))
            }
            (None, _) => None,
        };
        if let Some(workspace) = &workspace {
            self.roots
                .entry(patch.id.clone())
                .or_insert_with(|| workspace.clone());
        }
        (patch, workspace)
    }

    fn records(&self, mut message: Message) -> Vec<Record> {
        let workspace = self.roots.get(&message.session);
        if workspace.is_some_and(|workspace| !self.scope.allows(workspace)) {
            return Vec::new();
        }
        self.scope.apply(
            &mut message,
            workspace.map(|workspace| workspace.root.as_str()),
        );
        memory::record::records(message)
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
