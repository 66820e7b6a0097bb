//! Reads `opencode.db`: the rows that were written since the last sweep.
//!
//! `time_updated` is the time of a row's last write. A part that is still being written is left for
//! a later sweep, so that no incomplete part is stored.

use std::collections::{BTreeMap, BTreeSet};

use memory::LogEntry;
use serde::{Deserialize, Serialize};
use store::foreign::{ForeignDatabase, ForeignRow};

use super::part::OpencodeTurn;
use super::{session, wire};
use crate::adapter::{load_state, save_state};
use crate::json::Lenient;
use crate::time::{self, Time};
use crate::{InputLine, ParseOutput, lines, rows};

/// Rows of this many milliseconds before the cursor are read again. Several processes write, and a
/// transaction that began earlier may be committed later.
const OVERLAP_MS: i64 = 60_000;
/// How many unfinished turns are checked again, the newest first; a crash may leave some that never
/// finish.
const OPEN_TURNS_MAX: usize = 256;

/// The state that the next sweep needs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct OpencodeDatabaseState {
    sessions: TableCursor,
    messages: TableCursor,
    parts: TableCursor,
    /// The last row id of the table that will replace messages and parts.
    successors: i64,
    /// Turns that were still being written.
    open: BTreeSet<String>,
}

/// How far a table was read: by time, and by row id in case the clock was set back.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TableCursor {
    updated: i64,
    row: i64,
}

impl TableCursor {
    fn advance(&mut self, updated: Option<i64>, row: Option<i64>) {
        self.updated = self.updated.max(updated.unwrap_or_default());
        self.row = self.row.max(row.unwrap_or_default());
    }
}

pub(crate) fn read_rows(
    database: &ForeignDatabase,
    state: Option<&str>,
    out: &mut ParseOutput,
) -> store::Result<String> {
    let mut state: OpencodeDatabaseState = load_state(state);
    let known = ["session", "message", "part"]
        .iter()
        .all(|table| database.has_table(table));
    if known {
        OpencodeDatabaseReader { database, out }.read_new(&mut state)?;
    }
    Ok(save_state(&state))
}

struct OpencodeDatabaseReader<'a> {
    database: &'a ForeignDatabase,
    out: &'a mut ParseOutput,
}

