//! The sweep: discover, read what is new, clean it, store it.
//!
//! Several threads read and clean; what they give is written in the order of the sources, so that
//! a sweep always ends in the same store. Each batch is written with its cursor or not at all:
//! whatever interrupts a sweep, the next one goes on where it stopped.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use jiff::Timestamp;
use memory::{Entry, Message, Record, SessionId, SessionPatch, Workspace};
use serde::Serialize;
use store::{Batch, Cursor, Door, From, Incoming, Oddities, Reading, Store, Ticket, Written};

use crate::git::Workspaces;
use crate::scope::Scope;
use crate::source::{Discovered, Trouble};
use crate::tail::{self, Chunk};
use crate::{Adapter, Format, Source};

/// Batches that a reading thread may be ahead of the writer.
const AHEAD_MAX: usize = 8;
/// Up to here cursors are asked for one by one.
const FEW_SOURCES: usize = 64;
/// How often a sweep looks again at what another process was faster with.
const OVERTAKEN_MAX: usize = 8;

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sweep {
    pub discovered: usize,
    pub ingested: usize,
    pub skipped_unchanged: usize,
    /// Sources that were there before and are no longer. Their records stay.
    pub gone: usize,
    pub records: usize,
    /// Records that a rewritten source no longer holds.
    pub removed: usize,
    pub read_bytes: u64,
    /// Lines passed over, by reason.
    pub skipped_lines: BTreeMap<String, usize>,
    /// Kinds of entries that an adapter did not know, by agent.
    pub unknown: BTreeMap<String, u64>,
    pub trouble: Vec<Trouble>,
    /// It was asked to stop before it was done.
    pub interrupted: bool,
    /// When the first of the sources that were left open counts as finished and must be looked at
    /// again, though nothing happens to it.
    #[serde(skip)]
    pub settles_at: Option<Timestamp>,
    /// Batches that came to nothing because another process read the same source meanwhile.
    #[serde(skip)]
    pub overtaken: usize,
}

/// What a sweep needs besides the store.
pub struct Plan<'a> {
    pub adapters: &'a [&'a dyn Adapter],
    pub found: Discovered,
    pub scope: &'a Scope,
    pub threads: usize,
    /// Set from outside to stop early.
    pub stop: &'a AtomicBool,
    /// Called after each source with what has been done of the whole.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Keep the logs themselves too, so that they survive their agents' clean-up.
    pub archive: bool,
    /// All of the agents' folders were looked at, so what was not found may be gone.
    pub complete: bool,
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

/// How far a sweep has come, in bytes to read.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub read_bytes: u64,
    pub total_bytes: u64,
    pub sources: usize,
    pub sources_total: usize,
    pub records: usize,
}

/// Reads what is new and stores it. Sources that another process reads at the same time are looked
/// at again.
pub fn sweep(store: &Store, plan: &Plan<'_>, now: Timestamp) -> store::Result<Sweep> {
    let mut sweep = sweep_once(store, plan, now)?;
    for _ in 0..OVERTAKEN_MAX {
        if sweep.overtaken == 0 || sweep.interrupted {
            break;
        }
        sweep.go_on(sweep_once(store, plan, now)?);
    }
    Ok(sweep)
}

fn sweep_once(store: &Store, plan: &Plan<'_>, now: Timestamp) -> store::Result<Sweep> {
    let cursors = cursors(store, plan)?;
    let todo = Todo::new(plan, &cursors, now);
    let mut sweep = todo.report();
    let mut written = Writing {
        store,
        tickets: VecDeque::new(),
        progress: plan.progress,
        todo: &todo,
    };
    let next = AtomicUsize::new(0);
    let todo = &todo;
    thread::scope(|scope| {
        let readers: Vec<_> = (0..plan.threads.clamp(1, todo.sources.len().max(1)))
            .map(|_| {
                let (sender, receiver) = bounded(AHEAD_MAX);
                let next = &next;
                scope.spawn(move || read_sources(store, plan, todo, now, next, &sender));
                receiver
            })
            .collect();
        in_order(&readers, |report| written.take(report, &mut sweep))
    })?;
    written.settle(&mut sweep)?;
    mark_gone(store, plan, todo, &mut sweep)?;
    sweep.interrupted = plan.stop.load(Ordering::Relaxed);
    Ok(sweep)
}

