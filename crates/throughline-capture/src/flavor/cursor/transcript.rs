//! Reads `agent-transcripts/<id>/<id>.jsonl`, which the agent's CLI writes without times and with
//! few ids and results.

use std::collections::VecDeque;

use memory::{
    Block, CallId, Flavor, IdChain, Message, Origin, Role, SessionId, SessionKind, SessionPatch,
    TitleRank,
};
use serde::{Deserialize, Serialize};

use super::discover::CursorLocation;
use super::wire;
use crate::adapter::save_state;
use crate::calls::OpenCalls;
use crate::flavor::anthropic::ContentBlock;
use crate::json::Lenient;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct CursorTranscriptReader {
    location: CursorLocation,
    session: SessionId,
    state: CursorTranscriptState,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CursorTranscriptState {
    chain: IdChain,
    calls: OpenCalls,
    /// The calls of the last answer without an id and a result.
    nameless: VecDeque<CallId>,
    introduced: bool,
    titled: bool,
}

impl CursorTranscriptReader {
    pub(crate) fn new(location: CursorLocation, state: Option<&str>) -> Self {
        let session = SessionId::of(Flavor::Cursor, &location.session);
        let state = state.and_then(|state| serde_json::from_str(state).ok());
        let state = state.unwrap_or_else(|| {
            let mut state = CursorTranscriptState::default();
            // Without times and ids, the same words in two sessions would get the same id.
            state.chain.link(&[session.as_str()]);
            state
        });
        Self {
            location,
            session,
            state,
        }
    }
}

impl LogReader for CursorTranscriptReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        let number = line.number;
        lines::for_each_object(line, out, |text, out| {
            let entry: wire::Line<'_> = serde_json::from_str(text)?;
            match entry.role.text() {
                Some("user") => self.emit_message(entry, Role::User, number, out),
                Some("assistant") => self.emit_message(entry, Role::Assistant, number, out),
                Some(role) => out.count_unknown(&format!("role/{role}")),
                None if entry.kind.is("turn_ended") => {}
                None => {
                    out.count_unknown(&format!("line/{}", entry.kind.text().unwrap_or_default()));
                }
            }
            Ok(())
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}

impl CursorTranscriptReader {
    fn emit_message(
        &mut self,
        entry: wire::Line<'_>,
        role: Role,
        number: u64,
        out: &mut ParseOutput,
    ) {
        self.emit_session(out);
        let pieces = entry
            .message
            .0
            .and_then(|spoken| spoken.content.0)
            .unwrap_or_default();
        let name = if role == Role::User {
            "user"
        } else {
            "assistant"
        };
        let gist: Vec<String> = pieces.iter().map(piece_key).collect();
        let parts: Vec<_> = std::iter::once(name)
            .chain(gist.iter().map(String::as_str))
            .collect();
        let id = self.state.chain.link(&parts);
        if role == Role::Assistant {
            self.state.nameless.clear();
        }
        let mut origin = match role {
            Role::User if self.location.parent.is_none() => Origin::Human,
            _ => Origin::Model,
        };
        let mut blocks = Vec::new();
        for (index, mut piece) in pieces.into_iter().filter_map(|piece| piece.0).enumerate() {
            match piece.kind.text().unwrap_or_default() {
                "text" if role == Role::User => {
                    match typed_prompt(piece.text.text().unwrap_or_default()) {
                        Some(text) => blocks.push(Block::Text(text.to_owned())),
                        None => origin = Origin::Harness,
                    }
                }
                "text" => blocks.extend(piece.text.into_text().map(Block::Text)),
                "thinking" => blocks.extend(piece.thinking.into_text().map(Block::Thinking)),
                "tool_use" | "tool_call" => {
                    let call_id = std::mem::take(&mut piece.id).into_text().map(CallId::new);
                    let call = call_id
                        .clone()
                        .unwrap_or_else(|| CallId::new(format!("{id}/{index}")));
                    if call_id.is_none() {
                        self.state.nameless.push_back(call.clone());
                    }
                    let mut call = piece.into_tool_use(call, "{}");
                    self.state.calls.open(&mut call);
                    blocks.push(Block::ToolUse(call));
                }
                "tool_result" | "tool-result" => {
                    origin = Origin::Tool;
                    let call_id = std::mem::take(&mut piece.tool_use_id).into_text();
                    let call = self.state.nameless.pop_front().or(call_id.map(CallId::new));
                    let content = piece
                        .content
                        .map_or_else(String::new, |raw| result_text(raw.get()));
                    let mut result = piece.into_tool_result(call, content);
                    self.state.calls.close(&mut result);
                    blocks.push(Block::ToolResult(result));
                }
                other => out.count_unknown(&format!("content/{other}")),
            }
        }
        if let (Origin::Human, false, Some(Block::Text(text))) =
            (origin, self.state.titled, blocks.first())
        {
            self.state.titled = true;
            out.push(
                SessionPatch::new(self.session.clone(), Flavor::Cursor)
                    .with_title(text.clone(), TitleRank::FirstPrompt),
            );
        }
        if !blocks.is_empty() {
            out.push(Message {
                blocks,
                model: entry.model.into_text(),
                cwd: self.location.cwd.clone(),
                line: number,
                ..Message::new(id, self.session.clone(), role, origin)
            });
        }
    }

    fn emit_session(&mut self, out: &mut ParseOutput) {
        if std::mem::replace(&mut self.state.introduced, true) {
            return;
        }
        let parent = self.location.parent.as_deref();
        let kind = if parent.is_some() {
            SessionKind::Subagent
        } else {
            SessionKind::Main
        };
        out.push(SessionPatch {
            kind: Some(kind),
            parent: parent.map(|parent| SessionId::of(Flavor::Cursor, parent)),
            cwd: self.location.cwd.clone(),
            ..SessionPatch::new(self.session.clone(), Flavor::Cursor)
        });
    }
}

/// Returns what the user typed in a prompt that Cursor wrapped; `None` if nothing.
fn typed_prompt(text: &str) -> Option<&str> {
    let typed = match text.split_once("<user_query>") {
        Some((_, rest)) => rest
            .split_once("</user_query>")
            .map_or(rest, |(typed, _)| typed),
        None if text.trim_start().starts_with("<system_reminder>") => return None,
        None => text,
    };
    Some(typed.trim()).filter(|typed| !typed.is_empty())
}

fn piece_key(piece: &Lenient<ContentBlock<'_>>) -> String {
    let Some(piece) = &piece.0 else {
        return String::new();
    };
    let raw = [piece.input, piece.content]
        .into_iter()
        .flatten()
        .map(serde_json::value::RawValue::get);
    let texts = [&piece.kind, &piece.text, &piece.thinking, &piece.name];
    let texts = texts.into_iter().filter_map(|text| text.text());
    texts.chain(raw).collect::<Vec<_>>().join("\u{1f}")
}

/// Returns the text of a result, which is a text or a list of blocks.
fn result_text(content: &str) -> String {
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return text;
    }
    let pieces: Vec<ContentBlock<'_>> = serde_json::from_str(content).unwrap_or_default();
    let texts = pieces.into_iter().filter_map(|piece| piece.text.0);
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_unwrapped() {
        assert_eq!(
            typed_prompt("<user_query>\nfix it\n</user_query>"),
            Some("fix it")
        );
        assert_eq!(
            typed_prompt("<context>x</context><user_query>go</user_query>"),
            Some("go")
        );
        assert_eq!(typed_prompt("plain words"), Some("plain words"));
        assert_eq!(
            typed_prompt("<system_reminder>be brief</system_reminder>"),
            None
        );
    }
}
