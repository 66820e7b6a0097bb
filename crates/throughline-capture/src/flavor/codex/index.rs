//! `session_index.jsonl`: the names that people gave to sessions.

use memory::{Flavor, LogEntry, SessionId, SessionPatch, Title, TitleRank};

use super::wire::IndexEntry;
use crate::{InputLine, LogReader, ParseOutput, lines};

/// The index is appended to; the last name of a session counts, as it does for patches.
pub struct CodexIndexReader;

impl LogReader for CodexIndexReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |object, out| {
            let entry: IndexEntry<'_> = serde_json::from_str(object)?;
            if let (Some(id), Some(name)) = (entry.id.some(), entry.thread_name.some()) {
                let session = SessionId::of(Flavor::Codex, id);
                out.push(LogEntry::Session(name_patch(session, name)));
            }
            Ok(())
        });
    }
}

/// Returns what a thread's name says of its session.
pub fn name_patch(session: SessionId, name: &str) -> SessionPatch {
    let title = Title {
        text: name.to_owned(),
        rank: TitleRank::Custom,
    };
    SessionPatch {
        title: Some(title),
        ..SessionPatch::new(session, Flavor::Codex)
    }
}
