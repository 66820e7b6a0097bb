//! Measures how much of the information that a conversation needs after a real compaction is in
//! the summary.
//!
//! The program reads the logs below the folders on the command line (default:
//! `fixtures/compactions`) and cuts each session where its agent compacted it. The needs are the
//! files, commands and names (paths, identifiers, values) that occur both before and after the cut.
//! The program counts how many of them are in the embedded summary with the tail, in the tail
//! alone, and in the agent's own summary with the messages that the agent kept. It prints a table
//! in Markdown, and with `--missed` the needs that the embedded summary and the tail miss.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for the terminal that cannot go on should fail"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use capture::adapter::parse_text;
use capture::flavor::ADAPTERS;
use capture::{Adapter, Root, SourceFormat};
use memory::summary::{SummaryLimits, Template};
use memory::tokens::estimate;
use memory::{Block, LogEntry, Message, RecordKind, Role, SessionId, Tokens, command, record};
use throughline_distill::compact::{self, MessageTies, MessageWeight, first_kept_index};
use throughline_distill::record_view::ExtractorRecord;
use throughline_distill::summary::embedded::{SummaryBuilder, render_summary};

/// A compaction with fewer needs is not significant.
const NEEDS_MIN: usize = 3;

fn main() {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let asked = folders.len();
    folders.retain(|folder| folder.as_os_str() != "--missed");
    let show_missed = folders.len() < asked;
    if folders.is_empty() {
        folders.push(PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/compactions"
        )));
    }
    let mut rows = Vec::new();
    for (session, messages) in sessions(&folders) {
        rows.extend(compactions(&session, &messages));
    }
    print(&rows);
    for row in rows.iter().filter(|_| show_missed) {
        println!("\n{}:\n  {}", row.session, row.missed.join("\n  "));
    }
}

/// The result of one compaction.
struct Row {
    session: String,
    before: Tokens,
    needs: usize,
    missed: Vec<String>,
    ours: Score,
    tail: Score,
    own: Score,
}

#[derive(Clone, Copy, Default)]
struct Score {
    held: usize,
    tokens: u64,
}

/// Reads all sessions. Of a session in several files, the longest is used.
fn sessions(folders: &[PathBuf]) -> BTreeMap<SessionId, Vec<Message>> {
    let adapters: Vec<&'static Adapter> = ADAPTERS.to_vec();
    let mut sessions: BTreeMap<SessionId, Vec<Message>> = BTreeMap::new();
    let roots: Vec<_> = (folders.iter())
        .map(|path| Root {
            path: path.clone(),
            flavor: None,
        })
        .collect();
    for source in capture::discover(&adapters, &roots).sources {
        if !matches!(source.format, SourceFormat::Lines | SourceFormat::Document) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&source.path) else {
            continue;
        };
        let adapter = adapters
            .iter()
            .find(|adapter| adapter.flavor() == source.flavor);
        let parsed = parse_text(adapter.expect("an adapter of the source"), &source, &text);
        let mut own: BTreeMap<SessionId, Vec<Message>> = BTreeMap::new();
        for entry in parsed.entries {
            if let LogEntry::Message(message) = entry {
                own.entry(message.session.clone())
                    .or_default()
                    .push(message);
            }
        }
        for (session, messages) in own {
            let known = sessions.entry(session).or_default();
            if messages.len() > known.len() {
                *known = messages;
            }
        }
    }
    sessions
}

fn compactions(session: &SessionId, messages: &[Message]) -> Vec<Row> {
    let is_cut = |at: &usize| summary_of(&messages[*at]).is_some();
    let cuts: Vec<usize> = (0..messages.len()).filter(is_cut).collect();
    let mut rows = Vec::new();
    for (place, cut) in cuts.iter().enumerate() {
        let end = cuts.get(place + 1).copied().unwrap_or(messages.len());
        let (before, after) = (&messages[..*cut], &messages[cut + 1..end]);
        let needs = needs(before, after);
        if needs.len() < NEEDS_MIN {
            continue;
        }
        let floor = place.checked_sub(1).map_or(0, |earlier| cuts[earlier] + 1);
        let (summary, tail) = (ours(before), tail(before, floor));
        let ours = format!("{summary}\n{tail}");
        let held = joined(&ours);
        let missed = needs.iter().filter(|need| !held.contains(need.as_str()));
        rows.push(Row {
            missed: missed.cloned().collect(),
            session: session.to_string(),
            before: before[floor..].iter().map(Message::tokens).sum(),
            needs: needs.len(),
            ours: score(&needs, &ours),
            tail: score(&needs, &tail),
            own: score(&needs, &own(messages, *cut)),
        });
    }
    rows
}

