//! The memory of one session, built from its records one by one.
//!
//! A [`SessionMemory`] is a fold over the records of a session: the daemon keeps one for every live
//! session, and a process without a daemon builds the same one from the store. Cards quote redacted
//! records only and never the contents of a file.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::working::WorkingMemory;
use super::{Card, CardKey, LayerEffects, SessionTouches};
use crate::command::{self, call_succeeded};
use crate::fingerprint::fingerprint;
use crate::{RecordId, RecordKind};

/// How many calls are remembered until their results arrive.
const OPEN_CALLS_MAX: usize = 64;
/// How many subagents, decisions and interactions are listed.
const AGENTS_MAX: usize = 20;
const DECISIONS_MAX: usize = 10;
const INTERACTIONS_MAX: usize = 10;
/// The length of a quoted line, and how many lines of a change are quoted.
const LINE_CHARS_MAX: usize = 200;
const CHANGE_LINES_MAX: usize = 24;
const TASK_LINES_MAX: usize = 12;
/// A card names at most this many records as its sources.
const SOURCES_MAX: usize = 16;

/// What the layers read of a record.
#[derive(Clone, Copy, Debug)]
pub struct LayerRecord<'a> {
    pub id: RecordId,
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    pub tool: Option<&'a str>,
    /// Relative to the folder of the session where possible.
    pub path: Option<&'a str>,
    pub call: Option<&'a str>,
    pub exit_code: Option<i64>,
    /// The text may hold a secret, so no card quotes it.
    pub is_sensitive: bool,
    pub content: &'a str,
}

impl LayerRecord<'_> {
    fn failed(&self) -> bool {
        let is_result = matches!(self.kind, RecordKind::ToolResult | RecordKind::Error);
        is_result && !call_succeeded(self.kind == RecordKind::Error, self.exit_code)
    }

    fn is_model(&self) -> bool {
        matches!(
            self.kind,
            RecordKind::Assistant | RecordKind::Thinking | RecordKind::ToolUse
        )
    }

    /// Returns the text as far as a card may quote it.
    fn quotable(&self) -> &str {
        if self.is_sensitive { "" } else { self.content }
    }
}

/// What happened to a session's memory when a record was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChange {
    /// A new interaction began.
    pub is_interaction: bool,
    /// The predictions are due to be made again.
    pub refresh_due: bool,
    /// The user stated a task.
    pub is_task: bool,
    /// A file was used for the first time in the session.
    pub new_file: Option<String>,
    pub effects: LayerEffects,
}

/// A call whose result has not arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PendingCommand {
    call: String,
    key: CardKey,
    line: String,
    id: RecordId,
}

/// The working memory of a session with what it is built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionMemory {
    pub working: WorkingMemory,
    pub touches: SessionTouches,
    /// Choices that the user made, the latest last.
    decisions: VecDeque<(RecordId, String)>,
    /// The first record of each of the last interactions.
    recent: VecDeque<RecordId>,
    calls: VecDeque<PendingCommand>,
    in_response: bool,
    /// The call and the path of the last touch, and the call of the last error.
    last_touch: Option<(Option<String>, String)>,
    last_error: Option<(Option<String>, CardKey)>,
}

impl SessionMemory {
    /// Returns the keys that a record needs, which are looked up before the record is added. The
    /// records of one call need each key once.
    pub fn keys(&self, record: &LayerRecord<'_>) -> Vec<CardKey> {
        let mut keys = Vec::new();
        if let Some(path) = self.touched_path(record) {
            keys.push(CardKey::File(path.to_owned()));
        }
        if let Some(command) = shell_command(record) {
            keys.push(CardKey::Command(command_family(&command)));
        }
        let error = error_key(record).map(|key| (record.call.map(str::to_owned), key));
        keys.extend(
            error
                .filter(|error| self.last_error.as_ref() != Some(error))
                .map(|(_, key)| key),
        );
        if record.kind == RecordKind::Prompt {
            keys.push(CardKey::Task);
        }
        keys
    }

