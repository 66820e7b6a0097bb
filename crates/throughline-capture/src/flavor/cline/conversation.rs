//! Reads a conversation in the form of model API messages: a task's
//! `api_conversation_history.json`, and the messages of the newer store.

use std::collections::HashMap;

use jiff::Timestamp;
use memory::{
    ApiId, Block, Boundary, CallId, Flavor, IdChain, Message, MessageId, Origin, Role, SessionId,
    SessionPatch, TitleRank, ToolResult, ToolUse, Usage, UsageEntry,
};

use super::markup::{self, MarkupPart, UserMarkup};
use super::wire;
use crate::ParseOutput;
use crate::calls::OpenCalls;
use crate::flavor::anthropic::ContentBlock;

/// A conversation while its messages are read, always from its start.
#[derive(Debug)]
pub(crate) struct ClineConversation {
    flavor: Flavor,
    session: SessionId,
    /// The model of another task writes the prompts.
    is_delegated: bool,
    calls: OpenCalls,
    /// Open calls in tags. They have no id; a result belongs to the oldest open call of its tool.
    tagged: Vec<(CallId, String)>,
    occurrences: HashMap<String, u32>,
    line: u64,
    titled: bool,
    cwd: Option<String>,
}

/// The blocks of one message, by author.
#[derive(Default)]
struct MessageParts {
    typed: Vec<Block>,
    program: Vec<Block>,
    results: Vec<Block>,
    spoken: Vec<Block>,
}

impl ClineConversation {
    pub(crate) fn new(flavor: Flavor, session: SessionId, is_delegated: bool) -> Self {
        Self {
            flavor,
            session,
            is_delegated,
            calls: OpenCalls::default(),
            tagged: Vec::new(),
            occurrences: HashMap::new(),
            line: 0,
            titled: false,
            cwd: None,
        }
    }

