//! Reads the records around the conversation: system notes, attachments, the prompt queue, titles.

use memory::{Block, Boundary, Message, Origin, Role, TitleRank};

use super::conversation::UserTurnAuthor;
use super::log::{self, ClaudeLogReader};
use super::prompt::{self, UserText};
use super::wire::{self, Record};
use crate::adapter::save_state;
use crate::json;
use crate::{InputLine, ParseOutput};

impl ClaudeLogReader {
    pub(crate) fn read_system(
        &mut self,
        record: &Record<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        let block = match record.subtype.get().unwrap_or("") {
            "compact_boundary" => {
                let metadata: wire::CompactMetadata<'_> =
                    json::parse_or_default(record.compact_metadata);
                Block::Boundary(Boundary {
                    trigger: metadata.trigger.get().map(str::to_owned),
                    tokens_before: metadata.pre_tokens.0.map(|_| metadata.pre_tokens.count()),
                    ..Boundary::default()
                })
            }
            "api_error" | "error" => Block::Error(error_text(record)),
            "api_refusal" | "model_refusal_fallback" => Block::Error(refusal_text(record)),
            "local_command" => return self.read_local_command(record, line, out),
            // Version 1.0.x reported hooks and limits without a subtype.
            "" if record.level.is("error") => Block::Error(content_text(record)),
            subtype if IGNORED_SUBTYPES.contains(&subtype) => return,
            subtype => return out.count_unknown(&format!("system/{subtype}")),
        };
        let owner = self.session_of(record);
        self.state
            .sessions
            .observe_record(&owner, record, None, out);
        let mut message = self.new_message(record, &owner, line, (Role::System, Origin::Harness));
        message.blocks.push(block);
        log::push_message(message, out);
    }

    /// Reads a command of Claude Code itself. Only its arguments are a person's words.
    fn read_local_command(
        &mut self,
        record: &Record<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        let text = content_text(record);
        if !text.trim_start().starts_with("<command-") {
            return;
        }
        let UserText::Prompt(typed) = prompt::classify(&text) else {
            return;
        };
        let owner = self.session_of(record);
        let mut message = self.new_message(record, &owner, line, (Role::User, Origin::Human));
        message.blocks.push(Block::Text(typed.into_owned()));
        log::push_message(message, out);
    }

    pub(crate) fn read_attachment(
        &mut self,
        record: &Record<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        self.state.attachments = true;
        let Some(raw) = record
            .attachment
            .filter(|raw| raw.get().contains("\"queued_command\""))
        else {
            return;
        };
        let attachment: wire::Attachment<'_> = json::parse_or_default(Some(raw));
        let origin: wire::Origin<'_> = json::parse_or_default(attachment.origin);
        let by_person = attachment.kind.is("queued_command")
            && attachment
                .command_mode
                .get()
                .is_none_or(|mode| mode == "prompt")
            && origin.kind.get().is_none_or(|kind| kind == "human")
            && !attachment.is_meta.0;
        let owner = self.session_of(record);
        if !by_person || owner.is_subagent() {
            return;
        }
        self.state
            .sessions
            .observe_record(&owner, record, None, out);
        let message = self.new_message(record, &owner, line, (Role::User, Origin::Harness));
        self.emit_user_text(attachment.prompt.0, UserTurnAuthor::Person, message, out);
    }

    pub(crate) fn read_queue_operation(
        &mut self,
        record: &Record<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        match record.operation.get().unwrap_or("") {
            "enqueue" => {
                let text = content_text(record);
                let state = self.state.clone();
                let queue = &mut self.state.queue;
                queue.enqueue(&text, line, &mut self.pins, || save_state(&state));
            }
            "dequeue" => {
                self.state.queue.pop(&mut self.pins);
            }
            "remove" => {
                let queued = self.state.queue.pop(&mut self.pins);
                if let Some(text) = queued.filter(|_| !self.state.attachments) {
                    self.emit_queued_prompt(text, record, line, out);
                }
            }
            "popAll" => self.state.queue.clear(&mut self.pins),
            operation => out.count_unknown(&format!("queue-operation/{operation}")),
        }
    }

    /// Emits a prompt that was delivered during a turn and left no other record.
    fn emit_queued_prompt(
        &mut self,
        text: String,
        record: &Record<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        let owner = self.session_of(record);
        let id = self.chain_id(&["queued", &text]);
        let mut message = Message::new(id, owner.session, Role::User, Origin::Human);
        (message.cwd, message.branch) = self.state.sessions.last_location(&message.session);
        message.at = record.timestamp.0;
        message.line = line.number;
        message.blocks.push(Block::Text(text));
        out.push(message);
    }

    pub(crate) fn read_title(&mut self, record: &Record<'_>, out: &mut ParseOutput) {
        let (text, rank) = match record.kind.get().unwrap_or("") {
            "custom-title" => (&record.custom_title, TitleRank::Custom),
            "ai-title" => (&record.ai_title, TitleRank::Generated),
            // A summary without a leaf in this log belongs to another session.
            _ if record
                .leaf_uuid
                .get()
                .is_some_and(|leaf| self.has_leaf(leaf)) =>
            {
                (&record.summary, TitleRank::Summary)
            }
            _ => return,
        };
        let Some(text) = text.get() else { return };
        let session = self.session_of(record).session;
        self.state.sessions.emit_title(&session, text, rank, out);
    }
}

/// Subtypes of system notes that are not part of the conversation.
const IGNORED_SUBTYPES: &[&str] = &[
    "", "away_summary", "bridge_status", "microcompact_boundary", "session_start",
    "stop_hook_summary", "turn_duration",
];

/// Returns the message of an API error, however deep it is nested.
fn error_text(record: &Record<'_>) -> String {
    let mut failure: wire::Failure<'_> = json::parse_or_default(record.error);
    let (kind, status) = (failure.kind.get().map(str::to_owned), failure.status.0);
    /// The client's error contains the API's response, which contains the error.
    const NESTED_MAX: usize = 4;
    for _ in 0..NESTED_MAX {
        if let Some(text) = failure.message.get().or(failure.formatted.get()) {
            return text.to_owned();
        }
        failure = json::parse_or_default(failure.error);
    }
    match (kind, status) {
        (Some(kind), _) => kind,
        (None, Some(status)) => format!("API error {status}"),
        (None, None) => content_text(record),
    }
}

fn refusal_text(record: &Record<'_>) -> String {
    match record.api_refusal_explanation.get() {
        Some(text) => text.to_owned(),
        None => content_text(record),
    }
}

/// Returns a record's text, whatever shape its content has.
fn content_text(record: &Record<'_>) -> String {
    let content: wire::Content<'_> = json::parse_or_default(record.content);
    let texts: Vec<_> = content
        .0
        .into_iter()
        .map(|block| block.text.into_string())
        .collect();
    texts.join("\n")
}
