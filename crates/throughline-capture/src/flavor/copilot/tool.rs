//! Reads tool calls, their results, and a person's permissions.

use memory::{Block, CallId, Origin, Role, ToolResult, ToolUse};

use super::session::{CopilotReaderState, remember};
use super::wire::{Event, Permission, ToolComplete, ToolRequest};
use crate::ParseOutput;

/// How much of a command is kept until a person has decided on it.
const ASKED_CHARS_MAX: usize = 200;

impl CopilotReaderState {
    /// Returns a call unless it was emitted before.
    pub(crate) fn new_tool_use(&mut self, request: &ToolRequest) -> Option<ToolUse> {
        if self.told.contains(&request.tool_call_id) {
            return None;
        }
        remember(&mut self.told, request.tool_call_id.clone());
        let raw = request.arguments.as_ref().map_or("{}", |raw| raw.get());
        let mut call = ToolUse {
            call: CallId::new(&*request.tool_call_id),
            tool: request.name.clone(),
            input: serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()),
            path: None,
        };
        self.calls.open(&mut call);
        Some(call)
    }

    /// Reads the start of a call, which repeats a message's request unless there was no message.
    pub(crate) fn read_tool_start(&mut self, event: &Event<'_>, line: u64, out: &mut ParseOutput) {
        let request: ToolRequest = event.data();
        if let Some(call) = self.new_tool_use(&request) {
            let position = self.position_of(event, line, request.parent_tool_call_id);
            self.emit_message(
                &position,
                (Role::Assistant, Origin::Model),
                vec![Block::ToolUse(call)],
                out,
            );
        }
    }

    pub(crate) fn read_tool_complete(
        &mut self,
        event: &Event<'_>,
        line: u64,
        out: &mut ParseOutput,
    ) {
        let complete: ToolComplete = event.data();
        let position = self.position_of(event, line, complete.parent_tool_call_id);
        let content = complete
            .result
            .content
            .or(complete.error.content)
            .unwrap_or_default();
        let exit_code = complete
            .shell_execution
            .exit_code
            .or_else(|| exit_code(&content));
        let mut result = ToolResult {
            call: Some(CallId::new(complete.tool_call_id)),
            is_error: !complete.success || exit_code.is_some_and(|code| code != 0),
            exit_code,
            content,
            ..ToolResult::default()
        };
        self.calls.close(&mut result);
        self.emit_message(
            &position,
            (Role::User, Origin::Tool),
            vec![Block::ToolResult(result)],
            out,
        );
    }

    pub(crate) fn note_permission_request(&mut self, event: &Event<'_>) {
        let permission: Permission = event.data();
        let request = permission.permission_request;
        let what = request.full_command_text.or(request.intention);
        let what = what
            .unwrap_or(request.kind)
            .chars()
            .take(ASKED_CHARS_MAX)
            .collect();
        remember(&mut self.asked, (permission.request_id, what));
    }

    pub(crate) fn read_permission_decision(
        &mut self,
        event: &Event<'_>,
        line: u64,
        out: &mut ParseOutput,
    ) {
        let permission: Permission = event.data();
        let asked = self
            .asked
            .iter()
            .position(|(id, _)| *id == permission.request_id);
        let asked = asked.and_then(|at| self.asked.remove(at));
        let (Some((_, what)), Some(decision)) = (asked, decision(&permission.result.kind)) else {
            return;
        };
        let position = self.position_of(event, line, None);
        let approval = Block::Approval(format!("{decision}: {what}"));
        self.emit_message(&position, (Role::User, Origin::Human), vec![approval], out);
    }
}

/// Returns a person's decision; rules and policies decide without one.
fn decision(kind: &str) -> Option<&'static str> {
    if kind.starts_with("approved") {
        Some("allowed")
    } else if kind == "denied-interactively-by-user" {
        Some("refused")
    } else {
        None
    }
}

/// Returns the exit code at the end of a shell's output, in `<shellId: 0 completed with exit code
/// 0>` or `<exited with exit code 1>`.
fn exit_code(content: &str) -> Option<i64> {
    let last = content.trim_end().lines().next_back()?;
    let inner = last.strip_prefix('<')?.strip_suffix('>')?;
    let (_, code) = inner.rsplit_once("exit code ")?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn shells_tell_their_exit_code_last() {
        assert_eq!(
            exit_code("ok\n<shellId: 0 completed with exit code 0>"),
            Some(0)
        );
        assert_eq!(exit_code("no\n<exited with exit code 3>\n"), Some(3));
        assert_eq!(exit_code("it had exit code 3"), None);
        assert_eq!(exit_code(""), None);
    }
}
