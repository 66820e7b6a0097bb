//! Turns a collected conversation into entries.

use std::collections::BTreeSet;

use memory::{
    Block, Flavor, IdChain, Message, MessageId, Origin, Role, SessionId, SessionKind, SessionPatch,
    Title, TitleRank, ToolResult, Usage, UsageEntry,
};

use super::conversation::{GeminiConversation, TurnEvent};
use super::discover::GeminiLocation;
use super::prompt;
use super::wire;
use crate::calls::OpenCalls;
use crate::{InputLine, LogReader, ParseOutput};

#[derive(Debug)]
pub(crate) struct GeminiReader {
    location: GeminiLocation,
}

impl GeminiReader {
    pub(crate) fn new(location: GeminiLocation) -> Self {
        Self { location }
    }
}

impl LogReader for GeminiReader {
    fn read_line(&mut self, document: InputLine<'_>, out: &mut ParseOutput) {
        if self.location.superseded {
            return;
        }
        let conversation = GeminiConversation::read(document, self.location.layout, out);
        GeminiEmitter::new(&self.location, &conversation).emit_all(&conversation, out);
    }
}

struct GeminiEmitter {
    patch: SessionPatch,
    is_subagent: bool,
    /// Calls that a message contains with their results; other mentions of them are copies.
    recorded: BTreeSet<String>,
    calls: OpenCalls,
    chain: IdChain,
    /// The last line number in use. Each message gets its own, so that messages on one physical
    /// line keep their order.
    line: u64,
}

impl GeminiEmitter {
    fn new(location: &GeminiLocation, conversation: &GeminiConversation) -> Self {
        let session = &conversation.session;
        let native = session.session_id.as_deref().unwrap_or(&location.session);
        let is_subagent = location.parent.is_some() || session.kind.as_deref() == Some("subagent");
        let messages = || conversation.turns.iter().filter_map(message);
        let named = || {
            let first = messages().find(|message| message.kind == "user")?;
            prompt::workspace(&first.content.spoken_text()).map(str::to_owned)
        };
        let calls = messages().flat_map(|message| &message.tool_calls);
        let summary = session
            .summary
            .clone()
            .filter(|summary| !summary.trim().is_empty());
        let patch = SessionPatch {
            kind: is_subagent.then_some(SessionKind::Subagent),
            title: summary.map(|text| Title::new(text, TitleRank::Generated)),
            cwd: location
                .cwd
                .clone()
                .or_else(named)
                .or_else(|| session.directories.first().cloned()),
            parent: location
                .parent
                .as_deref()
                .map(|parent| SessionId::of(Flavor::Gemini, parent)),
            model: messages()
                .filter_map(|message| message.model.clone())
                .next_back(),
            started: session.start_time.0,
            ended: session.last_updated.0,
            ..SessionPatch::new(SessionId::of(Flavor::Gemini, native), Flavor::Gemini)
        };
        Self {
            patch,
            is_subagent,
            recorded: calls.map(|call| call.id.clone()).collect(),
            calls: OpenCalls::default(),
            chain: IdChain::default(),
            line: 0,
        }
    }

    fn emit_all(&mut self, conversation: &GeminiConversation, out: &mut ParseOutput) {
        out.push(self.patch.clone());
        for turn in &conversation.turns {
            self.line = turn.line.max(self.line + 1);
            match &turn.event {
                TurnEvent::Rewind(id) => {
                    // The messages before the rewind stay; the note explains why the conversation
                    // starts over.
                    let id = self.chain.link(&["rewind", id, &turn.line.to_string()]);
                    let note = Block::Text("rewound to an earlier message".into());
                    self.emit_message(id, (Role::System, Origin::Harness), vec![note], None, out);
                }
                TurnEvent::Message(message) => self.read_message(message, out),
            }
        }
    }

    fn read_message(&mut self, message: &wire::Message, out: &mut ParseOutput) {
        let id = match &message.id {
            Some(id) => MessageId::new(id.as_str()),
            None => self
                .chain
                .link(&[&message.kind, &message.content.spoken_text()]),
        };
        match &*message.kind {
            "user" => self.emit_user(&id, message, out),
            "gemini" | "model" | "assistant" => self.emit_model(&id, message, out),
            "error" => {
                let error = vec![Block::Error(message.content.spoken_text())];
                self.emit_message(
                    id,
                    (Role::System, Origin::Harness),
                    error,
                    Some(message),
                    out,
                );
            }
            "info" | "warning" => {
                let note = vec![Block::Text(message.content.spoken_text())];
                self.emit_message(
                    id,
                    (Role::System, Origin::Harness),
                    note,
                    Some(message),
                    out,
                );
            }
            kind => out.count_unknown(&format!("message/{kind}")),
        }
    }

