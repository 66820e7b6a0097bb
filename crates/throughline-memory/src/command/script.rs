//! Splits a shell script into simple commands, words and here-documents.

/// A shell script as simple commands, with the here-documents between them.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Vec<ShellWord>>,
    pub(super) here_documents: Vec<String>,
}

#[derive(Debug)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Set if the word is the target of a redirection.
    pub(super) redirect: Option<Redirect>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    In,
    Out,
}

impl Script {
    pub(super) fn parse(text: &str) -> Self {
        let mut reader = ScriptReader::default();
        reader.read(text);
        reader.end_command();
        reader.script
    }
}

#[derive(Default)]
struct ScriptReader {
    script: Script,
    words: Vec<ShellWord>,
    word: String,
    /// The current word started with a quote, so it counts even if it is empty.
    is_quoted: bool,
    redirect: Option<Redirect>,
    /// The delimiters of here-documents that start after the current line.
    delimiters: Vec<String>,
    delimiter_is_next: bool,
}

impl ScriptReader {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\'' | '"' => {
                    self.is_quoted = true;
                    let (inner, after) = read_quoted(rest, c);
                    self.word.push_str(&inner);
                    rest = after;
                }
                '\\' => rest = self.read_escape(rest),
                '#' if self.word.is_empty() && !self.is_quoted => {
                    rest = rest.find('\n').map_or("", |end| &rest[end..]);
                }
                '\n' => {
                    self.end_command();
                    rest = self.read_here_documents(rest);
                }
                ';' | '|' | '(' | ')' | '`' => self.end_command(),
                '&' => {
                    // `2>&1` and `&>file` are redirections.
                    if self.redirect.is_some() && self.word.is_empty() {
                        self.word.push('&');
                    } else if rest.starts_with('>') {
                        self.end_word();
                    } else {
                        self.end_command();
                    }
                }
                '<' | '>' => rest = self.read_redirection(c, rest),
                c if c.is_whitespace() => self.end_word(),
                c => self.word.push(c),
            }
        }
    }

    /// Reads the character after a backslash, and returns the text after it.
    fn read_escape<'t>(&mut self, rest: &'t str) -> &'t str {
        let Some(next) = rest.chars().next() else {
            return rest;
        };
        if next != '\n' {
            // A Windows path keeps its backslash.
            if next.is_ascii_alphanumeric() {
                self.word.push('\\');
            }
            self.word.push(next);
        }
        &rest[next.len_utf8()..]
    }

    /// Reads the rest of a redirection operator, and returns the text after it.
    fn read_redirection<'t>(&mut self, operator: char, rest: &'t str) -> &'t str {
        // The number of a file descriptor is not an argument.
        if self.word.chars().all(|c| c.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
        if operator == '<' {
            if let Some(rest) = rest.strip_prefix("<<") {
                return rest;
            }
            if let Some(rest) = rest.strip_prefix('<') {
                self.delimiter_is_next = true;
                return rest.strip_prefix('-').unwrap_or(rest);
            }
            self.redirect = Some(Redirect::In);
            return rest;
        }
        self.redirect = Some(Redirect::Out);
        let rest = rest.strip_prefix('>').unwrap_or(rest);
        rest.strip_prefix('|').unwrap_or(rest)
    }

    fn end_word(&mut self) {
        if self.word.is_empty() && !self.is_quoted {
            return;
        }
        let text = std::mem::take(&mut self.word);
        self.is_quoted = false;
        if std::mem::take(&mut self.delimiter_is_next) {
            self.delimiters.push(text);
            return;
        }
        let redirect = self.redirect.take();
        let is_descriptor = redirect.is_some() && text.starts_with('&');
        if !is_descriptor {
            self.words.push(ShellWord { text, redirect });
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirect = None;
        if !self.words.is_empty() {
            self.script.commands.push(std::mem::take(&mut self.words));
        }
    }

    /// Reads the here-documents that start at this line, and returns the text after them.
    fn read_here_documents<'t>(&mut self, text: &'t str) -> &'t str {
        let mut rest = text;
        for delimiter in std::mem::take(&mut self.delimiters) {
            let mut end = 0;
            let mut after = rest.len();
            for line in rest.split_inclusive('\n') {
                if line.trim() == delimiter {
                    after = end + line.len();
                    break;
                }
                end += line.len();
            }
            self.script.here_documents.push(rest[..end].to_owned());
            rest = &rest[after..];
        }
        rest
    }
}

/// Reads a quoted string whose opening quote is already consumed. Returns its content and the text
/// after the closing quote.
pub(super) fn read_quoted(text: &str, quote: char) -> (String, &str) {
    let mut inner = String::new();
    let mut characters = text.char_indices();
    while let Some((index, c)) = characters.next() {
        match c {
            c if c == quote => return (inner, &text[index + 1..]),
            '\\' if quote == '"' => match characters.next() {
                Some((_, next @ ('"' | '\\' | '$' | '`'))) => inner.push(next),
                Some((_, next)) => inner.extend(['\\', next]),
                None => {}
            },
            c => inner.push(c),
        }
    }
    (inner, "")
}
