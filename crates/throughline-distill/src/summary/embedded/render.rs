//! Writes the state of the embedded extractor as the sections of a summary.
//!
//! Output of tools is always quoted on one line between backticks, after words that say what it is,
//! so that a model cannot mistake it for a rule or a request.

use std::fmt::Write;

use memory::summary::{SummaryLimits, SummarySection, Template};
use memory::tokens::estimate;
use memory::{Summary, Tokens};

use super::builder::{CommandUse, FailureNote, FileUse, SummaryBuilder, TurnNote};
use super::phrases::{head_of_text, one_line};

/// The number of requests before the last that are quoted in full; older ones are shortened.
const WHOLE_REQUESTS: usize = 4;
const TITLE_CHARS_MAX: usize = 80;
const LINE_CHARS_MAX: usize = 160;
const STATE_BYTES_MAX: usize = 1_500;
const OPEN_SHOWN: usize = 5;
const NAMES_SHOWN: usize = 20;
/// A prompt of fewer words ("go on") does not say what a session is about.
const TITLE_WORDS_MIN: usize = 3;

/// The words by which a section is recognised under a heading of the user's own.
#[rustfmt::skip]
const HEADING_WORDS: &[(&str, &[&str])] = &[
    ("Title", &["title", "name"]),
    ("Current state", &["state", "status", "progress", "next", "now"]),
    ("Task", &["task", "goal", "request", "ask", "objective", "rule", "constraint", "scope"]),
    ("Files and functions", &["file", "function", "code"]),
    ("Commands and workflow", &["command", "workflow", "run", "build"]),
    ("Errors and corrections", &["error", "failure", "problem", "correction", "bug", "issue"]),
    ("System documentation", &["system", "architecture", "environment", "design", "setup"]),
    ("Learnings", &["learn", "decision", "lesson", "finding", "insight"]),
    ("Key results", &["result", "answer", "outcome", "output"]),
    ("Worklog", &["log", "history", "timeline", "step", "done"]),
];

/// Writes the summary under the headings of the template. Each section goes under the heading of
/// its name, else under a heading that means the same, else it is appended. Sections of `before`
/// that this extractor does not write are carried over. `rest` is where the rest of a cut section
/// is.
pub fn render_summary(
    builder: &SummaryBuilder,
    title: Option<&str>,
    template: &Template,
    before: Option<&Summary>,
    limits: &SummaryLimits,
    rest: &str,
) -> Summary {
    let sections = [
        ("Title", title_section(builder, title)),
        ("Current state", current_state(builder)),
        ("Task", task_section(builder)),
        ("Files and functions", files_section(builder)),
        ("Commands and workflow", commands_section(builder)),
        ("Errors and corrections", failures_section(builder)),
        ("System documentation", environment_section(builder)),
        ("Learnings", learnings_section(builder)),
        ("Key results", results_section(builder)),
        ("Worklog", worklog_section(builder)),
    ];
    let mut summary = template.0.clone();
    for section in &mut summary.sections {
        let carried = before.and_then(|before| before.get(&section.heading));
        section.text = carried.unwrap_or_default().to_owned();
    }
    let mut is_filled = vec![false; summary.sections.len()];
    for (name, text) in &sections {
        let found = find_heading(&summary, name, &is_filled);
        match found {
            Some(index) => {
                is_filled[index] = true;
                summary.sections[index].text.clone_from(text);
            }
            None if text.is_empty() => {}
            None => summary.set(name, text.as_str()),
        }
    }
    if let Some(earlier) = &builder.earlier {
        summary.set("Earlier summary", quote(earlier));
    }
    for section in &mut summary.sections {
        section.text = demote_headings(&section.text);
    }
    limit_sections(&summary, limits, rest)
}

/// Finds the heading for a section: its own name, or a free heading that means the same.
fn find_heading(summary: &Summary, name: &str, is_filled: &[bool]) -> Option<usize> {
    let headings = || {
        summary
            .sections
            .iter()
            .map(|section| section.heading.trim())
    };
    let own = headings().position(|heading| heading.eq_ignore_ascii_case(name));
    if own.is_some() {
        return own;
    }
    let (_, words) = HEADING_WORDS.iter().find(|(known, _)| *known == name)?;
    let is_taken = |heading: &str| {
        let mut known = HEADING_WORDS.iter().map(|(known, _)| known);
        known.any(|known| known.eq_ignore_ascii_case(heading))
    };
    let means_same = |heading: &str| {
        let heading = heading.to_lowercase();
        let mut parts = heading.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| words.iter().any(|word| part.starts_with(word)))
    };
    let mut free = headings().zip(is_filled).enumerate();
    free.find(|(_, (heading, is_filled))| !**is_filled && !is_taken(heading) && means_same(heading))
        .map(|(index, _)| index)
}

