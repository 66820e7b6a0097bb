//! A text that is filled part by part, as far as its limits go.

use capture::hook::Limit;
use memory::{Tokens, fence, tokens};

/// What will be fenced.
#[derive(Debug)]
pub struct Page {
    word: String,
    chars: usize,
    tokens: Tokens,
    limit: Limit,
    body: String,
    is_bare: bool,
}

impl Page {
    /// Begins with a line that says what it is. A page with nothing else is no page.
    pub fn new(word: &str, head: &str, limit: Limit, tokens: Tokens, chars: usize) -> Self {
        Self {
            word: word.to_owned(),
            chars,
            tokens,
            limit,
            body: head.to_owned(),
            is_bare: true,
        }
    }

    /// Adds a line of our own words if there is room. Names in it are made harmless.
    pub fn line(&mut self, text: &str) -> bool {
        let line = fence::quote_line(text, &self.word);
        self.add(&line)
    }

    /// Adds the words of others under a line of ours: both or none.
    pub fn quoted(&mut self, head: &str, text: &str) -> bool {
        let head = fence::quote_line(head, &self.word);
        let quoted = fence::quote(text, &self.word);
        if quoted.is_empty() {
            return self.add(&head);
        }
        self.add(&format!("{head}\n{quoted}"))
    }

    /// Returns how much it holds, in characters.
    pub fn chars(&self) -> usize {
        self.body.chars().count()
    }

    fn add(&mut self, part: &str) -> bool {
        let before = self.body.len();
        self.body.push('\n');
        self.body.push_str(part);
        let fits = self.fits();
        if fits {
            self.is_bare = false;
        } else {
            self.body.truncate(before);
        }
        fits
    }

    fn fits(&self) -> bool {
        let text = fence::wrap(&self.word, &self.body);
        text.chars().count() <= self.chars
            && tokens::estimate(&text) <= self.tokens
            && self.limit.holds(&text)
    }

    /// Returns the fenced text, or nothing where nothing was added.
    pub fn finish(self) -> Option<String> {
        (!self.is_bare).then(|| fence::wrap(&self.word, &self.body))
    }
}

/// Returns at most so many characters of a text, with a sign where it was cut.
pub fn cut(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
