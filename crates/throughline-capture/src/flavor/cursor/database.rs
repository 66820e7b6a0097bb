//! Reads `state.vscdb`, the editor's key-value store.
//!
//! It holds the user's credentials too, so only the keys of conversations are queried. Writing a
//! key again gives it a new row id, so the last row id tells what is new. SQLite reuses ids after
//! the last rows were deleted; therefore a few rows before the last are read again.

use std::collections::{BTreeMap, BTreeSet};

use memory::{Origin, Role};
use serde::{Deserialize, Serialize};
use store::foreign::ForeignDatabase;

use super::bubble::{CursorConversation, is_finished};
use super::{discover, wire};
use crate::adapter::{load_state, save_state};
use crate::json::Lenient;
use crate::{InputLine, ParseOutput, Source, lines};

const COMPOSERS: &str = "composer.composerData";
const CHATS: &str = "workbench.panel.aichat.view.aichat.chatdata";
/// How many unfinished bubbles are checked again; a crash may leave some that never finish.
const OPEN_BUBBLES_MAX: usize = 1024;
/// How many rows before the last are read again, because SQLite reuses the ids of deleted rows.
const OVERLAP_ROWS: i64 = 256;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CursorDatabaseState {
    /// Hashes of a workspace's values, by key.
    items: BTreeMap<String, String>,
    /// The last row id of `cursorDiskKV`.
    row: i64,
    /// Bubbles that were still being written.
    open: BTreeSet<String>,
}

pub(crate) fn read_rows(
    source: &Source,
    database: &ForeignDatabase,
    state: Option<&str>,
    out: &mut ParseOutput,
) -> store::Result<String> {
    let mut state: CursorDatabaseState = load_state(state);
    let cwd = discover::workspace_folder(&source.path);
    let mut reader = CursorDatabaseReader {
        database,
        cwd: cwd.as_deref(),
        out,
    };
    if database.has_table("ItemTable") {
        reader.read_workspace_values(&mut state)?;
    }
    if database.has_table("cursorDiskKV") {
        reader.read_new_bubbles(&mut state)?;
    }
    Ok(save_state(&state))
}

struct CursorDatabaseReader<'a> {
    database: &'a ForeignDatabase,
    cwd: Option<&'a str>,
    out: &'a mut ParseOutput,
}

impl CursorDatabaseReader<'_> {
    /// Reads the conversations of a workspace, each of which is one value.
    fn read_workspace_values(&mut self, state: &mut CursorDatabaseState) -> store::Result<()> {
        let mut found = Vec::new();
        let sql = "SELECT key, value, rowid FROM ItemTable WHERE key IN (?1, ?2)";
        self.database.each_row(sql, &[&COMPOSERS, &CHATS], |row| {
            if let (Some(key), Some(value)) = (row.text(0), row.text(1)) {
                let hash = blake3::hash(value.as_bytes()).to_hex().to_string();
                if state.items.insert(key.to_owned(), hash.clone()).as_ref() != Some(&hash) {
                    let row = row.integer(2).unwrap_or_default();
                    found.push((key.to_owned(), value.to_owned(), row));
                }
            }
        })?;
        for (key, value, row) in found {
            let cwd = self.cwd;
            lines::for_each_object(row_line(&value, row), self.out, |text, out| {
                if key == CHATS {
                    read_chats(text, cwd, out)
                } else {
                    read_composers(text, cwd, out)
                }
            });
        }
        Ok(())
    }

    /// Reads the conversations of newer releases, which have one value per bubble.
    fn read_new_bubbles(&mut self, state: &mut CursorDatabaseState) -> store::Result<()> {
        let last = self.last_row()?;
        // Row ids start over when the file is recreated.
        let since = if last < state.row {
            0
        } else {
            state.row.saturating_sub(OVERLAP_ROWS)
        };
        if since <= 0 {
            state.open.clear();
        }
        let mut new_bubbles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let sql = "SELECT key FROM cursorDiskKV WHERE rowid > ?1 AND \
                   ((key >= 'composerData:' AND key < 'composerData;') OR \
                    (key >= 'bubbleId:' AND key < 'bubbleId;'))";
        let mut note = |key: &str| {
            if let Some(composer) = key.strip_prefix("composerData:") {
                new_bubbles.entry(composer.to_owned()).or_default();
            } else if let Some(key) = key.strip_prefix("bubbleId:")
                && let Some((composer, bubble)) = key.split_once(':')
            {
                new_bubbles
                    .entry(composer.to_owned())
                    .or_default()
                    .insert(bubble.to_owned());
            }
        };
        self.database.each_row(sql, &[&since], |row| {
            row.text(0).into_iter().for_each(&mut note);
        })?;
        std::mem::take(&mut state.open)
            .iter()
            .for_each(|key| note(key));
        for (composer, bubbles) in new_bubbles {
            self.read_composer(&composer, &bubbles, state)?;
        }
        while state.open.len() > OPEN_BUBBLES_MAX {
            state.open.pop_first();
        }
        state.row = last;
        Ok(())
    }

    fn read_composer(
        &mut self,
        id: &str,
        new_bubbles: &BTreeSet<String>,
        state: &mut CursorDatabaseState,
    ) -> store::Result<()> {
        let Some((value, row)) = self.value_of_key(&format!("composerData:{id}"))? else {
            // Bubbles are written before the list that contains them.
            state.open.extend(
                new_bubbles
                    .iter()
                    .map(|bubble| format!("bubbleId:{id}:{bubble}")),
            );
            return Ok(());
        };
        let mut listed = Vec::new();
        let mut conversation = None;
        let cwd = self.cwd;
        let mut generating = Vec::new();
        lines::for_each_object(row_line(&value, row), self.out, |text, out| {
            let mut composer: wire::Composer<'_> = serde_json::from_str(text)?;
            composer.composer_id.0.get_or_insert_with(|| id.to_owned());
            let headers = composer
                .full_conversation_headers_only
                .0
                .take()
                .unwrap_or_default();
            listed = headers
                .into_iter()
                .filter_map(|header| header.bubble_id.0)
                .collect();
            generating = composer.generating_bubble_ids.0.take().unwrap_or_default();
            if composer.status.is("generating") {
                generating.extend(listed.last().cloned());
            }
            conversation = begin_conversation(&composer, cwd, out);
            Ok(())
        });
        let Some(mut conversation) = conversation else {
            return Ok(());
        };
        for bubble in new_bubbles.iter().filter(|bubble| !listed.contains(bubble)) {
            state.open.insert(format!("bubbleId:{id}:{bubble}"));
        }
        for (number, bubble) in (1..).zip(&listed) {
            if !new_bubbles.contains(bubble) {
                continue;
            }
            conversation.line = number;
            let key = format!("bubbleId:{id}:{bubble}");
            let Some((value, row)) = self.value_of_key(&key)? else {
                continue;
            };
            let is_generating = generating.contains(bubble);
            lines::for_each_object(row_line(&value, row), self.out, |text, out| {
                let mut read: wire::Bubble = serde_json::from_str(text)?;
                read.bubble_id = Lenient(Some(bubble.clone()));
                if is_generating || !is_finished(&read) {
                    state.open.insert(key.clone());
                } else {
                    conversation.emit_bubble(read, out);
                }
                Ok(())
            });
        }
        Ok(())
    }

    fn value_of_key(&self, key: &str) -> store::Result<Option<(String, i64)>> {
        let mut value = None;
        let sql = "SELECT value, rowid FROM cursorDiskKV WHERE key = ?1";
        self.database.each_row(sql, &[&key], |row| {
            let text = row
                .text(0)
                .filter(|text| !text.is_empty())
                .map(str::to_owned);
            value = text.zip(row.integer(1));
        })?;
        Ok(value)
    }

    fn last_row(&self) -> store::Result<i64> {
        let mut last = 0;
        let sql = "SELECT max(rowid) FROM cursorDiskKV";
        self.database
            .each_row(sql, &[], |row| last = row.integer(0).unwrap_or_default())?;
        Ok(last)
    }
}