impl OpencodeDatabaseReader<'_> {
    fn read_new(&mut self, state: &mut OpencodeDatabaseState) -> store::Result<()> {
        if self.database.has_table("session_message") {
            self.count_successors(&mut state.successors)?;
        }
        // The parts of a turn are written while it runs, often without a change of its message, so
        // both tables are asked which turns have changed.
        let mut sessions = self.ids_written_since("session", "id", &mut state.sessions)?;
        let mut turns = self.ids_written_since("message", "id", &mut state.messages)?;
        turns.append(&mut self.ids_written_since("part", "message_id", &mut state.parts)?);
        turns.append(&mut state.open);
        let turns = self.order_by_time(&turns)?;
        sessions.extend(turns.iter().map(|(session, _)| session.clone()));
        let mut delegated = BTreeMap::new();
        for session in sessions {
            let is_delegated = self.emit_session(&session)?;
            delegated.insert(session, is_delegated);
        }
        for (session, turn) in turns {
            let is_delegated = delegated.get(&session).copied().unwrap_or_default();
            if self.emit_turn(&session, &turn, is_delegated)? == TurnProgress::Open {
                state.open.insert(turn);
                // Ids sort by time, so the first is the oldest.
                while state.open.len() > OPEN_TURNS_MAX {
                    state.open.pop_first();
                }
            }
        }
        Ok(())
    }

    /// Counts the rows that exist only in the replacement table, as unknown.
    fn count_successors(&mut self, last: &mut i64) -> store::Result<()> {
        let since = *last;
        let sql = "SELECT type, rowid FROM session_message WHERE rowid > ?1 \
                   AND session_id NOT IN (SELECT session_id FROM message)";
        let out = &mut *self.out;
        self.database.each_row(sql, &[&since], |row| {
            out.count_unknown(&format!(
                "session_message/{}",
                row.text(0).unwrap_or_default()
            ));
            *last = row.integer(1).unwrap_or_default().max(*last);
        })
    }

    /// Returns one column of the rows written since the cursor, and advances the cursor.
    fn ids_written_since(
        &self,
        table: &str,
        column: &str,
        cursor: &mut TableCursor,
    ) -> store::Result<BTreeSet<String>> {
        let sql = format!(
            "SELECT {column}, time_updated, rowid FROM {table} \
             WHERE time_updated >= ?1 OR rowid > ?2"
        );
        let (since, row) = (cursor.updated.saturating_sub(OVERLAP_MS), cursor.row);
        let mut found = BTreeSet::new();
        self.database.each_row(&sql, &[&since, &row], |row| {
            found.extend(row.text(0).map(str::to_owned));
            cursor.advance(row.integer(1), row.integer(2));
        })?;
        Ok(found)
    }

    /// Returns turns with their sessions in chronological order.
    fn order_by_time(&self, turns: &BTreeSet<String>) -> store::Result<Vec<(String, String)>> {
        let mut ordered = Vec::new();
        for turn in turns {
            let sql = "SELECT session_id, time_created FROM message WHERE id = ?1";
            self.database.each_row(sql, &[turn], |row| {
                if let Some(session) = row.text(0) {
                    ordered.push((session.to_owned(), row.integer(1), turn.clone()));
                }
            })?;
        }
        ordered.sort();
        Ok(ordered
            .into_iter()
            .map(|(session, _, turn)| (session, turn))
            .collect())
    }

    /// Emits a session and says whether it is a subagent's, whose prompts a model writes.
    fn emit_session(&mut self, id: &str) -> store::Result<bool> {
        let columns = [
            "id", "parent_id", "directory", "title", "version", "permission", "model",
            "time_created", "time_updated",
        ];
        let sql = rows::select_columns(self.database, "session", &columns)? + " WHERE id = ?1";
        let mut patch = None;
        self.database.each_row(&sql, &[&id], |row| {
            patch = session::patch(session_from_row(&row));
        })?;
        let Some(patch) = patch else {
            self.out.count_unknown("message without its session");
            return Ok(false);
        };
        let is_delegated = patch.parent.is_some();
        if patch.title.is_none() && !is_delegated {
            self.emit_first_prompt(&patch.id)?;
        }
        self.out.push(patch);
        Ok(is_delegated)
    }

    fn emit_first_prompt(&mut self, id: &memory::SessionId) -> store::Result<()> {
        let sql = "SELECT part.data FROM part WHERE message_id = \
                   (SELECT id FROM message WHERE session_id = ?1 \
                    ORDER BY time_created, id LIMIT 1) \
                   ORDER BY part.id";
        let mut prompt = None;
        self.database.each_row(sql, &[&id.native()], |row| {
            let part = row
                .text(0)
                .and_then(|data| serde_json::from_str::<wire::Part<'_>>(data).ok());
            let spoken = part.filter(|part| part.kind.is("text") && !part.synthetic.is_true());
            prompt = prompt
                .take()
                .or_else(|| spoken.and_then(|part| part.text.into_text()));
        })?;
        let patch = prompt.map(|prompt| session::first_prompt(id, &prompt));
        self.out.entries.extend(patch.map(LogEntry::Session));
        Ok(())
    }

    /// Emits the complete parts of a turn.
    fn emit_turn(
        &mut self,
        session: &str,
        id: &str,
        is_delegated: bool,
    ) -> store::Result<TurnProgress> {
        let has_next = self.has_next(session, id)?;
        let mut data = None;
        let sql = "SELECT data, rowid FROM message WHERE id = ?1";
        self.database
            .each_row(sql, &[&id], |row| data = data_and_row(&row))?;
        let Some((data, row)) = data else {
            return Ok(TurnProgress::Done);
        };
        let mut parts = Vec::new();
        let sql = "SELECT data, rowid, id FROM part WHERE message_id = ?1 ORDER BY id";
        self.database.each_row(sql, &[&id], |row| {
            if let (Some((data, number)), Some(id)) = (data_and_row(&row), row.text(2)) {
                parts.push((id.to_owned(), data, number));
            }
        })?;
        let mut progress = TurnProgress::Done;
        lines::for_each_object(InputLine::row(&data, row), self.out, |text, out| {
            let mut message: wire::Message<'_> = serde_json::from_str(text)?;
            message.id = Lenient(Some(id.to_owned()));
            message.session = Lenient(Some(session.to_owned()));
            let Some(mut turn) = OpencodeTurn::of(&message) else {
                out.count_unknown("message without a role");
                return Ok(());
            };
            turn.is_delegated = is_delegated;
            turn.is_closed |= has_next;
            let mut steps = false;
            for (id, data, number) in &parts {
                lines::for_each_object(InputLine::row(data, *number), out, |text, out| {
                    let mut part: wire::Part<'_> = serde_json::from_str(text)?;
                    steps |= part.kind.is("step-finish") && part.tokens.0.is_some();
                    part.id = Lenient(Some(id.clone()));
                    turn.emit_part(part, out);
                    Ok(())
                });
            }
            if turn.is_closed {
                turn.emit_summary(&message, steps, out);
            } else if !turn.is_user() {
                progress = TurnProgress::Open;
            }
            Ok(())
        });
        Ok(progress)
    }

    /// Says whether the session continued after a turn, which ends the turn even without a mark.
    fn has_next(&self, session: &str, id: &str) -> store::Result<bool> {
        let sql = "SELECT 1 FROM message WHERE session_id = ?1 AND time_created > \
                   (SELECT time_created FROM message WHERE id = ?2) LIMIT 1";
        let mut has_next = false;
        self.database
            .each_row(sql, &[&session, &id], |_| has_next = true)?;
        Ok(has_next)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnProgress {
    Done,
    /// More parts will be written.
    Open,
}

fn data_and_row(row: &ForeignRow<'_, '_>) -> Option<(String, u64)> {
    let number = row.integer(1).and_then(|number| u64::try_from(number).ok());
    Some((row.text(0)?.to_owned(), number.unwrap_or_default()))
}

fn session_from_row(row: &ForeignRow<'_, '_>) -> wire::Session {
    let text = |column| Lenient(row.text(column).map(str::to_owned));
    let time = |column| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds stay far below 2^53"
        )]
        let number = row.integer(column).map(|number| number as f64);
        Time(number.and_then(time::from_number))
    };
    wire::Session {
        id: text(0),
        parent: text(1),
        directory: text(2),
        title: text(3),
        version: text(4),
        permission: Lenient(row.text(5).and_then(|json| serde_json::from_str(json).ok())),
        model: Lenient(row.text(6).and_then(|json| serde_json::from_str(json).ok())),
        time: Lenient(Some(wire::Times {
            created: time(7),
            updated: time(8),
            ..wire::Times::default()
        })),
    }
}
