//! Reads `session_index.jsonl`: the names that users gave to sessions.

use memory::{Flavor, SessionId, SessionPatch, Title, TitleRank};

use super::wire::IndexEntry;
use crate::{InputLine, LogReader, ParseOutput, lines};

/// Names are appended to the index; a later patch replaces an earlier name.
pub(crate) struct CodexIndexReader;

impl LogReader for CodexIndexReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |object, out| {
            let entry: IndexEntry<'_> = serde_json::from_str(object)?;
            if let (Some(id), Some(name)) = (entry.id.get(), entry.thread_name.get()) {
                let session = SessionId::of(Flavor::Codex, id);
                out.push(name_patch(session, name));
            }
            Ok(())
        });
    }
}

/// Returns the patch that gives a session its name.
pub(crate) fn name_patch(session: SessionId, name: &str) -> SessionPatch {
    let title = Title::new(name, TitleRank::Custom);
    SessionPatch {
        title: Some(title),
        ..SessionPatch::new(session, Flavor::Codex)
    }
}
