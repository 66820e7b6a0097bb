//! An account of a conversation, made of the messages themselves: no model, the same every time.
//!
//! It holds what is missed most after a compaction: the last request and the user's rules in their own
//! words, which files were touched and which commands ran, and what failed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use memory::summary::Template;
use memory::{Block, CallId, Message, Origin, Role, Summary, ToolResult, ToolUse, fence};
use serde_json::Value;

const RULES_MAX: usize = 30;
const REQUESTS_MAX: usize = 8;
const FILES_MAX: usize = 40;
const COMMANDS_MAX: usize = 25;
const FAILURES_MAX: usize = 12;
const WORKLOG_MAX: usize = 40;
/// Longest piece of one line of the lists.
const LINE_CHARS_MAX: usize = 240;
const TITLE_CHARS_MAX: usize = 80;

/// Words by which a person sets a rule or corrects.
const RULE_WORDS: &[&str] = &[
    "always",
    "never",
    "don't",
    "do not",
    "dont",
    "must",
    "only use",
    "prefer",
    "instead",
    "make sure",
    "should not",
    "shouldn't",
    "not what",
    "wrong",
    "stop ",
    "remember",
    "from now on",
    "no longer",
    "avoid",
    "keep in mind",
    "important",
];

/// Fills the sections from messages, or returns `None` when nobody said or did anything.
pub fn account(messages: &[Message]) -> Option<Summary> {
    let seen = Seen::of(messages);
    if seen.prompts.is_empty() && seen.answers.is_empty() && seen.calls.is_empty() {
        return None;
    }
    let mut summary = Template::default().0;
    for section in &mut summary.sections {
        section.hint = None;
    }
    let mut set = |heading: &str, text: String| summary.set(heading, text.trim().to_owned());
    set("Title", title(&seen));
    set("Current state", current_state(&seen));
    set("Task", task(&seen));
    set("Files and functions", files(&seen));
    set("Commands and workflow", commands(&seen));
    set("Errors and corrections", failures(&seen));
    set("Learnings", rules(&seen));
    set(
        "Key results",
        seen.answers
            .last()
            .map_or_else(String::new, |text| (*text).to_owned()),
    );
    set("Worklog", worklog(&seen));
    if let Some(earlier) = seen.earlier {
        set("Earlier summary", earlier.to_owned());
    }
    summary.sections.retain(|section| !section.text.is_empty());
    Some(summary)
}

/// What happened, in order.
#[derive(Default)]
struct Seen<'a> {
    prompts: Vec<String>,
    answers: Vec<&'a str>,
    calls: Vec<(&'a ToolUse, Option<&'a ToolResult>)>,
    /// The summary of a compaction before this one.
    earlier: Option<&'a str>,
}

impl<'a> Seen<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let mut seen = Self::default();
        let mut places: HashMap<&CallId, usize> = HashMap::new();
        for message in messages {
            for block in &message.blocks {
                match block {
                    Block::Text(text) if message.origin == Origin::Human => {
                        let text = fence::strip(text).trim().to_owned();
                        seen.prompts.extend((!text.is_empty()).then_some(text));
                    }
                    Block::Text(text) if message.role == Role::Assistant => {
                        seen.answers
                            .extend((!text.trim().is_empty()).then_some(text.as_str()));
                    }
                    Block::ToolUse(call) => {
                        places.insert(&call.call, seen.calls.len());
                        seen.calls.push((call, None));
                    }
                    Block::ToolResult(result) => {
                        let place = result.call.as_ref().and_then(|call| places.get(call));
                        if let Some(place) = place {
                            seen.calls[*place].1 = Some(result);
                        }
                    }
                    Block::Summary(text) => seen.earlier = Some(text),
                    _ => {}
                }
            }
        }
        seen
    }
}

fn title(seen: &Seen<'_>) -> String {
    let first = seen.prompts.first().map_or("", String::as_str);
    one_line(first, TITLE_CHARS_MAX)
}

fn current_state(seen: &Seen<'_>) -> String {
    let mut text = String::new();
    if let Some(last) = seen.prompts.last() {
        text += &format!(
            "The user's last request, word for word:\n\n{}\n",
            quote(last)
        );
    }
    let open = seen.calls.iter().filter(|(_, result)| result.is_none());
    for (call, _) in open.rev().take(3) {
        text += &format!("\nNot answered yet: {}", called(call));
    }
    text
}

fn task(seen: &Seen<'_>) -> String {
    let Some((first, later)) = seen.prompts.split_first() else {
        return String::new();
    };
    let mut text = format!("The first request, word for word:\n\n{}\n", quote(first));
    let later = &later[..later.len().saturating_sub(1)];
    let left_out = later.len().saturating_sub(REQUESTS_MAX);
    if !later.is_empty() {
        text += "\nLater requests, the last one is above:\n";
    }
    for prompt in &later[left_out..] {
        text += &format!("\n{}\n", quote(prompt));
    }
    text
}

/// Returns the lines in which the user set rules or corrected, in their words.
fn rules(seen: &Seen<'_>) -> String {
    let lines = seen.prompts.iter().flat_map(|prompt| prompt.lines());
    let mut rules: Vec<String> = Vec::new();
    for line in lines.filter(|line| is_rule(line)) {
        let rule = one_line(line, 2 * LINE_CHARS_MAX);
        rules.retain(|known| *known != rule);
        rules.push(rule);
    }
    let recent = &rules[rules.len().saturating_sub(RULES_MAX)..];
    if recent.is_empty() {
        return String::new();
    }
    let rules: Vec<_> = recent.iter().map(|rule| format!("- \"{rule}\"")).collect();
    format!("The user said:\n{}", rules.join("\n"))
}

