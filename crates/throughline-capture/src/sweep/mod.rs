//! The sweep: discover, read what is new, clean it, store it.
//!
//! Several threads read and clean; what they give is written in the order of the sources, so that
//! a sweep always ends in the same store. Each batch is written with its cursor or not at all:
//! whatever interrupts a sweep, the next one goes on where it stopped.

mod access;
mod in_flight;
mod intake;
mod todo;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use jiff::Timestamp;
use memory::{LogEntry, SessionId};
use serde::Serialize;
use store::{Batch, BatchReport, Cursor, ScrubReport, Store, Ticket, UNREAD_HEAD};

use self::access::SourceAccess;
use self::in_flight::InFlightBytes;
use self::intake::BatchBuilder;
use self::todo::SweepWorklist;
use crate::git::WorkspaceResolver;
use crate::scope::CaptureScope;
use crate::scope::archive::LogFilter;
use crate::scope::withheld::MessageFilter;
use crate::source::{Discovery, SourceError};
use crate::tail::{self, SourceChunk};
use crate::{Adapter, Source, SourceFormat};

/// Batches that a reading thread may be ahead of the writer.
const QUEUED_BATCHES_MAX: usize = 12;
/// Bytes of batches that a reading thread may be ahead of the disk: long lines fill it sooner than
/// `AHEAD_MAX` batches would. Each thread has its own, for only one of them is written at a time.
const IN_FLIGHT_BYTES_MAX: usize = 24 << 20;
/// Up to here cursors are asked for one by one.
const CURSORS_BY_KEY_MAX: usize = 64;
/// How often a sweep looks again at what another process was faster with.
const RESWEEPS_MAX: usize = 8;

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    pub discovered: usize,
    pub ingested: usize,
    pub skipped_unchanged: usize,
    /// Sources that were there before and are no longer. Their records stay.
    pub gone: usize,
    pub records: usize,
    /// Records that their source held when it was last read and holds no longer. They stay.
    pub no_longer_in_source: usize,
    pub read_bytes: u64,
    /// Lines passed over, by reason.
    pub skipped_lines: BTreeMap<String, usize>,
    /// Kinds of entries that an adapter did not know, by agent.
    pub unknown: BTreeMap<String, u64>,
    /// Usage entries whose numbers were out of range and were clamped.
    pub clamped: usize,
    pub trouble: Vec<SourceError>,
    /// Sources whose records the store could not write. They are named in `trouble`, and the next
    /// sweep reads them again.
    pub failed: usize,
    /// It was asked to stop before it was done.
    pub interrupted: bool,
    /// When the first of the sources that were left open counts as finished and must be looked at
    /// again, though nothing happens to it.
    #[serde(skip)]
    pub settles_at: Option<Timestamp>,
    /// Batches after which sources must be looked at again: another process read the same source
    /// meanwhile, or other sources may hold what this one has lost.
    #[serde(skip)]
    pub conflicts: usize,
}

/// What a sweep needs besides the store.
pub struct SweepPlan<'a> {
    pub adapters: &'a [&'a Adapter],
    pub discovery: Discovery,
    pub scope: &'a CaptureScope,
    pub threads: usize,
    /// Set from outside to stop early.
    pub stop: &'a AtomicBool,
    /// Called after each source with what has been done of the whole.
    pub progress: &'a (dyn Fn(SweepProgress) + Sync),
    /// Keep the logs themselves too, so that they survive their agents' clean-up.
    pub archive: bool,
    /// All of the agents' folders were looked at, so what was not found may be gone.
    pub all_roots: bool,
}

impl std::fmt::Debug for SweepPlan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("found", &self.discovery)
            .finish_non_exhaustive()
    }
}

/// How far a sweep has come, in bytes to read.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress {
    pub read_bytes: u64,
    pub total_bytes: u64,
    pub sources: usize,
    pub sources_total: usize,
    pub records: usize,
}

/// Reads what is new and stores it. Sources that another process reads at the same time are looked
/// at again.
pub fn sweep(store: &Store, plan: &SweepPlan<'_>, now: Timestamp) -> store::Result<SweepReport> {
    // Logs that an older version archived may hold what is not kept any more.
    if plan.all_roots {
        let scrub = store.scrub_archive(plan.scope, now)?;
        if scrub != ScrubReport::default() {
            tracing::info!(
                ?scrub,
                "the archive was rewritten by the rules of [capture]"
            );
        }
    }
    let mut sweep = sweep_once(store, plan, now)?;
    for _ in 0..RESWEEPS_MAX {
        if sweep.conflicts == 0 || sweep.interrupted {
            break;
        }
        sweep.merge_resweep(sweep_once(store, plan, now)?);
    }
    Ok(sweep)
}

