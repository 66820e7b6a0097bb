//! Turns a thread's document into entries.

use jiff::Timestamp;
use memory::{
    Block, CallId, Flavor, LogEntry, Message, MessageId, Origin, Role, SessionId, SessionPatch,
    Title, TitleRank, Usage, UsageEntry,
};
use serde_json::value::RawValue;

use super::{result, wire};
use crate::calls::OpenCalls;
use crate::flavor::anthropic::ContentBlock;
use crate::flavor::names;
use crate::flavor::text_block;
use crate::json;
use crate::{InputLine, LogReader, ParseOutput, SkipReason, Source, lines};

/// Reads one thread.
#[derive(Debug)]
pub(crate) struct AmpThreadReader {
    named: String,
}

impl AmpThreadReader {
    pub(crate) fn new(source: &Source) -> Self {
        let stem = source.path.file_stem().unwrap_or_default();
        Self {
            named: stem.to_string_lossy().into_owned(),
        }
    }

    fn read(
        &self,
        line: InputLine<'_>,
        text: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let thread: wire::Thread<'_> = serde_json::from_str(text)?;
        let mut reading = AmpThread::of(&thread, &self.named);
        reading.emit_session(&thread, out);
        for (number, message) in (1..).zip(&thread.messages) {
            match serde_json::from_str(message.get()) {
                Ok(message) => reading.emit_message(number, &message, out),
                Err(_) => out.skip_line(line, SkipReason::Malformed),
            }
        }
        Ok(())
    }
}

impl LogReader for AmpThreadReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| self.read(line, text, out));
    }
}

/// The thread that is being read.
struct AmpThread {
    session: SessionId,
    cwd: Option<String>,
    branch: Option<String>,
    /// The time of the last message that had one.
    at: Option<Timestamp>,
    calls: OpenCalls,
    titled: bool,
}

impl AmpThread {
    fn of(thread: &wire::Thread<'_>, named: &str) -> Self {
        Self {
            session: SessionId::of(Flavor::Amp, thread.id.get().unwrap_or(named)),
            cwd: None,
            branch: None,
            at: thread.created.0,
            calls: OpenCalls::default(),
            titled: false,
        }
    }

    fn emit_session(&mut self, thread: &wire::Thread<'_>, out: &mut ParseOutput) {
        if thread.messages.is_empty() {
            return;
        }
        let environment: wire::Environment<'_> = json::parse_or_default(thread.env);
        let tree = environment.initial.trees.first();
        let repository = tree.and_then(|tree| tree.repository.as_ref());
        self.cwd = tree.and_then(|tree| tree.uri.get()).map(names::path_of_uri);
        self.branch = repository.and_then(|repository| {
            let branch = repository.branch.get()?;
            Some(
                branch
                    .strip_prefix("refs/heads/")
                    .unwrap_or(branch)
                    .to_owned(),
            )
        });
        let meta: wire::ThreadMeta = json::parse_or_default(thread.meta);
        out.push(SessionPatch {
            title: thread
                .title
                .to_text()
                .map(|text| Title::new(text, TitleRank::Generated)),
            cwd: self.cwd.clone(),
            remote: repository.and_then(|repository| repository.url.to_text()),
            branch: self.branch.clone(),
            version: environment.initial.platform.client_version.to_text(),
            started: thread.created.0,
            ended: meta
                .traces
                .iter()
                .filter_map(|trace| trace.end_time.0)
                .max(),
            ..self.patch()
        });
    }

