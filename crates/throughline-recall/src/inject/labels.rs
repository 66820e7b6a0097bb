//! Labels for where a memory comes from, as models and people read them.

use jiff::Timestamp;
use memory::{FactKind, RecordKind, SessionId, Trust};

/// Formats how long ago something was: "3 weeks ago".
pub fn format_age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(at.as_second());
    let (number, unit) = match seconds {
        ..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..1_209_600 => (seconds / 86_400, "day"),
        1_209_600..5_184_000 => (seconds / 604_800, "week"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural} ago")
}

/// Formats when something was: its date and its age.
pub fn format_date(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        Some(at) => format!("{}, {}", at.strftime("%Y-%m-%d"), format_age(at, now)),
        None => "undated".to_owned(),
    }
}

/// Returns the label of a text's author.
pub const fn speaker_label(trust: Trust) -> &'static str {
    match trust {
        Trust::User => "user said",
        Trust::Model => "agent said",
        Trust::Tool => "tool output",
    }
}

/// Returns the introduction of a fact. Only what the user stated reads as guidance.
pub const fn fact_introduction(kind: FactKind, trust: Trust) -> &'static str {
    match (trust, kind) {
        (Trust::User, FactKind::Preference) => "The user prefers",
        (Trust::User, FactKind::Decision) => "The user decided",
        (Trust::User, FactKind::Correction) => "The user corrected",
        (Trust::User, _) => "The user noted",
        (_, FactKind::Command) => "A command that worked before",
        (_, FactKind::Outcome) => "Earlier outcome",
        _ => "Noted before",
    }
}

/// Returns the label of a kind of record.
pub const fn kind_label(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Prompt => "a prompt",
        RecordKind::Assistant => "an answer",
        RecordKind::Thinking => "a thought",
        RecordKind::ToolUse => "a tool call",
        RecordKind::ToolResult => "a tool's result",
        RecordKind::Approval => "an approval",
        RecordKind::Error => "an error",
        RecordKind::Artifact => "a change",
        RecordKind::Summary => "a summary",
    }
}

/// Returns the agent and the beginning of the id, which `throughline show` accepts.
pub fn session_label(id: &SessionId) -> String {
    let (agent, native) = id.as_str().split_once(':').unwrap_or(("", id.as_str()));
    let native: String = native.chars().take(13).collect();
    format!("{agent} session {native}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        let now: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
        let check = |at: &str, shown: &str| assert_eq!(format_age(at.parse().unwrap(), now), shown);
        check("2026-11-16T08:59:30Z", "just now");
        check("2026-11-16T08:00:00Z", "1 hour ago");
        check("2026-11-13T08:00:00Z", "3 days ago");
        check("2026-10-26T08:00:00Z", "3 weeks ago");
        check("2026-01-26T08:00:00Z", "9 months ago");
        check("2020-01-26T08:00:00Z", "6 years ago");
        check("2027-01-26T08:00:00Z", "just now");
    }
}
