//! What the model said in a turn that was cut short.
//!
//! A message's event is written before its item, and the item is never written when the turn is
//! aborted between the two. So an event is kept until its item comes, and told when none does.

use jiff::Timestamp;
use memory::{Block, CallId, Origin, Role};

use super::log::{At, Log};
use crate::{Line, Parsed};

/// A message of which only the event was read.
pub struct Spoken {
    text: String,
    line: u64,
    time: Option<Timestamp>,
}

/// How many messages may wait for their items; there is one at a time.
const SPOKEN_MAX: usize = 8;

impl Log {
    /// Takes in the event of a message.
    pub(super) fn spoken(&mut self, at: At<'_>, text: &str) {
        let before = self.state.clone();
        if text.is_empty() || self.state.told.again(text, "speech", "message") {
            return;
        }
        self.come_back(at, &mark(text), before);
        if self.speech.len() == SPOKEN_MAX {
            let oldest = self.speech.remove(0);
            self.settle(&mark(&oldest.text));
        }
        self.speech.push(Spoken {
            text: text.to_owned(),
            line: at.line.number,
            time: at.time,
        });
    }

    /// Takes in the item of a message.
    pub(super) fn written(&mut self, text: &str) {
        let told = self.state.told.again(text, "message", "speech");
        if told || self.speech.iter().any(|spoken| spoken.text == text) {
            self.speech.retain(|spoken| spoken.text != text);
            self.settle(&mark(text));
        }
    }

    /// Tells what was said and will not be written any more.
    pub(super) fn tell_unwritten(&mut self, at: At<'_>, out: &mut Parsed) {
        for spoken in std::mem::take(&mut self.speech) {
            self.settle(&mark(&spoken.text));
            let id = self.state.link_beside(&["speech", &spoken.text]);
            let line = Line {
                number: spoken.line,
                ..at.line
            };
            let at = At {
                line,
                time: spoken.time,
                ..at
            };
            self.emit(
                at,
                id,
                Role::Assistant,
                Origin::Model,
                vec![Block::Text(spoken.text)],
                out,
            );
        }
    }

    /// Forgets what was said in a turn that came to its end.
    pub(super) fn end_of_turn(&mut self) {
        for spoken in std::mem::take(&mut self.speech) {
            self.settle(&mark(&spoken.text));
        }
    }
}

/// Returns the name under which the log comes back to an event.
fn mark(text: &str) -> CallId {
    let hash = blake3::hash(text.as_bytes());
    CallId::new(format!("speech {hash}"))
}