/// Returns the cursors that a plan needs: all, or those of a few sources.
fn cursors(store: &Store, plan: &Plan<'_>) -> store::Result<HashMap<[u8; 16], Cursor>> {
    if plan.complete || plan.found.sources.len() > FEW_SOURCES {
        return store.cursors();
    }
    let sources = plan.found.sources.iter();
    let keys: Vec<_> = sources.map(|source| tail::key(&source.path)).collect();
    store.cursors_of(&keys)
}

/// Reads what is new and only counts it: nothing is written.
pub fn survey(cursors: &HashMap<[u8; 16], Cursor>, plan: &Plan<'_>, now: Timestamp) -> Sweep {
    let todo = Todo::new(plan, cursors, now);
    let mut sweep = todo.report();
    for (index, source) in todo.sources.iter().enumerate() {
        if plan.stop.load(Ordering::Relaxed) {
            break;
        }
        let Some(adapter) = todo.adapter(index) else {
            continue;
        };
        let cursor = cursors.get(&tail::key(&source.path));
        let read = tail::read(adapter, source, cursor, now, &mut |chunk| {
            sweep.count(source, &chunk);
            sweep.records += chunk
                .parsed
                .entries
                .into_iter()
                .map(|entry| match entry {
                    Entry::Message(message) => memory::record::records(message).len(),
                    Entry::Session(_) | Entry::Usage(_) => 0,
                })
                .sum::<usize>();
            ControlFlow::Continue(())
        });
        match read {
            Ok(()) => sweep.ingested += 1,
            Err(error) => sweep.trouble.push(Trouble::new(&source.path, &error)),
        }
        (plan.progress)(todo.progress(&sweep, index + 1));
    }
    sweep.interrupted = plan.stop.load(Ordering::Relaxed);
    sweep
}

impl Sweep {
    fn is_open_until(&mut self, at: Option<Timestamp>) {
        self.settles_at = [self.settles_at, at].into_iter().flatten().min();
    }

    fn count(&mut self, source: &Source, chunk: &Chunk) {
        self.read_bytes += chunk.read_bytes;
        if chunk.last && !chunk.cursor.settled {
            self.is_open_until(tail::settles_at(&chunk.cursor.stamp));
        }
        for skipped in &chunk.parsed.skipped {
            *self
                .skipped_lines
                .entry(skipped.why.to_string())
                .or_default() += 1;
        }
        for (kind, count) in &chunk.parsed.unknown {
            *self
                .unknown
                .entry(format!("{} {kind}", source.flavor))
                .or_default() += count;
        }
    }
}

/// The sources that must be read, and what became of the others.
struct Todo<'a> {
    sources: Vec<&'a Source>,
    adapters: &'a [&'a dyn Adapter],
    cursors: &'a HashMap<[u8; 16], Cursor>,
    seen: HashSet<[u8; 16]>,
    discovered: usize,
    unchanged: usize,
    total_bytes: u64,
    trouble: Vec<Trouble>,
    settles_at: Option<Timestamp>,
}

