//! Reads the records of a log.

use memory::{
    Block, Boundary, CallId, Flavor, Origin, Role, SessionId, SessionKind, SessionPatch, Title,
    TitleRank, ToolResult,
};

use super::record_context::RecordContext;
use super::session::{self, QwenReaderState};
use super::wire::{Payload, Record};
use crate::adapter::{load_state, save_state};
use crate::flavor::gemini_content::{self, GeminiPart};
use crate::title::first_line_title;
use crate::{InputLine, LogReader, ParseOutput, lines};

/// Kinds of system records without content, or with content that another record repeats.
const IGNORED_KINDS: &[&str] = &[
    "agent_bootstrap", "agent_retry", "agent_session_ready", "at_command", "attribution_snapshot",
    "branch_checkpoint", "file_history_snapshot", "goal_runtime", "goal_state", "goal_turn_end",
    "omni_recall", "realtime_message", "session_approval_mode", "session_artifact_event",
    "session_artifact_snapshot", "session_execution_engine", "session_notes", "session_source",
    "session_sources_snapshot", "slash_command", "turn_result", "ui_telemetry",
    "user_text_elements",
];

#[derive(Debug)]
pub(crate) struct QwenLogReader {
    /// The session in the file's name, for records that do not name one.
    session: String,
    state: QwenReaderState,
}

impl QwenLogReader {
    pub(crate) fn new(session: String, state: Option<&str>) -> Self {
        Self {
            session,
            state: load_state(state),
        }
    }

    fn read_record(&mut self, record: &Record, line: u64, out: &mut ParseOutput) {
        let id = session::session_id(record, &self.session);
        self.state.emit_session_changes(&id, record, out);
        let name = self.state.message_id(record);
        let context = RecordContext {
            session: id,
            name,
            record,
            line,
        };
        match &*record.kind {
            "user" => self.emit_user(&context, out),
            "assistant" => self.emit_assistant(&context, out),
            "tool_result" => self.emit_results(&context, out),
            "system" => self.read_system(&context, out),
            kind => out.count_unknown(kind),
        }
    }

    fn emit_user(&mut self, context: &RecordContext<'_>, out: &mut ParseOutput) {
        let record = context.record;
        let origin = origin(record);
        let shown = record.system_payload.display_text.clone();
        let parts = record.message.parts.0.iter().filter(|part| is_typed(part));
        let mut blocks: Vec<Block> = parts.filter_map(GeminiPart::block).collect();
        if let Some(text) = shown.filter(|text| !text.is_empty()) {
            blocks.retain(|block| !matches!(block, Block::Text(_)));
            blocks.insert(0, Block::Text(text));
        }
        if let (Origin::Human, Some(Block::Text(text))) = (origin, blocks.first()) {
            self.emit_title(context, text, out);
        }
        context.emit_message((Role::User, origin), blocks, out);
        self.emit_results(context, out);
    }

    fn emit_title(&mut self, context: &RecordContext<'_>, text: &str, out: &mut ParseOutput) {
        let Some(text) = first_line_title(text).filter(|_| !self.state.titled) else {
            return;
        };
        self.state.titled = true;
        context.emit_title(Title::new(text, TitleRank::FirstPrompt), out);
    }

    fn emit_assistant(&mut self, context: &RecordContext<'_>, out: &mut ParseOutput) {
        let mut blocks = Vec::new();
        for part in &context.record.message.parts.0 {
            blocks.extend(part.block());
            if let Some(call) = &part.function_call {
                let mut call = call.tool_use();
                self.state.calls.open(&mut call);
                blocks.push(Block::ToolUse(call));
            }
        }
        context.emit_message((Role::Assistant, Origin::Model), blocks, out);
        if let Some(tokens) = &context.record.usage_metadata {
            context.emit_usage(tokens, out);
        }
    }

