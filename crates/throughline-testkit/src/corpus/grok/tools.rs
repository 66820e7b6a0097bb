//! Grok's tools: what goes in and what comes back.

use crate::corpus::json::Object;
use crate::corpus::output;
use crate::corpus::rng::Rng;
use crate::corpus::story::{Action, Call};

/// Returns the tool of an action, its kind and its input.
pub fn tool(action: &Action) -> (&'static str, &'static str, Object) {
    match action {
        Action::Read { path } => ("read_file", "read", Object::new().text("target_file", path)),
        Action::Edit { path, old, new } => (
            "search_replace",
            "edit",
            Object::new()
                .text("file_path", path)
                .text("old_string", old)
                .text("new_string", new),
        ),
        Action::Shell { command } => (
            "run_terminal_command",
            "execute",
            Object::new().text("command", command),
        ),
        Action::Search { pattern } => ("grep", "search", Object::new().text("pattern", pattern)),
    }
}

/// Returns a result as the model sees it and as the program keeps it.
pub fn results(rng: &mut Rng, call: &Call) -> (String, Object) {
    match &call.action {
        Action::Read { path } => {
            let shown = output::numbered(&call.output, '→');
            let file = Object::new()
                .text("content", &shown)
                .text("absolute_path", path)
                .raw("total_lines", call.output.lines().count());
            let raw = Object::new()
                .text("type", "ReadFile")
                .object("FileContent", file);
            (shown, raw)
        }
        Action::Edit { path, old, new } => {
            let shown = format!("The file {path} has been updated.{}", call.output);
            let diff = output::diff(rng, old, new);
            (
                shown,
                Object::new()
                    .text("type", "SearchReplace")
                    .text("diff", &diff),
            )
        }
        Action::Shell { .. } => {
            let raw = Object::new()
                .text("type", "Bash")
                .text("output", &call.output)
                .raw("exit_code", u8::from(call.failed));
            (call.output.clone(), raw)
        }
        Action::Search { .. } => (call.output.clone(), Object::new().text("type", "Grep")),
    }
}
