//! Response items: what was said, called and returned. They are the content of a rollout.

use memory::{ApiId, Block, Entry, MessageId, Origin, Role};

use super::call::{name, tool_names};
use super::log::{At, Log};
use super::prompt::Author;
use super::wire::{self, Item, Part, as_text};
use super::{output, prompt};
use crate::Parsed;

impl Log {
    pub(super) fn item(&mut self, at: At<'_>, item: &Item<'_>, out: &mut Parsed) {
        match item.kind.as_str() {
            "message" => self.said(at, item, out),
            "reasoning" => self.thought(at, item, out),
            "function_call" => {
                let (tool, input) = (name(item), as_text(item.arguments));
                self.called(at, item, &tool, &input, out);
            }
            "custom_tool_call" => {
                let (tool, input) = (name(item), as_text(item.input));
                self.called(at, item, &tool, &input, out);
            }
            "local_shell_call" => {
                self.called(at, item, "local_shell", &as_text(item.action), out);
            }
            "tool_search_call" => {
                self.called(at, item, "tool_search", &as_text(item.arguments), out);
            }
            // Done on the model's side: no result follows.
            "web_search_call" => self.used(at, item, "web_search", &as_text(item.action), out),
            "image_generation_call" => {
                self.used(
                    at,
                    item,
                    "image_generation",
                    item.revised_prompt.as_str(),
                    out,
                );
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.returned(at, item, output::read(item.output), out);
            }
            "tool_search_output" => {
                let content = tool_names(item.tools);
                let found = output::Output {
                    content,
                    ..output::Output::default()
                };
                self.returned(at, item, found, out);
            }
            "agent_message" => self.between_agents(at, item, "item", out),
            "compaction" | "compaction_summary" | "context_compaction" | "compaction_trigger"
            | "additional_tools" | "ghost_snapshot" | "other" => {}
            other => out.unknown(&format!("response_item/{other}")),
        }
    }

    fn said(&mut self, at: At<'_>, item: &Item<'_>, out: &mut Parsed) {
        let parts = wire::parts(item.content);
        let mut names = vec!["message", item.role.as_str()];
        names.extend(parts.iter().filter_map(|part| part.text.some()));
        let id = self.state.link(&names);
        match item.role.as_str() {
            "assistant" => {
                for part in &parts {
                    self.written(part.text.as_str());
                }
                self.tell(at, id, parts.iter().filter_map(block).collect(), out);
            }
            "user" => self.asked(at, id, item, &parts, out),
            _ => {
                self.state.response = None;
                let blocks = parts.iter().filter_map(block).collect();
                self.emit(at, id, Role::System, Origin::Harness, blocks, out);
            }
        }
    }

    fn asked(
        &mut self,
        at: At<'_>,
        id: MessageId,
        item: &Item<'_>,
        parts: &[Part<'_>],
        out: &mut Parsed,
    ) {
        self.state.response = None;
        if let Some(cwd) = parts
            .iter()
            .find_map(|part| prompt::cwd(part.text.as_str()))
        {
            self.stand_in(cwd, out);
        }
        let authors = prompt::authors(item.passthrough, parts);
        let by = |author| {
            let mut parts = authors.iter().zip(parts);
            parts.any(|(&by, part)| by == author && !part.is_empty())
        };
        let origin = match (by(Author::Person), by(Author::Agent)) {
            // Another agent's model speaks to a subagent in the user's role.
            (true, _) if self.state.subagent && !at.inherited => Origin::Model,
            (true, _) => Origin::Human,
            (false, true) => Origin::Model,
            (false, false) => Origin::Harness,
        };
        // What the program adds to a prompt in the same message is left out.
        let mine =
            |&(&by, _): &(&Author, &Part<'_>)| origin == Origin::Harness || by != Author::Program;
        let blocks: Vec<Block> = authors
            .iter()
            .zip(parts)
            .filter(mine)
            .filter_map(|(_, part)| block(part))
            .collect();
        if origin != Origin::Harness
            && let Some(Block::Text(text)) = blocks.first()
        {
            self.entitle(text, out);
        }
        self.emit(at, id, Role::User, origin, blocks, out);
    }

    fn thought(&mut self, at: At<'_>, item: &Item<'_>, out: &mut Parsed) {
        let (summary, content) = (wire::parts(item.summary), wire::parts(item.content));
        let texts: Vec<&str> = summary
            .iter()
            .chain(&content)
            .filter_map(|part| part.text.some())
            .collect();
        // Most are encrypted, with nothing to read.
        if texts.is_empty() {
            return;
        }
        let names: Vec<&str> = std::iter::once("reasoning")
            .chain(texts.iter().copied())
            .collect();
        let id = self.state.link(&names);
        let blocks = texts
            .into_iter()
            .filter(|text| !self.state.told.again(text, "reasoning", "raw reasoning"))
            .map(|text| Block::Thinking(text.to_owned()))
            .collect();
        self.tell(at, id, blocks, out);
    }

    /// Takes in what one agent wrote to another.
    pub(super) fn between_agents(
        &mut self,
        at: At<'_>,
        item: &Item<'_>,
        by: &str,
        out: &mut Parsed,
    ) {
        let parts = wire::parts(item.content);
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.some()).collect();
        let text = texts.join("\n");
        let other = if by == "item" {
            "communication"
        } else {
            "item"
        };
        if text.is_empty() || self.state.told.again(&text, by, other) {
            return;
        }
        let id = self
            .state
            .link(&["between agents", item.author.as_str(), &text]);
        self.state.response = None;
        self.emit(
            at,
            id,
            Role::User,
            Origin::Model,
            vec![Block::Text(text)],
            out,
        );
    }

    /// Gives out a part of the model's current response.
    pub(super) fn tell(&mut self, at: At<'_>, id: MessageId, blocks: Vec<Block>, out: &mut Parsed) {
        self.state.response.get_or_insert_with(|| id.clone());
        self.emit(at, id, Role::Assistant, Origin::Model, blocks, out);
    }

    pub(super) fn emit(
        &self,
        at: At<'_>,
        id: MessageId,
        role: Role,
        origin: Origin,
        blocks: Vec<Block>,
        out: &mut Parsed,
    ) {
        if blocks.is_empty() {
            return;
        }
        let mut message = self.message(at, id, role, origin);
        message.blocks = blocks;
        message.api_id = self
            .state
            .response
            .as_ref()
            .map(|first| ApiId::new(first.as_str()));
        out.push(Entry::Message(message));
    }
}

fn block(part: &Part<'_>) -> Option<Block> {
    match part.text.some() {
        Some(text) => Some(Block::Text(text.to_owned())),
        None => output::image(part),
    }
}