fn sweep_once(store: &Store, plan: &SweepPlan<'_>, now: Timestamp) -> store::Result<SweepReport> {
    let cursors = load_cursors(store, plan)?;
    let todo = SweepWorklist::new(plan, &cursors, now);
    let mut sweep = todo.initial_report();
    let mut written = PendingWrites {
        store,
        tickets: VecDeque::new(),
        failed: BTreeSet::new(),
        progress: plan.progress,
        todo: &todo,
    };
    let next = AtomicUsize::new(0);
    let todo = &todo;
    thread::scope(|scope| {
        let readers: Vec<_> = (0..plan.threads.clamp(1, todo.sources.len().max(1)))
            .map(|_| {
                let (sender, receiver) = bounded(QUEUED_BATCHES_MAX);
                let next = &next;
                scope.spawn(move || read_sources(store, plan, todo, now, next, &sender));
                receiver
            })
            .collect();
        receive_in_source_order(&readers, |report| written.handle_event(report, &mut sweep))
    })?;
    written.finish(&mut sweep)?;
    mark_gone(store, plan, todo, &mut sweep)?;
    sweep.interrupted = plan.stop.load(Ordering::Relaxed);
    Ok(sweep)
}

/// Returns the cursors that a plan needs: all, or those of a few sources.
fn load_cursors(store: &Store, plan: &SweepPlan<'_>) -> store::Result<HashMap<[u8; 16], Cursor>> {
    if plan.all_roots || plan.discovery.sources.len() > CURSORS_BY_KEY_MAX {
        return store.cursors();
    }
    let sources = plan.discovery.sources.iter();
    let keys: Vec<_> = sources
        .map(|source| tail::source_key(&source.path))
        .collect();
    store.cursors_of(&keys)
}

/// Reads what is new and only counts it: nothing is written.
pub fn dry_run(
    cursors: &HashMap<[u8; 16], Cursor>,
    plan: &SweepPlan<'_>,
    now: Timestamp,
) -> SweepReport {
    let todo = SweepWorklist::new(plan, cursors, now);
    let mut sweep = todo.initial_report();
    for (index, source) in todo.sources.iter().enumerate() {
        if plan.stop.load(Ordering::Relaxed) {
            break;
        }
        let Some(adapter) = todo.adapter_for(index) else {
            continue;
        };
        let cursor = cursors.get(&tail::source_key(&source.path));
        let read = tail::read_source(adapter, source, cursor, now, &mut |chunk| {
            sweep.count_chunk(source, &chunk);
            sweep.records += chunk
                .parsed
                .entries
                .into_iter()
                .map(|entry| match entry {
                    LogEntry::Message(message) => memory::record::project_records(message).len(),
                    LogEntry::Session(_) | LogEntry::Usage(_) => 0,
                })
                .sum::<usize>();
            ControlFlow::Continue(())
        });
        match read {
            Ok(()) => sweep.ingested += 1,
            Err(error) => sweep.trouble.push(SourceError::new(&source.path, &error)),
        }
        (plan.progress)(todo.progress(&sweep, index + 1));
    }
    sweep.interrupted = plan.stop.load(Ordering::Relaxed);
    sweep
}

impl SweepReport {
    fn note_settle_time(&mut self, at: Option<Timestamp>) {
        self.settles_at = [self.settles_at, at].into_iter().flatten().min();
    }

    fn count_chunk(&mut self, source: &Source, chunk: &SourceChunk) {
        self.read_bytes += chunk.read_bytes;
        if chunk.is_last && !chunk.cursor.complete {
            self.note_settle_time(tail::settles_at(&chunk.cursor.identity));
        }
        for skipped in &chunk.parsed.skipped {
            *self
                .skipped_lines
                .entry(skipped.reason.to_string())
                .or_default() += 1;
        }
        for (kind, count) in &chunk.parsed.unknown_kinds {
            *self
                .unknown
                .entry(format!("{} {kind}", source.flavor))
                .or_default() += count;
        }
    }
}

