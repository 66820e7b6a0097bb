//! Prompts typed while the agent works.
//!
//! A prompt that waits is written when it is queued and again, as a user record or as an
//! attachment, when it is delivered: the second counts. Before attachments were logged, one
//! delivered in the middle of a turn left no second trace, only its removal from the queue; then
//! the first counts.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::pinned_lines::PinnedLines;
use super::prompt::{self, UserText};
use crate::InputLine;

/// Nobody types more than this ahead.
const WAITING_MAX: usize = 256;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromptQueue(VecDeque<QueuedPrompt>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct QueuedPrompt {
    /// A person's words, and the name of the pin that holds their line.
    #[serde(skip)]
    prompt: Option<(String, String)>,
}

impl PromptQueue {
    /// Puts a text at the end.
    pub fn enqueue(
        &mut self,
        text: &str,
        line: InputLine<'_>,
        pins: &mut PinnedLines,
        state: impl FnOnce() -> String,
    ) {
        let prompt = match prompt::classify(text) {
            UserText::Prompt(text) if !prompt::is_bare_command(&text) => {
                let pin = format!("queue:{}", line.number);
                pins.pin(pin.clone(), line, state);
                Some((text.into_owned(), pin))
            }
            _ => None,
        };
        if self.0.len() == WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(QueuedPrompt { prompt });
    }

    /// Takes the oldest, and returns a person's words.
    pub fn pop(&mut self, pins: &mut PinnedLines) -> Option<String> {
        let (text, pin) = self.0.pop_front()?.prompt?;
        pins.release(&pin);
        Some(text)
    }

    /// Takes a text that has been delivered in its own right.
    pub fn remove_delivered(&mut self, text: &str, pins: &mut PinnedLines) {
        let same = |waiting: &QueuedPrompt| {
            let prompt = waiting.prompt.as_ref();
            prompt.is_some_and(|(waiting, _)| waiting.trim() == text.trim())
        };
        if let Some(at) = self.0.iter().position(same)
            && let Some(QueuedPrompt {
                prompt: Some((_, pin)),
            }) = self.0.remove(at)
        {
            pins.release(&pin);
        }
    }

    pub fn clear(&mut self, pins: &mut PinnedLines) {
        while !self.0.is_empty() {
            self.pop(pins);
        }
    }
}
