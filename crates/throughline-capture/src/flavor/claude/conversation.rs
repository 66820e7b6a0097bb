//! Turns user and assistant records into messages.

use std::borrow::Cow;

use memory::{ApiId, Block, CallId, Message, Origin, Role, TitleRank, ToolResult, ToolUse};

use super::log::{self, ClaudeLogReader};
use super::prompt::{self, UserText};
use super::result;
use super::session_tracker::RecordSession;
use super::usage;
use super::wire::{self, Record};
use crate::adapter::save_state;
use crate::json;
use crate::{InputLine, ParseOutput, tools};

impl ClaudeLogReader {
    pub(crate) fn read_user(
        &mut self,
        record: &Record<'_>,
        message: wire::Message<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        let owner = self.session_of(record);
        self.state
            .sessions
            .observe_record(&owner, record, None, out);
        let (results, spoken): (Vec<_>, Vec<_>) =
            message.content.0.into_iter().partition(|block| {
                block
                    .kind
                    .get()
                    .is_some_and(|kind| kind.ends_with("tool_result"))
            });
        let answered = !results.is_empty();
        if answered {
            let mut message = self.new_message(record, &owner, line, (Role::User, Origin::Tool));
            let detail = record.tool_use_result.filter(|_| results.len() == 1);
            for block in results {
                self.add_tool_result(block, detail, record, &mut message.blocks);
            }
            log::push_message(message, out);
        }
        if spoken.is_empty() {
            return;
        }
        let mut message = self.new_message(record, &owner, line, (Role::User, Origin::Harness));
        if answered {
            // Text beside tool results becomes a message of its own, because its author is another.
            message.id = memory::MessageId::new(format!("{}/words", message.id));
        }
        let by = UserTurnAuthor::of(record, &owner);
        self.emit_user_text(spoken, by, message, out);
    }

    /// Emits the text of a user record as a message of its actual author.
    pub(crate) fn emit_user_text(
        &mut self,
        spoken: Vec<wire::Block<'_>>,
        by: UserTurnAuthor,
        mut message: Message,
        out: &mut ParseOutput,
    ) {
        let mut others = Vec::new();
        for block in spoken {
            if !block.kind.is("text") {
                add_media(&block, &mut message.blocks, out);
                continue;
            }
            let text = block.text.into_cow();
            match (by, prompt::classify(&text)) {
                (UserTurnAuthor::Summarizer, _)
                | (UserTurnAuthor::Person | UserTurnAuthor::Model, UserText::Summary) => {
                    message.origin = Origin::Model;
                    message.blocks.push(Block::Summary(text.into_owned()));
                }
                (UserTurnAuthor::Program, _) => message.blocks.push(Block::Text(text.into_owned())),
                (_, UserText::Harness) => {
                    if !text.trim().is_empty() {
                        others.push(Block::Text(text.into_owned()));
                    }
                }
                // The turn stopped because a call was refused, which the call's result has already
                // said.
                (_, UserText::Interrupted(_)) if self.state.refused => {
                    others.push(Block::Text(text.into_owned()));
                }
                (_, UserText::Interrupted(what)) => {
                    message.origin = Origin::Harness;
                    let text = format!("interrupted {what}");
                    message
                        .blocks
                        .push(Block::Approval(text.trim_end().to_owned()));
                }
                (_, UserText::ShellOutput(content)) => {
                    message.origin = Origin::Tool;
                    message.blocks.push(Block::ToolResult(ToolResult {
                        tool: Some("Bash".to_owned()),
                        content,
                        ..ToolResult::default()
                    }));
                }
                (_, UserText::Prompt(typed)) => {
                    message.origin = if by == UserTurnAuthor::Model {
                        Origin::Model
                    } else {
                        Origin::Human
                    };
                    self.state.queue.remove_delivered(&typed, &mut self.pins);
                    // A shell command makes a poor title.
                    if !typed.starts_with('!') {
                        let rank = TitleRank::FirstPrompt;
                        self.state
                            .sessions
                            .emit_title(&message.session, &typed, rank, out);
                    }
                    // Most prompts are unchanged; those are moved instead of copied.
                    let typed = match typed {
                        Cow::Owned(typed) => typed,
                        Cow::Borrowed(_) => text.into_owned(),
                    };
                    message.blocks.push(Block::Text(typed));
                }
            }
        }
        if message.blocks.is_empty() {
            message.blocks = others;
        } else if message.origin == Origin::Harness
            && by == UserTurnAuthor::Person
            && is_only_media(&message)
        {
            message.origin = Origin::Human;
        }
        log::push_message(message, out);
    }

    pub(crate) fn read_assistant(
        &mut self,
        record: &Record<'_>,
        message: wire::Message<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        let owner = self.session_of(record);
        let model = message.model();
        self.pin_edits(&message, line);
        self.state.refused = false;
        self.state
            .sessions
            .observe_record(&owner, record, model.as_deref(), out);
        let usage = usage::usage_entry(record, &message, &owner.session, &mut self.state.usage);
        let synthetic = message.is_synthetic() || record.is_api_error_message.0;
        let origin = if synthetic {
            Origin::Harness
        } else {
            Origin::Model
        };
        let mut made = self.new_message(record, &owner, line, (Role::Assistant, origin));
        made.api_id = message.id.get().filter(|_| !synthetic).map(ApiId::new);
        made.model = model;
        for block in message.content.0 {
            self.add_answer_block(block, record, &mut made, out);
        }
        log::push_message(made, out);
        if let Some(usage) = usage.filter(|_| !synthetic) {
            out.push(usage);
        }
    }

