//! Reads the user's answers: single keys in a terminal, lines elsewhere.

use std::io::{Lines, StdinLock, Write};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::commands::App;

/// One answer: a key, and the text that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CurateAnswer {
    pub(super) key: char,
    /// The reason of a decision, or the new text for the agents.
    pub(super) text: Option<String>,
}

/// Where answers come from.
pub(super) struct AnswerReader {
    lines: Lines<StdinLock<'static>>,
    is_terminal: bool,
}

impl AnswerReader {
    pub(super) fn new(app: &App<'_>) -> Self {
        Self {
            lines: std::io::stdin().lines(),
            is_terminal: app.environment.stdin_is_terminal && !app.environment.terminal_is_dumb,
        }
    }

    /// Asks, and returns the answer, or `None` at the end of the input.
    pub(super) fn next_answer(&mut self, question: &str) -> std::io::Result<Option<CurateAnswer>> {
        if !self.is_terminal {
            say!("{question}");
            let line = self.lines.next().transpose()?;
            return Ok(line.map(|line| parse_line(&line)));
        }
        let Some(key) = read_key(question)? else {
            return Ok(None);
        };
        let detail = match key {
            'r' | 'd' => "Reason (Enter for none):",
            't' => "Text for the agents (Enter keeps it):",
            _ => return Ok(Some(CurateAnswer { key, text: None })),
        };
        say!("{detail}");
        let line = self.lines.next().transpose()?.unwrap_or_default();
        let text = Some(line.trim().to_owned()).filter(|text| !text.is_empty());
        Ok(Some(CurateAnswer { key, text }))
    }
}

/// Splits a line into its key and the text after it. An empty line has no key.
fn parse_line(line: &str) -> CurateAnswer {
    let mut chars = line.trim().chars();
    let key = chars.next().unwrap_or(' ');
    let text = chars.as_str().trim();
    CurateAnswer {
        key,
        text: (!text.is_empty()).then(|| text.to_owned()),
    }
}

/// Asks for a key, without Enter. Ctrl-C and Ctrl-D end the input.
fn read_key(question: &str) -> std::io::Result<Option<char>> {
    // A key that is pressed as soon as the question appears must not be taken as part of a line.
    enable_raw_mode()?;
    say!("{question}");
    let key = loop {
        match crossterm::event::read() {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => match pressed(key) {
                CurateKey::Char(char) => break Ok(Some(char)),
                CurateKey::End => break Ok(None),
                CurateKey::Other => {}
            },
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    disable_raw_mode()?;
    // In raw mode the line break of the question left the cursor in its column.
    std::io::stderr().write_all(b"\r")?;
    key
}

enum CurateKey {
    Char(char),
    End,
    Other,
}

fn pressed(key: KeyEvent) -> CurateKey {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if control => CurateKey::End,
        KeyCode::Char(char) if !control => CurateKey::Char(char.to_ascii_lowercase()),
        KeyCode::Esc => CurateKey::Char('q'),
        _ => CurateKey::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_key_and_a_text() {
        let answer = |key, text: Option<&str>| CurateAnswer {
            key,
            text: text.map(str::to_owned),
        };
        assert_eq!(
            parse_line("r wrong tool\n"),
            answer('r', Some("wrong tool"))
        );
        assert_eq!(parse_line(" a "), answer('a', None));
        assert_eq!(parse_line(""), answer(' ', None));
        assert_eq!(parse_line("é x"), answer('é', Some("x")));
    }
}