impl<'a> Todo<'a> {
    fn new(plan: &'a Plan<'a>, cursors: &'a HashMap<[u8; 16], Cursor>, now: Timestamp) -> Self {
        let mut todo = Self {
            sources: Vec::new(),
            adapters: plan.adapters,
            cursors,
            seen: HashSet::new(),
            discovered: plan.found.sources.len(),
            unchanged: 0,
            total_bytes: 0,
            trouble: plan.found.trouble.clone(),
            settles_at: None,
        };
        for source in &plan.found.sources {
            let key = tail::key(&source.path);
            let stamp = match tail::stamp_of(source) {
                Ok(stamp) => stamp,
                // It vanished between the look and now: gone, like those of earlier sweeps.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    todo.seen.insert(key);
                    todo.trouble.push(Trouble::new(&source.path, &error));
                    continue;
                }
            };
            todo.seen.insert(key);
            let cursor = cursors.get(&key);
            if let Some(cursor) = cursor
                && tail::is_unchanged(cursor, &stamp, now)
            {
                todo.unchanged += 1;
                if !cursor.settled {
                    let at = tail::settles_at(&stamp);
                    todo.settles_at = [todo.settles_at, at].into_iter().flatten().min();
                }
                continue;
            }
            let read_before = cursor.map_or(0, |cursor| cursor.offset.min(stamp.size));
            todo.total_bytes += stamp.size - read_before;
            todo.sources.push(source);
        }
        todo
    }

    fn adapter(&self, index: usize) -> Option<&'a dyn Adapter> {
        let flavor = self.sources.get(index)?.flavor;
        self.adapters
            .iter()
            .copied()
            .find(|adapter| adapter.flavor() == flavor)
    }

    fn report(&self) -> Sweep {
        Sweep {
            discovered: self.discovered,
            skipped_unchanged: self.unchanged,
            trouble: self.trouble.clone(),
            settles_at: self.settles_at,
            ..Sweep::default()
        }
    }

    fn progress(&self, sweep: &Sweep, sources: usize) -> Progress {
        Progress {
            read_bytes: sweep.read_bytes,
            total_bytes: self.total_bytes,
            sources,
            sources_total: self.sources.len(),
            records: sweep.records,
        }
    }
}

/// What a reading thread sends: the batches of a source, then its end.
enum Report {
    Batch {
        source: usize,
        batch: Box<Batch>,
        counted: Sweep,
    },
    Done {
        source: usize,
        trouble: Option<Trouble>,
    },
}

impl Report {
    fn source(&self) -> usize {
        match self {
            Self::Batch { source, .. } | Self::Done { source, .. } => *source,
        }
    }
}

/// Takes one source after another, until none is left or nobody listens.
fn read_sources(
    store: &Store,
    plan: &Plan<'_>,
    todo: &Todo<'_>,
    now: Timestamp,
    next: &AtomicUsize,
    reports: &Sender<Report>,
) {
    let mut workspaces = Workspaces::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let (Some(source), Some(adapter)) = (todo.sources.get(index), todo.adapter(index)) else {
            return;
        };
        if plan.stop.load(Ordering::Relaxed) {
            return;
        }
        let cursor = todo.cursors.get(&tail::key(&source.path));
        let mut intake = Intake {
            source,
            scope: plan.scope,
            workspaces: &mut workspaces,
            door: store.door(),
            roots: HashMap::new(),
            kept: HashSet::new(),
            batches: 0,
            after: cursor.cloned(),
            archive: plan.archive,
        };
        let read = tail::read(adapter, source, cursor, now, &mut |chunk| {
            let report = intake.batch(chunk, index);
            let heard = reports.send(report).is_ok();
            if heard && !plan.stop.load(Ordering::Relaxed) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let trouble = read.err().map(|error| Trouble::new(&source.path, &error));
        if reports
            .send(Report::Done {
                source: index,
                trouble,
            })
            .is_err()
        {
            return;
        }
    }
}

/// Hands reports on in the order of their sources. A thread that is ahead waits: its queue is
/// not read until its turn comes, so no more than its few batches pile up.
fn in_order<E>(
    readers: &[Receiver<Report>],
    mut take: impl FnMut(Report) -> Result<(), E>,
) -> Result<(), E> {
    let mut heads: Vec<Option<Report>> = readers.iter().map(|reader| reader.recv().ok()).collect();
    loop {
        let first = heads
            .iter()
            .enumerate()
            .filter_map(|(i, head)| Some((head.as_ref()?.source(), i)))
            .min();
        let Some((_, i)) = first else { return Ok(()) };
        if let Some(report) = heads[i].take() {
            take(report)?;
        }
        heads[i] = readers[i].recv().ok();
    }
}

/// Turns the chunks of one source into batches.
struct Intake<'a> {
    source: &'a Source,
    scope: &'a Scope,
    workspaces: &'a mut Workspaces,
    door: Door<'a>,
    /// The workspace of each session met in this source.
    roots: HashMap<SessionId, Workspace>,
    kept: HashSet<memory::RecordId>,
    batches: usize,
    /// Where the source's cursor stands when the next batch is written.
    after: Option<Cursor>,
    archive: bool,
}