    fn emit_results(&mut self, context: &RecordContext<'_>, out: &mut ParseOutput) {
        let call_result = &context.record.tool_call_result;
        let mut blocks = Vec::new();
        for response in context.record.message.parts.responses() {
            let answer = response.answer();
            let is_own = call_result.call_id.is_none() || call_result.call_id == response.id;
            let status = call_result.status.as_deref().filter(|_| is_own);
            let mut result = ToolResult {
                call: response.id.as_deref().map(CallId::new),
                content: answer.text,
                is_error: answer.is_error || matches!(status, Some("error" | "cancelled")),
                exit_code: answer.exit_code,
                ..ToolResult::default()
            };
            self.state.calls.close(&mut result);
            result.tool = result.tool.or_else(|| response.name.clone());
            let shown = call_result
                .result_display
                .as_ref()
                .filter(|_| is_own && !result.is_error);
            let change = shown
                .and_then(|shown| gemini_content::displayed_change(shown, result.path.as_deref()));
            if let Some(change) = change {
                result.changes = vec![change];
            }
            blocks.push(Block::ToolResult(result));
        }
        context.emit_message((Role::User, Origin::Tool), blocks, out);
    }

    fn read_system(&mut self, context: &RecordContext<'_>, out: &mut ParseOutput) {
        let payload = &context.record.system_payload;
        match context.record.subtype.as_deref().unwrap_or_default() {
            "custom_title" => {
                let rank = match payload.title_source.as_deref() {
                    Some("auto") => TitleRank::Generated,
                    _ => TitleRank::Custom,
                };
                if let Some(text) = payload.custom_title.clone() {
                    context.emit_title(Title::new(text, rank), out);
                }
            }
            "parent_session" => {
                let parent = payload.parent_session_id.as_deref();
                out.push(SessionPatch {
                    kind: parent.map(|_| SessionKind::Subagent),
                    parent: parent.map(|parent| SessionId::of(Flavor::Qwen, parent)),
                    ..context.patch()
                });
            }
            "session_model" => {
                let model = payload.model_id.clone();
                out.push(context.patch().with_model(model));
            }
            "chat_compression" => {
                context.emit_message((Role::System, Origin::Harness), compression(payload), out);
            }
            "rewind" => {
                // The messages before the rewind stay; the note explains why the conversation
                // starts over.
                let note = vec![Block::Text("rewound to an earlier message".into())];
                context.emit_message((Role::System, Origin::Harness), note, out);
            }
            kind if IGNORED_KINDS.contains(&kind) => {}
            kind => out.count_unknown(&format!("system/{kind}")),
        }
    }
}

impl LogReader for QwenLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| {
            let record: Record = serde_json::from_str(text)?;
            self.read_record(&record, line.number, out);
            Ok(())
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}

fn origin(record: &Record) -> Origin {
    let typed = matches!(
        record.subtype.as_deref(),
        None | Some("mid_turn_user_message")
    );
    let by_user = record
        .provenance
        .as_deref()
        .is_none_or(|by| by == "real_user");
    if typed && by_user && session::subagent_of(record).is_none() {
        Origin::Human
    } else {
        Origin::Harness
    }
}

/// Says whether a person typed a part; the context of hooks has a part of its own.
fn is_typed(part: &GeminiPart) -> bool {
    let text = part.text.as_deref().unwrap_or_default().trim_start();
    !text.starts_with("<qwen:user-prompt-submit-context>")
}

fn compression(payload: &Payload) -> Vec<Block> {
    let boundary = Block::Boundary(Boundary {
        trigger: None,
        tokens_before: payload.info.original_token_count,
        ..Boundary::default()
    });
    let texts = || {
        payload
            .compressed_history
            .iter()
            .map(|message| message.parts.spoken_text())
    };
    let summary = texts().find(|text| text.contains("<state_snapshot>"));
    let summary = summary.or_else(|| texts().find(|text| !text.is_empty()));
    std::iter::once(boundary)
        .chain(summary.map(Block::Summary))
        .collect()
}