fn summary_of(message: &Message) -> Option<&str> {
    message.blocks.iter().find_map(|block| match block {
        Block::Summary(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Returns the needs: what the later conversation uses again.
fn needs(before: &[Message], after: &[Message]) -> BTreeSet<String> {
    let (known, later) = (Used::of(before), Used::of(after));
    let text = text_of(before);
    let mut needs: BTreeSet<String> = later.files.intersection(&known.files).cloned().collect();
    needs.extend(later.commands.intersection(&known.commands).cloned());
    needs.extend(later.names.into_iter().filter(|name| text.contains(name)));
    needs
}

#[derive(Default)]
struct Used {
    files: BTreeSet<String>,
    commands: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Used {
    fn of(messages: &[Message]) -> Self {
        let mut used = Self::default();
        for message in messages {
            for block in &message.blocks {
                match block {
                    Block::ToolUse(call) => used.files.extend(call.path.clone()),
                    Block::Text(text) if message.role != Role::System => {
                        used.names.extend(names(text));
                    }
                    _ => {}
                }
            }
            for record in record::project_records(message.clone()) {
                let command = match record.kind {
                    RecordKind::ToolUse => command::parse_call(&record.content),
                    _ => None,
                };
                let command = command.map(|command| joined(&command));
                // Agents do not repeat long scripts from memory.
                used.commands
                    .extend(command.filter(|command| command.len() <= 200));
            }
        }
        used
    }
}

/// Finds words with an exact meaning: paths, identifiers, versions, numbers with letters.
fn names(text: &str) -> BTreeSet<String> {
    let inner = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let words = text
        .split(|c: char| !inner(c))
        .map(|word| word.trim_matches(['.', ':', '-', '/']));
    let exact = |word: &&str| {
        let mixed = word.chars().any(char::is_numeric) && word.chars().any(char::is_alphabetic);
        let parted = word.contains(['_', '/', '.']) || word.contains("::");
        let pairs = || word.chars().zip(word.chars().skip(1));
        let camel = pairs().any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        (6..=100).contains(&word.len()) && (mixed || parted || camel) && !word.starts_with("http")
    };
    words.filter(exact).map(str::to_owned).collect()
}

fn ours(before: &[Message]) -> String {
    let mut fold = SummaryBuilder::new();
    for record in before.iter().cloned().flat_map(record::project_records) {
        fold.add_record(&ExtractorRecord::from(&record));
    }
    let limits = SummaryLimits::default();
    render_summary(
        &fold,
        None,
        &Template::default(),
        None,
        &limits,
        "summary.md",
    )
    .to_string()
}

/// Returns the last tenth of the conversation before the cut, extended so that each result has its
/// call.
fn tail(before: &[Message], floor: usize) -> String {
    let weights: Vec<_> = before.iter().map(MessageWeight::of).collect();
    let tokens: u64 = before[floor..]
        .iter()
        .map(|message| message.tokens().0)
        .sum();
    let limits = compact::CompactionLimits {
        min_tokens: Tokens(tokens / 10),
        min_messages: 1,
        max_tokens: Tokens(tokens / 5),
        ..compact::CompactionLimits::default()
    };
    let from = first_kept_index(&weights, before.len(), floor, &limits);
    text_of(&before[MessageTies::of(before).move_cut_back(from)..])
}

/// Returns the agent's summary and the messages that it kept.
fn own(messages: &[Message], cut: usize) -> String {
    let mut text = summary_of(&messages[cut]).unwrap_or_default().to_owned();
    let near = &messages[cut.saturating_sub(3)..(cut + 3).min(messages.len())];
    let mut boundaries = near.iter().filter_map(Message::boundary);
    if let Some(preserved) = boundaries.find_map(|boundary| boundary.preserved.as_ref()) {
        let place =
            |id: &memory::MessageId| messages[..cut].iter().position(|message| message.id == *id);
        if let (Some(head), Some(tail)) = (place(&preserved.head), place(&preserved.tail)) {
            text += &text_of(&messages[head..=tail.max(head)]);
        }
    }
    text
}

fn text_of(messages: &[Message]) -> String {
    let mut text = String::new();
    for block in messages.iter().flat_map(|message| &message.blocks) {
        let part = match block {
            Block::Text(part) | Block::Thinking(part) | Block::Summary(part) => part.clone(),
            Block::ToolUse(call) => memory::flatten::flatten(&call.input),
            Block::ToolResult(result) => result.content.clone(),
            _ => continue,
        };
        text += &part;
        text.push('\n');
    }
    text
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn score(needs: &BTreeSet<String>, context: &str) -> Score {
    let joined = joined(context);
    Score {
        held: needs
            .iter()
            .filter(|need| joined.contains(need.as_str()))
            .count(),
        tokens: estimate(context).0,
    }
}

fn print(rows: &[Row]) {
    println!(
        "| session | tokens before | needed later | summary + tail | tail alone | the agent's own |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let cell = |score: Score| format!("{} ({} tokens)", score.held, score.tokens);
    for row in rows {
        println!(
            "| `{}` | {} | {} | {} | {} | {} |",
            row.session.chars().take(24).collect::<String>(),
            row.before,
            row.needs,
            cell(row.ours),
            cell(row.tail),
            cell(row.own),
        );
    }
    let needs: usize = rows.iter().map(|row| row.needs).sum();
    let total = |of: fn(&Row) -> Score| {
        let held: usize = rows.iter().map(|row| of(row).held).sum();
        let tokens: u64 = rows.iter().map(|row| of(row).tokens).sum();
        let percent = (100 * held).checked_div(needs).unwrap_or(0);
        format!("{held}, {percent} % ({tokens} tokens)")
    };
    println!(
        "| all {} | | {needs} | {} | {} | {} |",
        rows.len(),
        total(|row| row.ours),
        total(|row| row.tail),
        total(|row| row.own)
    );
}