fn is_rule(line: &str) -> bool {
    let lower = line.to_lowercase();
    // Longer lines are pasted text, not something a person typed.
    line.len() <= 1_000 && RULE_WORDS.iter().any(|word| lower.contains(word))
}

fn files(seen: &Seen<'_>) -> String {
    #[derive(Default)]
    struct Uses {
        last: usize,
        read: usize,
        changed: usize,
    }
    let mut files: BTreeMap<&str, Uses> = BTreeMap::new();
    for (place, (call, result)) in seen.calls.iter().enumerate() {
        let changes = result
            .map(|result| result.changes.as_slice())
            .unwrap_or_default();
        for change in changes {
            let uses = files.entry(&change.path).or_default();
            (uses.last, uses.changed) = (place, uses.changed + 1);
        }
        let path = call
            .path
            .as_deref()
            .or(result.and_then(|r| r.path.as_deref()));
        if let Some(path) = path.filter(|_| changes.is_empty()) {
            let uses = files.entry(path).or_default();
            (uses.last, uses.read) = (place, uses.read + 1);
        }
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, uses)| std::cmp::Reverse(uses.last));
    list(files.iter().take(FILES_MAX).map(|(path, uses)| match uses {
        Uses {
            changed: 0, read, ..
        } => format!("{path} (used {read}×)"),
        Uses { changed, .. } => format!("{path} (changed {changed}×)"),
    }))
}

fn commands(seen: &Seen<'_>) -> String {
    let mut shown: Vec<(String, String)> = Vec::new();
    for (call, result) in seen.calls.iter().rev() {
        let Some(command) = command(call) else {
            continue;
        };
        let command = one_line(&command, LINE_CHARS_MAX);
        if shown.iter().any(|(known, _)| *known == command) {
            continue;
        }
        shown.push((command, end(*result)));
        if shown.len() >= COMMANDS_MAX {
            break;
        }
    }
    let lines = shown.iter().rev();
    list(lines.map(|(command, end)| format!("`{command}` {end}")))
}

fn end(result: Option<&ToolResult>) -> String {
    match result {
        None => "→ no result".to_owned(),
        Some(ToolResult {
            exit_code: Some(code),
            ..
        }) => format!("→ exit {code}"),
        Some(ToolResult { is_error: true, .. }) => "→ failed".to_owned(),
        Some(_) => "→ ok".to_owned(),
    }
}

/// Returns what failed, and with which words: what was tried need not be tried again.
fn failures(seen: &Seen<'_>) -> String {
    let failed =
        |result: &ToolResult| result.is_error || result.exit_code.is_some_and(|code| code != 0);
    let failures = seen.calls.iter().rev();
    let failures = failures.filter_map(|(call, result)| Some((call, (*result)?)));
    let mut failures: Vec<_> = (failures.filter(|(_, result)| failed(result)))
        .take(FAILURES_MAX)
        .map(|(call, result)| {
            let said = result.content.lines().map(str::trim);
            let said = said.filter(|line| !line.is_empty()).last().unwrap_or("");
            format!(
                "{} failed: `{}`",
                called(call),
                one_line(said, LINE_CHARS_MAX)
            )
        })
        .collect();
    failures.reverse();
    list(failures.into_iter())
}

fn worklog(seen: &Seen<'_>) -> String {
    let left_out = seen.prompts.len().saturating_sub(WORKLOG_MAX);
    let prompts = seen.prompts.iter().zip(1..).skip(left_out);
    let mut text = String::new();
    for (prompt, number) in prompts {
        let _infallible = writeln!(
            text,
            "{number}. asked: {}",
            one_line(prompt, LINE_CHARS_MAX / 2)
        );
    }
    text
}

fn called(call: &ToolUse) -> String {
    match (command(call), &call.path) {
        (Some(command), _) => format!("{} `{}`", call.tool, one_line(&command, LINE_CHARS_MAX)),
        (None, Some(path)) => format!("{} {path}", call.tool),
        (None, None) => call.tool.clone(),
    }
}

/// Returns the command line of a tool that runs one.
fn command(call: &ToolUse) -> Option<String> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let names = ["command", "cmd", "CommandLine", "script"];
    match names.iter().find_map(|name| input.get(name))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    }
}

fn list(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("- {line}\n")).collect()
}

fn quote(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(chars_max) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use testkit::transcript::transcript;

    use super::*;

    #[test]
    fn what_users_miss_is_in_it() {
        let mut messages = transcript(
            "u Make the list sorted.\na use #1\nu result #1 ~3\na use #2 Read\nu result #2\n\
             u Never touch main.rs, and use tabs.\na done so far\nu Now the docs in docs/A.md\na use #3",
        );
        if let Block::ToolResult(result) = &mut messages[2].blocks[0] {
            result.is_error = true;
            result.exit_code = Some(101);
            result.content = "compiling\nerror: no list\n".to_owned();
        }
        if let Block::ToolUse(call) = &mut messages[3].blocks[0] {
            call.path = Some("/p/list.rs".to_owned());
            call.input = "{}".to_owned();
        }
        insta::assert_snapshot!(account(&messages).unwrap(), @"");
    }

    #[test]
    fn nothing_has_no_account() {
        assert_eq!(account(&[]), None);
        assert_eq!(
            account(&transcript("s boundary\ns note\nu result #1")),
            None
        );
    }

    #[test]
    fn an_earlier_summary_is_carried_on() {
        let account = account(&transcript("s boundary\nu summary ~5\nu go on")).unwrap();
        assert_eq!(account.get("Earlier summary"), Some("it it it it it"));
    }
}
