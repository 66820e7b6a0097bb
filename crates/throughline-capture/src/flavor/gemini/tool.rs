//! Reads tool calls, which a message contains with their results.

use memory::command::CallFiles;
use memory::{CallId, FileModification, ToolResult, ToolUse};

use super::wire::ToolCall;
use crate::flavor::gemini_content::{self, GeminiContent, ToolAnswer};
use crate::tools;

impl ToolCall {
    pub(crate) fn tool_use(&self) -> ToolUse {
        let input = self.args.as_ref().map_or("{}", |args| args.get());
        ToolUse {
            call: CallId::new(&*self.id),
            tool: self.name.clone(),
            input: input.to_owned(),
            path: tools::target_path(input),
        }
    }

    /// Returns the result if there is one yet.
    pub(crate) fn tool_result(&self) -> Option<ToolResult> {
        let call = self.tool_use();
        let failed = matches!(&*self.status, "error" | "cancelled");
        let finished = failed || self.status == "success" || self.result.is_some();
        if !finished {
            return None;
        }
        let answer = self.answer();
        let is_error = failed || answer.is_error;
        let changes = if is_error {
            Vec::new()
        } else {
            self.changes(&call)
        };
        Some(ToolResult {
            call: Some(call.call),
            tool: Some(call.tool),
            path: call.path,
            content: answer.text,
            is_error,
            exit_code: answer.exit_code,
            files: CallFiles::default(),
            changes,
        })
    }

    fn answer(&self) -> ToolAnswer {
        let result = self.result.as_ref();
        // Each of several parallel calls may contain the results of all of them.
        let mut responses = result.into_iter().flat_map(GeminiContent::responses);
        let matching = responses
            .clone()
            .find(|response| response.id.as_ref() == Some(&self.id));
        if let Some(response) = matching.or_else(|| responses.next()) {
            return response.answer();
        }
        let text = result
            .map(GeminiContent::spoken_text)
            .filter(|text| !text.is_empty());
        let shown = || serde_json::from_str(self.result_display.as_ref()?.get()).ok();
        ToolAnswer {
            text: text.or_else(shown).unwrap_or_default(),
            ..ToolAnswer::default()
        }
    }

    fn changes(&self, call: &ToolUse) -> Vec<FileModification> {
        let shown = self.result_display.as_ref();
        match shown.and_then(|shown| gemini_content::displayed_change(shown, call.path.as_deref()))
        {
            Some(change) => vec![change],
            None => tools::file_changes(&call.tool, &call.input),
        }
    }
}
