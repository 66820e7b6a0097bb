//! Reads the messages of a session.

use std::borrow::Cow;

use jiff::Timestamp;
use memory::{
    Block, CallId, LogEntry, Origin, Role, SessionId, ToolResult, ToolUse, Usage, UsageEntry,
};
use serde_json::value::RawValue;

use super::log::{PiLogReader, push_message};
use super::wire;
use crate::ParseOutput;
use crate::flavor::text_block;
use crate::json;

impl PiLogReader {
    pub(super) fn read_message(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        match message.role.as_str() {
            "user" => self.emit_prompt(number, line, message, out),
            "assistant" => self.emit_answer(number, line, message, out),
            "toolResult" => self.emit_result(number, line, message, out),
            "bashExecution" => self.emit_user_command(number, line, message, out),
            // Extensions write these; the second name is from version 2.
            "custom" | "hookMessage" => {
                let blocks = content_blocks(message.content, out);
                let header = self.new_message(number, line, Role::User, Origin::Harness, &blocks);
                push_message(header, blocks, out);
            }
            "compactionSummary" => {
                let (summary, tokens) = (message.summary.as_str(), message.tokens_before);
                self.emit_compaction(number, line, summary, tokens, out);
            }
            "branchSummary" => {
                self.emit_branch_summary(number, line, message.summary.as_str(), out);
            }
            other => out.count_unknown(&format!("message/{other}")),
        }
    }

    fn emit_prompt(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        let mut blocks = content_blocks(message.content, out);
        for block in &mut blocks {
            if let Block::Text(text) = block
                && let Cow::Owned(typed) = typed_text(text)
            {
                *text = typed;
            }
        }
        if let Some(Block::Text(text)) = blocks.first() {
            self.emit_first_title(text, line.timestamp.0, out);
        }
        let header = self.new_message(number, line, Role::User, Origin::Human, &blocks);
        push_message(header, blocks, out);
    }

    fn emit_answer(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        let mut blocks = content_blocks(message.content, out);
        for block in &mut blocks {
            if let Block::ToolUse(call) = block {
                self.state.calls.open(call);
            }
        }
        // An aborted answer has an error message too, which only says that the user stopped it.
        if message.stop_reason.as_str() == "error"
            && let Some(error) = message.error_message.get()
        {
            blocks.push(Block::Error(error.to_owned()));
        }
        let mut header = self.new_message(number, line, Role::Assistant, Origin::Model, &blocks);
        header.model = message.model.to_text();
        let at = header.at;
        push_message(header, blocks, out);
        let bill = usage_entry(self.session(), at, message);
        out.entries.extend(bill.map(LogEntry::Usage));
    }

    fn emit_result(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        let mut content = String::new();
        let mut images = Vec::new();
        for block in content_blocks(message.content, out) {
            match block {
                Block::Text(text) => {
                    if !content.is_empty() {
                        content.push('\n');
                    }
                    content.push_str(&text);
                }
                other => images.push(other),
            }
        }
        let is_error = message.is_error.unwrap_or_default();
        let mut result = ToolResult {
            call: message.tool_call_id.get().map(CallId::new),
            tool: message.tool_name.to_text(),
            is_error,
            exit_code: is_error.then(|| exit_code(&content)).flatten(),
            content,
            ..ToolResult::default()
        };
        self.state.calls.close(&mut result);
        let mut blocks = vec![Block::ToolResult(result)];
        blocks.extend(images);
        let header = self.new_message(number, line, Role::User, Origin::Tool, &blocks);
        push_message(header, blocks, out);
    }

    /// Emits a command that the user ran with `!`, and its output.
    fn emit_user_command(
        &mut self,
        number: u64,
        line: &wire::Line<'_>,
        message: &wire::Message<'_>,
        out: &mut ParseOutput,
    ) {
        let result = ToolResult {
            tool: Some("bash".to_owned()),
            content: message.output.as_str().to_owned(),
            is_error: message.exit_code.is_some_and(|code| code != 0),
            exit_code: message.exit_code,
            ..ToolResult::default()
        };
        let blocks = vec![
            Block::Text(format!("!{}", message.command.as_str())),
            Block::ToolResult(result),
        ];
        let header = self.new_message(number, line, Role::User, Origin::Human, &blocks);
        push_message(header, blocks, out);
    }
}

