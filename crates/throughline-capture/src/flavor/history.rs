//! Recovers prompts from agents' histories: what is left of sessions whose logs were deleted before
//! the first sweep.
//!
//! An agent keeps its history of prompts longer than its logs. A prompt is taken from the history
//! only if no log contains it: a log derives a message's id from its position in the conversation,
//! which a history does not have, so the two could not be recognised as the same. A history may be
//! written before the log; therefore prompts younger than [`SETTLE_TIME`] wait for a later sweep.

use jiff::{SignedDuration, Timestamp};
use memory::{
    Block, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Title, TitleRank,
};

use crate::{InputLine, LogReader, ParseOutput, ResumePoint, Source, lines};

/// A session without a log after this time will never have one.
const SETTLE_TIME: SignedDuration = SignedDuration::from_hours(24);

/// The title of a session of which only prompts are known.
const RECOVERED_TITLE: &str = "recovered prompts";

/// A prompt in a history.
#[derive(Debug)]
pub(crate) struct HistoryPrompt {
    pub at: Timestamp,
    /// The agent's own id of the session, or a generated one.
    pub session: String,
    pub cwd: Option<String>,
    pub text: String,
    /// A log contains the prompt.
    pub is_in_log: bool,
}

/// The format of one agent's history.
pub(crate) trait HistoryFormat: Send {
    fn parse_prompt(&mut self, object: &str) -> serde_json::Result<Option<HistoryPrompt>>;
}

/// Reads a history of prompts.
pub(crate) struct HistoryReader<P> {
    flavor: Flavor,
    format: P,
    settled_before: Option<Timestamp>,
    /// The position of the first prompt that is too young.
    resume_at: Option<ResumePoint>,
}

impl<P: HistoryFormat> HistoryReader<P> {
    pub(crate) fn new(source: &Source, format: P) -> Self {
        let written = std::fs::metadata(&source.path).and_then(|file| file.modified());
        let written = written.ok().and_then(|time| Timestamp::try_from(time).ok());
        Self {
            flavor: source.flavor,
            format,
            settled_before: written.and_then(|at| at.checked_sub(SETTLE_TIME).ok()),
            resume_at: None,
        }
    }

    fn emit_prompt(&self, line: InputLine<'_>, prompt: HistoryPrompt, out: &mut ParseOutput) {
        let session = SessionId::of(self.flavor, &prompt.session);
        let title = Title::new(RECOVERED_TITLE, TitleRank::FirstPrompt);
        out.push(SessionPatch {
            title: Some(title),
            cwd: prompt.cwd.clone(),
            started: Some(prompt.at),
            ended: Some(prompt.at),
            ..SessionPatch::new(session.clone(), self.flavor)
        });
        let hash = blake3::hash(prompt.text.as_bytes()).to_hex();
        let millis = prompt.at.as_millisecond();
        let id = format!("{}{millis}/{}", MessageId::HISTORY_PREFIX, &hash[..12]);
        out.push(Message {
            at: Some(prompt.at),
            blocks: vec![Block::Text(prompt.text)],
            cwd: prompt.cwd,
            line: line.number,
            ..Message::new(MessageId::new(id), session, Role::User, Origin::Human)
        });
    }
}

impl<P: HistoryFormat> LogReader for HistoryReader<P> {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        if self.resume_at.is_some() {
            return;
        }
        lines::for_each_object(line, out, |object, out| {
            let Some(prompt) = self.format.parse_prompt(object)? else {
                return Ok(());
            };
            if self.settled_before.is_none_or(|before| prompt.at >= before) {
                self.resume_at = Some(ResumePoint {
                    line: line.number,
                    offset: line.offset,
                    state: self.state(),
                });
            } else if !prompt.is_in_log && !is_bare_command(&prompt.text) {
                self.emit_prompt(line, prompt, out);
            }
            Ok(())
        });
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        self.resume_at.clone()
    }
}

/// Says whether a text is a command without arguments, such as `/clear`.
fn is_bare_command(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || (text.starts_with('/') && !text.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceFormat;

    struct Every;

    impl HistoryFormat for Every {
        fn parse_prompt(&mut self, object: &str) -> serde_json::Result<Option<HistoryPrompt>> {
            let value: serde_json::Value = serde_json::from_str(object)?;
            Ok(Some(HistoryPrompt {
                at: Timestamp::from_second(value["at"].as_i64().unwrap()).unwrap(),
                session: "s".into(),
                cwd: None,
                text: "words".into(),
                is_in_log: false,
            }))
        }
    }

    /// A prompt that was typed just now may still appear in a log, so it is read again later.
    #[test]
    fn young_prompts_wait() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = Source {
            flavor: Flavor::Codex,
            path: file.path().to_owned(),
            format: SourceFormat::Lines,
        };
        let mut history = HistoryReader::new(&source, Every);
        let mut out = ParseOutput::default();
        let written = file.as_file().metadata().unwrap().modified().unwrap();
        let young = Timestamp::try_from(written).unwrap().as_second();
        let mut offset = 0;
        for (number, at) in [(1, 1_767_603_600), (2, young), (3, young)] {
            let text = format!("{{\"at\":{at}}}\n");
            let line = InputLine {
                text: &text,
                number,
                offset,
            };
            history.read_line(line, &mut out);
            offset += text.len() as u64;
        }
        assert_eq!(out.entries.len(), 2, "a session and a message");
        let resume = history.resume_point().unwrap();
        assert_eq!((resume.line, resume.offset), (2, 18));
    }
}