    fn emit_message(&mut self, number: u64, message: &wire::Message<'_>, out: &mut ParseOutput) {
        let usage: wire::Usage<'_> = json::parse_or_default(message.usage);
        let meta: wire::MessageMeta = json::parse_or_default(message.meta);
        self.at = meta.sent_at.0.or(usage.timestamp.0).or(self.at);
        let blocks = self.blocks(message.content, out);
        let (role, origin) = match message.role.as_str() {
            "assistant" => (Role::Assistant, Origin::Model),
            "user" if blocks.iter().any(is_user_content) => (Role::User, Origin::Human),
            "user" => (Role::User, Origin::Tool),
            // Amp writes these to the model itself.
            "info" | "system" => (Role::System, Origin::Harness),
            other => return out.count_unknown(&format!("message/{other}")),
        };
        if origin == Origin::Human && !self.titled {
            self.titled = true;
            self.emit_title(&blocks, out);
        }
        if !blocks.is_empty() {
            // A thread only grows, so the position of a message is a stable id.
            let id = MessageId::new(format!("{}/{number}", self.session.native()));
            out.push(Message {
                at: self.at,
                blocks,
                model: usage.model.to_text(),
                cwd: self.cwd.clone(),
                branch: self.branch.clone(),
                line: number,
                ..Message::new(id, self.session.clone(), role, origin)
            });
        }
        self.emit_usage(number, &usage, out);
    }

    fn emit_title(&self, blocks: &[Block], out: &mut ParseOutput) {
        let words = blocks.iter().find_map(|block| match block {
            Block::Text(text) => Some(text.clone()),
            _ => None,
        });
        out.entries.extend(
            words.map(|text| {
                LogEntry::Session(self.patch().with_title(text, TitleRank::FirstPrompt))
            }),
        );
    }

    fn blocks(&mut self, content: Option<&RawValue>, out: &mut ParseOutput) -> Vec<Block> {
        let Some(content) = content else {
            return Vec::new();
        };
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return text_block(text).into_iter().collect();
        }
        let parts: Vec<&RawValue> = json::parse_or_default(Some(content));
        let parts = parts
            .into_iter()
            .map(|part| json::parse_or_default(Some(part)));
        parts.filter_map(|part| self.block(part, out)).collect()
    }

    fn block(&mut self, mut part: ContentBlock<'_>, out: &mut ParseOutput) -> Option<Block> {
        match part.kind.text().unwrap_or_default() {
            "text" => part.text.into_text().map(Block::Text),
            "thinking" => {
                let text = part.thinking.0.filter(|text| !text.is_empty());
                text.map(Block::Thinking)
            }
            "redacted_thinking" => None,
            "tool_use" => {
                let call = CallId::new(std::mem::take(&mut part.id).0.unwrap_or_default());
                let mut call = part.into_tool_use(call, "");
                self.calls.open(&mut call);
                Some(Block::ToolUse(call))
            }
            "tool_result" => {
                let mut result = result::tool_result(&part)?;
                self.calls.close(&mut result);
                Some(Block::ToolResult(result))
            }
            "image" => {
                let image = part.source.0.unwrap_or_default();
                Some(Block::Image {
                    media_type: image.media_type.text().unwrap_or("image").to_owned(),
                    size_bytes: image.data.text().unwrap_or_default().len() as u64 / 4 * 3,
                })
            }
            other => {
                out.count_unknown(&format!("content/{other}"));
                None
            }
        }
    }

    fn emit_usage(&self, number: u64, reported: &wire::Usage<'_>, out: &mut ParseOutput) {
        let mut usage = Usage {
            input: reported.input_tokens.unwrap_or_default(),
            output: reported.output_tokens.unwrap_or_default(),
            cache_read: reported.cache_read_input_tokens.unwrap_or_default(),
            cache_write: reported.cache_creation_input_tokens.unwrap_or_default(),
            reasoning: 0,
        };
        // Amp counts the uncached input of OpenAI's models as cache writes, which OpenAI does not
        // charge for.
        if reported.model.as_str().starts_with("gpt-") {
            let written = std::mem::take(&mut usage.cache_write);
            usage.input = usage.input.saturating_add(written);
        }
        if usage.total() == 0 {
            return;
        }
        // After an edit, the model answers again at the same position, and both answers were paid
        // for.
        let when = reported.timestamp.0.map_or(0, Timestamp::as_millisecond);
        out.push(UsageEntry {
            session: self.session.clone(),
            key: format!("{}/{number}/{when}", self.session),
            at: self.at,
            model: reported.model.to_text(),
            usage,
            cost_usd: None,
        });
    }

    fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session.clone(), Flavor::Amp)
    }
}

/// Says whether a person can have written this block.
fn is_user_content(block: &Block) -> bool {
    matches!(block, Block::Text(_) | Block::Image { .. })
}
