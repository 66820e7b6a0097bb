//! Tracks tool calls until their results come.

use std::collections::VecDeque;

use memory::command::CallFiles;
use memory::{CallId, FileModification, ToolResult, ToolUse};
use serde::{Deserialize, Serialize};

use crate::tools;

/// Calls without a result are rare (aborted turns); the oldest are dropped beyond this.
const OPEN_CALLS_MAX: usize = 256;

/// The open calls of one log. They are part of a reader's state, so that a result finds its call
/// even if a sweep ended between the two.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenCalls(VecDeque<OpenCall>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenCall {
    call: CallId,
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The files that the call names; they decide how much of its result may be kept.
    #[serde(default, skip_serializing_if = "CallFiles::is_empty")]
    files: CallFiles,
    /// The changes that the call makes if it succeeds, cut to the length that an artifact shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<FileModification>,
}

impl OpenCalls {
    /// Adds a call, and sets its path if it has none.
    pub fn open(&mut self, call: &mut ToolUse) {
        if call.path.is_none() {
            call.path = tools::target_path(&call.input);
        }
        if self.0.len() == OPEN_CALLS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(OpenCall {
            call: call.call.clone(),
            tool: call.tool.clone(),
            path: call.path.clone(),
            files: tools::call_files(&call.tool, &call.input),
            changes: truncate_diffs(tools::file_changes(&call.tool, &call.input)),
        });
    }

    /// Removes the call of a result and completes the result with its tool, path and changes.
    pub fn close(&mut self, result: &mut ToolResult) {
        let Some(call) = &result.call else { return };
        let Some(at) = self.0.iter().rposition(|open| open.call == *call) else {
            return;
        };
        let Some(open) = self.0.remove(at) else {
            return;
        };
        result.tool = result.tool.take().or(Some(open.tool));
        result.path = result.path.take().or(open.path);
        result.files = open.files;
        if result.is_error {
            result.changes.clear();
        } else if result.changes.is_empty() {
            result.changes = open.changes;
        }
    }
}

/// Cuts diffs to the length that artifacts show, because open calls are stored between sweeps.
fn truncate_diffs(mut changes: Vec<FileModification>) -> Vec<FileModification> {
    for change in &mut changes {
        change
            .diff
            .truncate(memory::record::snippet(&change.diff).len());
    }
    changes
}
