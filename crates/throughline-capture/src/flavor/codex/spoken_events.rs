//! Recovers what the model said in an aborted turn.
//!
//! The event of a message is written before its item, and the item is never written if the turn is
//! aborted in between. So an event is kept until its item comes, and emitted if none does.

use jiff::Timestamp;
use memory::{Block, CallId, Origin, Role};

use super::log::{CodexLogReader, CodexPosition};
use crate::{InputLine, ParseOutput};

/// A message of which only the event has been read.
pub(crate) struct SpokenEvent {
    text: String,
    line: u64,
    time: Option<Timestamp>,
}

/// How many messages are kept; normally there is one at a time.
const SPOKEN_MAX: usize = 8;

impl CodexLogReader {
    /// Keeps the event of a message until its item comes.
    pub(super) fn note_spoken_event(&mut self, at: CodexPosition<'_>, text: &str) {
        let before = self.state.clone();
        if text.is_empty() || self.state.recent_texts.is_repeat(text, "speech", "message") {
            return;
        }
        self.mark_for_reread(at, &reread_key(text), before);
        if self.unwritten.len() == SPOKEN_MAX {
            let oldest = self.unwritten.remove(0);
            self.take_applied(&reread_key(&oldest.text));
        }
        self.unwritten.push(SpokenEvent {
            text: text.to_owned(),
            line: at.line.number,
            time: at.time,
        });
    }

    /// Drops the event that an item has confirmed.
    pub(super) fn match_written_item(&mut self, text: &str) {
        let is_repeat = self.state.recent_texts.is_repeat(text, "message", "speech");
        if is_repeat || self.unwritten.iter().any(|spoken| spoken.text == text) {
            self.unwritten.retain(|spoken| spoken.text != text);
            self.take_applied(&reread_key(text));
        }
    }

    /// Emits the messages whose items will not come.
    pub(super) fn emit_unwritten(&mut self, at: CodexPosition<'_>, out: &mut ParseOutput) {
        for spoken in std::mem::take(&mut self.unwritten) {
            self.take_applied(&reread_key(&spoken.text));
            let id = self.state.side_id(&["speech", &spoken.text]);
            let line = InputLine {
                number: spoken.line,
                ..at.line
            };
            let at = CodexPosition {
                line,
                time: spoken.time,
                ..at
            };
            self.emit_message(
                at,
                id,
                (Role::Assistant, Origin::Model),
                vec![Block::Text(spoken.text)],
                out,
            );
        }
    }

    /// Drops the events of a turn that ended normally.
    pub(super) fn drop_unwritten(&mut self) {
        for spoken in std::mem::take(&mut self.unwritten) {
            self.take_applied(&reread_key(&spoken.text));
        }
    }
}

/// Returns the key under which an event's line is marked for reading again.
fn reread_key(text: &str) -> CallId {
    let hash = blake3::hash(text.as_bytes());
    CallId::new(format!("speech {hash}"))
}
