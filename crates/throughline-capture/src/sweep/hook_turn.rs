//! Stores what hooks report of sessions whose log cannot be read, by the same rules as logs.

use jiff::Timestamp;
use memory::LogEntry;
use store::{Cursor, HOOK_PAYLOADS, SourceIdentity, Store};

use super::access::SourceAccess;
use super::batch::BatchBuilder;
use super::in_flight::InFlightBytes;
use super::reader::{IN_FLIGHT_BYTES_MAX, stored_folder};
use crate::git::WorkspaceResolver;
use crate::hook::HookTurn;
use crate::tail::{self, SourceChunk};
use crate::{CaptureScope, ParseOutput, Source, SourceFormat};

/// Stores one step of a session. The store deletes these records when it gets the session's log.
pub fn store_hook_turn(
    store: &Store,
    scope: &CaptureScope,
    turn: &HookTurn,
    now: Timestamp,
) -> store::Result<()> {
    let source = Source {
        flavor: turn.flavor,
        path: HOOK_PAYLOADS.into(),
        format: SourceFormat::Lines,
    };
    let mut resolver = WorkspaceResolver::default();
    let find_folder = |session: &memory::SessionId| {
        stored_folder(store, session).map(|(folder, key)| (folder, Some(key)))
    };
    let access = SourceAccess::new(
        scope,
        &mut resolver,
        Box::new(find_folder),
        (&source, false),
        None,
    );
    let messages = turn.messages(now);
    let chunk = SourceChunk {
        parsed: ParseOutput {
            entries: messages.into_iter().map(LogEntry::Message).collect(),
            ..ParseOutput::default()
        },
        // One source for each session; the path is that of no file.
        cursor: Cursor {
            key: tail::source_key(turn.session.as_str().as_ref()),
            identity: SourceIdentity::default(),
            complete: true,
            ..Cursor::default()
        },
        is_last: true,
        is_reread: false,
        read_bytes: 0,
        modified: None,
        log: None,
    };
    let in_flight = InFlightBytes::new(IN_FLIGHT_BYTES_MAX);
    let mut builder = BatchBuilder::new(&source, access, store.sanitizer(), None, false);
    let (batch, _) = builder.build(chunk, &in_flight);
    // Each step is stored on its own, whatever was stored before it.
    let written = store.append(batch.after_any());
    store.flush()?;
    written.wait().map(drop)
}
