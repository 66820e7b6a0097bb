//! The bounded state of the embedded extractor, which is saved between batches of records.

use std::collections::BTreeMap;

use memory::tokens::estimate;
use memory::{MessageId, RecordKind, Tokens, command, fence};
use serde::{Deserialize, Serialize};

use super::phrases::{
    defined_names, failure_line, head_of_text, identifiers, is_finding, is_rule, one_line,
    strip_argument_name, whole_words,
};
use crate::record_view::ExtractorRecord;

/// The version of the saved state. A state of another version is rebuilt from the records.
const VERSION: u32 = 4;

const OPEN_MAX: usize = 64;
const REQUESTS_MAX: usize = 24;
const RULES_MAX: usize = 40;
const FILES_MAX: usize = 60;
const NAMES_MAX: usize = 8;
/// When there are twice as many identifiers, this many are kept.
const IDENTIFIERS_MAX: usize = 400;
/// Only the first bytes of a text are searched for identifiers.
const IDENTIFIERS_BYTES_MAX: usize = 16 << 10;
const COMMANDS_MAX: usize = 50;
const FAILURES_MAX: usize = 24;
const FINDINGS_MAX: usize = 40;
const TURNS_MAX: usize = 60;
/// The maximum sizes of the texts that are kept.
const PROMPT_BYTES_MAX: usize = 4 << 10;
const ANSWER_BYTES_MAX: usize = 3 << 10;
const TODOS_BYTES_MAX: usize = 2 << 10;
const EARLIER_BYTES_MAX: usize = 8 << 10;
const LINE_CHARS_MAX: usize = 240;
const COMMAND_CHARS_MAX: usize = 300;
const PATH_CHARS_MAX: usize = 300;