/// What a reading thread sends: the batches of a source, then its end.
enum ReadEvent {
    Batch {
        source: usize,
        batch: Box<Batch>,
        counted: SweepReport,
    },
    SourceDone {
        source: usize,
        trouble: Option<SourceError>,
    },
}

impl ReadEvent {
    fn source_index(&self) -> usize {
        match self {
            Self::Batch { source, .. } | Self::SourceDone { source, .. } => *source,
        }
    }
}

/// Takes one source after another, until none is left or nobody listens.
fn read_sources(
    store: &Store,
    plan: &SweepPlan<'_>,
    todo: &SweepWorklist<'_>,
    now: Timestamp,
    next: &AtomicUsize,
    reports: &Sender<ReadEvent>,
) {
    let mut workspaces = WorkspaceResolver::default();
    let in_flight = InFlightBytes::new(IN_FLIGHT_BYTES_MAX);
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let (Some(source), Some(adapter)) = (todo.sources.get(index), todo.adapter_for(index))
        else {
            return;
        };
        if plan.stop.load(Ordering::Relaxed) {
            return;
        }
        let cursor = todo.cursors.get(&tail::source_key(&source.path));
        let is_selective = plan.scope.is_selective();
        let is_shared = is_selective && adapter.is_shared(source);
        let find_folder = move |session: &SessionId| {
            let beside = || adapter.session_folder(source, session.native());
            let beside = is_selective.then(beside).flatten();
            match beside {
                Some(folder) => Some((folder, None)),
                None => stored_folder(store, session).map(|(folder, key)| (folder, Some(key))),
            }
        };
        let access = SourceAccess {
            scope: plan.scope,
            resolver: &mut workspaces,
            find_folder: Box::new(find_folder),
            is_shared,
            folder_is_elsewhere: source.format == SourceFormat::Document,
            is_resumed: cursor
                .is_some_and(|cursor| cursor.head != UNREAD_HEAD && cursor.offset > 0),
            workspaces_by_session: HashMap::new(),
            saw_allowed: false,
            saw_denied: false,
        };
        let mut intake = BatchBuilder {
            source,
            scope: plan.scope,
            access,
            door: store.sanitizer(),
            message_filter: MessageFilter::default(),
            log_filter: LogFilter::default(),
            record_ids: HashSet::new(),
            batches_built: 0,
            expected_cursor: cursor.cloned(),
            archive: plan.archive,
        };
        let read = tail::read_source(adapter, source, cursor, now, &mut |chunk| {
            let report = intake.build(chunk, index, &in_flight);
            let heard = reports.send(report).is_ok();
            if heard && !plan.stop.load(Ordering::Relaxed) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let trouble = read
            .err()
            .map(|error| SourceError::new(&source.path, &error));
        if reports
            .send(ReadEvent::SourceDone {
                source: index,
                trouble,
            })
            .is_err()
        {
            return;
        }
    }
}

fn stored_folder(store: &Store, session: &SessionId) -> Option<(String, String)> {
    store.session_folder(session).unwrap_or_else(|error| {
        tracing::warn!(%session, %error, "the session's workspace is not known");
        None
    })
}

/// Hands reports on in the order of their sources. A thread that is ahead waits: its queue is
/// not read until its turn comes, so no more than its few batches pile up.
fn receive_in_source_order<E>(
    readers: &[Receiver<ReadEvent>],
    mut take: impl FnMut(ReadEvent) -> Result<(), E>,
) -> Result<(), E> {
    let mut heads: Vec<Option<ReadEvent>> =
        readers.iter().map(|reader| reader.recv().ok()).collect();
    loop {
        let first = heads
            .iter()
            .enumerate()
            .filter_map(|(i, head)| Some((head.as_ref()?.source_index(), i)))
            .min();
        let Some((_, i)) = first else { return Ok(()) };
        if let Some(report) = heads[i].take() {
            take(report)?;
        }
        heads[i] = readers[i].recv().ok();
    }
}

/// The writing side: batches under way, and what has come of them.
struct PendingWrites<'a> {
    store: &'a Store,
    /// Batches under way, each with the index of its source.
    tickets: VecDeque<(usize, Ticket<BatchReport>)>,
    /// Sources of which the store refused a batch.
    failed: BTreeSet<usize>,
    progress: &'a (dyn Fn(SweepProgress) + Sync),
    todo: &'a SweepWorklist<'a>,
}