/// Returns the blocks of a message's content.
pub(crate) fn content_blocks(content: Option<&RawValue>, out: &mut ParseOutput) -> Vec<Block> {
    let Some(content) = content else {
        return Vec::new();
    };
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text_block(text).into_iter().collect();
    }
    let parts = json::parse_items(Some(content)).into_iter();
    parts.filter_map(|part| content_block(&part, out)).collect()
}

fn content_block(part: &wire::Part<'_>, out: &mut ParseOutput) -> Option<Block> {
    match part.kind.as_str() {
        "text" => text_block(part.text.as_str().to_owned()),
        "thinking" => part.thinking.to_text().map(Block::Thinking),
        "toolCall" => Some(Block::ToolUse(ToolUse {
            call: CallId::new(part.id.as_str()),
            tool: part.name.as_str().to_owned(),
            input: part.arguments.map_or("", RawValue::get).to_owned(),
            path: None,
        })),
        "image" => Some(Block::Image {
            media_type: part.mime_type.as_str().to_owned(),
            size_bytes: part.data.as_str().len() as u64 / 4 * 3,
        }),
        other => {
            out.count_unknown(&format!("content/{other}"));
            None
        }
    }
}

/// Returns the text that a block contributes to an id.
pub(crate) fn block_key(block: &Block) -> &str {
    match block {
        Block::Text(text)
        | Block::Thinking(text)
        | Block::Summary(text)
        | Block::Error(text)
        | Block::Approval(text) => text,
        Block::ToolUse(call) => call.call.as_str(),
        Block::ToolResult(result) => result
            .call
            .as_ref()
            .map_or(&*result.content, CallId::as_str),
        Block::Image { media_type, .. } => media_type,
        Block::Boundary(_) => "",
    }
}

/// Returns what a person typed: Pi replaces a skill's command by the skill's text.
fn typed_text(text: &str) -> Cow<'_, str> {
    let skill = text
        .strip_prefix("<skill name=\"")
        .and_then(|rest| rest.split_once('"'));
    match (skill, text.split_once("</skill>")) {
        (Some((name, _)), Some((_, words))) => Cow::Owned(
            format!("/skill:{name} {}", words.trim())
                .trim_end()
                .to_owned(),
        ),
        _ => Cow::Borrowed(text),
    }
}

/// Returns the exit code at the end of a failed command's output.
fn exit_code(content: &str) -> Option<i64> {
    let (_, code) = content.rsplit_once("Command exited with code ")?;
    code.trim().parse().ok()
}

/// Returns the usage of a response. Forks copy it, and converting an old session changes ids, so
/// the key is made of the time and the counts.
fn usage_entry(
    session: SessionId,
    at: Option<Timestamp>,
    message: &wire::Message<'_>,
) -> Option<UsageEntry> {
    let reported: wire::Usage = serde_json::from_str(message.usage?.get()).ok()?;
    let usage = Usage {
        input: reported.input,
        output: reported.output,
        cache_read: reported.cache_read,
        cache_write: reported.cache_write,
        reasoning: 0,
    };
    if usage.total() == 0 {
        return None;
    }
    let asked = message.timestamp.0.map_or(0, Timestamp::as_millisecond);
    let model = message.model.as_str();
    let counted = [
        usage.input, usage.cache_read, usage.cache_write, usage.output,
    ];
    let counted = counted.map(|tokens| tokens.to_string()).join("+");
    Some(UsageEntry {
        session,
        key: format!("pi:{asked}/{model}/{counted}"),
        at,
        model: message.model.to_text(),
        usage,
        cost_usd: reported.cost.map(|cost| cost.total),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_called_by_its_name() {
        let expanded =
            "<skill name=\"review\" location=\"/s/SKILL.md\">\nRead all.\n</skill>\n\nthe store";
        assert_eq!(typed_text(expanded), "/skill:review the store");
        assert_eq!(typed_text("what is a <skill>?"), "what is a <skill>?");
    }

    #[test]
    fn the_exit_code_stands_at_the_end() {
        assert_eq!(exit_code("no\n\nCommand exited with code 2"), Some(2));
        assert_eq!(exit_code("Command exited with code 2 it said"), None);
    }
}
