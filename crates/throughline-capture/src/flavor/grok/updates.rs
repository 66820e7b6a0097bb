//! Reads `updates.jsonl`: the log of a session, as notifications of the agent protocol.
//!
//! Messages arrive in chunks. A message is emitted only when it is complete, and nothing else
//! changes the state while one is pending. So the state at the end of the input is also the state
//! at the pending message's first chunk, where the next reader starts.

use memory::{ApiId, LogEntry, TitleRank};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::discover::GrokLocation;
use super::pending_message::{GrokPosition, GrokSpeaker, PendingMessage};
use super::session::{GrokSession, session_id};
use super::wire::{self, Chunk, Kind, Meta, TurnCompleted};
use super::{notices, summary, usage};
use crate::adapter::{load_state, save_state};
use crate::time::Time;
use crate::{InputLine, LogReader, ParseOutput, ResumePoint, lines};

#[derive(Debug)]
pub(crate) struct GrokLogReader {
    session: GrokSession,
    pending: Option<PendingMessage>,
}

impl GrokLogReader {
    pub(crate) fn new(location: GrokLocation, state: Option<&str>) -> Self {
        Self {
            session: GrokSession {
                location,
                state: load_state(state),
            },
            pending: None,
        }
    }

    /// Reads a line. It parses everything before it changes the state, because a line that fails to
    /// parse is repaired and read again.
    fn read_update(
        &mut self,
        line: InputLine<'_>,
        text: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let envelope: wire::Line<'_> = serde_json::from_str(text)?;
        let (timestamp, method) = (envelope.timestamp, envelope.method.clone());
        let notification = envelope.notification();
        let Some(update) = notification.update else {
            out.count_unknown(&format!("method/{}", method.as_deref().unwrap_or_default()));
            return Ok(());
        };
        let meta = notification.meta.unwrap_or_default();
        if meta.is_replay == Some(true) {
            return Ok(());
        }
        let session = notification.session.as_deref();
        let position = self.position(session, &meta, timestamp, line);
        let Kind { kind } = read(update)?;
        match &*kind {
            "user_message_chunk" => {
                self.add_chunk(GrokSpeaker::User, &read(update)?, position, out);
            }
            "agent_message_chunk" => {
                self.add_chunk(GrokSpeaker::Assistant, &read(update)?, position, out);
            }
            "agent_thought_chunk" => {
                self.add_chunk(GrokSpeaker::Thought, &read(update)?, position, out);
            }
            "tool_call" => {
                let tool = read(update)?;
                self.flush(out);
                self.session.read_call(&tool, &position, out);
            }
            "tool_call_update" => {
                let tool = read(update)?;
                if self.session.is_news(&tool) {
                    self.flush(out);
                    self.session.read_call_update(&tool, &position, out);
                }
            }
            "turn_completed" => self.read_turn_end(&read(update)?, &position, out)?,
            "subagent_spawned" => {
                let patch = summary::subagent_patch(&read(update)?);
                self.flush(out);
                out.entries.extend(patch.map(LogEntry::Session));
            }
            kind if notices::NOTICE_KINDS.contains(&kind) => {
                let news = read(update)?;
                let rank = match meta.title_is_manual {
                    Some(true) => TitleRank::Custom,
                    _ => TitleRank::Generated,
                };
                self.flush(out);
                self.session.read_notice(kind, &news, rank, &position, out);
            }
            kind if notices::IGNORED_KINDS.contains(&kind) => {}
            kind => out.count_unknown(&format!("update/{kind}")),
        }
        Ok(())
    }

    fn position(
        &self,
        session: Option<&str>,
        meta: &Meta<'_>,
        time: Time,
        line: InputLine<'_>,
    ) -> GrokPosition {
        let at = meta.agent_timestamp_ms.0.or(time.0);
        GrokPosition {
            session: session.unwrap_or(&self.session.location.session).to_owned(),
            // The counter in an event id starts over when a session is resumed, so the id alone is
            // not unique.
            id: (meta.event_id.as_deref().zip(at))
                .map(|(id, at)| format!("{id}@{}", at.as_millisecond())),
            api_id: (meta.prompt_id.as_deref().zip(meta.stream_start_ms))
                .map(|(prompt, start)| ApiId::new(format!("{prompt}/{start}"))),
            at,
            line: line.number,
            offset: line.offset,
        }
    }

    fn add_chunk(
        &mut self,
        speaker: GrokSpeaker,
        chunk: &Chunk<'_>,
        position: GrokPosition,
        out: &mut ParseOutput,
    ) {
        match &mut self.pending {
            Some(pending) if pending.accepts(speaker, chunk, &position) => {
                pending.add(speaker, chunk);
            }
            _ => {
                self.flush(out);
                self.pending = Some(PendingMessage::new(speaker, chunk, position));
            }
        }
    }

    fn read_turn_end(
        &mut self,
        turn: &TurnCompleted<'_>,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let prompt = turn.prompt_id.as_deref().or(position.id.as_deref());
        let usage = match turn.usage {
            Some(usage) => usage::entries(
                &session_id(position),
                prompt.unwrap_or_default(),
                position.at,
                usage,
            )?,
            None => Vec::new(),
        };
        self.flush(out);
        let reason = turn.agent_result.as_deref();
        match turn.stop_reason.as_deref() {
            Some("refusal") => self
                .session
                .emit_error(reason.or(Some("refusal")), position, out),
            Some("error" | "failed") => self.session.emit_error(reason, position, out),
            _ => {}
        }
        if !usage.is_empty() {
            self.session.emit_session_changes(position, None, out);
        }
        out.entries.extend(usage.into_iter().map(LogEntry::Usage));
        Ok(())
    }

    /// Emits the pending message, which is complete now.
    fn flush(&mut self, out: &mut ParseOutput) {
        if let Some(pending) = self.pending.take() {
            self.session.emit_pending(pending, out);
        }
    }
}

impl LogReader for GrokLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| self.read_update(line, text, out));
    }

    fn finish(&mut self, settled: bool, out: &mut ParseOutput) {
        if settled {
            self.flush(out);
        }
    }

    fn state(&self) -> String {
        save_state(&self.session.state)
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        let pending = self.pending.as_ref()?;
        Some(ResumePoint {
            line: pending.position.line,
            offset: pending.position.offset,
            state: self.state(),
        })
    }
}

fn read<'a, T: Deserialize<'a>>(update: &'a RawValue) -> serde_json::Result<T> {
    serde_json::from_str(update.get())
}
