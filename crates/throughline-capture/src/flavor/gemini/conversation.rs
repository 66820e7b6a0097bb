//! Collects the messages of a session, each in its last state.
//!
//! A message is appended again whenever it changes, and the last version counts. A checkpoint
//! (`$set.messages`) contains the conversation as the model will see it: shortened, with outputs
//! masked, sometimes without the calls and counts of the original. A message's own record is
//! therefore preferred, and a checkpoint only adds messages without one. Messages that were rewound
//! or compacted away stay.

use std::collections::HashMap;

use super::wire::{Mark, Message, Session};
use crate::{InputLine, ParseOutput, lines};

/// A session as its file describes it.
#[derive(Default)]
pub(crate) struct GeminiConversation {
    /// The last values of the header, without its messages.
    pub session: Session,
    pub turns: Vec<GeminiTurn>,
    /// The index of each message in `turns`.
    known: HashMap<String, usize>,
}

pub(crate) struct GeminiTurn {
    pub event: TurnEvent,
    /// The line of its first occurrence.
    pub line: u64,
}

pub(crate) enum TurnEvent {
    Message(Box<Message>),
    /// The conversation was rewound to before this message.
    Rewind(String),
}

/// The layout of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One object over several lines.
    Object,
    /// One record per line.
    #[default]
    Lines,
}

impl GeminiConversation {
    pub(crate) fn read(document: InputLine<'_>, layout: Layout, out: &mut ParseOutput) -> Self {
        let mut conversation = Self::default();
        if layout == Layout::Object || is_whole(document.text) {
            lines::for_each_object(document, out, |text, _| conversation.add_record(1, text));
            return conversation;
        }
        for (number, text) in (1..).zip(document.text.split_inclusive('\n')) {
            if is_unfinished(text) {
                break;
            }
            let line = InputLine {
                text,
                number,
                ..document
            };
            lines::for_each_object(line, out, |text, _| conversation.add_record(number, text));
        }
        conversation
    }

    fn add_record(&mut self, line: u64, text: &str) -> serde_json::Result<()> {
        let mark: Mark = serde_json::from_str(text)?;
        if let Some(id) = mark.rewind_to {
            let id = serde_json::from_str(id.get()).unwrap_or_default();
            self.turns.push(GeminiTurn {
                event: TurnEvent::Rewind(id),
                line,
            });
        } else if let Some(set) = mark.set {
            self.merge_header(line, serde_json::from_str(set.get())?);
        } else if mark.id.is_some() {
            self.add_message(line, serde_json::from_str(text)?, true);
        } else {
            self.merge_header(line, serde_json::from_str(text)?);
        }
        Ok(())
    }

    fn merge_header(&mut self, line: u64, mut news: Session) {
        for message in std::mem::take(&mut news.messages) {
            self.add_message(line, message, false);
        }
        let known = &mut self.session;
        let started = [known.start_time.0, news.start_time.0];
        known.start_time.0 = started.into_iter().flatten().min();
        known.last_updated.0 = known.last_updated.0.max(news.last_updated.0);
        for (known, news) in [
            (&mut known.session_id, news.session_id),
            (&mut known.kind, news.kind),
            (&mut known.summary, news.summary),
        ] {
            *known = news.or(known.take());
        }
        if !news.directories.is_empty() {
            known.directories = news.directories;
        }
    }

    fn add_message(&mut self, line: u64, message: Message, recorded: bool) {
        let known = message.id.as_ref().and_then(|id| self.known.get(id));
        if let Some(&turn) = known {
            if recorded {
                self.turns[turn].event = TurnEvent::Message(Box::new(message));
            }
            return;
        }
        if let Some(id) = message.id.clone() {
            self.known.insert(id, self.turns.len());
        }
        self.turns.push(GeminiTurn {
            event: TurnEvent::Message(Box::new(message)),
            line,
        });
    }
}

/// Says whether the agent may still be writing this line.
fn is_unfinished(text: &str) -> bool {
    !text.ends_with('\n') && !is_whole(text)
}

fn is_whole(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
