//! Reads tool calls and their results.

use std::borrow::Cow;

use memory::{Block, CallId, MessageId, Origin, Role, ToolResult, ToolUse};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::log::{CodexLogReader, CodexPosition};
use super::output::CodexOutput;
use super::wire::Item;
use crate::json::{self, Text};
use crate::{ParseOutput, tools};

impl CodexLogReader {
    /// Emits a call that a result will follow.
    pub(super) fn emit_call(
        &mut self,
        at: CodexPosition<'_>,
        item: &Item<'_>,
        tool: &str,
        input: &str,
        out: &mut ParseOutput,
    ) {
        if item.call_id.get().is_none() && tool.is_empty() {
            return out.count_unknown(&format!(
                "response_item/{} without name",
                item.kind.as_str()
            ));
        }
        let changes = !tools::file_changes(tool, input).is_empty();
        let before = changes.then(|| self.state.clone());
        let (id, mut call) = self.new_call(item, tool, input);
        if let Some(before) = before {
            self.mark_for_reread(at, &call.call, before);
        }
        self.state.calls.open(&mut call);
        self.emit_response(at, id, vec![Block::ToolUse(call)], out);
    }

    /// Emits a call that no result follows.
    pub(super) fn emit_call_without_result(
        &mut self,
        at: CodexPosition<'_>,
        item: &Item<'_>,
        tool: &str,
        input: &str,
        out: &mut ParseOutput,
    ) {
        let (id, call) = self.new_call(item, tool, input);
        self.emit_response(at, id, vec![Block::ToolUse(call)], out);
    }

    fn new_call(&mut self, item: &Item<'_>, tool: &str, input: &str) -> (MessageId, ToolUse) {
        let reported_id = item.call_id.get().or(item.id.get());
        let id = self
            .state
            .content_id(&["call", reported_id.unwrap_or_default(), tool, input]);
        let call = ToolUse {
            call: CallId::new(reported_id.unwrap_or(id.as_str())),
            tool: tool.to_owned(),
            input: input.to_owned(),
            path: None,
        };
        (id, call)
    }

    pub(super) fn emit_result(
        &mut self,
        at: CodexPosition<'_>,
        item: &Item<'_>,
        output: CodexOutput,
        out: &mut ParseOutput,
    ) {
        let id = self
            .state
            .content_id(&["result", item.call_id.as_str(), &output.content]);
        let call = item.call_id.get().map(CallId::new);
        let signal = call.as_ref().and_then(|call| self.state.signals.take(call));
        let (said_code, said_failed) =
            signal.map_or((None, false), |signal| (signal.exit_code, signal.failed));
        let applied = call
            .as_ref()
            .map_or_else(Vec::new, |call| self.take_applied(call));
        let applied_reported = !applied.is_empty();
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
        // A command may apply a patch and fail afterwards; its output then says that the patch was
        // applied.
        if result.is_error
            || failing && !applied_reported && !result.content.contains(PATCH_APPLIED)
        {
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
        self.emit_message(at, id, (Role::User, Origin::Tool), blocks, out);
    }
}

/// The message of `apply_patch` after a patch was applied.
const PATCH_APPLIED: &str = "Success. Updated the following files";

/// Returns the tool's name with its namespace, as the model wrote it.
pub(crate) fn tool_name<'a>(item: &'a Item<'_>) -> Cow<'a, str> {
    let name = item.name.as_str();
    match item.namespace.get() {
        None => Cow::Borrowed(name),
        Some(space) if name.starts_with(space) => Cow::Borrowed(name),
        Some(space) => {
            let space = space.trim_end_matches('_');
            Cow::Owned(format!("{space}__{}", name.trim_start_matches('_')))
        }
    }
}

/// Returns the names of the tools that a search found, without their schemas.
pub(crate) fn found_tool_names(tools: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Tool<'a> {
        #[serde(borrow, default)]
        name: Text<'a>,
        #[serde(borrow, default)]
        tools: Vec<Self>,
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
    for tool in json::parse::<Vec<Tool<'_>>>(tools).unwrap_or_default() {
        add(&tool, "", &mut names);
    }
    names
}
