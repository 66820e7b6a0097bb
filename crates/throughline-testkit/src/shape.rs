//! Entries as text, one line each: what adapter snapshots show.

use std::fmt::Write;

use memory::{Block, LogEntry, Message, SessionPatch, UsageEntry};

/// Longest text shown of a block, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// Returns the entries of a log as readable lines. Session, folder and branch are printed only
/// where they differ from the entry before, so that a reviewer sees what changes.
pub fn shape(entries: &[LogEntry]) -> String {
    let mut out = String::new();
    let mut shown = ShownContext::default();
    for entry in entries {
        match entry {
            LogEntry::Message(message) => show_message(&mut out, message, &mut shown),
            LogEntry::Session(patch) => show_session(&mut out, patch),
            LogEntry::Usage(usage) => show_usage(&mut out, usage, &mut shown),
        }
    }
    out
}

/// The values that were printed last.
#[derive(Default)]
struct ShownContext<'a> {
    session: Option<&'a str>,
    cwd: Option<&'a str>,
    branch: Option<&'a str>,
}

/// Prints a value that differs from the one printed before; `-` where it is no longer set.
fn show_change<'a>(
    out: &mut String,
    name: &str,
    value: Option<&'a str>,
    shown: &mut Option<&'a str>,
) {
    if value != *shown {
        let _ = write!(out, " {name}={}", value.unwrap_or("-"));
        *shown = value;
    }
}

fn show_message<'a>(out: &mut String, message: &'a Message, shown: &mut ShownContext<'a>) {
    let at = message
        .at
        .map_or_else(|| "-".to_owned(), |at| at.to_string());
    let _ = write!(
        out,
        "{:>4} {:?}/{:?} {at} id={}",
        message.line, message.role, message.origin, message.id
    );
    if let Some(api) = &message.api_id {
        let _ = write!(out, " api={api}");
    }
    if let Some(model) = &message.model {
        let _ = write!(out, " model={model}");
    }
    let session = Some(message.session.as_str());
    show_change(out, "session", session, &mut shown.session);
    show_change(out, "cwd", message.cwd.as_deref(), &mut shown.cwd);
    show_change(out, "branch", message.branch.as_deref(), &mut shown.branch);
    out.push('\n');
    for block in &message.blocks {
        let _ = writeln!(out, "       {}", show_block(block));
    }
}

fn show_block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("text {}", cut(text)),
        Block::Thinking(text) => format!("thinking {}", cut(text)),
        Block::ToolUse(call) => {
            let path = call.path.as_deref().unwrap_or("-");
            format!(
                "use {} {} {path} {}",
                call.call,
                call.tool,
                cut(&call.input)
            )
        }
        Block::ToolResult(result) => {
            let call = result.call.as_ref().map_or("-", memory::CallId::as_str);
            let tool = result.tool.as_deref().unwrap_or("-");
            let path = result.path.as_deref().unwrap_or("-");
            let error = if result.is_error { " ERROR" } else { "" };
            let exit = result
                .exit_code
                .map_or_else(String::new, |code| format!(" exit={code}"));
            let mut text = format!(
                "result {call} {tool} {path}{error}{exit} {}",
                cut(&result.content)
            );
            for change in &result.changes {
                let _ = write!(
                    text,
                    "\n         change {} {}",
                    change.path,
                    cut(&change.diff)
                );
            }
            text
        }
        Block::Image {
            media_type,
            size_bytes,
        } => format!("image {media_type} {size_bytes}"),
        Block::Boundary(boundary) => format!(
            "boundary trigger={} before={}",
            boundary.trigger.as_deref().unwrap_or("-"),
            boundary
                .tokens_before
                .map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
        ),
        Block::Summary(text) => format!("summary {}", cut(text)),
        Block::Error(text) => format!("error {}", cut(text)),
        Block::Approval(text) => format!("approval {}", cut(text)),
    }
}

fn show_session(out: &mut String, patch: &SessionPatch) {
    let _ = write!(out, "     session {}", patch.id);
    let fields = [
        ("kind", patch.kind.map(|kind| kind.name().to_owned())),
        (
            "title",
            patch
                .title
                .as_ref()
                .map(|title| format!("{:?} {}", title.rank, cut(&title.text))),
        ),
        ("cwd", patch.cwd.clone()),
        ("remote", patch.remote.clone()),
        ("branch", patch.branch.clone()),
        ("model", patch.model.clone()),
        ("version", patch.version.clone()),
        ("parent", patch.parent.as_ref().map(ToString::to_string)),
        ("started", patch.started.map(|at| at.to_string())),
        ("ended", patch.ended.map(|at| at.to_string())),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(out, " {name}={value}");
        }
    }
    out.push('\n');
}

fn show_usage<'a>(out: &mut String, entry: &'a UsageEntry, shown: &mut ShownContext<'a>) {
    let usage = entry.usage;
    let _ = write!(out, "     usage key={}", entry.key);
    if let Some(model) = &entry.model {
        let _ = write!(out, " model={model}");
    }
    let session = Some(entry.session.as_str());
    show_change(out, "session", session, &mut shown.session);
    let _ = write!(
        out,
        " in={} out={} read={} write={} reasoning={}",
        usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning,
    );
    if let Some(cost) = entry.cost_usd {
        let _ = write!(out, " cost={cost:.6}");
    }
    out.push('\n');
}

/// Returns a text on one line, cut, with how much was left out.
fn cut(text: &str) -> String {
    let head: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let rest = text.len() - head.len();
    let more = if rest > 0 {
        format!("… +{rest}")
    } else {
        String::new()
    };
    format!("{head:?}{more}")
}
