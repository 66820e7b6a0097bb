//! A line of text that is typed.

/// A line of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextInput {
    pub(super) text: String,
    /// In bytes, at the boundary of a character.
    pub(super) cursor: usize,
}

impl TextInput {
    pub(super) fn insert(&mut self, text: &str) {
        // A pasted text may have lines; a query has one.
        let line: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.text.insert_str(self.cursor, &line);
        self.cursor += line.len();
    }

    /// Deletes the character before the cursor, with the marks that combine with it.
    pub(super) fn backspace(&mut self) {
        let start = self.previous();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub(super) fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let start = before.rfind(' ').map_or(0, |space| space + 1);
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub(super) fn right(&mut self) {
        let mut rest = self.text[self.cursor..].char_indices();
        rest.next();
        let next = rest.find(|(_, c)| !is_combining(*c));
        self.cursor = next.map_or(self.text.len(), |(at, _)| self.cursor + at);
    }

    fn previous(&self) -> usize {
        let before = self.text[..self.cursor].char_indices().rev();
        let mut before = before.skip_while(|(_, c)| is_combining(*c));
        before.next().map_or(0, |(at, _)| at)
    }
}

fn is_combining(c: char) -> bool {
    unicode_width::UnicodeWidthChar::width(c) == Some(0)
}
