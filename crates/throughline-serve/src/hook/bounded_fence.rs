//! A fenced text that is filled part by part within limits of characters and tokens.

use capture::hook::ContextLimit;
use memory::{Tokens, fence, tokens};

/// Collects the parts of a fenced text.
#[derive(Debug)]
pub(super) struct BoundedFence {
    fence_id: String,
    chars_max: usize,
    tokens_max: Tokens,
    limit: ContextLimit,
    body: String,
    is_empty: bool,
}

impl BoundedFence {
    /// Starts with a heading. A text with nothing else is empty.
    pub(super) fn new(
        fence_id: &str,
        head: &str,
        limit: ContextLimit,
        tokens_max: Tokens,
        chars_max: usize,
    ) -> Self {
        Self {
            fence_id: fence_id.to_owned(),
            chars_max,
            tokens_max,
            limit,
            body: head.to_owned(),
            is_empty: true,
        }
    }

    /// Adds a line of our own if it fits. Names in it are made harmless.
    pub(super) fn add_line(&mut self, text: &str) -> bool {
        let line = fence::quote_line(text, &self.fence_id);
        self.push_if_fits(&line)
    }

    /// Adds quoted text under a line of our own: both, or neither.
    pub(super) fn add_quoted(&mut self, head: &str, text: &str) -> bool {
        let head = fence::quote_line(head, &self.fence_id);
        let quoted = fence::quote_lines(text, &self.fence_id);
        if quoted.is_empty() {
            return self.push_if_fits(&head);
        }
        self.push_if_fits(&format!("{head}\n{quoted}"))
    }

    /// Returns the current length in characters.
    pub(super) fn char_count(&self) -> usize {
        self.body.chars().count()
    }

    fn push_if_fits(&mut self, part: &str) -> bool {
        let before = self.body.len();
        self.body.push('\n');
        self.body.push_str(part);
        let fits = self.fits();
        if fits {
            self.is_empty = false;
        } else {
            self.body.truncate(before);
        }
        fits
    }

    fn fits(&self) -> bool {
        let text = fence::enclose_with_id(&self.fence_id, &self.body);
        text.chars().count() <= self.chars_max
            && tokens::estimate(&text) <= self.tokens_max
            && self.limit.fits(&text)
    }

    /// Returns the fenced text, or `None` if nothing was added.
    pub(super) fn finish(self) -> Option<String> {
        (!self.is_empty).then(|| fence::enclose_with_id(&self.fence_id, &self.body))
    }
}

/// Returns at most `chars_max` characters of a text, with an ellipsis if it was cut.
pub(super) fn truncate_chars(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
