//! `chat_history.jsonl`: the conversation as it is sent to the model, in its two formats.
//!
//! It is derived from the log and rewritten at will, and has neither times nor ids, so it is read
//! only where there is no log: old sessions and copies.

use memory::{
    Block, Boundary, CallId, Chain, Entry, Flavor, Message, Origin, Role, SessionId, SessionPatch,
    ToolResult, ToolUse,
};
use serde_json::value::RawValue;

use super::discover::Place;
use super::pending::block;
use super::prompt;
use super::session::key;
use super::wire::{BackendCall, ChatCall, ChatLine, Content};
use crate::calls::OpenCalls;
use crate::{Line, Parsed, Reader, lines};

#[derive(Debug)]
pub struct Chat {
    place: Place,
    chain: Chain,
    calls: OpenCalls,
    /// Thoughts that the assistant's next line belongs to, and the line of the last of them.
    thoughts: Vec<Block>,
    thought_at: u64,
    introduced: bool,
}

impl Chat {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            chain: Chain::default(),
            calls: OpenCalls::default(),
            thoughts: Vec::new(),
            thought_at: 0,
            introduced: false,
        }
    }

    fn read(&mut self, number: u64, text: &str, out: &mut Parsed) -> serde_json::Result<()> {
        let line: ChatLine<'_> = serde_json::from_str(text)?;
        let kind = line
            .kind
            .as_deref()
            .or(line.role.as_deref())
            .unwrap_or_default();
        let blocks = blocks(line.content)?;
        if !matches!(kind, "assistant" | "reasoning") {
            self.settle_thoughts(out);
        }
        match kind {
            "system" => {}
            "user" => self.user(number, blocks, &line, out),
            "assistant" => self.assistant(number, blocks, &line, out),
            "tool_result" | "tool" => self.result(number, &blocks, &line, out),
            "reasoning" => {
                self.thought_at = number;
                let summary = line.summary.unwrap_or_default();
                let thoughts = summary.into_iter().filter_map(|part| part.text);
                self.thoughts
                    .extend(thoughts.map(|text| Block::Thinking(text.into_owned())));
            }
            "backend_tool_call" => {
                if let Some(call) = line.backend.as_ref().map(backend_call) {
                    let call = vec![Block::ToolUse(call)];
                    self.say(number, Role::Assistant, Origin::Model, call, None, out);
                }
            }
            kind => out.unknown(&format!("chat/{kind}")),
        }
        Ok(())
    }

    fn user(&mut self, number: u64, mut blocks: Vec<Block>, line: &ChatLine<'_>, out: &mut Parsed) {
        let mut origin = prompt::unwrap(&mut blocks, line.synthetic_reason.as_deref());
        if self.place.is_subagent {
            origin = Origin::Harness;
        }
        if let Some(index) = line.prompt_index {
            // A compaction rewrites what stands before; the turns it keeps must keep their names.
            self.chain = Chain::default();
            self.chain.link(&["prompt", &index.to_string()]);
        }
        if matches!(blocks.first(), Some(Block::Summary(_))) {
            blocks.insert(0, Block::Boundary(Boundary::default()));
        }
        self.say(number, Role::User, origin, blocks, None, out);
    }

    fn assistant(&mut self, number: u64, said: Vec<Block>, line: &ChatLine<'_>, out: &mut Parsed) {
        let mut blocks = std::mem::take(&mut self.thoughts);
        if let Some(thought) = line.reasoning_content.as_deref().filter(|t| !t.is_empty()) {
            blocks.push(Block::Thinking(thought.to_owned()));
        }
        blocks.extend(said);
        for call in line.tool_calls.iter().flatten() {
            let mut call = tool_use(call);
            self.calls.open(&mut call);
            blocks.push(Block::ToolUse(call));
        }
        let model = line.model_id.as_deref();
        self.say(number, Role::Assistant, Origin::Model, blocks, model, out);
    }

    fn result(&mut self, number: u64, said: &[Block], line: &ChatLine<'_>, out: &mut Parsed) {
        let texts: Vec<&str> = said
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let content = texts.join("\n");
        let exit_code = exit_code(&content);
        let mut result = ToolResult {
            call: line.tool_call_id.as_deref().map(CallId::new),
            is_error: exit_code.is_some_and(|code| code != 0) || content.starts_with("Error:"),
            exit_code,
            content,
            ..ToolResult::default()
        };
        self.calls.close(&mut result);
        let result = vec![Block::ToolResult(result)];
        self.say(number, Role::User, Origin::Tool, result, None, out);
    }

    /// Emits thoughts that led to no words.
    fn settle_thoughts(&mut self, out: &mut Parsed) {
        let thoughts = std::mem::take(&mut self.thoughts);
        self.say(
            self.thought_at,
            Role::Assistant,
            Origin::Model,
            thoughts,
            None,
            out,
        );
    }

    fn say(
        &mut self,
        number: u64,
        role: Role,
        origin: Origin,
        blocks: Vec<Block>,
        model: Option<&str>,
        out: &mut Parsed,
    ) {
        if blocks.is_empty() {
            return;
        }
        let session = SessionId::of(Flavor::Grok, &self.place.session);
        if !self.introduced {
            self.introduced = true;
            out.push(Entry::Session(SessionPatch {
                cwd: self.place.cwd.clone(),
                ..SessionPatch::new(session.clone(), Flavor::Grok)
            }));
        }
        let parts: Vec<&str> = blocks.iter().map(key).collect();
        let id = self.chain.link(&parts);
        out.push(Entry::Message(Message {
            blocks,
            model: model.map(str::to_owned),
            cwd: self.place.cwd.clone(),
            line: number,
            ..Message::new(id, session, role, origin)
        }));
    }
}