    /// Adds a record: counts interactions, and makes or renews the cards that it is about.
    pub fn add(&mut self, record: &LayerRecord<'_>, now: Timestamp) -> SessionChange {
        let mut change = SessionChange::default();
        let is_model = record.is_model();
        if record.kind == RecordKind::Prompt || is_model && !self.in_response {
            let (refresh_due, effects) = self.working.end_interaction(now);
            change.is_interaction = true;
            change.refresh_due = refresh_due;
            change.effects.extend(effects);
            push_last(&mut self.recent, record.id, INTERACTIONS_MAX);
        }
        self.in_response = is_model;
        match record.kind {
            RecordKind::Prompt => {
                change.is_task = true;
                let text = format!("Task: {}", lines_of(record.quotable(), TASK_LINES_MAX));
                let card = Card::new(&text, vec![record.id]);
                change
                    .effects
                    .extend(self.working.insert(CardKey::Task, card, now));
            }
            RecordKind::Approval if !record.is_sensitive => {
                let line = one_line(record.content);
                push_last(&mut self.decisions, (record.id, line), DECISIONS_MAX);
            }
            _ => {}
        }
        self.add_file(record, now, &mut change);
        self.add_command(record, now, &mut change);
        self.add_failure(record, now, &mut change);
        change
    }

    /// Sets the state of a subagent.
    pub fn set_agent(&mut self, session: &str, line: &str, source: RecordId, now: Timestamp) {
        let key = CardKey::Agent(session.to_owned());
        let agents = self.working.used_cards();
        let count = agents.filter(|(key, _)| matches!(key, CardKey::Agent(_)));
        if count.count() < AGENTS_MAX || self.working.contains(&key) {
            let card = Card::new(&one_line(line), vec![source]);
            self.working.insert(key, card, now);
        }
    }

    /// Returns the card of an interaction by its first record, for a session that continues it.
    pub fn interaction_card(record: &LayerRecord<'_>) -> Option<(CardKey, Card)> {
        let line = one_line(record.quotable());
        let text = match record.kind {
            RecordKind::Prompt => format!("the user asked: {line}"),
            _ => format!("the agent: {line}"),
        };
        let card = Card::new(&text, vec![record.id]);
        (!line.is_empty()).then(|| (CardKey::Record(record.id.to_string()), card))
    }

    /// Returns the choices that the user made, the latest last.
    pub fn decisions(&self) -> impl Iterator<Item = &str> {
        self.decisions.iter().map(|(_, line)| line.as_str())
    }

    /// Returns the first record of each of the last interactions.
    pub fn recent(&self) -> impl Iterator<Item = RecordId> {
        self.recent.iter().copied()
    }

    /// Returns about how many bytes the memory occupies.
    pub fn bytes(&self) -> usize {
        let cards = self.working.used_cards().map(|(key, card)| {
            key.to_string().len() + card.text.len() + card.made_of.len() * size_of::<RecordId>()
        });
        let files = self.touches.files.iter();
        let files = files.map(|file| file.path.len() + size_of_val(file));
        cards.sum::<usize>() + files.sum::<usize>()
    }

