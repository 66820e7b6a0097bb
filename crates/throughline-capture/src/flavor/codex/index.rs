//! `session_index.jsonl`: the names that people gave to sessions.

use memory::{Entry, Flavor, SessionId, SessionPatch, Title, TitleRank};

use super::wire::IndexEntry;
use crate::{Line, Parsed, Reader, lines};

/// The index is appended to; the last name of a session counts, as it does for patches.
pub struct Index;

impl Reader for Index {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        lines::objects(line, out, |object, out| {
            let entry: IndexEntry<'_> = serde_json::from_str(object)?;
            if let (Some(id), Some(name)) = (entry.id.some(), entry.thread_name.some()) {
                let session = SessionId::of(Flavor::Codex, id);
                out.push(Entry::Session(named(session, name)));
            }
            Ok(())
        });
    }

    fn state(&self) -> String {
        "{}".to_owned()
    }
}

/// Returns what a thread's name says of its session.
pub fn named(session: SessionId, name: &str) -> SessionPatch {
    let title = Title {
        text: name.to_owned(),
        rank: TitleRank::Custom,
    };
    SessionPatch {
        title: Some(title),
        ..SessionPatch::new(session, Flavor::Codex)
    }
}