    pub(crate) fn read_message(&mut self, message: wire::Message<'_>, out: &mut ParseOutput) {
        self.line += 1;
        let role = match message.role.text() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            role => return out.count_unknown(&format!("role/{}", role.unwrap_or_default())),
        };
        let id = self.message_id(&message);
        let raw = message.content.map_or("\"\"", |content| content.get());
        let metadata = message.metadata.0.unwrap_or_default();
        let is_summary = message.is_summary.is_true() || metadata.kind.is("compaction");
        let parts = self.read_content(&id, role, raw, out);
        let model = message.model_info.0.and_then(|model| model.id.into_text());
        let stamp = MessageStamp {
            at: message.ts.0,
            model,
        };
        if is_summary {
            return self.emit_summary(&id, role, parts, &stamp, out);
        }
        let prompter = if self.is_delegated {
            Origin::Model
        } else {
            Origin::Human
        };
        if prompter == Origin::Human && !self.titled && !parts.typed.is_empty() {
            self.titled = true;
            self.emit_title(&parts.typed, out);
        }
        let name = |part: &str| {
            if part.is_empty() {
                id.clone()
            } else {
                MessageId::new(format!("{id}/{part}"))
            }
        };
        // One API message may contain a tool's result, the program's text and a person's.
        self.emit(
            name("result"),
            (role, Origin::Tool),
            parts.results,
            &stamp,
            out,
        );
        self.emit(
            name("program"),
            (role, Origin::Harness),
            parts.program,
            &stamp,
            out,
        );
        self.emit(name(""), (role, prompter), parts.typed, &stamp, out);
        self.emit(name(""), (role, Origin::Model), parts.spoken, &stamp, out);
        if let Some(metrics) = message.metrics.0 {
            self.emit_usage(&id, metrics, stamp, out);
        }
    }

    /// Returns the id of a message: its own, or else a hash of its content and how often that
    /// occurred before. The position is not part of it, because condensing moves messages.
    fn message_id(&mut self, message: &wire::Message<'_>) -> MessageId {
        if let Some(id) = message.id.text() {
            return MessageId::new(id);
        }
        // The content is normalised first: spaces and the order of keys may change when a file is
        // rewritten.
        let content = message.content.map_or("", |content| content.get());
        let content = serde_json::from_str::<serde_json::Value>(content).unwrap_or_default();
        let content = content.to_string();
        let at = message
            .ts
            .0
            .map_or(0, Timestamp::as_millisecond)
            .to_string();
        let role = message.role.text().unwrap_or_default();
        let parts = [self.session.as_str(), role, &at, &content];
        let gist = IdChain::default().link(&parts).to_string();
        let before = self.occurrences.entry(gist.clone()).or_default();
        *before += 1;
        if *before == 1 {
            MessageId::new(gist)
        } else {
            MessageId::new(format!("{gist}-{before}"))
        }
    }

    fn read_content(
        &mut self,
        id: &MessageId,
        role: Role,
        raw: &str,
        out: &mut ParseOutput,
    ) -> MessageParts {
        let mut parts = MessageParts::default();
        if let Ok(text) = serde_json::from_str::<String>(raw) {
            self.add_text(id, role, &text, &mut parts, out);
            return parts;
        }
        let Ok(pieces) = serde_json::from_str::<Vec<ContentBlock<'_>>>(raw) else {
            out.count_unknown("content");
            return parts;
        };
        for piece in pieces {
            self.add_piece(id, role, piece, &mut parts, out);
        }
        parts
    }

    fn add_piece(
        &mut self,
        id: &MessageId,
        role: Role,
        mut piece: ContentBlock<'_>,
        parts: &mut MessageParts,
        out: &mut ParseOutput,
    ) {
        match piece.kind.text().unwrap_or_default() {
            "text" => {
                let text = piece.text.0.unwrap_or_default();
                self.add_text(id, role, &text, parts, out);
            }
            "thinking" | "reasoning" => {
                let text = piece
                    .thinking
                    .into_text()
                    .or_else(|| piece.text.into_text());
                parts.spoken.extend(text.map(Block::Thinking));
            }
            "tool_use" => {
                let call_id = std::mem::take(&mut piece.id).into_text();
                let call = CallId::new(call_id.unwrap_or_else(|| id.to_string()));
                self.add_call(piece.into_tool_use(call, "{}"), parts);
            }
            "tool_result" => {
                let (content, failed) = answer_text(piece.content.map_or("\"\"", |raw| raw.get()));
                let call = std::mem::take(&mut piece.tool_use_id).into_text();
                let mut result = piece.into_tool_result(call.map(CallId::new), content);
                result.is_error |= failed;
                self.calls.close(&mut result);
                parts.results.push(Block::ToolResult(result));
            }
            "image" => {
                let image = piece.source.0.unwrap_or_default();
                let size = image.data.text().unwrap_or_default().len() as u64;
                parts.typed.push(Block::Image {
                    media_type: image.media_type.into_text().unwrap_or_default(),
                    size_bytes: size * 3 / 4,
                });
            }
            // Attached files can be read by tools as well, and encrypted reasoning cannot be read
            // at all.
            "file" | "document" | "redacted_thinking" => {}
            other => out.count_unknown(&format!("content/{other}")),
        }
    }

    fn add_text(
        &mut self,
        id: &MessageId,
        role: Role,
        text: &str,
        parts: &mut MessageParts,
        out: &mut ParseOutput,
    ) {
        if role == Role::Assistant {
            for (index, part) in markup::split_model_text(text).into_iter().enumerate() {
                match part {
                    MarkupPart::Text(text) => parts.spoken.push(Block::Text(text)),
                    MarkupPart::Thinking(text) => parts.spoken.push(Block::Thinking(text)),
                    MarkupPart::Call { tool, input } => {
                        let call = CallId::new(format!("{id}/{index}"));
                        self.tagged.push((call.clone(), tool.clone()));
                        let call = ToolUse {
                            call,
                            tool,
                            input,
                            path: None,
                        };
                        self.add_call(call, parts);
                    }
                }
            }
            return;
        }
        if let Some(cwd) = markup::cwd(text).filter(|cwd| self.cwd.as_deref() != Some(*cwd)) {
            self.cwd = Some(cwd.to_owned());
            out.push(
                SessionPatch::new(self.session.clone(), self.flavor).with_cwd(self.cwd.clone()),
            );
        }
        // The program appends its own notes to a text.
        let text = text
            .split("<environment_details>")
            .next()
            .unwrap_or_default();
        match markup::classify_user_text(text) {
            UserMarkup::Typed(typed) => parts.typed.push(Block::Text(typed.to_owned())),
            UserMarkup::FromProgram => {}
            UserMarkup::Result { tool, content } => {
                let open = self.tagged.iter().position(|(_, name)| name == tool);
                let mut result = ToolResult {
                    call: open.map(|open| self.tagged.remove(open).0),
                    tool: Some(tool.to_owned()),
                    content: content.to_owned(),
                    ..ToolResult::default()
                };
                result.is_error = reports_failure(content);
                self.calls.close(&mut result);
                parts.results.push(Block::ToolResult(result));
            }
            UserMarkup::Untagged(text) => match parts.results.last_mut() {
                // The block before this one announced the result.
                Some(Block::ToolResult(result)) if result.content.is_empty() => {
                    result.content = text.to_owned();
                    result.is_error |= reports_failure(text);
                }
                Some(_) => parts.program.push(Block::Text(text.to_owned())),
                None => parts.typed.push(Block::Text(text.to_owned())),
            },
        }
    }

    fn add_call(&mut self, mut call: ToolUse, parts: &mut MessageParts) {
        // The answer to the user is an argument of this tool.
        if call.tool == "attempt_completion"
            && let Ok(input) = serde_json::from_str::<serde_json::Value>(&call.input)
            && let Some(answer) = input.get("result").and_then(serde_json::Value::as_str)
        {
            self.tagged.retain(|(open, _)| *open != call.call);
            parts.spoken.push(Block::Text(answer.trim().to_owned()));
            return;
        }
        self.calls.open(&mut call);
        parts.spoken.push(Block::ToolUse(call));
    }

    fn emit_summary(
        &self,
        id: &MessageId,
        role: Role,
        parts: MessageParts,
        stamp: &MessageStamp,
        out: &mut ParseOutput,
    ) {
        let texts = parts
            .typed
            .into_iter()
            .chain(parts.spoken)
            .chain(parts.program);
        let summary = texts.filter_map(|block| match block {
            Block::Text(text) => Some(Block::Summary(text)),
            _ => None,
        });
        let boundary = Block::Boundary(Boundary::default());
        let blocks = std::iter::once(boundary).chain(summary).collect();
        self.emit(id.clone(), (role, Origin::Model), blocks, stamp, out);
    }

    fn emit_title(&self, typed: &[Block], out: &mut ParseOutput) {
        if let Some(Block::Text(text)) = typed.first() {
            out.push(
                SessionPatch::new(self.session.clone(), self.flavor)
                    .with_title(text.clone(), TitleRank::FirstPrompt),
            );
        }
    }

    fn emit(
        &self,
        id: MessageId,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        stamp: &MessageStamp,
        out: &mut ParseOutput,
    ) {
        if !blocks.is_empty() {
            let is_response = role == Role::Assistant && origin == Origin::Model;
            out.push(Message {
                api_id: is_response.then(|| ApiId::new(id.as_str())),
                at: stamp.at,
                blocks,
                model: stamp.model.clone(),
                cwd: self.cwd.clone(),
                line: self.line,
                ..Message::new(id, self.session.clone(), role, origin)
            });
        }
    }

    /// Emits the tokens of a message in the newer store, whose input includes what came from the
    /// cache.
    fn emit_usage(
        &self,
        id: &MessageId,
        metrics: wire::Metrics,
        stamp: MessageStamp,
        out: &mut ParseOutput,
    ) {
        let (read, write) = (
            metrics.cache_read_tokens.count(),
            metrics.cache_write_tokens.count(),
        );
        let usage = Usage {
            input: metrics.input_tokens.count().saturating_sub(read + write),
            output: metrics.output_tokens.count(),
            cache_read: read,
            cache_write: write,
            reasoning: 0,
        };
        if usage != Usage::default() {
            out.push(UsageEntry {
                session: self.session.clone(),
                key: id.to_string(),
                at: stamp.at,
                model: stamp.model,
                usage,
                cost_usd: metrics.cost.0,
            });
        }
    }
}

