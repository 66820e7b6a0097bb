//! Follows tool calls from their announcement to their result. Many lines describe one call; the
//! call is emitted once when its arguments are known, and its result once.

use std::collections::VecDeque;

use memory::{Block, CallId, Origin, Role, ToolUse};

use super::pending_message::GrokPosition;
use super::session::{AnnouncedCall, GrokSession};
use super::wire::Tool;
use crate::ParseOutput;

/// How many calls are remembered that have no arguments yet, or whose result has been read.
const REMEMBERED_MAX: usize = 32;

impl GrokSession {
    pub(crate) fn read_call(
        &mut self,
        tool: &Tool<'_>,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        let call = tool.call();
        if tool.input().is_some() {
            self.emit_call(call, position, out);
        } else {
            let announced = AnnouncedCall {
                call: call.call,
                tool: call.tool,
                path: call.path,
            };
            remember(&mut self.state.announced, announced);
        }
        self.read_call_update(tool, position, out);
    }

    /// Says whether an update of a call contains something new.
    pub(crate) fn is_news(&self, tool: &Tool<'_>) -> bool {
        let known = |call: &CallId| call.as_str() == tool.tool_call_id;
        let finishes = tool.is_finished() && !self.state.finished.iter().any(known);
        let opens = tool.input().is_some() && self.announced_index(tool).is_some();
        finishes || opens
    }

    pub(crate) fn read_call_update(
        &mut self,
        tool: &Tool<'_>,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        if !self.is_news(tool) {
            return;
        }
        if let Some(at) = self.announced_index(tool)
            && let Some(announced) = self.state.announced.remove(at)
        {
            let mut call = tool.call();
            call.tool = announced.tool;
            call.path = call.path.or(announced.path);
            self.emit_call(call, position, out);
        }
        if tool.is_finished() {
            self.emit_result(tool, position, out);
        }
    }

    fn announced_index(&self, tool: &Tool<'_>) -> Option<usize> {
        let mut announced = self.state.announced.iter();
        announced.position(|announced| announced.call.as_str() == tool.tool_call_id)
    }

    fn emit_call(&mut self, mut call: ToolUse, position: &GrokPosition, out: &mut ParseOutput) {
        self.state.calls.open(&mut call);
        let model = (Role::Assistant, Origin::Model);
        self.emit_block(position, "", model, Block::ToolUse(call), out);
    }

    fn emit_result(&mut self, tool: &Tool<'_>, position: &GrokPosition, out: &mut ParseOutput) {
        remember(&mut self.state.finished, CallId::new(&*tool.tool_call_id));
        let mut result = tool.result();
        let changes = result.changes.clone();
        self.state.calls.close(&mut result);
        if !result.is_error {
            // The changes that the call announced are not kept between sweeps; those that the
            // result reports do not depend on where a sweep ended.
            result.changes = changes;
        }
        let tool = (Role::User, Origin::Tool);
        self.emit_block(position, "/result", tool, Block::ToolResult(result), out);
    }
}

fn remember<T>(calls: &mut VecDeque<T>, call: T) {
    if calls.len() == REMEMBERED_MAX {
        calls.pop_front();
    }
    calls.push_back(call);
}
