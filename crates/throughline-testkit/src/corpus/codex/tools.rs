//! Codex' tools: commands and patches.

use std::io;

use super::Log;
use crate::corpus::json::Object;
use crate::corpus::output;
use crate::corpus::story::{Action, Call};

impl Log<'_> {
    pub fn call(&mut self, call: &Call) -> io::Result<()> {
        let id = format!("call_{}", self.rng.base62(24));
        self.context_tokens += call.output.len() / 4;
        if let Action::Edit { path, old, new } = &call.action {
            return self.patch(&id, path, old, new, call);
        }
        let command = match &call.action {
            Action::Read { path } => format!("sed -n '1,240p' {path}"),
            Action::Search { pattern } => format!("rg -n {pattern}"),
            Action::Shell { command } => command.clone(),
            Action::Edit { .. } => String::new(),
        };
        let arguments = Object::new()
            .text("cmd", &command)
            .text("workdir", &self.plan.project.cwd)
            .raw("yield_time_ms", 1000);
        let item = Object::new()
            .text("type", "function_call")
            .text("name", "exec_command")
            .text("arguments", &arguments.to_string())
            .text("call_id", &id);
        self.line("response_item", item)?;
        self.clock.tick(&mut self.rng, 1200.0);
        let output = format!(
            "Chunk ID: {}\nWall time: 0.{:04} seconds\nProcess exited with code {}\nOriginal token \
             count: {}\nOutput:\n{}",
            self.rng.hex(6),
            self.rng.between(0, 10_000),
            u8::from(call.failed),
            call.output.len() / 4,
            call.output,
        );
        self.output("function_call_output", &id, &output)
    }

    fn patch(&mut self, id: &str, path: &str, old: &str, new: &str, call: &Call) -> io::Result<()> {
        let diff = output::diff(&mut self.rng, old, new);
        let (_, body) = diff.split_once('\n').unwrap_or_default();
        let item = Object::new()
            .text("type", "custom_tool_call")
            .text("status", "completed")
            .text("call_id", id)
            .text("name", "apply_patch")
            .text(
                "input",
                &format!("*** Begin Patch\n*** Update File: {path}\n@@\n{body}*** End Patch\n"),
            );
        self.line("response_item", item)?;
        self.clock.tick(&mut self.rng, 300.0);
        let change = Object::new()
            .text("type", "update")
            .text("unified_diff", &diff)
            .raw("move_path", "null");
        let (stdout, stderr) = if call.failed {
            (String::new(), "the context of the patch was not found")
        } else {
            let stdout = format!("Success. Updated the following files:\nM {path}\n");
            (stdout, "")
        };
        let event = Object::new()
            .text("type", "patch_apply_end")
            .text("call_id", id)
            .text("turn_id", &self.turn)
            .text("stdout", &stdout)
            .text("stderr", stderr)
            .raw("success", !call.failed)
            .object("changes", Object::new().object(path, change));
        self.line("event_msg", event)?;
        let output = format!(
            "Exit code: {}\nOutput:\n{}",
            u8::from(call.failed),
            call.output
        );
        self.output("custom_tool_call_output", id, &output)
    }

    fn output(&mut self, kind: &str, id: &str, output: &str) -> io::Result<()> {
        let item = Object::new()
            .text("type", kind)
            .text("call_id", id)
            .text("output", output);
        self.line("response_item", item)
    }
}