    /// Returns the file that a record uses. A call, its result and its change have the same path
    /// and count once.
    fn touched_path<'a>(&self, record: &LayerRecord<'a>) -> Option<&'a str> {
        let path = record.path?;
        let is_touch = matches!(
            record.kind,
            RecordKind::ToolUse | RecordKind::ToolResult | RecordKind::Artifact
        );
        let is_same = self.last_touch.as_ref().is_some_and(|(call, last)| {
            let is_change = record.kind == RecordKind::Artifact;
            let is_unnamed = record.kind == RecordKind::ToolResult && record.call.is_none();
            last == path && (is_change || is_unnamed || call.as_deref() == record.call)
        });
        (is_touch && !is_same).then_some(path)
    }

    fn add_file(&mut self, record: &LayerRecord<'_>, now: Timestamp, change: &mut SessionChange) {
        let Some(path) = record.path else {
            return;
        };
        let is_edit = record.kind == RecordKind::Artifact;
        let is_touch = self.touched_path(record).is_some();
        if is_touch {
            if !self.touches.contains(path) {
                change.new_file = Some(path.to_owned());
            }
            self.touches.add(path, is_edit, record.at.unwrap_or(now));
            self.last_touch = Some((record.call.map(str::to_owned), path.to_owned()));
        } else if is_edit {
            self.touches.add_edit(path);
        } else if !record.failed() {
            return;
        }
        let key = CardKey::File(path.to_owned());
        let old = self.working.peek(&key).cloned().unwrap_or_default();
        let quoted = match record.kind {
            RecordKind::Artifact => {
                format!(
                    "last change:\n{}",
                    lines_of(record.quotable(), CHANGE_LINES_MAX)
                )
            }
            _ if record.failed() => format!("last failure: {}", one_line(record.quotable())),
            // A card keeps the last change until there is a newer one.
            _ => old
                .text
                .split_once('\n')
                .map_or("", |(_, rest)| rest)
                .to_owned(),
        };
        let text = format!("{}\n{quoted}", self.describe_file(path));
        let mut sources = old.made_of;
        sources.retain(|source| *source != record.id);
        sources.insert(0, record.id);
        sources.truncate(SOURCES_MAX);
        let card = Card::new(text.trim_end(), sources);
        change.effects.extend(self.working.insert(key, card, now));
    }

    fn describe_file(&self, path: &str) -> String {
        let file = self.touches.files.iter().find(|file| file.path == path);
        let Some(file) = file else {
            return path.to_owned();
        };
        match (file.touches, file.edits) {
            (touches, 0) => format!("{path}: used {touches}×"),
            (touches, edits) => format!("{path}: used {touches}×, changed {edits}×"),
        }
    }

    fn add_command(
        &mut self,
        record: &LayerRecord<'_>,
        now: Timestamp,
        change: &mut SessionChange,
    ) {
        if let Some(command) = shell_command(record) {
            let key = CardKey::Command(command_family(&command));
            let line = if record.is_sensitive {
                key.to_string()
            } else {
                one_line(&command)
            };
            let card = Card::new(&line, vec![record.id]);
            change
                .effects
                .extend(self.working.insert(key.clone(), card, now));
            if let Some(call) = record.call {
                let open = PendingCommand {
                    call: call.to_owned(),
                    key,
                    line,
                    id: record.id,
                };
                push_last(&mut self.calls, open, OPEN_CALLS_MAX);
            }
            return;
        }
        // The result of a command says how it went.
        let is_result = matches!(record.kind, RecordKind::ToolResult | RecordKind::Error);
        let call = record.call.filter(|_| is_result);
        let index = call.and_then(|call| self.calls.iter().position(|open| open.call == call));
        let Some(open) = index.and_then(|index| self.calls.remove(index)) else {
            return;
        };
        let outcome = if record.failed() {
            format!("failed: {}", one_line(record.quotable()))
        } else {
            "succeeded".to_owned()
        };
        let card = Card::new(
            &format!("{}\n{outcome}", open.line),
            vec![record.id, open.id],
        );
        change
            .effects
            .extend(self.working.insert(open.key, card, now));
    }

    fn add_failure(
        &mut self,
        record: &LayerRecord<'_>,
        now: Timestamp,
        change: &mut SessionChange,
    ) {
        if let Some(key) = error_key(record) {
            let card = Card::new(&one_line(record.quotable()), vec![record.id]);
            self.last_error = Some((record.call.map(str::to_owned), key.clone()));
            change.effects.extend(self.working.insert(key, card, now));
        }
    }
}

/// Returns the key of the error that a result reports.
fn error_key(record: &LayerRecord<'_>) -> Option<CardKey> {
    if !record.failed() || record.is_sensitive {
        return None;
    }
    if record.content.trim().is_empty() {
        return None;
    }
    Some(CardKey::Error(fingerprint(record.content).to_string()))
}

/// Returns the shell command of a call.
fn shell_command(record: &LayerRecord<'_>) -> Option<String> {
    let is_shell =
        record.kind == RecordKind::ToolUse && record.tool.is_some_and(command::is_shell_tool);
    let command = command::parse_call(record.content).filter(|_| is_shell)?;
    Some(command::strip_setup(&command).to_owned()).filter(|command| !command.is_empty())
}

/// Returns the program of a command with its subcommand, such as `cargo test`.
fn command_family(command: &str) -> String {
    let mut words = command.split_whitespace();
    let words = words.by_ref().skip_while(|word| word.contains('='));
    let mut family: Vec<&str> = Vec::new();
    for word in words.take(2) {
        let is_name = word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_./".contains(c));
        if !family.is_empty() && (!is_name || word.starts_with(['-', '/', '.'])) {
            break;
        }
        family.push(word.rsplit('/').next().unwrap_or(word));
    }
    family.join(" ").chars().take(LINE_CHARS_MAX).collect()
}

