//! The account as sections, within the limits.
//!
//! Whatever a tool returned stands on one line between backticks, behind words of ours that say what it
//! is: nothing of it can be taken for a rule or a request.

use std::fmt::Write;

use memory::summary::{SummaryLimits, SummarySection, Template};
use memory::tokens::estimate;
use memory::{Summary, Tokens};

use super::fold::{CommandUse, FailureNote, FileUse, SummaryBuilder, TurnNote};
use super::words::{head_of_text, one_line};

/// The requests before the last that are quoted whole; older ones are shortened.
const WHOLE_REQUESTS: usize = 4;
const TITLE_CHARS_MAX: usize = 80;
const LINE_CHARS_MAX: usize = 160;
const STATE_BYTES_MAX: usize = 1_500;
const OPEN_SHOWN: usize = 5;
const NAMES_SHOWN: usize = 12;

/// Writes the account under the template's headings. Sections of `before` that this extractor does
/// not write are carried over.
pub fn render_summary(
    fold: &SummaryBuilder,
    title: Option<&str>,
    template: &Template,
    before: Option<&Summary>,
    limits: &SummaryLimits,
    file: &str,
) -> Summary {
    let sections = [
        ("Title", self::title(fold, title)),
        ("Current state", current_state(fold)),
        ("Task", task(fold)),
        ("Files and functions", files(fold)),
        ("Commands and workflow", commands(fold)),
        ("Errors and corrections", failures(fold)),
        ("System documentation", system(fold)),
        ("Learnings", learnings(fold)),
        ("Key results", results(fold)),
        ("Worklog", worklog(fold)),
    ];
    let mut summary = template.0.clone();
    let known = |heading: &str| {
        sections
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(heading.trim()))
    };
    let mut matched = false;
    for section in &mut summary.sections {
        let carried = before
            .and_then(|before| before.get(&section.heading))
            .unwrap_or_default();
        section.text = match known(&section.heading) {
            Some((_, text)) => {
                matched = true;
                text.clone()
            }
            None => carried.to_owned(),
        };
    }
    // A template of a user's own may know none of these; the account goes behind it.
    if !matched {
        for (heading, text) in &sections {
            summary.set(heading, text.as_str());
        }
    }
    if let Some(earlier) = &fold.earlier {
        summary.set("Earlier summary", quote(earlier));
    }
    for section in &mut summary.sections {
        section.text = no_headings(&section.text);
    }
    limited(&summary, limits, file)
}

/// Cuts sections to the limits. Unlike [`Summary::within`] it leaves the hints, whose tokens count.
fn limited(summary: &Summary, limits: &SummaryLimits, file: &str) -> Summary {
    let hint = |section: &SummarySection| {
        section
            .hint
            .as_deref()
            .map_or(0, |hint| estimate(hint).0 + 3)
    };
    let hints: u64 = summary.sections.iter().map(hint).sum();
    let limits = SummaryLimits {
        section: limits.section,
        whole: Tokens(limits.whole.0.saturating_sub(hints)),
    };
    let mut cut = summary.truncate_to(&limits, file);
    for (section, whole) in cut.sections.iter_mut().zip(&summary.sections) {
        section.hint.clone_from(&whole.hint);
    }
    cut
}

