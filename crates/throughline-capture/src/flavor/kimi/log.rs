//! Turns the lines of a log into entries.

use jiff::Timestamp;
use memory::{
    ApiId, Block, Boundary, CallId, Flavor, IdChain, Message, MessageId, Origin, Role, SessionKind,
    SessionPatch, TitleRank, ToolResult, ToolUse, Usage, UsageEntry,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::discover::KimiLocation;
use super::{prompt, wire};
use crate::adapter::save_state;
use crate::calls::OpenCalls;
use crate::json;
use crate::{InputLine, LogReader, ParseOutput, Source, lines};

/// Reads one agent's log.
#[derive(Debug)]
pub(crate) struct KimiLogReader {
    location: KimiLocation,
    pub(super) state: KimiReaderState,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KimiReaderState {
    cwd: Option<String>,
    model: Option<String>,
    /// Derives the ids of entries without one.
    pub chain: IdChain,
    pub calls: OpenCalls,
    introduced: bool,
    titled: bool,
    /// The trigger of the compaction that is under way.
    compacting: Option<String>,
}

/// The line and the time of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KimiPosition {
    pub line: u64,
    pub time: Option<Timestamp>,
}

impl KimiLogReader {
    pub(crate) fn new(source: &Source, state: Option<&str>) -> Self {
        let location = KimiLocation::of(&source.path);
        let state = state
            .and_then(|state| serde_json::from_str(state).ok())
            .unwrap_or_else(|| KimiReaderState {
                cwd: location.cwd.clone(),
                ..KimiReaderState::default()
            });
        Self { location, state }
    }

    fn read_object(
        &mut self,
        line: u64,
        object: &str,
        out: &mut ParseOutput,
    ) -> serde_json::Result<()> {
        let entry: wire::Line<'_> = serde_json::from_str(object)?;
        let time = entry.time.0.or(entry.timestamp.0).or(entry.created_at.0);
        let at = KimiPosition { line, time };
        self.emit_session(at, out);
        match entry.kind.as_str() {
            "turn.prompt" | "turn.steer" => {
                let origin = json::parse_or_default(entry.origin);
                let (origin, text) = prompt::classify_prompt(&origin, wire::text(entry.input));
                self.emit_prompt(at, origin, text, out);
            }
            "context.append_message" => {
                self.read_context_message(at, &json::parse_or_default(entry.message), out);
            }
            "context.append_loop_event" => {
                if let Some(event) = entry.event {
                    self.read_event(at, &serde_json::from_str(event.get())?, out);
                }
            }
            "usage.record" => self.emit_usage(at, entry.model.to_text(), entry.usage, out),
            "permission.record_approval_result" => self.emit_approval(at, &entry, out),
            "full_compaction.begin" => self.state.compacting = entry.source.to_text(),
            "context.apply_compaction" => self.emit_compaction(at, &entry, out),
            "config.update" | "profile.bind" => self.update_config(&entry, out),
            "" if entry.message.is_some() => {
                self.read_legacy(at, &json::parse_or_default(entry.message), out);
            }
            kind if IGNORED_PREFIXES.iter().any(|known| kind.starts_with(known)) => {}
            kind => out.count_unknown(kind),
        }
        Ok(())
    }

    fn emit_session(&mut self, at: KimiPosition, out: &mut ParseOutput) {
        if std::mem::replace(&mut self.state.introduced, true) {
            return;
        }
        // Many sessions begin with the same words; only a fork also begins at the same time.
        let began = at.time.map_or(0, Timestamp::as_millisecond).to_string();
        self.state.chain.link(&[&began]);
        out.push(SessionPatch {
            kind: self.location.parent.as_ref().map(|_| SessionKind::Subagent),
            cwd: self.state.cwd.clone(),
            parent: self.location.parent.clone(),
            started: at.time,
            ..self.patch()
        });
    }

    pub(super) fn emit_prompt(
        &mut self,
        at: KimiPosition,
        origin: Origin,
        text: String,
        out: &mut ParseOutput,
    ) {
        if text.trim().is_empty() {
            return;
        }
        if origin == Origin::Human && !std::mem::replace(&mut self.state.titled, true) {
            out.push(
                self.patch()
                    .with_title(text.clone(), TitleRank::FirstPrompt),
            );
        }
        let id = self.state.chain.link(&["prompt", &text]);
        self.emit_block(at, id, (Role::User, origin), Block::Text(text), out);
    }

    /// Reads a message of the context. Most repeat a prompt; only a command that the user ran, and
    /// its output, are recorded nowhere else.
    fn read_context_message(
        &mut self,
        at: KimiPosition,
        message: &wire::ContextMessage<'_>,
        out: &mut ParseOutput,
    ) {
        let origin: wire::Origin<'_> = json::parse_or_default(message.origin);
        match (
            message.role.as_str(),
            origin.kind.as_str(),
            origin.phase.as_str(),
        ) {
            ("user", "shell_command", "input") => {
                let command = format!("!{}", wire::text(message.content));
                self.emit_prompt(at, Origin::Human, command, out);
            }
            ("user", "shell_command", _) => {
                let result = ToolResult {
                    tool: Some("Bash".to_owned()),
                    content: wire::text(message.content),
                    is_error: origin.is_error,
                    ..ToolResult::default()
                };
                let id = self.state.chain.link(&["output", &result.content]);
                let block = Block::ToolResult(result);
                self.emit_block(at, id, (Role::User, Origin::Tool), block, out);
            }
            ("user" | "system", ..) => {}
            (role, ..) => out.count_unknown(&format!("append_message/{role}")),
        }
    }

    fn read_event(&mut self, at: KimiPosition, event: &wire::Event<'_>, out: &mut ParseOutput) {
        match event.kind.as_str() {
            "content.part" => {
                let part: wire::Part<'_> = json::parse_or_default(event.part);
                let Some(block) = part_block(&part, out) else {
                    return;
                };
                let id = MessageId::new(event.uuid.as_str());
                self.emit_answer(at, id, event.step_uuid.get(), block, out);
            }
            "tool.call" => {
                let input = event.args.map_or("", RawValue::get);
                // Arguments that are not JSON are written as a text.
                let input = serde_json::from_str(input).unwrap_or_else(|_| input.to_owned());
                let (call, step) = (event.tool_call_id.as_str(), event.step_uuid.as_str());
                let id = MessageId::new(format!("{step}/{call}"));
                let use_ = self.new_call(call, event.name.as_str(), input);
                self.emit_answer(at, id, event.step_uuid.get(), use_, out);
            }
            "tool.result" => {
                let call = event.tool_call_id.as_str();
                let id = self.state.chain.link(&["result", call]);
                self.emit_result(at, id, call, &json::parse_or_default(event.result), out);
            }
            "step.begin" | "step.end" => {}
            other => out.count_unknown(&format!("event/{other}")),
        }
    }

    pub(super) fn new_call(&mut self, call: &str, tool: &str, input: String) -> Block {
        let mut call = ToolUse {
            call: CallId::new(call),
            tool: tool.to_owned(),
            input,
            path: None,
        };
        self.state.calls.open(&mut call);
        Block::ToolUse(call)
    }

    /// Emits a part of the model's answer in a step.
    pub(super) fn emit_answer(
        &self,
        at: KimiPosition,
        id: MessageId,
        step: Option<&str>,
        block: Block,
        out: &mut ParseOutput,
    ) {
        out.push(Message {
            api_id: step.map(ApiId::new),
            model: self.state.model.clone(),
            blocks: vec![block],
            ..self.new_message(at, id, (Role::Assistant, Origin::Model))
        });
    }

    pub(super) fn emit_result(
        &mut self,
        at: KimiPosition,
        id: MessageId,
        call: &str,
        output: &wire::Output<'_>,
        out: &mut ParseOutput,
    ) {
        let mut content = wire::text(output.output);
        if content.is_empty() {
            content = output.message.as_str().to_owned();
        }
        let mut result = ToolResult {
            call: Some(CallId::new(call)),
            is_error: output.is_error,
            exit_code: output.is_error.then(|| exit_code(&content)).flatten(),
            content,
            ..ToolResult::default()
        };
        self.state.calls.close(&mut result);
        let block = Block::ToolResult(result);
        self.emit_block(at, id, (Role::User, Origin::Tool), block, out);
    }

    fn emit_approval(&mut self, at: KimiPosition, entry: &wire::Line<'_>, out: &mut ParseOutput) {
        let decision: wire::Decision<'_> = json::parse_or_default(entry.result);
        let mut text = format!("{}: {}", decision.decision.as_str(), entry.action.as_str());
        if let Some(feedback) = decision.feedback.get() {
            text = format!("{text}: {feedback}");
        }
        let id = self.state.chain.link(&["approval", &text]);
        self.emit_block(
            at,
            id,
            (Role::User, Origin::Human),
            Block::Approval(text),
            out,
        );
    }

    fn emit_compaction(&mut self, at: KimiPosition, entry: &wire::Line<'_>, out: &mut ParseOutput) {
        let boundary = Boundary {
            trigger: self.state.compacting.take(),
            tokens_before: json::parse_or_default(entry.tokens_before),
            ..Boundary::default()
        };
        let mut blocks = vec![Block::Boundary(boundary)];
        blocks.extend(entry.summary.to_text().map(Block::Summary));
        let id = self
            .state
            .chain
            .link(&["compaction", entry.summary.as_str()]);
        out.push(Message {
            blocks,
            ..self.new_message(at, id, (Role::System, Origin::Harness))
        });
    }

    fn update_config(&mut self, entry: &wire::Line<'_>, out: &mut ParseOutput) {
        let environment: wire::Environment<'_> = json::parse_or_default(entry.environment);
        let cwd = entry.cwd.get().or(environment.cwd.get());
        let model = entry.model_alias.get();
        let known = (self.state.cwd.as_deref(), self.state.model.as_deref());
        let (cwd, model) = (cwd.or(known.0), model.or(known.1));
        if (cwd, model) == known {
            return;
        }
        let (cwd, model) = (cwd.map(str::to_owned), model.map(str::to_owned));
        (self.state.cwd, self.state.model) = (cwd.clone(), model.clone());
        out.push(SessionPatch {
            cwd,
            model,
            ..self.patch()
        });
    }

    /// Emits usage. A fork copies the log, so the key is made of the time and the counts.
    pub(super) fn emit_usage(
        &self,
        at: KimiPosition,
        model: Option<String>,
        usage: Option<&RawValue>,
        out: &mut ParseOutput,
    ) {
        let reported: wire::Usage = json::parse_or_default(usage);
        let usage = Usage {
            input: reported.input_other,
            output: reported.output,
            cache_read: reported.input_cache_read,
            cache_write: reported.input_cache_creation,
            reasoning: 0,
        };
        if usage.total() == 0 {
            return;
        }
        let when = at.time.map_or(0, Timestamp::as_millisecond);
        let counted = [
            usage.input, usage.cache_read, usage.cache_write, usage.output,
        ];
        let counted = counted.map(|tokens| tokens.to_string()).join("+");
        out.push(UsageEntry {
            session: self.location.session.clone(),
            key: format!("kimi:{when}/{counted}"),
            at: at.time,
            model: model.or_else(|| self.state.model.clone()),
            usage,
            cost_usd: None,
        });
    }

    pub(super) fn emit_block(
        &self,
        at: KimiPosition,
        id: MessageId,
        who: (Role, Origin),
        block: Block,
        out: &mut ParseOutput,
    ) {
        out.push(Message {
            blocks: vec![block],
            ..self.new_message(at, id, who)
        });
    }

    fn new_message(
        &self,
        at: KimiPosition,
        id: MessageId,
        (role, origin): (Role, Origin),
    ) -> Message {
        Message {
            at: at.time,
            cwd: self.state.cwd.clone(),
            line: at.line,
            ..Message::new(id, self.location.session.clone(), role, origin)
        }
    }

    fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.location.session.clone(), Flavor::Kimi)
    }
}

/// Prefixes of the kinds that are not part of the conversation.
const IGNORED_PREFIXES: &[&str] = &[
    "metadata", "forked", "context.clear", "context.undo", "full_compaction.", "goal.", "llm.",
    "mcp.", "micro_compaction.", "permission.set_mode", "plan", "plugin.", "runtime.", "skill.",
    "swarm_mode.", "task.", "token_counting.", "tools.", "turn.cancel", "turn.ended",
];

/// Returns a part of an answer as a block, unless it is empty.
pub(crate) fn part_block(part: &wire::Part<'_>, out: &mut ParseOutput) -> Option<Block> {
    match part.kind.as_str() {
        "text" => part.text.to_text().map(Block::Text),
        "think" => part
            .think
            .get()
            .or(part.text.get())
            .map(|t| Block::Thinking(t.to_owned())),
        other => {
            out.count_unknown(&format!("content/{other}"));
            None
        }
    }
}

/// Returns the exit code at the end of a failed command's output.
fn exit_code(content: &str) -> Option<i64> {
    let (_, code) = content.rsplit_once("exit code: ")?;
    code.trim().trim_end_matches('.').parse().ok()
}

impl LogReader for KimiLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |object, out| {
            self.read_object(line.number, object, out)
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}