fn push_last<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    list.push_back(item);
    if list.len() > max {
        list.pop_front();
    }
}

/// Returns the first lines of a text, each shortened.
fn lines_of(text: &str, max: usize) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> = lines.take(max).map(shorten).collect();
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().take(60).collect();
    shorten(&words.join(" "))
}

/// Shortens a line at the end of a word.
fn shorten(line: &str) -> String {
    let line = line.trim_end();
    let Some((end, _)) = line.char_indices().nth(LINE_CHARS_MAX) else {
        return line.to_owned();
    };
    let head = &line[..end];
    let head = head
        .rsplit_once(char::is_whitespace)
        .map_or(head, |(head, _)| head);
    format!("{} …", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + seconds).unwrap()
    }

    fn record<'a>(number: u8, kind: RecordKind, content: &'a str) -> LayerRecord<'a> {
        LayerRecord {
            id: RecordId::from_bytes([number; 16]),
            kind,
            at: Some(at(i64::from(number))),
            tool: None,
            path: None,
            call: None,
            exit_code: None,
            is_sensitive: false,
            content,
        }
    }

    fn shown(memory: &SessionMemory) -> String {
        let cards = memory.working.used_cards();
        let cards: Vec<_> = cards
            .map(|(key, card)| format!("[{key}]\n{}", card.text))
            .collect();
        cards.join("\n")
    }

    #[test]
    fn cards_say_what_was_done_last() {
        let mut memory = SessionMemory::default();
        let path = Some("src/totals.rs");
        let edit = LayerRecord {
            path,
            call: Some("1"),
            tool: Some("Edit"),
            ..record(2, RecordKind::ToolUse, "")
        };
        let change = LayerRecord {
            path,
            call: Some("1"),
            ..record(3, RecordKind::Artifact, "-round\n+round_once")
        };
        let test = LayerRecord {
            call: Some("2"),
            tool: Some("Bash"),
            ..record(
                4,
                RecordKind::ToolUse,
                "command: cd /src && cargo test totals",
            )
        };
        let failed = LayerRecord {
            call: Some("2"),
            exit_code: Some(101),
            ..record(5, RecordKind::ToolResult, "error: 1 test failed")
        };
        assert_eq!(memory.keys(&edit), [CardKey::File("src/totals.rs".into())]);
        memory.add(
            &record(1, RecordKind::Prompt, "make the totals round once"),
            at(1),
        );
        assert_eq!(memory.add(&edit, at(2)).new_file.as_deref(), path);
        // The change belongs to the call that was counted.
        assert_eq!(memory.keys(&change), []);
        for next in [&change, &test, &failed] {
            memory.add(next, at(5));
        }
        let shown = shown(&memory);
        let (error, rest) = shown.split_once("\n").unwrap();
        assert!(error.starts_with("[error:"), "{error}");
        assert_eq!(
            rest,
            "error: 1 test failed\n[cmd:cargo test]\ncargo test totals\nfailed: error: 1 test \
             failed\n[file:src/totals.rs]\nsrc/totals.rs: used 1×, changed 1×\nlast \
             change:\n-round\n+round_once\n[task]\nTask: make the totals round once"
        );
    }

    #[test]
    fn sensitive_text_is_on_no_card() {
        let mut memory = SessionMemory::default();
        for kind in [RecordKind::Prompt, RecordKind::Artifact, RecordKind::Error] {
            let hidden = LayerRecord {
                path: Some("a.rs"),
                is_sensitive: true,
                ..record(1, kind, "the door code is 4711")
            };
            memory.add(&hidden, at(0));
        }
        assert!(!shown(&memory).contains("4711"));
    }

    #[test]
    fn commands_of_one_family_share_a_card() {
        for (command, family) in [
            ("cargo test -p store", "cargo test"),
            ("RUST_LOG=debug cargo run", "cargo run"),
            ("/usr/bin/git --no-pager log", "git"),
            ("npm run build && ls", "npm run"),
            ("ls /tmp", "ls"),
        ] {
            assert_eq!(command_family(command), family);
        }
    }
}