    fn emit_user(&mut self, id: &MessageId, message: &wire::Message, out: &mut ParseOutput) {
        let (blocks, mut origin) = prompt::read_prompt(message);
        if self.is_subagent {
            // The model that started the subagent wrote the prompt.
            origin = Origin::Harness;
        }
        if origin == Origin::Human
            && let Some(text) = prompt::title(&blocks)
        {
            self.emit_title(text, out);
        }
        if !blocks.is_empty() {
            self.emit_message(id.clone(), (Role::User, origin), blocks, Some(message), out);
        }
        for response in message.content.responses() {
            let call = response.id.as_deref().unwrap_or_default();
            if self.recorded.contains(call) {
                continue;
            }
            let answer = response.answer();
            let mut result = ToolResult {
                call: Some(memory::CallId::new(call)),
                tool: response.name.clone(),
                content: answer.text,
                is_error: answer.is_error,
                exit_code: answer.exit_code,
                ..ToolResult::default()
            };
            self.calls.close(&mut result);
            self.emit_result(id, result, message.timestamp.0, out);
        }
    }

    fn emit_model(&mut self, id: &MessageId, message: &wire::Message, out: &mut ParseOutput) {
        let thoughts = message
            .thoughts
            .iter()
            .filter_map(thought)
            .map(Block::Thinking);
        let mut blocks: Vec<Block> = thoughts.collect();
        let has_thoughts = !blocks.is_empty();
        let parts = message
            .content
            .0
            .iter()
            .filter(|part| !(part.thought && has_thoughts));
        blocks.extend(parts.filter_map(crate::flavor::gemini_content::GeminiPart::block));
        for part in &message.content.0 {
            let Some(call) = &part.function_call else {
                continue;
            };
            let mut call = call.tool_use();
            if !self.recorded.contains(call.call.as_str()) {
                self.calls.open(&mut call);
                blocks.push(Block::ToolUse(call));
            }
        }
        let calls = message.tool_calls.iter().map(wire::ToolCall::tool_use);
        blocks.extend(calls.map(Block::ToolUse));
        let origin = prompt::answer_origin(&blocks);
        if !blocks.is_empty() {
            self.emit_message(
                id.clone(),
                (Role::Assistant, origin),
                blocks,
                Some(message),
                out,
            );
        }
        self.emit_usage(id, message, out);
        for call in &message.tool_calls {
            match call.tool_result() {
                Some(result) => self.emit_result(id, result, call.timestamp.0, out),
                // The number stays reserved for the result, so that later messages keep theirs.
                None => self.line += 1,
            }
        }
    }

    fn emit_result(
        &mut self,
        id: &MessageId,
        result: ToolResult,
        at: Option<jiff::Timestamp>,
        out: &mut ParseOutput,
    ) {
        let call = result.call.as_ref().map_or("", memory::CallId::as_str);
        let id = MessageId::new(format!("{id}/{call}"));
        self.line += 1;
        let answer = wire::Message {
            timestamp: crate::time::Time(at),
            ..wire::Message::default()
        };
        let blocks = vec![Block::ToolResult(result)];
        self.emit_message(id, (Role::User, Origin::Tool), blocks, Some(&answer), out);
    }

    fn emit_message(
        &self,
        id: MessageId,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        message: Option<&wire::Message>,
        out: &mut ParseOutput,
    ) {
        out.push(Message {
            at: message.and_then(|message| message.timestamp.0),
            model: message.and_then(|message| message.model.clone()),
            blocks,
            cwd: self.patch.cwd.clone(),
            line: self.line,
            ..Message::new(id, self.patch.id.clone(), role, origin)
        });
    }

    fn emit_title(&mut self, text: String, out: &mut ParseOutput) {
        if self.patch.title.is_some() {
            return;
        }
        let title = Some(Title::new(text, TitleRank::FirstPrompt));
        self.patch.title.clone_from(&title);
        let patch = SessionPatch::new(self.patch.id.clone(), Flavor::Gemini);
        out.push(SessionPatch { title, ..patch });
    }

    fn emit_usage(&self, id: &MessageId, message: &wire::Message, out: &mut ParseOutput) {
        let Some(tokens) = message.tokens else { return };
        out.push(UsageEntry {
            session: self.patch.id.clone(),
            key: id.to_string(),
            at: message.timestamp.0,
            model: message.model.clone(),
            usage: Usage {
                input: tokens
                    .input
                    .saturating_sub(tokens.cached)
                    .saturating_add(tokens.tool),
                output: tokens.output.saturating_add(tokens.thoughts),
                cache_read: tokens.cached,
                cache_write: 0,
                reasoning: tokens.thoughts,
            },
            cost_usd: None,
        });
    }
}

fn message(turn: &super::conversation::GeminiTurn) -> Option<&wire::Message> {
    match &turn.event {
        TurnEvent::Message(message) => Some(message),
        TurnEvent::Rewind(_) => None,
    }
}

fn thought(thought: &wire::Thought) -> Option<String> {
    let (subject, description) = (thought.subject.trim(), thought.description.trim());
    match (subject, description) {
        ("", "") => None,
        ("", only) | (only, "") => Some(only.to_owned()),
        (subject, description) => Some(format!("{subject}\n{description}")),
    }
}