impl Intake<'_> {
    fn batch(&mut self, chunk: Chunk, source: usize) -> Report {
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

/// The writing side: batches under way, and what has come of them.
struct Writing<'a> {
    store: &'a Store,
    tickets: VecDeque<Ticket<Written>>,
    progress: &'a (dyn Fn(Progress) + Sync),
    todo: &'a Todo<'a>,
}

impl Writing<'_> {
    fn take(&mut self, report: Report, sweep: &mut Sweep) -> store::Result<()> {
        match report {
            Report::Batch { batch, counted, .. } => {
                self.tickets.push_back(self.store.append(*batch));
                sweep.read_bytes += counted.read_bytes;
                sweep.is_open_until(counted.settles_at);
                for (why, count) in counted.skipped_lines {
                    *sweep.skipped_lines.entry(why).or_default() += count;
                }
                for (kind, count) in counted.unknown {
                    *sweep.unknown.entry(kind).or_default() += count;
                }
                Ok(())
            }
            Report::Done { source, trouble } => {
                match trouble {
                    None => sweep.ingested += 1,
                    Some(trouble) => sweep.trouble.push(trouble),
                }
                while let Some(written) = self.tickets.front().and_then(Ticket::poll) {
                    self.tickets.pop_front();
                    sweep.add(written?);
                }
                (self.progress)(self.todo.progress(sweep, source + 1));
                Ok(())
            }
        }
    }

    fn settle(&mut self, sweep: &mut Sweep) -> store::Result<()> {
        self.store.flush()?;
        for ticket in self.tickets.drain(..) {
            sweep.add(ticket.wait()?);
        }
        Ok(())
    }
}

impl Sweep {
    /// Adds what a second look at the same sources did.
    fn go_on(&mut self, again: Self) {
        self.ingested += again.ingested;
        self.gone += again.gone;
        self.records += again.records;
        self.removed += again.removed;
        self.read_bytes += again.read_bytes;
        self.trouble = again.trouble;
        self.interrupted = again.interrupted;
        self.settles_at = again.settles_at;
        self.overtaken = again.overtaken;
    }

    fn add(&mut self, written: Written) {
        self.overtaken += usize::from(written.overtaken);
        self.records += written.records;
        self.removed += written.removed;
    }
}

/// Marks the sources that were not found although their folders were looked at.
fn mark_gone(
    store: &Store,
    plan: &Plan<'_>,
    todo: &Todo<'_>,
    sweep: &mut Sweep,
) -> store::Result<()> {
    if !plan.complete {
        return Ok(());
    }
    let mut gone = Vec::new();
    for cursor in todo
        .cursors
        .values()
        .filter(|c| !c.gone && !todo.seen.contains(&c.key))
    {
        let path = store.source_path(cursor.key)?.map(PathBuf::from);
        // A path that the redactor changed, or that lies in a folder given by hand, may still be
        // there.
        if path.is_some_and(|path| tail::key(&path) == cursor.key && is_absent(&path)) {
            gone.push(cursor.key);
        }
    }
    gone.sort_unstable();
    sweep.gone = gone.len();
    if gone.is_empty() {
        Ok(())
    } else {
        store.mark_gone(gone).wait()
    }
}

fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
