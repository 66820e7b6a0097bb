//! Response items: what was said, called and returned. They are the content of a rollout.

use std::borrow::Cow;

use memory::{ApiId, Block, CallId, Entry, MessageId, Origin, Role, ToolResult, ToolUse};
use serde_json::value::RawValue;

use super::log::{At, Log};
use super::wire::{self, Item, as_text};
use super::{output, prompt};
use crate::{Parsed, tools};

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
        let authors = prompt::Authors::read(item.passthrough);
        let by_user = item.role.as_str() == "user";
        let mut names = vec!["message", item.role.as_str()];
        names.extend(parts.iter().filter_map(|part| part.text.some()));
        let id = self.state.link(&names);

        // What Codex adds to a person's words in the same message is left out; a message with no
        // such words is Codex's as a whole.
        let human = |(at, part): &(usize, &wire::Part<'_>)| match part.text.some() {
            Some(text) => authors.human(*at, text),
            None => part.image_url.some().is_some(),
        };
        let person = by_user
            && parts
                .iter()
                .enumerate()
                .any(|part| part.1.text.some().is_some() && human(&part));
        let blocks: Vec<Block> = parts
            .iter()
            .enumerate()
            .filter(|part| !person || human(part))
            .filter_map(|(_, part)| match part.text.some() {
                Some(text) => Some(Block::Text(text.to_owned())),
                None => output::image(part),
            })
            .collect();
        if by_user
            && let Some(cwd) = parts
                .iter()
                .find_map(|part| prompt::cwd(part.text.as_str()))
        {
            self.stand_in(cwd, out);
        }
        let (role, origin) = match item.role.as_str() {
            "assistant" => (Role::Assistant, Origin::Model),
            "user" if !person => (Role::User, Origin::Harness),
            // Another agent's model speaks to a subagent in the user's role.
            "user" if self.state.subagent => (Role::User, Origin::Model),
            "user" => (Role::User, Origin::Human),
            _ => (Role::System, Origin::Harness),
        };
        if person && let Some(Block::Text(text)) = blocks.first() {
            self.entitle(text, out);
        }
        if role == Role::Assistant {
            self.tell(at, id, blocks, out);
        } else {
            self.state.response = None;
            self.emit(at, id, role, origin, blocks, out);
        }
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

    /// Takes in a call that will get a result.
    fn called(&mut self, at: At<'_>, item: &Item<'_>, tool: &str, input: &str, out: &mut Parsed) {
        if item.call_id.some().is_none() && tool.is_empty() {
            return out.unknown(&format!(
                "response_item/{} without name",
                item.kind.as_str()
            ));
        }
        let changes = !tools::changes(tool, input).is_empty();
        let before = changes.then(|| self.state.clone());
        let (id, mut call) = self.call(item, tool, input);
        if let Some(before) = before {
            self.come_back(at, &call.call, &before);
        }
        self.state.calls.open(&mut call);
        self.tell(at, id, vec![Block::ToolUse(call)], out);
    }

    /// Takes in a call that gets none.
    fn used(&mut self, at: At<'_>, item: &Item<'_>, tool: &str, input: &str, out: &mut Parsed) {
        let (id, call) = self.call(item, tool, input);
        self.tell(at, id, vec![Block::ToolUse(call)], out);
    }

    fn call(&mut self, item: &Item<'_>, tool: &str, input: &str) -> (MessageId, ToolUse) {
        let told = item.call_id.some().or(item.id.some());
        let id = self
            .state
            .link(&["call", told.unwrap_or_default(), tool, input]);
        let call = ToolUse {
            call: CallId::new(told.unwrap_or(id.as_str())),
            tool: tool.to_owned(),
            input: input.to_owned(),
            path: None,
        };
        (id, call)
    }

    fn returned(&mut self, at: At<'_>, item: &Item<'_>, output: output::Output, out: &mut Parsed) {
        let id = self
            .state
            .link(&["result", item.call_id.as_str(), &output.content]);
        let call = item.call_id.some().map(CallId::new);
        let signal = call.as_ref().and_then(|call| self.state.signals.take(call));
        let (said_code, said_failed) =
            signal.map_or((None, false), |signal| (signal.exit_code, signal.failed));
        let applied = call
            .as_ref()
            .map_or_else(Vec::new, |call| self.settle(call));
        let told = !applied.is_empty();
        let mut result = ToolResult {
            call,
            exit_code: output.exit_code.or(said_code),
            is_error: output.failed || said_failed,
            content: output.content,
            changes: applied,
            ..ToolResult::default()
        };
        self.state.calls.close(&mut result);
        let failing = result.exit_code.is_some_and(|code| code != 0);
        if failing && result.tool.as_deref() == Some("apply_patch") {
            result.is_error = true;
        }
        // A command may apply a patch and then fail; then it says that it did apply it.
        if result.is_error || failing && !told && !result.content.contains(PATCH_APPLIED) {
            result.changes.clear();
        }
        let refused = output.refused.then(|| {
            Block::Approval(format!(
                "refused: {}",
                result.tool.as_deref().unwrap_or("a tool call")
            ))
        });
        let mut blocks = vec![Block::ToolResult(result)];
        blocks.extend(output.images);
        blocks.extend(refused);
        self.state.response = None;
        self.emit(at, id, Role::User, Origin::Tool, blocks, out);
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
    fn tell(&mut self, at: At<'_>, id: MessageId, blocks: Vec<Block>, out: &mut Parsed) {
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

/// What `apply_patch` prints when it has done its work.
const PATCH_APPLIED: &str = "Success. Updated the following files";

/// Returns the tool's name as the model knows it, which may be a slip of the model.
fn name<'a>(item: &'a Item<'_>) -> Cow<'a, str> {
    let name = item.name.as_str();
    match item.namespace.some() {
        None => Cow::Borrowed(name),
        Some(space) if name.starts_with(space) => Cow::Borrowed(name),
        Some(space) => {
            let space = space.trim_end_matches('_');
            Cow::Owned(format!("{space}__{}", name.trim_start_matches('_')))
        }
    }
}

/// Returns the names of the tools that a search found; their schemas are not worth keeping.
fn tool_names(tools: Option<&RawValue>) -> String {
    #[derive(serde::Deserialize)]
    struct Tool<'a> {
        #[serde(borrow, default)]
        name: super::text::Text<'a>,
        #[serde(borrow, default)]
        tools: Vec<Tool<'a>>,
    }
    fn add(tool: &Tool<'_>, indent: &str, names: &mut String) {
        names.push_str(indent);
        names.push_str(tool.name.as_str());
        names.push('\n');
        for tool in &tool.tools {
            add(tool, "  ", names);
        }
    }
    let mut names = String::new();
    for tool in wire::lenient::<Vec<Tool<'_>>>(tools).unwrap_or_default() {
        add(&tool, "", &mut names);
    }
    names
}
