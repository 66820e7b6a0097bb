//! Turns a session's document into entries.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;
use memory::{
    Block, Boundary, CallId, Flavor, IdChain, Message, MessageId, Origin, Role, SessionId,
    SessionPatch, Title, TitleRank, ToolResult, ToolUse, Usage, UsageEntry,
};
use serde_json::value::RawValue;

use super::wire;
use crate::calls::OpenCalls;
use crate::flavor::names;
use crate::flavor::text_block;
use crate::json;
use crate::{InputLine, LogReader, ParseOutput, SkipReason, Source, lines, time};

/// The largest index that is read; a real one has one line per session.
const INDEX_BYTES_MAX: u64 = 8 << 20;

/// Reads one session.
#[derive(Debug)]
pub(crate) struct ContinueReader {
    path: PathBuf,
}

impl ContinueReader {
    pub(crate) fn new(source: &Source) -> Self {
        Self {
            path: source.path.clone(),
        }
    }

    fn read_session(
        &self,
        line: InputLine<'_>,
        text: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let session: wire::Session<'_> = serde_json::from_str(text)?;
        let named = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let native = session.session_id.get().unwrap_or(&named);
        let mut reading = ContinueSession {
            cwd: session.workspace_directory.get().map(names::path_of_uri),
            started: self.session_start(native),
            ..ContinueSession::of(native)
        };
        reading.emit_session(&session, out);
        for (number, item) in (1..).zip(&session.history) {
            match serde_json::from_str(item.get()) {
                Ok(item) => reading.read_item(number, &item, out),
                Err(_) => out.skip_line(line, SkipReason::Malformed),
            }
        }
        if !reading.billed {
            reading.emit_usage(session.usage, "total", None, out);
        }
        Ok(())
    }

    /// Returns the start of a session, which only the index beside it has.
    fn session_start(&self, native: &str) -> Option<Timestamp> {
        let index = self.path.with_file_name("sessions.json");
        let size = std::fs::metadata(&index).ok()?.len();
        // The index lists every session and is read for each of them.
        if size > INDEX_BYTES_MAX {
            return None;
        }
        let text = std::fs::read_to_string(index).ok()?;
        let listed: Vec<wire::Listed<'_>> = serde_json::from_str(&text).ok()?;
        let listed = listed
            .iter()
            .find(|listed| listed.session_id.as_str() == native)?;
        time::from_number(listed.date_created.as_str().parse().ok()?)
    }
}

impl LogReader for ContinueReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| self.read_session(line, text, out));
    }
}

/// The session that is being read.
struct ContinueSession {
    session: SessionId,
    cwd: Option<String>,
    started: Option<Timestamp>,
    /// Derives the ids of messages without one.
    chain: IdChain,
    calls: OpenCalls,
    /// The calls whose results were in their own item; messages may repeat these results.
    answered_calls: BTreeSet<String>,
    titled: bool,
    billed: bool,
}

impl ContinueSession {
    fn of(native: &str) -> Self {
        let mut chain = IdChain::default();
        // Sessions often begin with the same words; their messages must not get the same ids.
        chain.link(&[native]);
        Self {
            session: SessionId::of(Flavor::Continue, native),
            cwd: None,
            started: None,
            chain,
            calls: OpenCalls::default(),
            answered_calls: BTreeSet::new(),
            titled: false,
            billed: false,
        }
    }

    fn emit_session(&self, session: &wire::Session<'_>, out: &mut ParseOutput) {
        // This is the placeholder for a session without a title.
        let title = session.title.get().filter(|title| *title != "New Session");
        out.push(SessionPatch {
            title: title.map(|title| Title::new(title, TitleRank::Generated)),
            cwd: self.cwd.clone(),
            model: session.chat_model_title.to_text(),
            started: self.started,
            ..self.patch()
        });
    }

    fn read_item(&mut self, number: u64, item: &wire::Item<'_>, out: &mut ParseOutput) {
        let message = &item.message;
        match message.role.as_str() {
            "user" => self.emit_prompt(number, message, out),
            "assistant" | "thinking" => self.emit_answer(number, item, out),
            "tool" => self.emit_tool_message(number, message, out),
            "system" => {
                let blocks = content_blocks(message.content, out);
                self.emit_message(
                    ContinueMessage::new(number, message, Role::System, Origin::Harness),
                    blocks,
                    out,
                );
            }
            other => out.count_unknown(&format!("message/{other}")),
        }
        if let Some(summary) = item.conversation_summary.get() {
            let blocks = vec![
                Block::Boundary(Boundary::default()),
                Block::Summary(summary.to_owned()),
            ];
            self.emit_message(
                ContinueMessage {
                    part: "/summary",
                    ..ContinueMessage::new(number, message, Role::System, Origin::Harness)
                },
                blocks,
                out,
            );
        }
    }

