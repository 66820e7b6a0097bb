//! A session as one readable file, in Markdown or HTML. The file contains no script.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::{RecordKind, Session};
use store::{Store, StoredRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    Markdown,
    Html,
}

/// What of a session is written, and how.
#[derive(Clone, Debug)]
pub struct TranscriptOptions {
    pub format: TranscriptFormat,
    pub zone: TimeZone,
    /// The positions of records that are left out.
    pub left_out: BTreeSet<usize>,
}

/// Why a transcript could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Write(#[from] io::Error),
}

const HTML_HEAD: &str = include_str!("head.html");

/// Writes a session with its records.
pub fn write_transcript(
    store: &Store,
    session: &Session,
    options: &TranscriptOptions,
    out: &mut dyn Write,
) -> Result<(), TranscriptError> {
    let (format, zone) = (options.format, &options.zone);
    let title = one_line(session.name_or_title().unwrap_or("Untitled session"));
    let facts = heading_lines(zone, session);
    match format {
        TranscriptFormat::Markdown => {
            writeln!(out, "# {}\n", escape_markdown(&title))?;
            for (name, value) in facts {
                writeln!(out, "- {name}: {}", escape_markdown(&value))?;
            }
        }
        TranscriptFormat::Html => {
            let title = escape_html(&title);
            let head = HTML_HEAD.replace("{title}", &title);
            writeln!(out, "{}\n<h1>{title}</h1>\n<ul>", head.trim_end())?;
            for (name, value) in facts {
                writeln!(out, "<li>{name}: {}</li>", escape_html(&value))?;
            }
            writeln!(out, "</ul>")?;
        }
    }
    let mut result = Ok(());
    let mut position = 0;
    store.each_record(&session.id, |record| {
        let is_left_out = options.left_out.contains(&position);
        position += 1;
        if result.is_ok() && !is_left_out {
            result = match format {
                TranscriptFormat::Markdown => write_markdown(zone, &record, out),
                TranscriptFormat::Html => write_html(zone, &record, out),
            };
        }
    })?;
    result?;
    if format == TranscriptFormat::Html {
        writeln!(out, "</main></body></html>")?;
    }
    Ok(())
}

fn heading_lines(zone: &TimeZone, session: &Session) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("session", session.id.to_string()),
        ("agent", session.flavor.title().to_owned()),
    ];
    let optional = [
        ("workspace", &session.workspace),
        ("branch", &session.branch),
        ("model", &session.model),
    ];
    for (name, value) in optional {
        lines.extend(value.clone().map(|value| (name, value)));
    }
    let [started, ended] = [session.started, session.ended].map(|at| format_time(at, zone));
    let span = match started == ended {
        true => started,
        false => format!("{started} to {ended}"),
    };
    lines.push(("time", span));
    let clean = |(name, value): (_, String)| (name, one_line(&value));
    lines.into_iter().map(clean).collect()
}

fn is_speech(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary | RecordKind::Approval
    )
}

fn write_markdown(zone: &TimeZone, record: &StoredRecord, out: &mut dyn Write) -> io::Result<()> {
    let when = format_time(record.at, zone);
    let who = escape_markdown(&one_line(&speaker_name(record)));
    writeln!(out, "\n## {who}, {when}\n")?;
    let text = sanitize(&record.content);
    if is_speech(record.kind) {
        return writeln!(out, "{}", quote_markdown(&text));
    }
    let fence = code_fence(&text);
    writeln!(out, "{fence}\n{}\n{fence}", text.trim_end())
}

/// Quotes a text, so that its headings and lists stay inside. Code keeps its characters; elsewhere
/// HTML is escaped.
fn quote_markdown(text: &str) -> String {
    let mut in_block = false;
    let mut quote_line = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        let line = match in_block || is_fence {
            true => line.to_owned(),
            false => escape_outside_code(line),
        };
        in_block ^= is_fence;
        format!("> {line}").trim_end().to_owned()
    };
    let lines: Vec<_> = text.trim_end().lines().map(&mut quote_line).collect();
    lines.join("\n")
}

/// Escapes HTML in a line, except between backticks.
fn escape_outside_code(line: &str) -> String {
    let parts = line.split('`').enumerate().map(|(index, part)| {
        // A backtick without a partner opens no code.
        let is_code = index % 2 == 1 && line.matches('`').count().is_multiple_of(2);
        match is_code {
            true => part.to_owned(),
            false => part.replace('&', "&amp;").replace('<', "&lt;"),
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Escapes every character that Markdown or HTML gives a meaning.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => {
                escaped.extend(['\\', c]);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns a fence that is longer than every run of backticks in a text.
fn code_fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn write_html(zone: &TimeZone, record: &StoredRecord, out: &mut dyn Write) -> io::Result<()> {
    let when = format_time(record.at, zone);
    let who = escape_html(&one_line(&speaker_name(record)));
    let text = escape_html(sanitize(&record.content).trim_end());
    if is_speech(record.kind) {
        let class = match record.kind {
            RecordKind::Prompt | RecordKind::Approval => "user",
            _ => "agent",
        };
        return writeln!(
            out,
            "<section class=\"{class}\"><h2>{who} <time>{when}</time></h2><p>{text}</p></section>"
        );
    }
    writeln!(
        out,
        "<details class=\"tool\"><summary>{who} <time>{when}</time></summary>\
         <pre>{text}</pre></details>"
    )
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// Returns who speaks or acts in a record.
pub fn speaker_name(record: &StoredRecord) -> String {
    let tool = record.tool.as_deref().unwrap_or("tool");
    let path = record.path.as_deref().unwrap_or_default();
    match record.kind {
        RecordKind::Prompt => "you".to_owned(),
        RecordKind::Assistant => "agent".to_owned(),
        RecordKind::Thinking => "agent, thinking".to_owned(),
        RecordKind::ToolUse => format!("{tool} called"),
        RecordKind::ToolResult => format!("{tool} returned"),
        RecordKind::Artifact => format!("{tool} changed {path}"),
        RecordKind::Error if record.tool.is_some() => format!("{tool} failed"),
        RecordKind::Error => "error".to_owned(),
        RecordKind::Approval => "you decided".to_owned(),
        RecordKind::Summary => "summary".to_owned(),
    }
}
/// Replaces control characters and characters that hide or reorder text.
fn sanitize(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() => '\u{fffd}',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => '\u{fffd}',
        c => c,
    };
    text.chars().map(visible).collect()
}

fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    sanitize(&words.join(" "))
}

fn format_time(at: Option<Timestamp>, zone: &TimeZone) -> String {
    let format = |at: Timestamp| {
        at.to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string()
    };
    at.map_or_else(|| "unknown".to_owned(), format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_cannot_leave_its_quote() {
        let text = "# <script>\n`a<b` & *x*\n```\n<b>\n```\n<i>";
        assert_eq!(
            quote_markdown(text),
            "> # &lt;script>\n> `a<b` &amp; *x*\n> ```\n> <b>\n> ```\n> &lt;i>"
        );
        assert_eq!(escape_outside_code("a ` <b>"), "a ` &lt;b>");
        assert_eq!(escape_markdown("[x](y) <b> #1"), "\\[x\\](y) &lt;b> \\#1");
        assert_eq!(code_fence("a ```` b"), "`````");
        assert_eq!(code_fence("plain"), "```");
    }

    #[test]
    fn html_is_escaped() {
        assert_eq!(
            escape_html("<a href=\"x\">&'"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"
        );
    }
}
