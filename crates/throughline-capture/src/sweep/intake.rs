//! From what was read of a source to what is written: sessions, scope, records, and the log itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory::words::says_little;
use memory::{
    Block, Entry, Message, Origin, Record, Role, SessionId, SessionPatch, Title, TitleRank,
    Workspace,
};
use store::{Batch, Cursor, Door, From, Incoming, Oddities, Reading};

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
    pub fn batch(&mut self, chunk: Chunk, source: usize) -> Report {
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
                    entitle(&mut patches, &message);
                    messages.push(message);
                }
                Entry::Usage(entry) => usage.push(entry),
            }
        }
        for patch in patches.values_mut() {
            downgrade_small_talk(patch);
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