    fn add_answer_block(
        &mut self,
        block: wire::Block<'_>,
        record: &Record<'_>,
        message: &mut Message,
        out: &mut ParseOutput,
    ) {
        let blocks = &mut message.blocks;
        match block.kind.get().unwrap_or("") {
            "text" => {
                let text = block.text.into_string();
                if record.is_api_error_message.0 || is_api_error(message.origin, &text) {
                    blocks.push(Block::Error(text));
                } else if record.is_compact_summary.0 {
                    blocks.push(Block::Summary(text));
                } else if !text.trim().is_empty() {
                    blocks.push(Block::Text(text));
                }
            }
            "thinking" => {
                let text = block.thinking.into_string();
                if !text.trim().is_empty() {
                    blocks.push(Block::Thinking(text));
                }
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let call = match block.id.get() {
                    Some(id) => CallId::new(id),
                    None => CallId::new(format!("{}#{}", message.id, blocks.len())),
                };
                let mut call = ToolUse {
                    call,
                    tool: block.name.into_string(),
                    input: block.input.map_or("", |input| input.get()).to_owned(),
                    path: None,
                };
                self.state.calls.open(&mut call);
                blocks.push(Block::ToolUse(call));
            }
            kind if kind.ends_with("tool_result") => {
                self.add_tool_result(block, None, record, blocks);
            }
            _ => add_media(&block, blocks, out),
        }
    }

    /// Pins the line of a call that changes a file: the change is emitted with the call's result,
    /// but its text is in the call.
    fn pin_edits(&mut self, message: &wire::Message<'_>, line: InputLine<'_>) {
        for block in &message.content.0 {
            let edits =
                block.kind.is("tool_use") && block.name.get().is_some_and(tools::is_write_tool);
            if let Some(call) = block.id.get().filter(|_| edits) {
                let state = &self.state;
                self.pins.pin(call.to_owned(), line, || save_state(state));
            }
        }
    }

    fn add_tool_result(
        &mut self,
        block: wire::Block<'_>,
        detail: Option<&serde_json::value::RawValue>,
        record: &Record<'_>,
        blocks: &mut Vec<Block>,
    ) {
        let call = block.tool_use_id.get();
        if let Some(call) = call {
            self.pins.release(call);
        }
        let mut result = ToolResult {
            call: call.map(CallId::new),
            is_error: block.is_error.0,
            ..ToolResult::default()
        };
        result.content = prompt::strip_last_reminder(result_text(block.content));
        result::add_detail(&mut result, detail);
        self.state.calls.close(&mut result);
        let decision = result::user_decision(&result, record.tool_denial_kind.get());
        self.state.refused |= result.is_error && decision.is_some();
        blocks.push(Block::ToolResult(result));
        blocks.extend(decision.map(Block::Approval));
    }
}

/// The author of a text in a user record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserTurnAuthor {
    Person,
    /// The model that started a subagent.
    Model,
    Program,
    /// The model that compacted the conversation.
    Summarizer,
}

impl UserTurnAuthor {
    fn of(record: &Record<'_>, owner: &RecordSession) -> Self {
        if record.is_compact_summary.0 {
            return Self::Summarizer;
        }
        let origin: wire::Origin<'_> = json::parse_or_default(record.origin);
        let foreign = origin.kind.get().is_some_and(|kind| kind != "human");
        if record.is_meta.0
            || record.prompt_source.is("system")
            || (foreign && !record.prompt_source.is("typed"))
        {
            return Self::Program;
        }
        if owner.is_subagent() {
            Self::Model
        } else {
            Self::Person
        }
    }
}

/// Adds an image or a document as a block.
fn add_media(block: &wire::Block<'_>, blocks: &mut Vec<Block>, out: &mut ParseOutput) {
    match block.kind.get().unwrap_or("") {
        kind @ ("image" | "document") => {
            let source: wire::Source<'_> = json::parse_or_default(block.source);
            blocks.push(Block::Image {
                media_type: source.media_type.get().unwrap_or(kind).to_owned(),
                size_bytes: source.data.0,
            });
        }
        // Encrypted reasoning and notes about the model in use carry no text.
        "redacted_thinking" | "fallback" | "tool_reference" | "container_upload" => {}
        kind => out.count_unknown(&format!("block/{kind}")),
    }
}

fn is_only_media(message: &Message) -> bool {
    let mut blocks = message.blocks.iter();
    blocks.all(|block| matches!(block, Block::Image { .. }))
}

/// Recognises an API error by its text, for versions without the flag.
fn is_api_error(origin: Origin, text: &str) -> bool {
    origin == Origin::Harness && text.starts_with("API Error")
}

/// Returns a result's text, with a placeholder for each image and document.
fn result_text(content: wire::Content<'_>) -> String {
    let mut parts = Vec::with_capacity(content.0.len());
    for block in content.0 {
        match block.kind.get().unwrap_or("") {
            "text" => parts.push(block.text.into_string()),
            kind @ ("image" | "document") => {
                let source: wire::Source<'_> = json::parse_or_default(block.source);
                let media = source.media_type.get().unwrap_or(kind);
                parts.push(format!("[{kind}: {media}, {} bytes]", source.data.0));
            }
            "tool_reference" => parts.push(format!("[tool: {}]", block.tool_name.into_string())),
            _ => parts.extend(block.text.get().map(str::to_owned)),
        }
    }
    if parts.len() == 1 {
        parts.swap_remove(0)
    } else {
        parts.join("\n")
    }
}
