//! Reads the events of a session.

use memory::{Block, Boundary, Origin, Role, TitleRank};

use super::session::CopilotReaderState;
use super::wire::{Compaction, Context, Event, News, Start};
use crate::adapter::save_state;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct CopilotLogReader {
    state: CopilotReaderState,
}

impl CopilotLogReader {
    pub(crate) fn new(session: String, state: Option<&str>) -> Self {
        let known = state.and_then(|state| serde_json::from_str(state).ok());
        Self {
            state: known.unwrap_or_else(|| CopilotReaderState::new(session)),
        }
    }
}

impl LogReader for CopilotLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| {
            let event: Event<'_> = serde_json::from_str(text)?;
            read_event(&mut self.state, &event, line.number, out);
            Ok(())
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}

/// Kinds of events without content, or with content that another event repeats.
const IGNORED_KINDS: &[&str] = &[
    "hook.start",
    "hook.end",
    "system.message",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.intent",
    "assistant.usage",
    "session.auto_mode_resolved",
    "session.background_tasks_changed",
    "session.compaction_start",
    "session.handoff",
    "session.idle",
    "session.info",
    "session.mode_changed",
    "session.permissions_changed",
    "session.plan_changed",
    "session.task_complete",
    "session.tools_updated",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.warning",
    "session.workspace_file_changed",
    "skill.invoked",
    "subagent.completed",
    "subagent.selected",
    "subagent.deselected",
    "tool.execution_progress",
    "tool.execution_partial_result",
    "tool.user_requested",
    "user_input.requested",
    "user_input.completed",
    "elicitation.requested",
    "elicitation.completed",
    "exit_plan_mode.requested",
    "exit_plan_mode.completed",
    "pending_messages.modified",
];

fn read_event(state: &mut CopilotReaderState, event: &Event<'_>, line: u64, out: &mut ParseOutput) {
    match &*event.kind {
        "user.message" => state.read_user(event, line, out),
        "assistant.message" => state.read_assistant(event, line, out),
        "assistant.reasoning" => state.read_reasoning(event, line, out),
        "tool.execution_start" => state.read_tool_start(event, line, out),
        "tool.execution_complete" => state.read_tool_complete(event, line, out),
        "permission.requested" => state.note_permission_request(event),
        "permission.completed" => state.read_permission_decision(event, line, out),
        "session.usage_record" => state.read_usage_record(event, out),
        "session.shutdown" => state.emit_session_totals(event, out),
        "session.start" | "session.resume" => {
            let start: Start = event.data();
            state.read_start(start, out);
        }
        "session.context_changed" => {
            let context: Context = event.data();
            state.update_context(context, None, state.patch(), out);
        }
        "session.compaction_complete" | "session.truncation" => {
            read_compaction(state, event, line, out);
        }
        kind if IGNORED_KINDS.contains(&kind) => {}
        _ => read_notice(state, event, line, out),
    }
}

/// Reads the events with a single text or value.
fn read_notice(
    state: &mut CopilotReaderState,
    event: &Event<'_>,
    line: u64,
    out: &mut ParseOutput,
) {
    let news: News = event.data();
    let position = state.position_of(event, line, news.parent_tool_call_id);
    let program = (Role::System, Origin::Harness);
    match &*event.kind {
        "session.model_change" => state.update_model(news.new_model, out),
        "session.title_changed" => {
            state.emit_title(&news.title.unwrap_or_default(), TitleRank::Generated, out);
        }
        "session.error" | "subagent.failed" => {
            let text = news.message.unwrap_or_else(|| event.kind.to_string());
            state.emit_message(&position, program, vec![Block::Error(text)], out);
        }
        "session.snapshot_rewind" => {
            // The messages before the rewind stay; the note explains why the conversation starts
            // over.
            let note = Block::Text("rewound to an earlier message".into());
            state.emit_message(&position, program, vec![note], out);
        }
        "system.notification" => {
            let text = news.content.unwrap_or_default();
            state.emit_message(
                &position,
                (Role::User, Origin::Harness),
                vec![Block::Text(text)],
                out,
            );
        }
        "subagent.started" => {
            if let Some(call) = &news.tool_call_id {
                let id = event.agent.as_deref();
                state.introduce_subagent(call, id, news.agent_display_name, out);
            }
        }
        "abort" => {
            if news.reason.is_some_and(|reason| reason.contains("user")) {
                let stopped = Block::Approval("interrupted the turn".into());
                state.emit_message(&position, (Role::User, Origin::Human), vec![stopped], out);
            }
        }
        kind => out.count_unknown(kind),
    }
}

fn read_compaction(
    state: &mut CopilotReaderState,
    event: &Event<'_>,
    line: u64,
    out: &mut ParseOutput,
) {
    let compaction: Compaction = event.data();
    if &*event.kind == "session.compaction_complete" && !compaction.success {
        return;
    }
    let trigger = match compaction.trigger.as_deref() {
        Some("manual") => "manual",
        _ => "auto",
    };
    let boundary = Block::Boundary(Boundary {
        trigger: Some(trigger.to_owned()),
        tokens_before: compaction.pre_compaction_tokens,
        ..Boundary::default()
    });
    let mut blocks = vec![boundary];
    blocks.extend(compaction.summary_content.map(Block::Summary));
    let position = state.position_of(event, line, None);
    state.emit_message(&position, (Role::System, Origin::Harness), blocks, out);
    if let Some(tokens) = compaction.compaction_tokens_used {
        state.emit_compaction_usage(&position, &tokens, out);
    }
}
