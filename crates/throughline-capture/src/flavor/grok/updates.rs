//! `updates.jsonl`: the log of a session, as notifications of the agent protocol.
//!
//! Messages arrive in chunks. Nothing of a message is emitted before it is whole, and nothing
//! else is noted while one is pending: so the state at the end of the input is also the state at
//! the pending message's first chunk, where the next reader starts.

use memory::{ApiId, Entry, TitleRank};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::discover::Place;
use super::pending::{Mark, Pending, Speaker};
use super::session::{Session, id_of};
use super::wire::{self, Chunk, Kind, Meta, TurnCompleted};
use super::{news, summary, usage};
use crate::time::Time;
use crate::{Line, Parsed, Reader, Resume, lines};

#[derive(Debug)]
pub struct Updates {
    session: Session,
    pending: Option<Pending>,
}

impl Updates {
    pub fn new(place: Place, state: Option<&str>) -> Self {
        let state = state.and_then(|state| serde_json::from_str(state).ok());
        Self {
            session: Session {
                place,
                state: state.unwrap_or_default(),
            },
            pending: None,
        }
    }

    /// Reads a line. It parses all it needs before it changes anything, since a line that cannot
    /// be parsed is mended and read again.
    fn read(&mut self, line: Line<'_>, text: &str, out: &mut Parsed) -> serde_json::Result<()> {
        let envelope: wire::Line<'_> = serde_json::from_str(text)?;
        let (timestamp, method) = (envelope.timestamp, envelope.method.clone());
        let notification = envelope.notification();
        let Some(update) = notification.update else {
            out.unknown(&format!("method/{}", method.as_deref().unwrap_or_default()));
            return Ok(());
        };
        let meta = notification.meta.unwrap_or_default();
        if meta.is_replay == Some(true) {
            return Ok(());
        }
        let session = notification.session.as_deref();
        let mark = self.mark(session, &meta, timestamp, line);
        let Kind { kind } = read(update)?;
        match &*kind {
            "user_message_chunk" => self.chunk(Speaker::User, &read(update)?, mark, out),
            "agent_message_chunk" => self.chunk(Speaker::Assistant, &read(update)?, mark, out),
            "agent_thought_chunk" => self.chunk(Speaker::Thought, &read(update)?, mark, out),
            "tool_call" => {
                let tool = read(update)?;
                self.flush(out);
                self.session.call(&tool, &mark, out);
            }
            "tool_call_update" => {
                let tool = read(update)?;
                if self.session.concerns(&tool) {
                    self.flush(out);
                    self.session.call_update(&tool, &mark, out);
                }
            }
            "turn_completed" => self.turn_completed(&read(update)?, &mark, out)?,
            "subagent_spawned" => {
                let patch = summary::subagent(&read(update)?);
                self.flush(out);
                out.entries.extend(patch.map(Entry::Session));
            }
            kind if news::READ.contains(&kind) => {
                let news = read(update)?;
                let rank = match meta.title_is_manual {
                    Some(true) => TitleRank::Custom,
                    _ => TitleRank::Generated,
                };
                self.flush(out);
                self.session.news(kind, &news, rank, &mark, out);
            }
            kind if news::PASSED_OVER.contains(&kind) => {}
            kind => out.unknown(&format!("update/{kind}")),
        }
        Ok(())
    }

    fn mark(&self, session: Option<&str>, meta: &Meta<'_>, time: Time, line: Line<'_>) -> Mark {
        let at = meta.agent_timestamp_ms.0.or(time.0);
        Mark {
            session: session.unwrap_or(&self.session.place.session).to_owned(),
            // The number in an event's id starts anew when a session is resumed, so the id alone
            // would name two entries.
            id: (meta.event_id.as_deref().zip(at))
                .map(|(id, at)| format!("{id}@{}", at.as_millisecond())),
            api_id: (meta.prompt_id.as_deref().zip(meta.stream_start_ms))
                .map(|(prompt, start)| ApiId::new(format!("{prompt}/{start}"))),
            at,
            line: line.number,
            offset: line.offset,
        }
    }

    fn chunk(&mut self, speaker: Speaker, chunk: &Chunk<'_>, mark: Mark, out: &mut Parsed) {
        match &mut self.pending {
            Some(pending) if pending.takes(speaker, chunk, &mark) => pending.add(speaker, chunk),
            _ => {
                self.flush(out);
                self.pending = Some(Pending::new(speaker, chunk, mark));
            }
        }
    }

    fn turn_completed(
        &mut self,
        turn: &TurnCompleted<'_>,
        mark: &Mark,
        out: &mut Parsed,
    ) -> serde_json::Result<()> {
        let prompt = turn.prompt_id.as_deref().or(mark.id.as_deref());
        let usage = match turn.usage {
            Some(usage) => {
                usage::entries(&id_of(mark), prompt.unwrap_or_default(), mark.at, usage)?
            }
            None => Vec::new(),
        };
        self.flush(out);
        let said = turn.agent_result.as_deref();
        match turn.stop_reason.as_deref() {
            Some("refusal") => self.session.error(said.or(Some("refusal")), mark, out),
            Some("error" | "failed") => self.session.error(said, mark, out),
            _ => {}
        }
        if !usage.is_empty() {
            self.session.introduce(mark, None, out);
        }
        out.entries.extend(usage.into_iter().map(Entry::Usage));
        Ok(())
    }

    /// Emits the message that was being written: it is whole.
    fn flush(&mut self, out: &mut Parsed) {
        if let Some(pending) = self.pending.take() {
            self.session.tell(pending, out);
        }
    }
}

impl Reader for Updates {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        lines::objects(line, out, |text, out| self.read(line, text, out));
    }

    fn end(&mut self, settled: bool, out: &mut Parsed) {
        if settled {
            self.flush(out);
        }
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.session.state).unwrap_or_default()
    }

    fn resume(&self) -> Option<Resume> {
        let pending = self.pending.as_ref()?;
        Some(Resume {
            line: pending.mark.line,
            offset: pending.mark.offset,
            state: self.state(),
        })
    }
}

fn read<'a, T: Deserialize<'a>>(update: &'a RawValue) -> serde_json::Result<T> {
    serde_json::from_str(update.get())
}
