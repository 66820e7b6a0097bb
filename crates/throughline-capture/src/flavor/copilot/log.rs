//! Goes through the events.

use memory::{Block, Boundary, Origin, Role, TitleRank};

use super::session::State;
use super::wire::{Compaction, Context, Event, News, Start};
use crate::{Line, Parsed, Reader, lines};

#[derive(Debug)]
pub struct Log {
    state: State,
}

impl Log {
    pub fn new(session: String, state: Option<&str>) -> Self {
        let known = state.and_then(|state| serde_json::from_str(state).ok());
        Self {
            state: known.unwrap_or_else(|| State::new(session)),
        }
    }
}

impl Reader for Log {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        lines::objects(line, out, |text, out| {
            let event: Event<'_> = serde_json::from_str(text)?;
            read(&mut self.state, &event, line.number, out);
            Ok(())
        });
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

/// Kinds that tell nothing, or nothing that another event does not tell.
const PASSED_OVER: &[&str] = &[
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

fn read(state: &mut State, event: &Event<'_>, line: u64, out: &mut Parsed) {
    match &*event.kind {
        "user.message" => state.user(event, line, out),
        "assistant.message" => state.assistant(event, line, out),
        "assistant.reasoning" => state.reasoning(event, line, out),
        "tool.execution_start" => state.tool_start(event, line, out),
        "tool.execution_complete" => state.tool_complete(event, line, out),
        "permission.requested" => state.permission_requested(event),
        "permission.completed" => state.permission_completed(event, line, out),
        "session.usage_record" => state.usage_record(event, out),
        "session.shutdown" => state.shutdown(event, out),
        "session.start" | "session.resume" => {
            let start: Start = event.data();
            state.start(start, out);
        }
        "session.context_changed" => {
            let context: Context = event.data();
            state.context(context, None, state.patch(), out);
        }
        "session.compaction_complete" | "session.truncation" => compaction(state, event, line, out),
        kind if PASSED_OVER.contains(&kind) => {}
        _ => news(state, event, line, out),
    }
}

/// Reads the events that say one thing.
fn news(state: &mut State, event: &Event<'_>, line: u64, out: &mut Parsed) {
    let news: News = event.data();
    let mark = state.mark(event, line, news.parent_tool_call_id);
    let program = (Role::System, Origin::Harness);
    match &*event.kind {
        "session.model_change" => state.model(news.new_model, out),
        "session.title_changed" => {
            state.title(&news.title.unwrap_or_default(), TitleRank::Generated, out);
        }
        "session.error" | "subagent.failed" => {
            let text = news.message.unwrap_or_else(|| event.kind.to_string());
            state.say(&mark, program, vec![Block::Error(text)], out);
        }
        "session.snapshot_rewind" => {
            // What was said before stays said; the note tells why the talk starts over.
            let note = Block::Text("rewound to an earlier message".into());
            state.say(&mark, program, vec![note], out);
        }
        "system.notification" => {
            let text = news.content.unwrap_or_default();
            state.say(
                &mark,
                (Role::User, Origin::Harness),
                vec![Block::Text(text)],
                out,
            );
        }
        "subagent.started" => {
            if let Some(call) = &news.tool_call_id {
                let id = event.agent.as_deref();
                state.agent(call, id, news.agent_display_name, out);
            }
        }
        "abort" => {
            if news.reason.is_some_and(|reason| reason.contains("user")) {
                let stopped = Block::Approval("interrupted the turn".into());
                state.say(&mark, (Role::User, Origin::Human), vec![stopped], out);
            }
        }
        kind => out.unknown(kind),
    }
}

fn compaction(state: &mut State, event: &Event<'_>, line: u64, out: &mut Parsed) {
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
    let mark = state.mark(event, line, None);
    state.say(&mark, (Role::System, Origin::Harness), blocks, out);
    if let Some(tokens) = compaction.compaction_tokens_used {
        state.compaction_usage(&mark, &tokens, out);
    }
}