fn row_line(text: &str, row: i64) -> InputLine<'_> {
    InputLine::row(text, u64::try_from(row).unwrap_or_default())
}

fn read_composers(text: &str, cwd: Option<&str>, out: &mut ParseOutput) -> serde_json::Result<()> {
    let composers: wire::Composers<'_> = serde_json::from_str(text)?;
    for composer in composers.all_composers.0.unwrap_or_default() {
        match serde_json::from_str::<wire::Composer<'_>>(composer.get()) {
            Ok(composer) => drop(begin_conversation(&composer, cwd, out)),
            Err(_) => out.count_unknown("composer"),
        }
    }
    Ok(())
}

/// Emits a conversation as far as it is contained in one value.
fn begin_conversation(
    composer: &wire::Composer<'_>,
    cwd: Option<&str>,
    out: &mut ParseOutput,
) -> Option<CursorConversation> {
    let mut conversation = CursorConversation::begin(composer, cwd, out)?;
    let inside = composer.conversation.0.as_deref().unwrap_or_default();
    let generating = composer
        .generating_bubble_ids
        .0
        .as_deref()
        .unwrap_or_default();
    for (number, raw) in (1..).zip(inside) {
        conversation.line = number;
        let Ok(bubble) = serde_json::from_str::<wire::Bubble>(raw.get()) else {
            out.count_unknown("bubble");
            continue;
        };
        let is_generating = generating.iter().any(|id| bubble.bubble_id.is(id));
        if !is_generating && is_finished(&bubble) {
            conversation.emit_bubble(bubble, out);
        }
    }
    Some(conversation)
}

/// Reads the chat panel of 2024.
fn read_chats(text: &str, cwd: Option<&str>, out: &mut ParseOutput) -> serde_json::Result<()> {
    let chats: wire::Chats = serde_json::from_str(text)?;
    let tabs = chats.tabs.0.unwrap_or_default();
    for tab in tabs.into_iter().filter_map(|tab| tab.0) {
        let composer = wire::Composer {
            composer_id: tab.tab_id,
            name: tab.chat_title,
            last_updated_at: tab.last_send_time,
            created_at: tab.last_send_time,
            ..wire::Composer::default()
        };
        let Some(mut conversation) = CursorConversation::begin(&composer, cwd, out) else {
            continue;
        };
        let bubbles = tab.bubbles.0.unwrap_or_default();
        for (number, bubble) in (1..).zip(bubbles.into_iter().filter_map(|bubble| bubble.0)) {
            conversation.line = number;
            let speaker = match bubble.kind.text() {
                Some("user") => (Role::User, Origin::Human),
                Some("ai") => (Role::Assistant, Origin::Model),
                _ => {
                    out.count_unknown("chat bubble/type");
                    continue;
                }
            };
            let text = bubble
                .text
                .into_text()
                .or_else(|| bubble.raw_text.into_text());
            if let (Some(id), Some(text)) = (bubble.id.text(), text) {
                let blocks = vec![memory::Block::Text(text)];
                conversation.emit_message(
                    id,
                    None,
                    speaker,
                    bubble.model_type.into_text(),
                    blocks,
                    out,
                );
            }
        }
    }
    Ok(())
}
