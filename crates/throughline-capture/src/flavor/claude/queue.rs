//! Tracks prompts that are typed while the agent works.
//!
//! A queued prompt is recorded when it is queued and again, as a user record or an attachment, when
//! it is delivered; the second record counts. Before attachments were logged, a prompt that was
//! delivered during a turn left no second record, only its removal from the queue; then the first
//! record counts.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::pinned_lines::PinnedLines;
use super::prompt::{self, UserText};
use crate::InputLine;

/// No user queues more prompts than this; the oldest is dropped beyond it.
const WAITING_MAX: usize = 256;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PromptQueue(VecDeque<QueuedPrompt>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct QueuedPrompt {
    /// A person's words and the name of the pin on their line; `None` for other texts.
    #[serde(skip)]
    prompt: Option<(String, String)>,
}

impl PromptQueue {
    /// Appends a text to the queue.
    pub(crate) fn enqueue(
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

    /// Removes the oldest text and returns it if it is a person's.
    pub(crate) fn pop(&mut self, pins: &mut PinnedLines) -> Option<String> {
        let (text, pin) = self.0.pop_front()?.prompt?;
        pins.release(&pin);
        Some(text)
    }

    /// Removes a text that was delivered with a record of its own.
    pub(crate) fn remove_delivered(&mut self, text: &str, pins: &mut PinnedLines) {
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

    pub(crate) fn clear(&mut self, pins: &mut PinnedLines) {
        while !self.0.is_empty() {
            self.pop(pins);
        }
    }
}
