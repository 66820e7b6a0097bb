//! Turns a gathered conversation into entries.

use std::collections::BTreeSet;

use memory::{
    Block, Chain, Entry, Flavor, Message, MessageId, Origin, Role, SessionId, SessionKind,
    SessionPatch, Title, TitleRank, ToolResult, Usage, UsageEntry,
};

use super::discover::Place;
use super::prompt;
use super::states::{Conversation, Event};
use super::wire;
use crate::calls::OpenCalls;
use crate::{Line, Parsed, Reader};

#[derive(Debug)]
pub struct Log {
    place: Place,
}

impl Log {
    pub fn new(place: Place) -> Self {
        Self { place }
    }
}

impl Reader for Log {
    fn line(&mut self, document: Line<'_>, out: &mut Parsed) {
        if self.place.superseded {
            return;
        }
        let conversation = Conversation::read(document, self.place.layout, out);
        Telling::new(&self.place, &conversation).tell(&conversation, out);
    }

    fn state(&self) -> String {
        "{}".to_owned()
    }
}

struct Telling {
    patch: SessionPatch,
    is_subagent: bool,
    /// Calls that a message tells of with their results; other mentions of them are copies.
    recorded: BTreeSet<String>,
    calls: OpenCalls,
    chain: Chain,
    /// The last line given out. Each message has its own, so that what stood on one physical
    /// line keeps its order.
    line: u64,
}

impl Telling {
    fn new(place: &Place, conversation: &Conversation) -> Self {
        let session = &conversation.session;
        let native = session.session_id.as_deref().unwrap_or(&place.session);
        let is_subagent = place.parent.is_some() || session.kind.as_deref() == Some("subagent");
        let messages = || conversation.turns.iter().filter_map(message);
        let named = || {
            let first = messages().find(|message| message.kind == "user")?;
            prompt::workspace(&first.content.text()).map(str::to_owned)
        };
        let calls = messages().flat_map(|message| &message.tool_calls);
        let summary = session
            .summary
            .clone()
            .filter(|summary| !summary.trim().is_empty());
        let patch = SessionPatch {
            kind: is_subagent.then_some(SessionKind::Subagent),
            title: summary.map(|text| Title {
                text,
                rank: TitleRank::Generated,
            }),
            cwd: place
                .cwd
                .clone()
                .or_else(named)
                .or_else(|| session.directories.first().cloned()),
            parent: place
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
            chain: Chain::default(),
            line: 0,
        }
    }

    fn tell(&mut self, conversation: &Conversation, out: &mut Parsed) {
        out.push(Entry::Session(self.patch.clone()));
        for turn in &conversation.turns {
            self.line = turn.line.max(self.line + 1);
            match &turn.event {
                Event::Rewind(id) => {
                    // What was said before stays said; the note tells why the talk starts over.
                    let id = self.chain.link(&["rewind", id, &turn.line.to_string()]);
                    let note = Block::Text("rewound to an earlier message".into());
                    self.say(id, (Role::System, Origin::Harness), vec![note], None, out);
                }
                Event::Message(message) => self.message(message, out),
            }
        }
    }

    fn message(&mut self, message: &wire::Message, out: &mut Parsed) {
        let id = match &message.id {
            Some(id) => MessageId::new(id.as_str()),
            None => self.chain.link(&[&message.kind, &message.content.text()]),
        };
        match &*message.kind {
            "user" => self.user(&id, message, out),
            "gemini" | "model" | "assistant" => self.model(&id, message, out),
            "error" => {
                let error = vec![Block::Error(message.content.text())];
                self.say(
                    id,
                    (Role::System, Origin::Harness),
                    error,
                    Some(message),
                    out,
                );
            }
            "info" | "warning" => {
                let note = vec![Block::Text(message.content.text())];
                self.say(
                    id,
                    (Role::System, Origin::Harness),
                    note,
                    Some(message),
                    out,
                );
            }
            kind => out.unknown(&format!("message/{kind}")),
        }
    }

    fn user(&mut self, id: &MessageId, message: &wire::Message, out: &mut Parsed) {
        let (blocks, mut origin) = prompt::read(message);
        if self.is_subagent {
            // It was written by the model whose tool call started the session.
            origin = Origin::Harness;
        }
        if origin == Origin::Human
            && let Some(text) = prompt::title(&blocks)
        {
            self.entitle(text, out);
        }
        if !blocks.is_empty() {
            self.say(id.clone(), (Role::User, origin), blocks, Some(message), out);
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
            self.result(id, result, message.timestamp.0, out);
        }
    }

    fn model(&mut self, id: &MessageId, message: &wire::Message, out: &mut Parsed) {
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
        blocks.extend(parts.filter_map(crate::flavor::parts::Part::block));
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
        let origin = prompt::answerer(&blocks);
        if !blocks.is_empty() {
            self.say(
                id.clone(),
                (Role::Assistant, origin),
                blocks,
                Some(message),
                out,
            );
        }
        self.usage(id, message, out);
        for call in &message.tool_calls {
            match call.tool_result() {
                Some(result) => self.result(id, result, call.timestamp.0, out),
                // Its line stays free, so that those behind it keep theirs.
                None => self.line += 1,
            }
        }
    }

    fn result(
        &mut self,
        id: &MessageId,
        result: ToolResult,
        at: Option<jiff::Timestamp>,
        out: &mut Parsed,
    ) {
        let call = result.call.as_ref().map_or("", memory::CallId::as_str);
        let id = MessageId::new(format!("{id}/{call}"));
        self.line += 1;
        let answer = wire::Message {
            timestamp: crate::time::Time(at),
            ..wire::Message::default()
        };
        let blocks = vec![Block::ToolResult(result)];
        self.say(id, (Role::User, Origin::Tool), blocks, Some(&answer), out);
    }

    fn say(
        &self,
        id: MessageId,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        message: Option<&wire::Message>,
        out: &mut Parsed,
    ) {
        out.push(Entry::Message(Message {
            at: message.and_then(|message| message.timestamp.0),
            model: message.and_then(|message| message.model.clone()),
            blocks,
            cwd: self.patch.cwd.clone(),
            line: self.line,
            ..Message::new(id, self.patch.id.clone(), role, origin)
        }));
    }

    fn entitle(&mut self, text: String, out: &mut Parsed) {
        if self.patch.title.is_some() {
            return;
        }
        let title = Some(Title {
            text,
            rank: TitleRank::FirstPrompt,
        });
        self.patch.title.clone_from(&title);
        let patch = SessionPatch::new(self.patch.id.clone(), Flavor::Gemini);
        out.push(Entry::Session(SessionPatch { title, ..patch }));
    }

    fn usage(&self, id: &MessageId, message: &wire::Message, out: &mut Parsed) {
        let Some(tokens) = message.tokens else { return };
        out.push(Entry::Usage(UsageEntry {
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
        }));
    }
}

fn message(turn: &super::states::Turn) -> Option<&wire::Message> {
    match &turn.event {
        Event::Message(message) => Some(message),
        Event::Rewind(_) => None,
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
