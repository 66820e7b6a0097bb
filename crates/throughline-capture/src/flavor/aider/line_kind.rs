//! Decides who wrote a line of the history.
//!
//! The lines of a prompt start with `#### `, those of Aider's output with `> `; all others are the
//! model's. A model writes headings and quotations too, but Aider ends its own lines and the
//! prompts with Markdown's hard break (two spaces) and starts a prompt after an empty line.

use serde::{Deserialize, Serialize};

/// The author of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum AiderSpeaker {
    User,
    Model,
    #[default]
    Aider,
}

/// The kind of a line, and its text without the leading mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AiderLine<'a> {
    /// The header of a run, with its local start time.
    RunStart(&'a str),
    Text(AiderSpeaker, &'a str),
    /// An empty line, which continues the current passage.
    Empty,
}

/// The properties of earlier lines on which the classification of a line depends.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LineClassifier {
    pub speaker: AiderSpeaker,
    /// The line before was empty.
    pub empty: bool,
    /// The lines of this run end in hard breaks; copies of a file may have lost them.
    breaks: bool,
    /// Aider's output continues over several lines, of which only the first has the mark.
    spread: bool,
}

impl LineClassifier {
    pub(crate) fn classify<'a>(&mut self, line: &'a str) -> AiderLine<'a> {
        let line = line.trim_end_matches(['\n', '\r']);
        let hard = line.ends_with("  ");
        let mark = self.classify_marked(line, hard);
        match mark {
            AiderLine::RunStart(_) => *self = Self::default(),
            AiderLine::Empty => self.empty = true,
            AiderLine::Text(speaker, _) => {
                self.breaks |= hard && speaker != AiderSpeaker::Model;
                self.spread = speaker == AiderSpeaker::Aider
                    && !hard
                    && (self.spread || (self.breaks && line.starts_with('>')));
                (self.speaker, self.empty) = (speaker, false);
            }
        }
        mark
    }

    fn classify_marked<'a>(&self, line: &'a str, hard: bool) -> AiderLine<'a> {
        if let Some(at) = run_start(line) {
            return AiderLine::RunStart(at);
        }
        if let Some(text) = strip_mark(line, "####")
            && self.is_prompt(hard)
        {
            return AiderLine::Text(AiderSpeaker::User, text);
        }
        if let Some(text) = strip_mark(line, ">")
            && self.is_output(text, hard)
        {
            return AiderLine::Text(AiderSpeaker::Aider, text);
        }
        if line.trim().is_empty() {
            return AiderLine::Empty;
        }
        if self.spread {
            return AiderLine::Text(AiderSpeaker::Aider, line.trim_end());
        }
        AiderLine::Text(AiderSpeaker::Model, line)
    }

    /// Says whether a line that starts like a prompt is one.
    fn is_prompt(&self, hard: bool) -> bool {
        if self.breaks || hard {
            hard && (self.empty || self.speaker == AiderSpeaker::User)
        } else {
            self.empty && self.speaker != AiderSpeaker::Model
        }
    }

    /// Says whether a line that starts like Aider's output is output.
    fn is_output(&self, text: &str, hard: bool) -> bool {
        let follows = self.speaker != AiderSpeaker::Model && !self.empty;
        hard || follows || HEADS.iter().any(|head| text.starts_with(head))
    }
}

/// The beginnings of Aider's output that may directly follow the model's text.
const HEADS: &[&str] = &[
    "Added ", "Applied edit to ", "Commit ", "Creating empty file ", "Did not apply edit to ",
    "Skipping edits to ", "Tokens: ",
];

/// Returns the start time if this line is the header of a run.
pub(crate) fn run_start(line: &str) -> Option<&str> {
    let at = line.strip_prefix("# aider chat started at ")?.trim_end();
    at.starts_with(|c: char| c.is_ascii_digit()).then_some(at)
}

/// Returns a line's text after its mark.
fn strip_mark<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let text = line.strip_prefix(mark)?;
    let text = match text.strip_prefix(' ') {
        Some(text) => text,
        None if text.trim().is_empty() => text,
        None => return None,
    };
    Some(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[(&str, char)]) {
        let mut marks = LineClassifier::default();
        for (line, expected) in lines {
            let found = match marks.classify(line) {
                AiderLine::RunStart(_) => 's',
                AiderLine::Empty => ' ',
                AiderLine::Text(AiderSpeaker::User, _) => 'u',
                AiderLine::Text(AiderSpeaker::Model, _) => 'm',
                AiderLine::Text(AiderSpeaker::Aider, _) => 'a',
            };
            assert_eq!(found, *expected, "{line:?} in {lines:?}");
        }
    }

    #[test]
    fn a_models_headings_and_quotations_are_its_own() {
        check(&[
            ("# aider chat started at 2024-08-05 19:33:02\n", 's'),
            ("> Aider v0.47.2  \n", 'a'),
            ("\n", ' '),
            ("#### do it  \n", 'u'),
            ("####   \n", 'u'),
            ("#### now  \n", 'u'),
            ("\n", ' '),
            ("> as you said\n", 'm'),
            ("\n", ' '),
            ("#### Step 1\n", 'm'),
            ("> Tokens: 5 sent, 6 received.  \n", 'a'),
        ]);
    }

    #[test]
    fn output_may_spread_over_lines() {
        check(&[
            ("> Applied edit to a.py  \n", 'a'),
            ("> Commit 7d56889 feat: it\n", 'a'),
            ("\n", ' '),
            ("The changes in this commit.  \n", 'a'),
            ("> You can use /undo.  \n", 'a'),
            ("\n", ' '),
            ("Done.\n", 'm'),
        ]);
    }

    #[test]
    fn copies_without_hard_breaks_are_read() {
        check(&[
            ("# aider chat started at 2026-06-09 14:01:00\n", 's'),
            ("\n", ' '),
            ("#### add a retry\n", 'u'),
            ("I will.\n", 'm'),
            ("\n", ' '),
            ("#### Step 1\n", 'm'),
            ("\n", ' '),
            ("> Applied edit to a.py\n", 'a'),
            ("> Something else\n", 'a'),
            ("\n", ' '),
            ("#### next\n", 'u'),
        ]);
    }
}
