//! The reading threads of a sweep: each takes a source, reads it, and sends its batches.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use memory::SessionId;
use store::{Batch, Store};

use super::SweepPass;
use super::access::SourceAccess;
use super::batch::BatchBuilder;
use super::in_flight::InFlightBytes;
use super::report::ChunkCounts;
use super::worklist::Worklist;
use crate::git::WorkspaceResolver;
use crate::{Sources, tail};

/// How many batches a reading thread may be ahead of the writer.
const QUEUED_BATCHES_MAX: usize = 12;
/// How many bytes of batches a reading thread may be ahead of the disk: with long lines this is
/// reached before [`QUEUED_BATCHES_MAX`]. The limit is per thread, because the writer takes the
/// batches of one thread at a time, and the others must not use up the room it needs.
pub(super) const IN_FLIGHT_BYTES_MAX: usize = 24 << 20;

/// The messages of a reading thread: the batches of a source, then its end.
pub(super) enum ReadEvent {
    Batch {
        source: usize,
        batch: Box<Batch>,
        counts: ChunkCounts,
    },
    SourceDone {
        source: usize,
        error: Option<std::io::Error>,
    },
}

impl ReadEvent {
    fn source_index(&self) -> usize {
        match self {
            Self::Batch { source, .. } | Self::SourceDone { source, .. } => *source,
        }
    }
}

/// Reads the sources of a worklist on several threads. `handle` gets their events on the calling
/// thread, in the order of the sources.
pub(super) fn read_worklist<E>(
    store: &Store,
    pass: &SweepPass<'_>,
    worklist: &Worklist<'_>,
    handle: impl FnMut(ReadEvent) -> Result<(), E>,
) -> Result<(), E> {
    let threads = pass.sources.threads.clamp(1, worklist.sources.len().max(1));
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|_| {
                let (events, receiver) = bounded(QUEUED_BATCHES_MAX);
                let next = &next;
                scope.spawn(move || read_sources(store, pass, worklist, next, &events));
                receiver
            })
            .collect();
        receive_in_source_order(&readers, handle)
    })
}

/// Takes one source after another until none is left or the receiver is gone.
fn read_sources(
    store: &Store,
    pass: &SweepPass<'_>,
    worklist: &Worklist<'_>,
    next: &AtomicUsize,
    events: &Sender<ReadEvent>,
) {
    let mut resolver = WorkspaceResolver::default();
    let in_flight = InFlightBytes::new(IN_FLIGHT_BYTES_MAX);
    let Sources { scope, archive, .. } = pass.sources;
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(source) = worklist.sources.get(index) else {
            return;
        };
        let Some(adapter) = pass.sources.adapter(source.flavor) else {
            return;
        };
        if pass.control.is_stopped() {
            return;
        }
        let cursor = worklist.cursor_of(source);
        let is_selective = scope.is_selective();
        let find_folder = move |session: &SessionId| {
            let beside = || adapter.session_folder(source, session.native());
            match is_selective.then(beside).flatten() {
                Some(folder) => Some((folder, None)),
                None => stored_folder(store, session).map(|(folder, key)| (folder, Some(key))),
            }
        };
        let is_shared = is_selective && adapter.is_shared(source);
        let access = SourceAccess::new(
            scope,
            &mut resolver,
            Box::new(find_folder),
            (source, is_shared),
            cursor,
        );
        let sanitizer = store.sanitizer();
        let mut builder = BatchBuilder::new(source, access, sanitizer, cursor, *archive);
        let read = tail::read_source(adapter, source, cursor, pass.now, &mut |chunk| {
            let (batch, counts) = builder.build(chunk, &in_flight);
            let event = ReadEvent::Batch {
                source: index,
                batch: Box::new(batch),
                counts,
            };
            if events.send(event).is_ok() && !pass.control.is_stopped() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let done = ReadEvent::SourceDone {
            source: index,
            error: read.err(),
        };
        if events.send(done).is_err() {
            return;
        }
    }
}

pub(super) fn stored_folder(store: &Store, session: &SessionId) -> Option<(String, String)> {
    store.session_folder(session).unwrap_or_else(|error| {
        tracing::warn!(%session, %error, "cannot look up the session's workspace");
        None
    })
}

/// Hands events on in the order of their sources. A thread that is ahead waits: its queue is not
/// read until its turn comes, so it holds no more than its [`QUEUED_BATCHES_MAX`] batches.
fn receive_in_source_order<E>(
    readers: &[Receiver<ReadEvent>],
    mut handle: impl FnMut(ReadEvent) -> Result<(), E>,
) -> Result<(), E> {
    let mut heads: Vec<Option<ReadEvent>> =
        readers.iter().map(|reader| reader.recv().ok()).collect();
    loop {
        let first = heads
            .iter()
            .enumerate()
            .filter_map(|(reader, head)| Some((head.as_ref()?.source_index(), reader)))
            .min();
        let Some((_, reader)) = first else {
            return Ok(());
        };
        if let Some(event) = heads[reader].take() {
            handle(event)?;
        }
        heads[reader] = readers[reader].recv().ok();
    }
}
