//! Histories of prompts: what is left of sessions whose logs were deleted before we came.
//!
//! An agent that keeps what was typed, to offer it again, keeps it longer than its logs. A prompt
//! is taken from there only when no log can tell it: a log names it by its place in the
//! conversation, which a history does not know, so the two could not be told to be the same. Since
//! a history may be written before the log, what is younger than [`UNDECIDED`] waits.

use jiff::{SignedDuration, Timestamp};
use memory::{
    Block, Entry, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Title,
    TitleRank,
};

use crate::{Line, Parsed, Reader, Resume, Source, lines};

/// A session that still has no log after this long never will have one.
const UNDECIDED: SignedDuration = SignedDuration::from_hours(24);

/// What a session is called of which only the prompts are known.
const TITLE: &str = "recovered prompts";

/// A line of a history.
#[derive(Debug)]
pub struct Prompt {
    pub at: Timestamp,
    /// The agent's own id of the session, or one that we made.
    pub session: String,
    pub cwd: Option<String>,
    pub text: String,
    /// A log tells it.
    pub told: bool,
}

/// Reads the lines of one agent's history.
pub trait Prompts: Send {
    fn prompt(&mut self, object: &str) -> serde_json::Result<Option<Prompt>>;
}

/// Reads a history.
pub struct History<P> {
    flavor: Flavor,
    prompts: P,
    decided_before: Option<Timestamp>,
    /// The first prompt that is too young.
    waiting: Option<Resume>,
}

impl<P: Prompts> History<P> {
    pub fn new(source: &Source, prompts: P) -> Self {
        let written = std::fs::metadata(&source.path).and_then(|file| file.modified());
        let written = written.ok().and_then(|time| Timestamp::try_from(time).ok());
        Self {
            flavor: source.flavor,
            prompts,
            decided_before: written.and_then(|at| at.checked_sub(UNDECIDED).ok()),
            waiting: None,
        }
    }

    fn recover(&self, line: Line<'_>, prompt: Prompt, out: &mut Parsed) {
        let session = SessionId::of(self.flavor, &prompt.session);
        let title = Title {
            text: TITLE.to_owned(),
            rank: TitleRank::FirstPrompt,
        };
        out.push(Entry::Session(SessionPatch {
            title: Some(title),
            cwd: prompt.cwd.clone(),
            started: Some(prompt.at),
            ended: Some(prompt.at),
            ..SessionPatch::new(session.clone(), self.flavor)
        }));
        let hash = blake3::hash(prompt.text.as_bytes()).to_hex();
        let millis = prompt.at.as_millisecond();
        let id = format!("{}{millis}/{}", MessageId::HISTORY, &hash[..12]);
        out.push(Entry::Message(Message {
            at: Some(prompt.at),
            blocks: vec![Block::Text(prompt.text)],
            cwd: prompt.cwd,
            line: line.number,
            ..Message::new(MessageId::new(id), session, Role::User, Origin::Human)
        }));
    }
}

impl<P: Prompts> Reader for History<P> {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        if self.waiting.is_some() {
            return;
        }
        lines::objects(line, out, |object, out| {
            let Some(prompt) = self.prompts.prompt(object)? else {
                return Ok(());
            };
            if self.decided_before.is_none_or(|before| prompt.at >= before) {
                self.waiting = Some(Resume {
                    line: line.number,
                    offset: line.offset,
                    state: self.state(),
                });
            } else if !prompt.told && !is_key_press(&prompt.text) {
                self.recover(line, prompt, out);
            }
            Ok(())
        });
    }

    fn state(&self) -> String {
        "{}".to_owned()
    }

    fn resume(&self) -> Option<Resume> {
        self.waiting.clone()
    }
}

/// Says whether it is a command without words, such as `/clear`.
fn is_key_press(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || (text.starts_with('/') && !text.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    struct Every;

    impl Prompts for Every {
        fn prompt(&mut self, object: &str) -> serde_json::Result<Option<Prompt>> {
            let value: serde_json::Value = serde_json::from_str(object)?;
            Ok(Some(Prompt {
                at: Timestamp::from_second(value["at"].as_i64().unwrap()).unwrap(),
                session: "s".into(),
                cwd: None,
                text: "words".into(),
                told: false,
            }))
        }
    }

    /// What was typed just now may yet be told by a log; it is looked at again.
    #[test]
    fn young_prompts_wait() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = Source {
            flavor: Flavor::Codex,
            path: file.path().to_owned(),
            format: Format::Lines,
        };
        let mut history = History::new(&source, Every);
        let mut out = Parsed::default();
        let written = file.as_file().metadata().unwrap().modified().unwrap();
        let young = Timestamp::try_from(written).unwrap().as_second();
        let mut offset = 0;
        for (number, at) in [(1, 1_767_603_600), (2, young), (3, young)] {
            let text = format!("{{\"at\":{at}}}\n");
            let line = Line {
                text: &text,
                number,
                offset,
            };
            history.line(line, &mut out);
            offset += text.len() as u64;
        }
        assert_eq!(out.entries.len(), 2, "a session and a message");
        let resume = history.resume().unwrap();
        assert_eq!((resume.line, resume.offset), (2, 18));
    }
}