impl Reader for Chat {
    fn line(&mut self, document: Line<'_>, out: &mut Parsed) {
        if self.place.has_log {
            return;
        }
        for (number, text) in (1..).zip(document.text.split_inclusive('\n')) {
            let line = Line {
                text,
                number,
                ..document
            };
            lines::objects(line, out, |text, out| self.read(number, text, out));
        }
        self.settle_thoughts(out);
    }

    fn state(&self) -> String {
        "{}".to_owned()
    }
}

/// Returns the blocks of a content that is text or a list.
fn blocks(content: Option<&RawValue>) -> serde_json::Result<Vec<Block>> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    if content.get().starts_with('[') {
        let parts: Vec<Content<'_>> = serde_json::from_str(content.get())?;
        return Ok(parts.iter().filter_map(block).collect());
    }
    let text: String = serde_json::from_str(content.get())?;
    Ok(if text.is_empty() {
        Vec::new()
    } else {
        vec![Block::Text(text)]
    })
}

fn tool_use(call: &ChatCall<'_>) -> ToolUse {
    let function = call.function.as_ref();
    let tool = call.name.as_deref().or(function.map(|f| &*f.name));
    let input = call.arguments.as_deref();
    let input = input.or(function.and_then(|f| f.arguments.as_deref()));
    ToolUse {
        call: CallId::new(&*call.id),
        tool: tool.unwrap_or("tool").to_owned(),
        input: input.unwrap_or_default().to_owned(),
        path: None,
    }
}

fn backend_call(call: &BackendCall<'_>) -> ToolUse {
    ToolUse {
        call: CallId::new(call.id.as_deref().unwrap_or_default()),
        tool: call.tool_type.to_string(),
        input: call
            .action
            .map(RawValue::get)
            .unwrap_or_default()
            .to_owned(),
        path: None,
    }
}

/// Commands answer the model with their exit code on the first line.
fn exit_code(content: &str) -> Option<i64> {
    let (code, _) = content.strip_prefix("exit: ")?.split_once('\n')?;
    code.trim().parse().ok()
}
