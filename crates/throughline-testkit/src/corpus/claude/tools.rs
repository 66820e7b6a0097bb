//! Claude Code's tools: what goes in and what comes back.

use crate::corpus::json::{Object, array, quoted};
use crate::corpus::output;
use crate::corpus::rng::Rng;
use crate::corpus::story::{Action, Call};

/// Returns the tool of an action and its input.
pub fn tool(action: &Action) -> (&'static str, Object) {
    match action {
        Action::Read { path } => ("Read", Object::new().text("file_path", path)),
        Action::Edit { path, old, new } => (
            "Edit",
            Object::new()
                .text("file_path", path)
                .text("old_string", old)
                .text("new_string", new)
                .raw("replace_all", false),
        ),
        Action::Shell { command } => (
            "Bash",
            Object::new()
                .text("command", command)
                .text("description", "Run a command"),
        ),
        Action::Search { pattern } => (
            "Grep",
            Object::new()
                .text("pattern", pattern)
                .text("output_mode", "content")
                .raw("-n", true),
        ),
    }
}

/// Returns a result as the model sees it and as the program keeps it.
pub fn results(rng: &mut Rng, call: &Call) -> (String, Object) {
    let lines = call.output.lines().count();
    match &call.action {
        Action::Read { path } => {
            let file = Object::new()
                .text("filePath", path)
                .text("content", &call.output)
                .raw("numLines", lines)
                .raw("startLine", 1)
                .raw("totalLines", lines);
            let structured = Object::new().text("type", "text").object("file", file);
            (output::numbered(&call.output, '→'), structured)
        }
        Action::Edit { path, old, new } => {
            let shown = format!("The file {path} has been updated.{}", call.output);
            let structured = Object::new()
                .text("filePath", path)
                .text("oldString", old)
                .text("newString", new)
                .raw("originalFile", "null")
                .raw(
                    "structuredPatch",
                    array(&[quoted(&output::diff(rng, old, new))]),
                )
                .raw("userModified", false);
            (shown, structured)
        }
        Action::Shell { .. } => {
            let structured = Object::new()
                .text("stdout", &call.output)
                .text("stderr", "")
                .raw("interrupted", false)
                .raw("isImage", false);
            (call.output.clone(), structured)
        }
        Action::Search { .. } => {
            let structured = Object::new()
                .text("mode", "content")
                .raw("numFiles", 0)
                .raw("filenames", "[]")
                .text("content", &call.output)
                .raw("numLines", lines);
            (call.output.clone(), structured)
        }
    }
}