/// A line that a person or a model began with `# ` must not become a heading of the file.
fn no_headings(text: &str) -> String {
    let mut code = false;
    let lines = text.lines().map(|line| {
        code ^= line.trim_start().starts_with("```");
        match line.strip_prefix("# ").filter(|_| !code) {
            Some(rest) => format!("## {rest}"),
            None => line.to_owned(),
        }
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    // Quoted text may open a code block that it does not close.
    if code {
        text.push_str("\n```");
    }
    text.trim().to_owned()
}

fn title(fold: &SummaryBuilder, title: Option<&str>) -> String {
    let first = title.or(fold.first.as_deref()).unwrap_or_default();
    one_line(first, TITLE_CHARS_MAX)
}

/// Returns how the work stands: the last request, what was done since, the last words, open calls.
pub fn current_state(fold: &SummaryBuilder) -> String {
    let mut text = String::new();
    if let Some(last) = fold.requests.last().or(fold.first.as_ref()) {
        text += &format!(
            "The user's last request, word for word:\n{}\n",
            quote(&head_of_text(last, STATE_BYTES_MAX))
        );
    }
    if let Some(turn) = fold.turns.last() {
        text += &format!("\nSince then: {}.\n", did(turn));
    }
    if let Some(said) = &fold.answer {
        text += &format!(
            "\nThe agent said last:\n{}\n",
            quote(&head_of_text(said, STATE_BYTES_MAX))
        );
    }
    for open in fold.open.iter().rev().take(OPEN_SHOWN) {
        text += &format!("\nNot answered yet: {}", open.what);
    }
    if let Some(todos) = &fold.todos {
        text += &format!("\nThe todo list:\n{todos}\n");
    }
    text
}

fn task(fold: &SummaryBuilder) -> String {
    let mut text = String::new();
    if !fold.rules.is_empty() {
        text += "What the user wants kept to, word for word:\n";
        text += &list(fold.rules.iter().map(|rule| format!("\"{rule}\"")));
    }
    let Some(first) = &fold.first else {
        return text;
    };
    text += &format!(
        "\nThe first request:\n{}\n",
        quote(&head_of_text(first, 2 * STATE_BYTES_MAX))
    );
    let later = &fold.requests[..fold.requests.len().saturating_sub(1)];
    if later.is_empty() {
        return text;
    }
    text += "\nLater requests, the latest first (the last of all is under the current state):\n";
    for (place, request) in later.iter().rev().enumerate() {
        if place < WHOLE_REQUESTS {
            text += &format!("{}\n\n", quote(&head_of_text(request, STATE_BYTES_MAX)));
        } else {
            text += &format!("> {}\n\n", one_line(request, LINE_CHARS_MAX));
        }
    }
    text
}

fn files(fold: &SummaryBuilder) -> String {
    let changed = |file: &&FileUse| file.changed > 0;
    let mut text = String::new();
    let all = || fold.files.iter().rev();
    if all().any(|file| changed(&file)) {
        text += "Changed, the latest first:\n";
        text += &list(all().filter(changed).map(|file| {
            let names = match file.names.as_slice() {
                [] => String::new(),
                names => format!(": {}", names.join(", ")),
            };
            format!("{} ({}×){names}", file.path, file.changed)
        }));
    }
    text += &names(fold);
    if all().any(|file| !changed(&file)) {
        text += "\nLooked at, the latest first:\n";
        text += &list(
            all()
                .filter(|file| !changed(file))
                .map(|file| match file.used {
                    0 | 1 => file.path.clone(),
                    used => format!("{} ({used}×)", file.path),
                }),
        );
    }
    text
}

/// Returns what was named again and again, or by somebody who meant it.
fn names(fold: &SummaryBuilder) -> String {
    let mut names: Vec<_> = fold
        .names
        .iter()
        .filter(|(name, (times, _))| *times > 1 && !is_place(fold, name))
        .collect();
    names.sort_by_key(|(name, known)| (std::cmp::Reverse(**known), *name));
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = names
        .iter()
        .take(NAMES_SHOWN)
        .map(|(name, _)| name.as_str())
        .collect();
    format!(
        "\nNames in code that came up often: `{}`\n",
        shown.join("`, `")
    )
}

/// Says whether a name is only a part of where the work is done: of the working folder, or of a
/// file that is listed anyway.
fn is_place(fold: &SummaryBuilder, name: &str) -> bool {
    let is_part = |path: &str| path.split(['/', '\\']).any(|part| part == name);
    fold.cwd.as_deref().is_some_and(is_part) || fold.files.iter().any(|file| is_part(&file.path))
}

fn commands(fold: &SummaryBuilder) -> String {
    let end = |known: &CommandUse| match (known.end, known.worked, known.failed) {
        (None, ..) => "(end not told)".to_owned(),
        (Some(true), worked, 0) => format!("worked{}", times(worked)),
        (Some(true), _, failed) => format!("worked, after failing{}", times(failed)),
        (Some(false), 0, failed) => format!("failed{}", times(failed)),
        (Some(false), worked, _) => format!("failed, had worked{}", times(worked)),
    };
    let line = |known: &CommandUse| format!("`{}` {}", ticks(&known.command), end(known));
    list(fold.commands.iter().rev().map(line))
}

fn failures(fold: &SummaryBuilder) -> String {
    let line = |failure: &FailureNote| {
        let fixed = if failure.fixed { "; worked later" } else { "" };
        let times = times(failure.times);
        let said = ticks(&failure.said);
        format!("{} failed{times} with `{said}`{fixed}", failure.what)
    };
    list(fold.failures.iter().rev().map(line))
}

fn system(fold: &SummaryBuilder) -> String {
    let mut text = String::new();
    if let Some(cwd) = &fold.cwd {
        text += &format!("Working folder: {cwd}\n");
    }
    if let Some(branch) = &fold.branch {
        text += &format!("Branch: {branch}\n");
    }
    text
}

fn learnings(fold: &SummaryBuilder) -> String {
    let mut text = String::new();
    let again = |failure: &&FailureNote| failure.times > 1 && !failure.fixed;
    if fold.failures.iter().any(|failure| again(&failure)) {
        text += "Tried more than once without success:\n";
        text += &list(
            fold.failures
                .iter()
                .filter(again)
                .map(|failure| failure.what.clone()),
        );
    }
    if !fold.findings.is_empty() {
        text += "\nWhat the agent found out or decided, the latest first:\n";
        text += &list(fold.findings.iter().rev().cloned());
    }
    text
}

/// Returns what the turns before ended with; the last answer is under the current state.
fn results(fold: &SummaryBuilder) -> String {
    let turns = fold
        .turns
        .iter()
        .rev()
        .skip(1)
        .filter(|turn| !turn.said.is_empty());
    list(turns.map(|turn| {
        format!(
            "{} → {}",
            one_line(&turn.asked, LINE_CHARS_MAX / 2),
            turn.said
        )
    }))
}

fn worklog(fold: &SummaryBuilder) -> String {
    let mut text = String::new();
    let first = fold.turns_before + 1;
    let numbered: Vec<_> = (first..).zip(&fold.turns).collect();
    for (number, turn) in numbered.into_iter().rev() {
        let asked = one_line(&turn.asked, LINE_CHARS_MAX / 2);
        let _infallible = writeln!(text, "{number}. {asked}: {}", did(turn));
    }
    text
}

fn did(turn: &TurnNote) -> String {
    let plural = if turn.calls == 1 { "" } else { "s" };
    let mut parts = vec![format!("{} call{plural}", turn.calls)];
    if turn.failed > 0 {
        parts.push(format!("{} failed", turn.failed));
    }
    if !turn.changed.is_empty() {
        let names = turn
            .changed
            .iter()
            .map(|path| path.rsplit('/').next().unwrap_or(path));
        parts.push(format!("changed {}", names.collect::<Vec<_>>().join(", ")));
    }
    parts.join(", ")
}

fn times(count: u32) -> String {
    if count > 1 {
        format!(" {count}×")
    } else {
        String::new()
    }
}

/// A backtick in a quoted line would end the quotation.
fn ticks(text: &str) -> String {
    text.replace('`', "'")
}

fn list(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("- {line}\n")).collect()
}

fn quote(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| format!("> {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
