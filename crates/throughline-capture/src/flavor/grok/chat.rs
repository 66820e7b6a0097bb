//! Reads `chat_history.jsonl`: the conversation as it is sent to the model, in its two formats.
//!
//! Grok derives it from the log and rewrites it, without times and ids, so it is read only where
//! there is no log: in old sessions and copies.

use memory::{
    Block, Boundary, CallId, Flavor, IdChain, Message, Origin, Role, SessionId, SessionPatch,
    ToolResult, ToolUse,
};
use serde_json::value::RawValue;

use super::discover::GrokLocation;
use super::pending_message::block;
use super::prompt;
use super::session::block_key;
use super::wire::{BackendCall, ChatCall, ChatLine, Content};
use crate::calls::OpenCalls;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct GrokChatReader {
    location: GrokLocation,
    chain: IdChain,
    calls: OpenCalls,
    /// Reasoning that belongs to the assistant's next line, and the line of its last part.
    thoughts: Vec<Block>,
    thought_at: u64,
    introduced: bool,
}

impl GrokChatReader {
    pub(crate) fn new(location: GrokLocation) -> Self {
        Self {
            location,
            chain: IdChain::default(),
            calls: OpenCalls::default(),
            thoughts: Vec::new(),
            thought_at: 0,
            introduced: false,
        }
    }

    fn read_chat_line(
        &mut self,
        number: u64,
        text: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let line: ChatLine<'_> = serde_json::from_str(text)?;
        let kind = line
            .kind
            .as_deref()
            .or(line.role.as_deref())
            .unwrap_or_default();
        let blocks = blocks(line.content)?;
        if !matches!(kind, "assistant" | "reasoning") {
            self.flush_thoughts(out);
        }
        match kind {
            "system" => {}
            "user" => self.emit_user(number, blocks, &line, out),
            "assistant" => self.emit_assistant(number, blocks, &line, out),
            "tool_result" | "tool" => self.emit_result(number, &blocks, &line, out),
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
                    self.emit_message(number, (Role::Assistant, Origin::Model), call, None, out);
                }
            }
            kind => out.count_unknown(&format!("chat/{kind}")),
        }
        Ok(())
    }

    fn emit_user(
        &mut self,
        number: u64,
        mut blocks: Vec<Block>,
        line: &ChatLine<'_>,
        out: &mut ParseOutput,
    ) {
        let mut origin = prompt::unwrap_prompt(&mut blocks, line.synthetic_reason.as_deref());
        if self.location.is_subagent {
            origin = Origin::Harness;
        }
        if let Some(index) = line.prompt_index {
            // A compaction rewrites earlier lines; the ids of the turns it keeps must not depend on
            // them.
            self.chain = IdChain::default();
            self.chain.link(&["prompt", &index.to_string()]);
        }
        if matches!(blocks.first(), Some(Block::Summary(_))) {
            blocks.insert(0, Block::Boundary(Boundary::default()));
        }
        self.emit_message(number, (Role::User, origin), blocks, None, out);
    }

    fn emit_assistant(
        &mut self,
        number: u64,
        said: Vec<Block>,
        line: &ChatLine<'_>,
        out: &mut ParseOutput,
    ) {
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
        self.emit_message(number, (Role::Assistant, Origin::Model), blocks, model, out);
    }

    fn emit_result(
        &mut self,
        number: u64,
        said: &[Block],
        line: &ChatLine<'_>,
        out: &mut ParseOutput,
    ) {
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
        self.emit_message(number, (Role::User, Origin::Tool), result, None, out);
    }

    /// Emits reasoning that no answer followed.
    fn flush_thoughts(&mut self, out: &mut ParseOutput) {
        let thoughts = std::mem::take(&mut self.thoughts);
        self.emit_message(
            self.thought_at,
            (Role::Assistant, Origin::Model),
            thoughts,
            None,
            out,
        );
    }

    fn emit_message(
        &mut self,
        number: u64,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        model: Option<&str>,
        out: &mut ParseOutput,
    ) {
        if blocks.is_empty() {
            return;
        }
        let session = SessionId::of(Flavor::Grok, &self.location.session);
        if !self.introduced {
            self.introduced = true;
            out.push(
                SessionPatch::new(session.clone(), Flavor::Grok)
                    .with_cwd(self.location.cwd.clone()),
            );
        }
        let parts: Vec<&str> = blocks.iter().map(block_key).collect();
        let id = self.chain.link(&parts);
        out.push(Message {
            blocks,
            model: model.map(str::to_owned),
            cwd: self.location.cwd.clone(),
            line: number,
            ..Message::new(id, session, role, origin)
        });
    }
}

impl LogReader for GrokChatReader {
    fn read_line(&mut self, document: InputLine<'_>, out: &mut ParseOutput) {
        if self.location.has_log {
            return;
        }
        for (number, text) in (1..).zip(document.text.split_inclusive('\n')) {
            let line = InputLine {
                text,
                number,
                ..document
            };
            lines::for_each_object(line, out, |text, out| {
                self.read_chat_line(number, text, out)
            });
        }
        self.flush_thoughts(out);
    }
}

/// Returns the blocks of a content, which is a text or a list.
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

/// Returns the exit code that Grok puts on the first line of a command's output.
fn exit_code(content: &str) -> Option<i64> {
    let (code, _) = content.strip_prefix("exit: ")?.split_once('\n')?;
    code.trim().parse().ok()
}