    fn emit_prompt(&mut self, number: u64, message: &wire::Message<'_>, out: &mut ParseOutput) {
        let blocks = content_blocks(message.content, out);
        let words = blocks.iter().find_map(|block| match block {
            Block::Text(text) => Some(text.trim()),
            _ => None,
        });
        if let Some(words) = words
            && !self.titled
        {
            self.titled = true;
            out.push(self.patch().with_title(words, TitleRank::FirstPrompt));
        }
        self.emit_message(
            ContinueMessage::new(number, message, Role::User, Origin::Human),
            blocks,
            out,
        );
    }

    fn emit_answer(&mut self, number: u64, item: &wire::Item<'_>, out: &mut ParseOutput) {
        let message = &item.message;
        let mut blocks = content_blocks(message.content, out);
        if message.role.as_str() == "thinking" {
            blocks = blocks.into_iter().map(as_thinking).collect();
        }
        let reasoning: wire::Reasoning<'_> = json::parse_or_default(item.reasoning);
        if let Some(text) = reasoning.text.get() {
            blocks.insert(0, Block::Thinking(text.to_owned()));
        }
        let states: Vec<wire::ToolCallState<'_>> = match item.tool_call_states {
            Some(states) => json::parse_or_default(Some(states)),
            None => item
                .tool_call_state
                .map(|state| json::parse_or_default(Some(state)))
                .into_iter()
                .collect(),
        };
        let calls: Vec<wire::ToolCall<'_>> = json::parse_or_default(message.tool_calls);
        let mut known = BTreeSet::new();
        let from_states = states.iter().map(|state| &state.tool_call);
        for call in calls.iter().chain(from_states) {
            if known.insert(call.id.as_str()) && call.function.name.get().is_some() {
                let mut call = tool_use(call);
                self.calls.open(&mut call);
                blocks.push(Block::ToolUse(call));
            }
        }
        let logs: Vec<wire::PromptLog<'_>> = json::parse_or_default(item.prompt_logs);
        let model = logs.last().and_then(|log| log.model_title.to_text());
        let at = reasoning.end_at.0.or(reasoning.start_at.0);
        let id = self.emit_message(
            ContinueMessage {
                at,
                model: model.clone(),
                ..ContinueMessage::new(number, message, Role::Assistant, Origin::Model)
            },
            blocks,
            out,
        );
        for state in &states {
            self.emit_result(number, message, state, out);
        }
        if let Some(id) = id
            && message.usage.is_some()
        {
            self.billed |= self.emit_usage(message.usage, id.as_str(), model, out);
        }
    }

    fn emit_result(
        &mut self,
        number: u64,
        message: &wire::Message<'_>,
        state: &wire::ToolCallState<'_>,
        out: &mut ParseOutput,
    ) {
        let status = state.status.as_str();
        if !matches!(status, "done" | "errored" | "canceled") {
            return;
        }
        let call = state.tool_call_id.get().or(state.tool_call.id.get());
        let call = call.unwrap_or_default();
        self.answered_calls.insert(call.to_owned());
        let texts = state.output.iter().map(|output| output.content.as_str());
        let content = texts.collect::<Vec<_>>().join("\n");
        let mut result = ToolResult {
            call: Some(CallId::new(call)),
            is_error: status != "done",
            content: if status == "canceled" && content.is_empty() {
                "canceled by the user".to_owned()
            } else {
                content
            },
            ..ToolResult::default()
        };
        self.calls.close(&mut result);
        let part = format!("/{call}");
        let blocks = vec![Block::ToolResult(result)];
        self.emit_message(
            ContinueMessage {
                part: &part,
                ..ContinueMessage::new(number, message, Role::User, Origin::Tool)
            },
            blocks,
            out,
        );
    }

    /// Emits a result that is a message of its own.
    fn emit_tool_message(
        &mut self,
        number: u64,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        let call = message.tool_call_id.as_str();
        if self.answered_calls.contains(call) {
            return;
        }
        let texts = content_blocks(message.content, out).into_iter();
        let texts = texts.filter_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        });
        let mut result = ToolResult {
            call: Some(CallId::new(call)),
            content: texts.collect::<Vec<_>>().join("\n"),
            ..ToolResult::default()
        };
        self.calls.close(&mut result);
        let blocks = vec![Block::ToolResult(result)];
        self.emit_message(
            ContinueMessage::new(number, message, Role::User, Origin::Tool),
            blocks,
            out,
        );
    }

    /// Emits a message unless it is empty, and returns its id.
    fn emit_message(
        &mut self,
        parsed: ContinueMessage<'_>,
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) -> Option<MessageId> {
        if blocks.is_empty() {
            return None;
        }
        let id = match parsed.message.id.get() {
            Some(id) => MessageId::new(format!("{id}{}", parsed.part)),
            None => {
                let content = parsed.message.content.map_or("", RawValue::get);
                self.chain
                    .link(&[parsed.message.role.as_str(), parsed.part, content])
            }
        };
        out.push(Message {
            at: parsed.at.or(self.started),
            blocks,
            model: parsed.model,
            cwd: self.cwd.clone(),
            line: parsed.number,
            ..Message::new(id.clone(), self.session.clone(), parsed.role, parsed.origin)
        });
        Some(id)
    }

    /// Emits the usage and says whether there was any.
    fn emit_usage(
        &self,
        usage: Option<&RawValue>,
        what: &str,
        model: Option<String>,
        out: &mut ParseOutput,
    ) -> bool {
        let reported: wire::Usage = json::parse_or_default(usage);
        let cache_read = reported.prompt_tokens_details.cached_tokens;
        let cache_write = reported.prompt_tokens_details.cache_write_tokens;
        let usage = Usage {
            input: reported
                .prompt_tokens
                .saturating_sub(cache_read.saturating_add(cache_write)),
            output: reported.completion_tokens,
            cache_read,
            cache_write,
            reasoning: 0,
        };
        if usage.total() == 0 {
            return false;
        }
        out.push(UsageEntry {
            session: self.session.clone(),
            key: format!("{}/{what}", self.session),
            at: self.started,
            model,
            usage,
            cost_usd: reported.total_cost,
        });
        true
    }

    fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session.clone(), Flavor::Continue)
    }
}

