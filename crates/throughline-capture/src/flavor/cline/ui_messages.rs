//! Reads `ui_messages.json`: what the program showed. Token counts come from here always, messages
//! only where the conversation's own file is missing.

use jiff::Timestamp;
use memory::{
    Block, CallId, FileModification, Flavor, Message, MessageId, Origin, Role, SessionId,
    ToolResult, ToolUse, Usage, UsageEntry,
};

use super::wire;
use crate::{ParseOutput, time};

pub(crate) fn read_ui_messages(
    flavor: Flavor,
    session: &SessionId,
    text: &str,
    is_all_there_is: bool,
    out: &mut ParseOutput,
) -> serde_json::Result<()> {
    let all: Vec<wire::Shown> = serde_json::from_str(text)?;
    for (number, shown) in (1..).zip(all) {
        if shown.say.is("api_req_started") {
            emit_usage(session, &shown, out);
        } else if is_all_there_is && !shown.partial.is_true() {
            emit_ui_message(flavor, session, number, shown, out);
        }
    }
    Ok(())
}

fn timestamp(shown: &wire::Shown) -> Option<Timestamp> {
    shown.ts.0.and_then(time::from_number)
}

fn emit_usage(session: &SessionId, shown: &wire::Shown, out: &mut ParseOutput) {
    let text = shown.text.text().unwrap_or_default();
    let Ok(request) = serde_json::from_str::<wire::Request>(text) else {
        return;
    };
    let usage = Usage {
        input: request.tokens_in.count(),
        output: request.tokens_out.count(),
        cache_read: request.cache_reads.count(),
        cache_write: request.cache_writes.count(),
        reasoning: 0,
    };
    if usage != Usage::default() {
        let model = shown
            .model_info
            .0
            .as_ref()
            .and_then(|model| model.id.text());
        out.push(UsageEntry {
            session: session.clone(),
            key: format!("{session}/{}", shown.ts.count()),
            at: timestamp(shown),
            model: model.map(str::to_owned),
            usage,
            cost_usd: request.cost.0.filter(|cost| *cost > 0.0),
        });
    }
}

fn emit_ui_message(
    flavor: Flavor,
    session: &SessionId,
    number: u64,
    shown: wire::Shown,
    out: &mut ParseOutput,
) {
    let (at, ts) = (timestamp(&shown), shown.ts.count());
    let asked = shown.ask.0.is_some();
    let kind = shown.say.0.or(shown.ask.0).unwrap_or_default();
    let Some(text) = shown.text.into_text() else {
        return;
    };
    let id = format!("{session}/{ts}/{number}");
    let human = (Role::User, Origin::Human);
    let model = (Role::Assistant, Origin::Model);
    let ((role, origin), blocks) = match kind.as_str() {
        "task" | "user_feedback" => (human, vec![Block::Text(text)]),
        // Older versions wrote the task as the first text.
        "text" if number == 1 => (human, vec![Block::Text(text)]),
        "text" | "completion_result" | "followup" | "plan_mode_respond" => {
            (model, vec![Block::Text(text)])
        }
        "reasoning" => (model, vec![Block::Thinking(text)]),
        "command" => (model, vec![call(&id, "execute_command", text)]),
        "command_output" => ((Role::User, Origin::Tool), vec![output(text)]),
        // This only asks for permission; another message reports the use of the tool.
        "tool" if asked && flavor == Flavor::Cline => return,
        "tool" => match tool(&id, &text) {
            Some(blocks) => (model, blocks),
            None => return out.count_unknown("tool"),
        },
        "error" => ((Role::System, Origin::Harness), vec![Block::Error(text)]),
        _ => return,
    };
    out.push(Message {
        at,
        blocks,
        line: number,
        ..Message::new(MessageId::new(id), session.clone(), role, origin)
    });
}

fn call(id: &str, tool: &str, input: String) -> Block {
    Block::ToolUse(ToolUse {
        call: CallId::new(id),
        tool: tool.to_owned(),
        input,
        path: None,
    })
}

fn output(content: String) -> Block {
    Block::ToolResult(ToolResult {
        tool: Some("execute_command".to_owned()),
        content,
        ..ToolResult::default()
    })
}

fn tool(id: &str, text: &str) -> Option<Vec<Block>> {
    let shown: wire::ShownTool = serde_json::from_str(text).ok()?;
    let tool = shown.tool.into_text()?;
    let path = shown.path.into_text();
    let writes = ["editedExistingFile", "newFileCreated", "appliedDiff"].contains(&tool.as_str());
    let diff = shown.diff.into_text().or_else(|| shown.content.into_text());
    let changes = path.clone().zip(diff.clone()).filter(|_| writes);
    let result = ToolResult {
        call: Some(CallId::new(id)),
        tool: Some(tool.clone()),
        path: path.clone(),
        content: diff.filter(|_| !writes).unwrap_or_default(),
        changes: changes
            .into_iter()
            .map(|(path, diff)| FileModification { path, diff })
            .collect(),
        ..ToolResult::default()
    };
    let used = ToolUse {
        call: CallId::new(id),
        tool,
        input: path.clone().unwrap_or_default(),
        path,
    };
    Some(vec![Block::ToolUse(used), Block::ToolResult(result)])
}