/// The time of a message and its model.
struct MessageStamp {
    at: Option<Timestamp>,
    model: Option<String>,
}

/// Says whether a result in tags reports a failure, which only its text tells.
fn reports_failure(content: &str) -> bool {
    content.starts_with("The tool execution failed")
        || content.starts_with("Error ")
        || content.starts_with("The user denied this operation")
}

/// Returns the text of a tool's result, and whether it reports a failure.
fn answer_text(raw: &str) -> (String, bool) {
    let text = serde_json::from_str::<String>(raw);
    // The text may itself contain a JSON object.
    let raw = text
        .as_deref()
        .ok()
        .filter(|text| text.starts_with('{'))
        .unwrap_or(raw);
    let answers: Vec<wire::Answer<'_>> = if raw.starts_with('{') {
        serde_json::from_str(raw).into_iter().collect()
    } else {
        serde_json::from_str(raw).unwrap_or_default()
    };
    let has_content =
        |answer: &wire::Answer<'_>| answer.result.is_some() || answer.text.0.is_some();
    if !answers
        .iter()
        .any(|answer| has_content(answer) || answer.error.text().is_some())
    {
        let text = text.as_deref().unwrap_or(raw);
        return (text.to_owned(), false);
    }
    let failed = answers.iter().any(|answer| answer.success.0 == Some(false));
    let texts = answers.into_iter().map(|answer| {
        let result = answer.result.map(|raw| {
            serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
        });
        let parts = [
            result.filter(|text| !text.is_empty()),
            answer.text.0,
            answer.error.0,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    });
    (texts.collect::<Vec<_>>().join("\n"), failed)
}
