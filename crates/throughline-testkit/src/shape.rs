//! Entries as text, one line each: what adapter snapshots show.

use std::fmt::Write;

use memory::{Block, LogEntry, Message, SessionPatch, UsageEntry};

/// Longest text shown of a block, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// Returns the entries of a log as readable lines.
pub fn shape(entries: &[LogEntry]) -> String {
    entries.iter().fold(String::new(), |mut out, entry| {
        match entry {
            LogEntry::Message(message) => show_message(&mut out, message),
            LogEntry::Session(patch) => show_session(&mut out, patch),
            LogEntry::Usage(usage) => show_usage(&mut out, usage),
        }
        out
    })
}

fn show_message(out: &mut String, message: &Message) {
    let at = message
        .at
        .map_or_else(|| "-".to_owned(), |at| at.to_string());
    let _ = write!(
        out,
        "{:>4} {:?}/{:?} {} {at}",
        message.line, message.role, message.origin, message.session
    );
    for (name, value) in [
        ("id", Some(message.id.as_str())),
        ("api", message.api_id.as_ref().map(memory::ApiId::as_str)),
        ("model", message.model.as_deref()),
        ("cwd", message.cwd.as_deref()),
        ("branch", message.branch.as_deref()),
    ] {
        if let Some(value) = value {
            let _ = write!(out, " {name}={value}");
        }
    }
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

fn show_usage(out: &mut String, entry: &UsageEntry) {
    let usage = entry.usage;
    let _ = writeln!(
        out,
        "     usage {} key={} model={} in={} out={} read={} write={} reasoning={} cost={}",
        entry.session,
        entry.key,
        entry.model.as_deref().unwrap_or("-"),
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        entry
            .cost_usd
            .map_or_else(|| "-".to_owned(), |cost| format!("{cost:.6}")),
    );
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
