//! Reads `sessions.db`: the sessions that changed since the last sweep.
//!
//! Message rows are only added; a rewritten conversation gets new rows. So the last row id tells
//! what is new. The session of a new row is read from its start, because ids and joined results
//! depend on earlier messages.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::{Flavor, LogEntry, Origin, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use memory::{Usage, UsageEntry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::foreign::{ForeignDatabase, ForeignRow};

use super::conversation::{GooseConversation, GooseMessage, GooseMessageKind};
use super::wire::{Content, ModelConfig, Visibility};
use crate::adapter::{load_state, save_state};
use crate::{ParseOutput, SkipReason, SkippedLine, rows, time};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct GooseDatabaseState {
    /// The last row id of a message.
    row: i64,
    /// The time of the last change of a session, in the database's format.
    updated: String,
}

pub(crate) fn read_rows(
    database: &ForeignDatabase,
    state: Option<&str>,
    out: &mut ParseOutput,
) -> store::Result<String> {
    let mut state: GooseDatabaseState = load_state(state);
    if database.has_table("sessions") && database.has_table("messages") {
        read_new(database, &mut state, out)?;
    }
    Ok(save_state(&state))
}

fn read_new(
    database: &ForeignDatabase,
    state: &mut GooseDatabaseState,
    out: &mut ParseOutput,
) -> store::Result<()> {
    let since = state.row;
    let mut with_messages = BTreeSet::new();
    let sql = "SELECT session_id, id FROM messages WHERE id > ?1";
    database.each_row(sql, &[&since], |row| {
        with_messages.extend(row.text(0).map(str::to_owned));
        state.row = state.row.max(row.integer(1).unwrap_or_default());
    })?;
    let mut changed = with_messages.clone();
    // Not `>`: SQLite's times have a resolution of a second, and a session may change twice in it.
    let sql = "SELECT id, updated_at FROM sessions WHERE updated_at >= ?1";
    let updated_since = state.updated.clone();
    database.each_row(sql, &[&updated_since], |row| {
        changed.extend(row.text(0).map(str::to_owned));
        if let Some(updated) = row
            .text(1)
            .filter(|updated| *updated > state.updated.as_str())
        {
            state.updated = updated.to_owned();
        }
    })?;
    let mut prompters = BTreeMap::new();
    for id in &changed {
        prompters.insert(id, emit_session(database, id, out)?);
    }
    for id in &with_messages {
        let prompter = prompters.get(id).copied().unwrap_or(Origin::Human);
        emit_messages(database, id, prompter, since, out)?;
    }
    Ok(())
}

/// Emits a session and returns who writes its prompts.
fn emit_session(
    database: &ForeignDatabase,
    id: &str,
    out: &mut ParseOutput,
) -> store::Result<Origin> {
    let columns = [
        "name", "description", "user_set_name", "session_type", "working_dir", "created_at",
        "updated_at", "model_config_json", "parent_session_id", "accumulated_input_tokens",
        "accumulated_output_tokens", "input_tokens", "output_tokens", "accumulated_cost",
    ];
    let sql = rows::select_columns(database, "sessions", &columns)? + " WHERE id = ?1";
    let session = SessionId::of(Flavor::Goose, id);
    let mut prompter = Origin::Human;
    database.each_row(&sql, &[&id], |row| {
        let patch = patch(&session, &row);
        out.entries.extend(usage(&patch, &row).map(LogEntry::Usage));
        prompter = match patch.kind {
            Some(SessionKind::Subagent) => Origin::Model,
            Some(SessionKind::Automated) => Origin::Harness,
            _ => Origin::Human,
        };
        out.push(patch);
    })?;
    Ok(prompter)
}