/// A message, or a part of one that becomes a message of its own.
struct ContinueMessage<'a> {
    number: u64,
    message: &'a wire::Message<'a>,
    part: &'a str,
    role: Role,
    origin: Origin,
    at: Option<Timestamp>,
    model: Option<String>,
}

impl<'a> ContinueMessage<'a> {
    fn new(number: u64, message: &'a wire::Message<'a>, role: Role, origin: Origin) -> Self {
        Self {
            number,
            message,
            part: "",
            role,
            origin,
            at: None,
            model: None,
        }
    }
}

fn tool_use(call: &wire::ToolCall<'_>) -> ToolUse {
    ToolUse {
        call: CallId::new(call.id.as_str()),
        tool: call.function.name.as_str().to_owned(),
        input: call.function.arguments.as_str().to_owned(),
        path: None,
    }
}

fn as_thinking(block: Block) -> Block {
    match block {
        Block::Text(text) => Block::Thinking(text),
        other => other,
    }
}

/// Returns the blocks of a message's content.
fn content_blocks(content: Option<&RawValue>, out: &mut ParseOutput) -> Vec<Block> {
    let Some(content) = content else {
        return Vec::new();
    };
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text_block(text).into_iter().collect();
    }
    let parts: Vec<wire::Part<'_>> = json::parse_or_default(Some(content));
    let blocks = parts
        .into_iter()
        .filter_map(|part| match part.kind.as_str() {
            "text" => text_block(part.text.as_str().to_owned()),
            "imageUrl" => {
                let image = part.image_url.unwrap_or_default();
                let (media_type, size_bytes) = inline_image(image.url.as_str());
                Some(Block::Image {
                    media_type,
                    size_bytes,
                })
            }
            other => {
                out.count_unknown(&format!("content/{other}"));
                None
            }
        });
    blocks.collect()
}

/// Returns the type and size of an image in a `data:` address.
fn inline_image(url: &str) -> (String, u64) {
    let data = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(','));
    match data {
        Some((kind, data)) => {
            let kind = kind.split(';').next().unwrap_or_default();
            (kind.to_owned(), data.len() as u64 / 4 * 3)
        }
        None => ("image".to_owned(), 0),
    }
}