/// Cuts the sections to the limits. Unlike [`Summary::truncate_to`] it keeps the hints and counts
/// their tokens.
fn limit_sections(summary: &Summary, limits: &SummaryLimits, rest: &str) -> Summary {
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
    let mut cut = summary.truncate_to(&limits, rest);
    for (section, whole) in cut.sections.iter_mut().zip(&summary.sections) {
        section.hint.clone_from(&whole.hint);
    }
    cut
}

/// Turns lines that start with `# ` into second-level headings, so that quoted text cannot add a
/// section to the file.
fn demote_headings(text: &str) -> String {
    let mut code = false;
    let lines = text.lines().map(|line| {
        code ^= line.trim_start().starts_with("```");
        match line.strip_prefix("# ").filter(|_| !code) {
            Some(rest) => format!("## {rest}"),
            None => line.to_owned(),
        }
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    // Quoted text may open a code block and not close it.
    if code {
        text.push_str("\n```");
    }
    text.trim().to_owned()
}

fn title_section(builder: &SummaryBuilder, title: Option<&str>) -> String {
    let prompts = || {
        builder
            .first
            .iter()
            .chain(&builder.requests)
            .map(String::as_str)
    };
    let is_telling = |text: &&str| text.split_whitespace().count() >= TITLE_WORDS_MIN;
    // Some agents call a session by its last prompt.
    let is_prompt = |title: &str| prompts().any(|prompt| prompt.starts_with(title));
    let named = title.filter(|title| is_telling(title) || !is_prompt(title));
    let text = named.or_else(|| prompts().find(is_telling));
    let text = text.or_else(|| prompts().next()).unwrap_or_default();
    one_line(text, TITLE_CHARS_MAX)
}

/// Returns the state of the work: the last request, the work done since, the last answer, open
/// calls.
pub fn current_state(builder: &SummaryBuilder) -> String {
    let mut text = String::new();
    if let Some(last) = builder.requests.last().or(builder.first.as_ref()) {
        text += &format!(
            "The user's last request, word for word:\n{}\n",
            quote(&head_of_text(last, STATE_BYTES_MAX))
        );
    }
    if let Some(turn) = builder.turns.last() {
        text += &format!("\nSince then: {}.\n", describe_turn(turn));
    }
    if let Some(said) = &builder.answer {
        text += &format!(
            "\nThe agent said last:\n{}\n",
            quote(&head_of_text(said, STATE_BYTES_MAX))
        );
    }
    for open in builder.open.iter().rev().take(OPEN_SHOWN) {
        text += &format!("\nNo result yet: {}", open.what);
    }
    if let Some(todos) = &builder.todos {
        text += &format!("\nThe todo list:\n{todos}\n");
    }
    text
}

fn task_section(builder: &SummaryBuilder) -> String {
    let mut text = String::new();
    if !builder.rules.is_empty() {
        text += "The user's rules, word for word:\n";
        text += &bullet_list(builder.rules.iter().map(|rule| format!("\"{rule}\"")));
    }
    let Some(first) = &builder.first else {
        return text;
    };
    text += &format!(
        "\nThe first request:\n{}\n",
        quote(&head_of_text(first, 2 * STATE_BYTES_MAX))
    );
    let later = &builder.requests[..builder.requests.len().saturating_sub(1)];
    if later.is_empty() {
        return text;
    }
    text += "\nLater requests, the latest first (the last of all is under the current state):\n";
    for (index, request) in later.iter().rev().enumerate() {
        if index < WHOLE_REQUESTS {
            text += &format!("{}\n\n", quote(&head_of_text(request, STATE_BYTES_MAX)));
        } else {
            text += &format!("> {}\n\n", one_line(request, LINE_CHARS_MAX));
        }
    }
    text
}

fn files_section(builder: &SummaryBuilder) -> String {
    let changed = |file: &&FileUse| file.changed > 0;
    let mut text = String::new();
    let all = || builder.files.iter().rev();
    if all().any(|file| changed(&file)) {
        text += "Changed, the latest first:\n";
        text += &bullet_list(all().filter(changed).map(|file| {
            let names = match file.names.as_slice() {
                [] => String::new(),
                names => format!(": {}", names.join(", ")),
            };
            format!("{} ({}×){names}", file.path, file.changed)
        }));
    }
    text += &names_section(builder);
    if all().any(|file| !changed(&file)) {
        text += "\nLooked at, the latest first:\n";
        text += &bullet_list(
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

/// Lists the identifiers that were mentioned repeatedly, or at least once in a message.
fn names_section(builder: &SummaryBuilder) -> String {
    let mut names: Vec<_> = builder
        .names
        .iter()
        .filter(|(name, (times, _))| *times > 1 && !is_path_part(builder, name))
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

/// Says whether a name is only a component of the working folder or of a listed file.
fn is_path_part(builder: &SummaryBuilder, name: &str) -> bool {
    let is_part = |path: &str| path.split(['/', '\\']).any(|part| part == name);
    builder.cwd.as_deref().is_some_and(is_part)
        || builder.files.iter().any(|file| is_part(&file.path))
}

fn commands_section(builder: &SummaryBuilder) -> String {
    let end = |known: &CommandUse| match (known.end, known.worked, known.failed) {
        (None, ..) => "(result unknown)".to_owned(),
        (Some(true), worked, 0) => format!("worked{}", times(worked)),
        (Some(true), _, failed) => format!("worked, after failing{}", times(failed)),
        (Some(false), 0, failed) => format!("failed{}", times(failed)),
        (Some(false), worked, _) => format!("failed, worked before{}", times(worked)),
    };
    let line =
        |known: &CommandUse| format!("`{}` {}", escape_backticks(&known.command), end(known));
    bullet_list(builder.commands.iter().rev().map(line))
}

fn failures_section(builder: &SummaryBuilder) -> String {
    let line = |failure: &FailureNote| {
        let fixed = if failure.fixed { "; worked later" } else { "" };
        let times = times(failure.times);
        let said = escape_backticks(&failure.said);
        format!("{} failed{times} with `{said}`{fixed}", failure.what)
    };
    bullet_list(builder.failures.iter().rev().map(line))
}

fn environment_section(builder: &SummaryBuilder) -> String {
    let mut text = String::new();
    if let Some(cwd) = &builder.cwd {
        text += &format!("Working folder: {cwd}\n");
    }
    if let Some(branch) = &builder.branch {
        text += &format!("Branch: {branch}\n");
    }
    let documents = builder
        .files
        .iter()
        .rev()
        .filter(|file| is_document(&file.path));
    let documents: Vec<_> = documents.map(|file| file.path.as_str()).collect();
    if !documents.is_empty() {
        text += "\nWhat describes the system, the latest first:\n";
        text += &bullet_list(documents.into_iter().map(str::to_owned));
    }
    text
}

/// Says whether a file documents or configures a project.
fn is_document(path: &str) -> bool {
    #[rustfmt::skip]
    const MANIFESTS: &[&str] = &[
        "cargo.toml", "package.json", "pyproject.toml", "go.mod", "makefile", "dockerfile",
        "docker-compose.yml", "pom.xml", "build.gradle", "tsconfig.json", "justfile",
    ];
    let name = path
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(path)
        .to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    MANIFESTS.contains(&name.as_str()) || matches!(ending, "md" | "rst" | "adoc")
}

fn learnings_section(builder: &SummaryBuilder) -> String {
    let mut text = String::new();
    let again = |failure: &&FailureNote| failure.times > 1 && !failure.fixed;
    if builder.failures.iter().any(|failure| again(&failure)) {
        text += "Tried more than once without success:\n";
        text += &bullet_list(
            builder
                .failures
                .iter()
                .filter(again)
                .map(|failure| failure.what.clone()),
        );
    }
    if !builder.findings.is_empty() {
        text += "\nWhat the agent found out or decided, the latest first:\n";
        text += &bullet_list(builder.findings.iter().rev().cloned());
    }
    text
}

/// Returns the results of earlier turns; the last answer is in the section about the state.
fn results_section(builder: &SummaryBuilder) -> String {
    let turns = builder
        .turns
        .iter()
        .rev()
        .skip(1)
        .filter(|turn| !turn.said.is_empty());
    bullet_list(turns.map(|turn| {
        format!(
            "{} → {}",
            one_line(&turn.asked, LINE_CHARS_MAX / 2),
            turn.said
        )
    }))
}

fn worklog_section(builder: &SummaryBuilder) -> String {
    let mut text = String::new();
    let first = builder.turns_before + 1;
    let numbered: Vec<_> = (first..).zip(&builder.turns).collect();
    for (number, turn) in numbered.into_iter().rev() {
        let asked = one_line(&turn.asked, LINE_CHARS_MAX / 2);
        let _infallible = writeln!(text, "{number}. {asked}: {}", describe_turn(turn));
    }
    text
}

fn describe_turn(turn: &TurnNote) -> String {
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

/// Replaces backticks, which would end the quotation.
fn escape_backticks(text: &str) -> String {
    text.replace('`', "'")
}

fn bullet_list(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| format!("- {line}\n")).collect()
}

fn quote(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| format!("> {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