impl PendingWrites<'_> {
    fn handle_event(&mut self, report: ReadEvent, sweep: &mut SweepReport) -> store::Result<()> {
        match report {
            ReadEvent::Batch {
                source,
                batch,
                counted,
            } => {
                self.tickets.push_back((source, self.store.append(*batch)));
                sweep.read_bytes += counted.read_bytes;
                sweep.clamped += counted.clamped;
                sweep.note_settle_time(counted.settles_at);
                for (why, count) in counted.skipped_lines {
                    *sweep.skipped_lines.entry(why).or_default() += count;
                }
                for (kind, count) in counted.unknown {
                    *sweep.unknown.entry(kind).or_default() += count;
                }
                Ok(())
            }
            ReadEvent::SourceDone { source, trouble } => {
                match trouble {
                    None => sweep.ingested += 1,
                    Some(trouble) => sweep.trouble.push(trouble),
                }
                while let Some((index, ticket)) = self.tickets.front()
                    && let Some(written) = ticket.poll()
                {
                    let index = *index;
                    self.tickets.pop_front();
                    self.count_result(index, written, sweep)?;
                }
                (self.progress)(self.todo.progress(sweep, source + 1));
                Ok(())
            }
        }
    }

    fn finish(&mut self, sweep: &mut SweepReport) -> store::Result<()> {
        self.store.flush()?;
        while let Some((index, ticket)) = self.tickets.pop_front() {
            self.count_result(index, ticket.wait(), sweep)?;
        }
        Ok(())
    }

    /// Counts what became of a batch. A batch that fails for a reason of its own costs only its
    /// source: the source is reported, and its cursor stays, so the next sweep tries again.
    fn count_result(
        &mut self,
        index: usize,
        written: store::Result<BatchReport>,
        sweep: &mut SweepReport,
    ) -> store::Result<()> {
        match written {
            Ok(written) if self.failed.contains(&index) => {
                // Later batches of a failed source find its cursor where it was.
                sweep.count_written(BatchReport {
                    overtaken: false,
                    ..written
                });
            }
            Ok(written) => sweep.count_written(written),
            Err(error) if error.affects_all_writes() => return Err(error),
            Err(error) => {
                if self.failed.insert(index)
                    && let Some(source) = self.todo.sources.get(index)
                {
                    sweep.failed += 1;
                    sweep.ingested = sweep.ingested.saturating_sub(1);
                    sweep.trouble.push(SourceError::new(&source.path, &error));
                }
            }
        }
        Ok(())
    }
}

impl SweepReport {
    /// Adds what a second look at the same sources did.
    fn merge_resweep(&mut self, again: Self) {
        self.ingested += again.ingested;
        self.gone += again.gone;
        self.records += again.records;
        self.no_longer_in_source += again.no_longer_in_source;
        self.read_bytes += again.read_bytes;
        self.trouble = again.trouble;
        self.failed = again.failed;
        self.clamped = again.clamped;
        self.interrupted = again.interrupted;
        self.settles_at = again.settles_at;
        self.conflicts = again.conflicts;
    }

    fn count_written(&mut self, written: BatchReport) {
        self.conflicts += usize::from(written.overtaken || written.rereads_others);
        self.records += written.records;
        self.no_longer_in_source += written.detached;
    }
}

/// Marks the sources that were not found although their folders were looked at.
fn mark_gone(
    store: &Store,
    plan: &SweepPlan<'_>,
    todo: &SweepWorklist<'_>,
    sweep: &mut SweepReport,
) -> store::Result<()> {
    if !plan.all_roots {
        return Ok(());
    }
    let mut gone = Vec::new();
    for cursor in todo
        .cursors
        .values()
        .filter(|c| !c.gone && !todo.seen_keys.contains(&c.key))
    {
        let path = store.source_path(cursor.key)?.map(PathBuf::from);
        // A path that the redactor changed, or that lies in a folder given by hand, may still be
        // there.
        if path.is_some_and(|path| tail::source_key(&path) == cursor.key && is_absent(&path)) {
            gone.push(cursor.key);
        }
    }
    gone.sort_unstable();
    sweep.gone = gone.len();
    if gone.is_empty() {
        Ok(())
    } else {
        store.mark_sources_gone(gone).wait()
    }
}

fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
