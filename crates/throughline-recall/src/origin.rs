//! Where a text really comes from, and what of it may be put before a model unasked.
//!
//! A record says who wrote it. Words of an agent may still be a page's: the agent repeated what a
//! tool had returned, or wrote after it had read the web. Provenance decides what is shown:
//!
//! - what the user said is shown as it is;
//! - what an agent said is shown without the sentences that direct the reader;
//! - what an agent said after it had read the web or a foreign server is shown only to a
//!   question, and without sentences that it repeats from there;
//! - what a tool returned is shown only to a question, and only lines of data.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use memory::words::StemmedText;
use memory::{RecordKind, Trust, directives};
use store::{CandidateRow, Store};

use crate::echo;
use crate::judge::RejectReason;
use crate::offered::PromptHit;
use crate::turns;

/// Results of a turn that an agent's words are compared with, the nearest first.
const RESULTS_MAX: usize = 24;
/// How much of each.
const RESULT_BYTES_MAX: usize = 12 << 10;
/// Words in a row that are no coincidence.
const SHINGLE_WORDS: usize = 5;
/// Lines of a tool's output that are shown.
const DATA_LINES_MAX: usize = 4;
/// Longest part of an agent's words after it had read the web, in characters.
const OUTSIDE_CHARS_MAX: usize = 300;
/// The least share of an agent's text that must be statements to be shown to a task.
const STATED_SHARE: f64 = 0.5;

/// Parts of the names of tools that read what others wrote.
const OUTSIDE_TOOLS: &[&str] = &[
    "web",
    "fetch",
    "http",
    "browser",
    "browse",
    "playwright",
    "url",
    "mcp",
    "google",
    "crawl",
    "scrape",
];

/// What a prompt is, as far as that decides what it may be shown.
#[derive(Debug)]
pub struct PromptProfile<'a> {
    pub text: &'a str,
    pub words: &'a StemmedText,
    /// It asks something; otherwise it gives a task or states something.
    pub is_question: bool,
}

impl<'a> PromptProfile<'a> {
    pub fn of(text: &'a str, words: &'a StemmedText) -> Self {
        Self {
            text,
            words,
            is_question: echo::has_question(text),
        }
    }

    fn shares(&self, text: &str) -> bool {
        let words = StemmedText::parse(text);
        let telling = |stem: &&String| memory::words::weight(stem) >= 1.0;
        words
            .stems
            .intersection(&self.words.stems)
            .any(|stem| telling(&stem))
    }
}

/// Returns what of a record may be shown, or why none of it.
pub fn screen_text(
    store: &Store,
    candidate: &PromptHit,
    prompt: &PromptProfile<'_>,
) -> store::Result<Result<String, RejectReason>> {
    let is_output = candidate.trust == Trust::Tool || candidate.kind == RecordKind::Artifact;
    if candidate.trust == Trust::User {
        return Ok(Ok(candidate.text.clone()));
    }
    if is_output {
        return Ok(screen_tool_output(candidate, prompt));
    }
    let results = results_before(store, candidate)?;
    let is_outside =
        |result: &CandidateRow| is_outside_tool(result.tool.as_deref().unwrap_or_default());
    let has_read_outside = results.iter().any(is_outside);
    if has_read_outside && !prompt.is_question {
        return Ok(Err(RejectReason::ToolOutput));
    }
    let stated = directives::strip_directives(&candidate.text, prompt.text);
    let copied = Shingles::of(&results);
    let own: Vec<&str> = stated
        .lines()
        .map(str::trim_end)
        .filter(|line| !copied.overlap_with(line))
        .collect();
    let own = own.join("\n");
    let share = own.len() as f64 / candidate.text.trim().len().max(1) as f64;
    let is_enough = prompt.is_question || share >= STATED_SHARE;
    if own.trim().is_empty() || !is_enough {
        return Ok(Err(RejectReason::Directs));
    }
    Ok(Ok(if has_read_outside {
        crate::pack::truncate_chars(&own, OUTSIDE_CHARS_MAX)
    } else {
        own
    }))
}

/// Returns the lines of data of a tool's output that a question may be shown.
fn screen_tool_output(
    candidate: &PromptHit,
    prompt: &PromptProfile<'_>,
) -> Result<String, RejectReason> {
    let is_outside = is_outside_tool(candidate.tool.as_deref().unwrap_or_default());
    if !prompt.is_question || is_outside {
        return Err(RejectReason::ToolOutput);
    }
    let wanted = |line: &str| prompt.shares(line);
    let lines = directives::data_lines(&candidate.text, wanted, DATA_LINES_MAX);
    if lines.is_empty() {
        return Err(RejectReason::ToolOutput);
    }
    Ok(lines)
}

/// Says whether a tool reads what others than the user and their machine wrote.
fn is_outside_tool(tool: &str) -> bool {
    let lower = tool.to_lowercase();
    !echo::is_memory_tool(tool) && OUTSIDE_TOOLS.iter().any(|part| lower.contains(part))
}

/// Returns what tools returned in the turn before a record.
fn results_before(store: &Store, candidate: &PromptHit) -> store::Result<Vec<CandidateRow>> {
    let (row, session) = candidate.position;
    store.lookup(|lookup| {
        let turn = turns::turn_before(lookup, row, session)?;
        let results = turn
            .iter()
            .filter(|(_, mark)| matches!(mark.kind, RecordKind::ToolResult | RecordKind::Error));
        let mut rows: Vec<i64> = results.map(|(row, _)| *row).take(RESULTS_MAX).collect();
        rows.sort_unstable();
        lookup.candidate_rows(&rows)
    })
}

/// Runs of words that tools returned.
#[derive(Debug, Default)]
struct Shingles(HashSet<u64>);

impl Shingles {
    fn of(results: &[CandidateRow]) -> Self {
        let mut all = HashSet::new();
        for result in results {
            let text = &result.text[..result.text.floor_char_boundary(RESULT_BYTES_MAX)];
            all.extend(shingle_hashes(text));
        }
        Self(all)
    }

    fn overlap_with(&self, text: &str) -> bool {
        !self.0.is_empty() && shingle_hashes(text).any(|hash| self.0.contains(&hash))
    }
}

fn shingle_hashes(text: &str) -> impl Iterator<Item = u64> {
    let words = shingle_words(text);
    (0..(words.len() + 1).saturating_sub(SHINGLE_WORDS)).map(move |at| {
        let mut hasher = DefaultHasher::new();
        words[at..at + SHINGLE_WORDS].hash(&mut hasher);
        hasher.finish()
    })
}

/// Returns words in lower case; a letter of a script without spaces is one by itself.
fn shingle_words(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let is_unspaced = matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
        if c.is_alphanumeric() && !is_unspaced {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            units.push(std::mem::take(&mut word));
        }
        if is_unspaced {
            units.push(c.to_string());
        }
    }
    if !word.is_empty() {
        units.push(word);
    }
    units
}