fn patch(session: &SessionId, row: &ForeignRow<'_, '_>) -> SessionPatch {
    let text = |column| {
        row.text(column)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let parent = text(8).map(|parent| SessionId::of(Flavor::Goose, &parent));
    let kind = match row.text(3).unwrap_or_default() {
        "sub_agent" => SessionKind::Subagent,
        "scheduled" | "hidden" => SessionKind::Automated,
        _ => SessionKind::Main,
    };
    let by_user = row.integer(2).is_some_and(|flag| flag != 0);
    let rank = if by_user {
        TitleRank::Custom
    } else {
        TitleRank::Generated
    };
    let named = text(0).filter(|name| by_user || !is_placeholder(name));
    let model = row
        .text(7)
        .and_then(|json| serde_json::from_str::<ModelConfig>(json).ok());
    SessionPatch {
        kind: Some(kind),
        title: named.or_else(|| text(1)).map(|text| Title::new(text, rank)),
        cwd: text(4),
        started: row.text(5).and_then(parse_timestamp),
        ended: row.text(6).and_then(parse_timestamp),
        model: model.and_then(|model| model.model_name.into_text()),
        parent,
        ..SessionPatch::new(session.clone(), Flavor::Goose)
    }
}

/// Says whether a name is Goose's placeholder for a session without a title.
pub(crate) fn is_placeholder(name: &str) -> bool {
    name == "CLI Session" || name.starts_with("New session") || name.starts_with("New Chat")
}

/// Returns the totals of a session; Goose's input includes cache reads.
fn usage(patch: &SessionPatch, row: &ForeignRow<'_, '_>) -> Option<UsageEntry> {
    let count = |sum: usize, last: usize| {
        let number = row.integer(sum).or_else(|| row.integer(last));
        number
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or_default()
    };
    let usage = Usage {
        input: count(9, 11),
        output: count(10, 12),
        ..Usage::default()
    };
    (usage != Usage::default()).then(|| UsageEntry {
        session: patch.id.clone(),
        key: patch.id.to_string(),
        at: patch.started,
        model: patch.model.clone(),
        usage,
        cost_usd: row.real(13).filter(|cost| *cost > 0.0),
    })
}

/// Parses a time in SQLite's format or in Goose's.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    time::parse_iso(text).or_else(|| time::parse_iso(&format!("{}Z", text.replace(' ', "T"))))
}

/// A row of a message.
struct GooseMessageRow {
    row: i64,
    role: String,
    content: String,
    at: Option<Timestamp>,
    hidden: bool,
}

fn emit_messages(
    database: &ForeignDatabase,
    id: &str,
    prompter: Origin,
    since: i64,
    out: &mut ParseOutput,
) -> store::Result<()> {
    let columns = [
        "id", "role", "content_json", "created_timestamp", "metadata_json",
    ];
    let sql = rows::select_columns(database, "messages", &columns)?
        + " WHERE session_id = ?1 ORDER BY id";
    let mut stored = Vec::new();
    database.each_row(&sql, &[&id], |row| {
        let seen = row
            .text(4)
            .and_then(|json| serde_json::from_str::<Visibility>(json).ok());
        stored.push(GooseMessageRow {
            row: row.integer(0).unwrap_or_default(),
            role: row.text(1).unwrap_or_default().to_owned(),
            content: row.text(2).unwrap_or_default().to_owned(),
            at: row.real(3).and_then(time::from_number),
            hidden: seen.is_some_and(|seen| seen.user_visible.0 == Some(false)),
        });
    })?;
    let session = SessionId::of(Flavor::Goose, id);
    let mut talk = GooseConversation::default();
    for (index, message) in stored.iter().enumerate() {
        let Ok(content) = serde_json::from_str::<Vec<&RawValue>>(&message.content) else {
            let line = u64::try_from(message.row).unwrap_or_default();
            out.skipped.push(SkippedLine {
                line,
                reason: SkipReason::Malformed,
            });
            continue;
        };
        let next = stored.get(index + 1);
        let part = match (
            message.hidden,
            next.is_some_and(GooseMessageRow::announces_summary),
        ) {
            (true, true) => GooseMessageKind::Summary,
            (true, false) => GooseMessageKind::Hidden,
            (false, _) => GooseMessageKind::Spoken,
        };
        let parsed = GooseMessage {
            role: &message.role,
            at: message.at,
            content,
            part,
            prompter,
        };
        let known = out.unknown_kinds.clone();
        let converted = talk.read_message(&session, parsed, out);
        if message.row > since {
            out.entries.extend(converted.map(LogEntry::Message));
        } else {
            // Unknown content was counted when the message was new.
            out.unknown_kinds = known;
        }
    }
    Ok(())
}

impl GooseMessageRow {
    /// Says whether this message announces to the model that the one before is a summary.
    fn announces_summary(&self) -> bool {
        let first = |content: Vec<Content<'_>>| content.into_iter().next()?.text.0;
        let text = serde_json::from_str::<Vec<Content<'_>>>(&self.content)
            .ok()
            .and_then(first);
        self.hidden
            && text.is_some_and(|text| {
                let text = text.trim_start();
                text.starts_with("The previous message contains a summary")
                    || text.starts_with("The message above is a summary")
            })
    }
}