/// The state of the extractor after the records read so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryBuilder {
    version: u32,
    pub tokens: Tokens,
    pub tool_calls: u64,
    /// The last assistant turn calls a tool.
    pub asks_tool: bool,
    /// The assistant has said or done something since the last prompt.
    is_answered: bool,
    /// The current message, and the last message before it that a compaction can cut after.
    message: Option<MessageId>,
    before: Option<MessageId>,
    pub(super) open: Vec<UnansweredCall>,
    pub(super) first: Option<String>,
    /// The prompts after the first.
    pub(super) requests: Vec<String>,
    pub(super) rules: Vec<String>,
    /// The most recently used file is last.
    pub(super) files: Vec<FileUse>,
    pub(super) commands: Vec<CommandUse>,
    pub(super) failures: Vec<FailureNote>,
    pub(super) findings: Vec<String>,
    pub(super) answer: Option<String>,
    pub(super) todos: Option<String>,
    pub(super) turns: Vec<TurnNote>,
    pub(super) turns_before: u64,
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) earlier: Option<String>,
    /// Identifiers with their weight and the step in which they occurred last.
    pub(super) names: BTreeMap<String, (u32, u64)>,
    steps: u64,
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UnansweredCall {
    call: String,
    pub what: String,
    command: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FileUse {
    pub path: String,
    pub used: u32,
    pub changed: u32,
    /// The names that changes to the file defined.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CommandUse {
    pub command: String,
    pub worked: u32,
    pub failed: u32,
    /// Whether the last run succeeded; `None` if the log does not say.
    pub end: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FailureNote {
    pub what: String,
    pub said: String,
    pub times: u32,
    /// The same action succeeded later.
    pub fixed: bool,
}

/// A prompt and the work that followed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnNote {
    pub asked: String,
    pub changed: Vec<String>,
    pub calls: u32,
    pub failed: u32,
    pub said: String,
}

impl SummaryBuilder {
    pub fn new() -> Self {
        Self {
            version: VERSION,
            ..Self::default()
        }
    }

    /// Reads a saved state, unless it has another version.
    pub fn from_json(state: &str) -> Option<Self> {
        let fold: Self = serde_json::from_str(state).ok()?;
        (fold.version == VERSION).then_some(fold)
    }

    pub fn to_json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Says whether the session has nothing to summarize.
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.answer.is_none() && self.tool_calls == 0
    }

    /// Says whether the assistant has answered the last prompt and all its calls have a result.
    pub fn turn_is_complete(&self) -> bool {
        self.is_answered && self.open.is_empty()
    }

    /// Adds the next record.
    pub fn add_record(&mut self, record: &ExtractorRecord<'_>) {
        self.start_message(record.message);
        if record.kind != RecordKind::Artifact {
            self.tokens += estimate(record.content);
        }
        if let Some(cwd) = record.cwd {
            self.cwd = Some(one_line(cwd, PATH_CHARS_MAX));
        }
        if let Some(branch) = record.branch {
            self.branch = Some(one_line(branch, LINE_CHARS_MAX));
        }
        self.count_identifiers(record);
        match record.kind {
            RecordKind::Prompt => self.add_prompt(record),
            RecordKind::Assistant => self.add_answer(record),
            RecordKind::ToolUse => self.add_call(record),
            RecordKind::ToolResult | RecordKind::Error => self.add_result(record),
            RecordKind::Artifact => self.add_artifact(record),
            RecordKind::Summary => self.add_earlier_summary(record),
            RecordKind::Thinking | RecordKind::Approval => {}
        }
    }

    fn add_earlier_summary(&mut self, record: &ExtractorRecord<'_>) {
        // A summary that Throughline wrote is fenced.
        let text = match fence::enclosed_text(record.content) {
            Some(text) => text.into(),
            None => fence::strip(record.content),
        };
        self.earlier = (!text.trim().is_empty()).then(|| head_of_text(&text, EARLIER_BYTES_MAX));
    }

    /// Returns the last message after which a compaction can cut without separating a call from its
    /// result.
    pub fn last_cut_point(&self) -> Option<&MessageId> {
        if self.open.is_empty() {
            self.message.as_ref()
        } else {
            self.before.as_ref()
        }
    }

    /// Moves to another message, because a cut never splits a message.
    fn start_message(&mut self, message: &MessageId) {
        if self.message.as_ref() == Some(message) {
            return;
        }
        let read = self.message.replace(message.clone());
        if self.open.is_empty() {
            self.before = read;
        }
    }

    fn add_prompt(&mut self, record: &ExtractorRecord<'_>) {
        // A new prompt interrupts the open calls: they will not get a result any more.
        self.open.clear();
        self.is_answered = false;
        let text = head_of_text(record.content, PROMPT_BYTES_MAX);
        for line in record
            .content
            .lines()
            .map(str::trim)
            .filter(|line| is_rule(line))
        {
            push_unique(
                &mut self.rules,
                one_line(line, 2 * LINE_CHARS_MAX),
                RULES_MAX,
            );
        }
        push_capped(
            &mut self.turns,
            TurnNote {
                asked: one_line(&text, LINE_CHARS_MAX / 2),
                ..TurnNote::default()
            },
            TURNS_MAX,
            &mut self.turns_before,
        );
        if self.first.is_none() {
            self.first = Some(text);
        } else {
            push_capped(&mut self.requests, text, REQUESTS_MAX, &mut 0);
        }
    }

    fn add_answer(&mut self, record: &ExtractorRecord<'_>) {
        self.asks_tool = false;
        self.is_answered = true;
        self.answer = Some(head_of_text(record.content, ANSWER_BYTES_MAX));
        if let Some(turn) = self.turns.last_mut() {
            turn.said = one_line(record.content, LINE_CHARS_MAX);
        }
        let mut code = false;
        for line in record.content.lines().map(str::trim) {
            code ^= line.starts_with("```");
            if !code && is_finding(line) {
                let line = line.trim_start_matches(['-', '*', '#', ' ']);
                push_unique(
                    &mut self.findings,
                    one_line(line, LINE_CHARS_MAX),
                    FINDINGS_MAX,
                );
            }
        }
    }

    fn add_call(&mut self, record: &ExtractorRecord<'_>) {
        self.tool_calls += 1;
        self.asks_tool = true;
        self.is_answered = true;
        if let Some(turn) = self.turns.last_mut() {
            turn.calls += 1;
        }
        if let Some(todos) = record.todos().filter(|todos| !todos.is_empty()) {
            self.todos = Some(head_of_text(&todos, TODOS_BYTES_MAX));
        }
        let command = command::parse_call(record.content);
        let command = command.map(|command| one_line(&command, COMMAND_CHARS_MAX));
        if let Some(path) = record.path {
            self.touch_file(path).used += 1;
        }
        if let Some(command) = &command {
            self.note_command(command, None);
        }
        let Some(call) = record.call else { return };
        let tool = record.tool.unwrap_or("tool");
        let what = match (&command, record.path) {
            (Some(command), _) => format!("{tool} `{command}`"),
            (None, Some(path)) => format!("{tool} {}", one_line(path, PATH_CHARS_MAX)),
            (None, None) => format!("{tool} {}", one_line(record.content, LINE_CHARS_MAX / 2)),
        };
        let open = UnansweredCall {
            call: call.to_owned(),
            what: what.trim().to_owned(),
            command,
        };
        push_capped(&mut self.open, open, OPEN_MAX, &mut 0);
    }

    fn add_result(&mut self, record: &ExtractorRecord<'_>) {
        let index = self
            .open
            .iter()
            .position(|open| Some(open.call.as_str()) == record.call);
        let open = index.map(|index| self.open.remove(index));
        if let Some(command) = open.as_ref().and_then(|open| open.command.clone()) {
            self.note_command(&command, Some(!record.failed()));
        }
        let what = match (&open, record.tool) {
            (Some(open), _) => open.what.clone(),
            (None, Some(tool)) => tool.to_owned(),
            (None, None) => "the agent".to_owned(),
        };
        if !record.failed() {
            for failure in self
                .failures
                .iter_mut()
                .filter(|failure| failure.what == what)
            {
                failure.fixed = true;
            }
            return;
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.failed += 1;
        }
        let said = one_line(failure_line(record.content), LINE_CHARS_MAX);
        let known = self
            .failures
            .iter()
            .position(|f| f.what == what && f.said == said);
        let times = known.map_or(0, |index| self.failures.remove(index).times);
        let failure = FailureNote {
            what,
            said,
            times: times + 1,
            fixed: false,
        };
        push_capped(&mut self.failures, failure, FAILURES_MAX, &mut 0);
    }

    fn add_artifact(&mut self, record: &ExtractorRecord<'_>) {
        let Some(path) = record.path else { return };
        let file = self.touch_file(path);
        file.changed += 1;
        for name in defined_names(record.content) {
            push_unique(&mut file.names, name, NAMES_MAX);
        }
        let path = one_line(path, PATH_CHARS_MAX);
        if let Some(turn) = self.turns.last_mut()
            && !turn.changed.contains(&path)
            && turn.changed.len() < NAMES_MAX
        {
            turn.changed.push(path);
        }
    }

    /// Counts the identifiers in a text. A single identifier cannot be a prompt injection, so
    /// thoughts and tool results count too, but less than messages.
    fn count_identifiers(&mut self, record: &ExtractorRecord<'_>) {
        let weight = match record.kind {
            RecordKind::Prompt | RecordKind::Assistant => 3,
            RecordKind::Thinking | RecordKind::ToolUse => 2,
            RecordKind::Summary => return,
            _ => 1,
        };
        self.steps += 1;
        let text = whole_words(record.content, IDENTIFIERS_BYTES_MAX);
        let is_call = record.kind == RecordKind::ToolUse;
        let lines = text.lines().map(|line| match is_call {
            true => strip_argument_name(line),
            false => line,
        });
        for name in lines.flat_map(identifiers) {
            if let Some(known) = self.names.get_mut(name) {
                *known = (known.0.saturating_add(weight), self.steps);
                continue;
            }
            if self.names.len() >= 2 * IDENTIFIERS_MAX {
                self.evict_names();
            }
            self.names.insert(name.to_owned(), (weight, self.steps));
        }
    }

    /// Drops the identifiers with the lowest weight, the oldest first. It drops half of them at
    /// once, because dropping one at a time would scan all names for every new one.
    fn evict_names(&mut self) {
        let mut known: Vec<_> = self.names.values().copied().collect();
        known.sort_unstable();
        let least = known[known.len() - IDENTIFIERS_MAX];
        self.names.retain(|_, known| *known >= least);
        // Names with equal weight and age may exceed the limit; drop enough of them.
        while self.names.len() > IDENTIFIERS_MAX {
            let name = self.names.iter().find(|(_, known)| **known == least);
            let Some(name) = name.map(|(name, _)| name.clone()) else {
                break;
            };
            self.names.remove(&name);
        }
        // Old names must not outweigh new ones for ever.
        for known in self.names.values_mut() {
            known.0 = known.0.div_ceil(2);
        }
    }

    /// Returns the entry of a file and makes it the most recently used one.
    fn touch_file(&mut self, path: &str) -> &mut FileUse {
        let path = one_line(path, PATH_CHARS_MAX);
        let index = self.files.iter().position(|file| file.path == path);
        let file = match index {
            Some(index) => self.files.remove(index),
            None => FileUse {
                path,
                ..FileUse::default()
            },
        };
        if self.files.len() >= FILES_MAX {
            // A file that was only read is dropped before one that was changed.
            let index = self.files.iter().position(|file| file.changed == 0);
            self.files.remove(index.unwrap_or(0));
        }
        self.files.push(file);
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    /// Records that a command was called, or how it ended.
    fn note_command(&mut self, command: &str, end: Option<bool>) {
        let index = self
            .commands
            .iter()
            .position(|known| known.command == command);
        let mut known = match index {
            Some(index) => self.commands.remove(index),
            None => CommandUse {
                command: command.to_owned(),
                worked: 0,
                failed: 0,
                end: None,
            },
        };
        match end {
            Some(true) => known.worked += 1,
            Some(false) => known.failed += 1,
            None => {}
        }
        known.end = end.or(known.end);
        if self.commands.len() >= COMMANDS_MAX {
            // A command that ran only once is dropped first.
            let once = |known: &CommandUse| known.worked + known.failed <= 1;
            let index = self.commands.iter().position(once);
            self.commands.remove(index.unwrap_or(0));
        }
        self.commands.push(known);
    }
}

/// Appends to a list that keeps the latest items, and counts the dropped ones.
fn push_capped<T>(list: &mut Vec<T>, item: T, max: usize, fell_out: &mut u64) {
    if list.len() >= max {
        list.remove(0);
        *fell_out += 1;
    }
    list.push(item);
}

/// Appends to a list without duplicates; a repeated item moves to the end.
fn push_unique(list: &mut Vec<String>, item: String, max: usize) {
    list.retain(|known| *known != item);
    push_capped(list, item, max, &mut 0);
}
