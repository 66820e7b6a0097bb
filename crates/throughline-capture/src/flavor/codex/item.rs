//! Reads response items, the content of a rollout: messages, calls and results.

use memory::{ApiId, Block, MessageId, Origin, Role};

use super::call::{found_tool_names, tool_name};
use super::log::{CodexLogReader, CodexPosition};
use super::prompt::PartAuthor;
use super::wire::{self, Item, Part, as_text};
use super::{output, prompt};
use crate::ParseOutput;

impl CodexLogReader {
    pub(super) fn read_item(
        &mut self,
        at: CodexPosition<'_>,
        item: &Item<'_>,
        out: &mut ParseOutput,
    ) {
        match item.kind.as_str() {
            "message" => self.read_message(at, item, out),
            "reasoning" => self.emit_reasoning(at, item, out),
            "function_call" => {
                let (tool, input) = (tool_name(item), as_text(item.arguments));
                self.emit_call(at, item, &tool, &input, out);
            }
            "custom_tool_call" => {
                let (tool, input) = (tool_name(item), as_text(item.input));
                self.emit_call(at, item, &tool, &input, out);
            }
            "local_shell_call" => {
                self.emit_call(at, item, "local_shell", &as_text(item.action), out);
            }
            "tool_search_call" => {
                self.emit_call(at, item, "tool_search", &as_text(item.arguments), out);
            }
            // The model's provider runs this tool: no result follows.
            "web_search_call" => {
                self.emit_call_without_result(at, item, "web_search", &as_text(item.action), out);
            }
            "image_generation_call" => {
                self.emit_call_without_result(
                    at,
                    item,
                    "image_generation",
                    item.revised_prompt.as_str(),
                    out,
                );
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.emit_result(at, item, output::parse_output(item.output), out);
            }
            "tool_search_output" => {
                let content = found_tool_names(item.tools);
                let found = output::CodexOutput {
                    content,
                    ..output::CodexOutput::default()
                };
                self.emit_result(at, item, found, out);
            }
            "agent_message" => self.emit_agent_message(at, item, "item", out),
            "compaction" | "compaction_summary" | "context_compaction" | "compaction_trigger"
            | "additional_tools" | "ghost_snapshot" | "other" => {}
            other => out.count_unknown(&format!("response_item/{other}")),
        }
    }

    fn read_message(&mut self, at: CodexPosition<'_>, item: &Item<'_>, out: &mut ParseOutput) {
        let parts = wire::parts(item.content);
        let mut names = vec!["message", item.role.as_str()];
        names.extend(parts.iter().filter_map(|part| part.text.get()));
        let id = self.state.content_id(&names);
        match item.role.as_str() {
            "assistant" => {
                for part in &parts {
                    self.match_written_item(part.text.as_str());
                }
                self.emit_response(at, id, parts.iter().filter_map(block).collect(), out);
            }
            "user" => self.emit_prompt(at, id, item, &parts, out),
            _ => {
                self.state.response = None;
                let blocks = parts.iter().filter_map(block).collect();
                self.emit_message(at, id, (Role::System, Origin::Harness), blocks, out);
            }
        }
    }

    fn emit_prompt(
        &mut self,
        at: CodexPosition<'_>,
        id: MessageId,
        item: &Item<'_>,
        parts: &[Part<'_>],
        out: &mut ParseOutput,
    ) {
        self.state.response = None;
        if let Some(cwd) = parts
            .iter()
            .find_map(|part| prompt::cwd(part.text.as_str()))
        {
            self.set_missing_cwd(cwd, out);
        }
        let authors = prompt::part_authors(item.passthrough, parts);
        let by = |author| {
            let mut parts = authors.iter().zip(parts);
            parts.any(|(&by, part)| by == author && !part.is_empty())
        };
        let origin = match (by(PartAuthor::Person), by(PartAuthor::Agent)) {
            // The parent agent's model writes to a subagent in the user's role.
            (true, _) if self.state.subagent && !at.inherited => Origin::Model,
            (true, _) => Origin::Human,
            (false, true) => Origin::Model,
            (false, false) => Origin::Harness,
        };
        // Text that Codex adds to a prompt is dropped.
        let mine = |&(&by, _): &(&PartAuthor, &Part<'_>)| {
            origin == Origin::Harness || by != PartAuthor::Program
        };
        let blocks: Vec<Block> = authors
            .iter()
            .zip(parts)
            .filter(mine)
            .filter_map(|(_, part)| block(part))
            .collect();
        if origin != Origin::Harness
            && let Some(Block::Text(text)) = blocks.first()
        {
            self.emit_title(text, out);
        }
        self.emit_message(at, id, (Role::User, origin), blocks, out);
    }

    fn emit_reasoning(&mut self, at: CodexPosition<'_>, item: &Item<'_>, out: &mut ParseOutput) {
        let (summary, content) = (wire::parts(item.summary), wire::parts(item.content));
        let texts: Vec<&str> = summary
            .iter()
            .chain(&content)
            .filter_map(|part| part.text.get())
            .collect();
        // Most reasoning is encrypted.
        if texts.is_empty() {
            return;
        }
        let names: Vec<&str> = std::iter::once("reasoning")
            .chain(texts.iter().copied())
            .collect();
        let id = self.state.content_id(&names);
        let blocks = texts
            .into_iter()
            .filter(|text| {
                !self
                    .state
                    .recent_texts
                    .is_repeat(text, "reasoning", "raw reasoning")
            })
            .map(|text| Block::Thinking(text.to_owned()))
            .collect();
        self.emit_response(at, id, blocks, out);
    }

    /// Emits a message from one agent to another.
    pub(super) fn emit_agent_message(
        &mut self,
        at: CodexPosition<'_>,
        item: &Item<'_>,
        by: &str,
        out: &mut ParseOutput,
    ) {
        let parts = wire::parts(item.content);
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.get()).collect();
        let text = texts.join("\n");
        let other = if by == "item" {
            "communication"
        } else {
            "item"
        };
        if text.is_empty() || self.state.recent_texts.is_repeat(&text, by, other) {
            return;
        }
        let id = self
            .state
            .content_id(&["between agents", item.author.as_str(), &text]);
        self.state.response = None;
        self.emit_message(
            at,
            id,
            (Role::User, Origin::Model),
            vec![Block::Text(text)],
            out,
        );
    }

    /// Emits a part of the model's current response.
    pub(super) fn emit_response(
        &mut self,
        at: CodexPosition<'_>,
        id: MessageId,
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        self.state.response.get_or_insert_with(|| id.clone());
        self.emit_message(at, id, (Role::Assistant, Origin::Model), blocks, out);
    }

    pub(super) fn emit_message(
        &self,
        at: CodexPosition<'_>,
        id: MessageId,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        if blocks.is_empty() {
            return;
        }
        let mut message = self.new_message(at, id, role, origin);
        message.blocks = blocks;
        message.api_id = self
            .state
            .response
            .as_ref()
            .map(|first| ApiId::new(first.as_str()));
        out.push(message);
    }
}

fn block(part: &Part<'_>) -> Option<Block> {
    match part.text.get() {
        Some(text) => Some(Block::Text(text.to_owned())),
        None => output::image(part),
    }
}
