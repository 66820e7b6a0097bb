//! Screens the text of a record by its provenance: which part may be shown to a model unasked.
//!
//! A record says who wrote it. An agent's words may still come from a web page: the agent repeated
//! what a tool had returned, or wrote after it had read the web. So
//!
//! - the user's words are shown as they are;
//! - an agent's words are shown without the sentences that direct the reader;
//! - an agent's words after it had read the web or a foreign server are shown only to a question,
//!   and without the sentences that it copied from there;
//! - tool output is shown only to a question, and only its lines of data.

use std::collections::HashSet;

use memory::words::StemmedText;
use memory::{RecordKind, Trust, directives};
use store::{CandidateRow, Store};

use super::filter::RejectReason;
use super::pack::truncate_chars;
use crate::query::utterance;
use crate::search::RankedHit;

/// Results of a turn that an agent's words are compared with, the nearest first, and how much of
/// each.
const RESULTS_MAX: usize = 24;
const RESULT_BYTES_MAX: usize = 12 << 10;
/// A run of this many equal words is copied, not a coincidence.
const SHINGLE_WORDS: usize = 5;
/// Lines of tool output that are shown.
const DATA_LINES_MAX: usize = 4;
/// How much is shown of an agent's words after it had read the web, in characters.
const OUTSIDE_CHARS_MAX: usize = 300;
/// The share of an agent's text that must be statements for the text to be shown to a task.
const STATED_SHARE: f64 = 0.5;

/// Parts of the names of tools that read the web or foreign servers.
const OUTSIDE_TOOLS: &[&str] = &[
    "web", "fetch", "http", "browser", "browse", "playwright", "url", "mcp", "google", "crawl",
    "scrape",
];

/// The properties of a prompt that decide which texts it may be shown.
#[derive(Debug)]
pub(super) struct PromptProfile<'a> {
    text: &'a str,
    words: &'a StemmedText,
    /// The prompt asks something; otherwise it gives a task or states something.
    is_question: bool,
}

impl<'a> PromptProfile<'a> {
    pub(super) fn of(text: &'a str, words: &'a StemmedText) -> Self {
        Self {
            text,
            words,
            is_question: utterance::has_question(text),
        }
    }

    /// Returns whether a text shares a content word with the prompt.
    fn shares_word_with(&self, text: &str) -> bool {
        let words = StemmedText::parse(text);
        let mut shared = words.stems.intersection(&self.words.stems);
        shared.any(|stem| memory::words::weight(stem) >= 1.0)
    }
}

/// Returns the part of a record's text that may be shown, or why none of it may.
pub(super) fn screen_text(
    store: &Store,
    hit: &RankedHit,
    prompt: &PromptProfile<'_>,
) -> store::Result<Result<String, RejectReason>> {
    if hit.trust == Trust::User {
        return Ok(Ok(hit.text.clone()));
    }
    if hit.trust == Trust::Tool || hit.hit.kind == RecordKind::Artifact {
        return Ok(screen_tool_output(hit, prompt));
    }
    let results = results_before(store, hit)?;
    let is_outside =
        |result: &CandidateRow| is_outside_tool(result.tool.as_deref().unwrap_or_default());
    let has_read_outside = results.iter().any(is_outside);
    if has_read_outside && !prompt.is_question {
        return Ok(Err(RejectReason::ToolOutput));
    }
    let stated = directives::strip_directives(&hit.text, prompt.text);
    let own = drop_copied_sentences(&stated, &results);
    let share = own.len() as f64 / hit.text.trim().len().max(1) as f64;
    let is_enough = prompt.is_question || share >= STATED_SHARE;
    if own.trim().is_empty() || !is_enough {
        return Ok(Err(RejectReason::Directs));
    }
    Ok(Ok(if has_read_outside {
        truncate_chars(&own, OUTSIDE_CHARS_MAX)
    } else {
        own
    }))
}

/// Returns the lines of data in tool output that a question may be shown.
fn screen_tool_output(hit: &RankedHit, prompt: &PromptProfile<'_>) -> Result<String, RejectReason> {
    let is_outside = is_outside_tool(hit.hit.tool.as_deref().unwrap_or_default());
    if !prompt.is_question || is_outside {
        return Err(RejectReason::ToolOutput);
    }
    let is_wanted = |line: &str| prompt.shares_word_with(line);
    let lines = directives::data_lines(&hit.text, is_wanted, DATA_LINES_MAX);
    if lines.is_empty() {
        return Err(RejectReason::ToolOutput);
    }
    Ok(lines)
}

/// Returns whether a tool reads texts that come neither from the user nor from this machine.
fn is_outside_tool(tool: &str) -> bool {
    let lower = tool.to_lowercase();
    !utterance::is_memory_tool(tool) && OUTSIDE_TOOLS.iter().any(|part| lower.contains(part))
}

/// Returns the tool results of the turn before a record.
fn results_before(store: &Store, hit: &RankedHit) -> store::Result<Vec<CandidateRow>> {
    store.lookup(|lookup| {
        let turn = hit.position.turn_before(lookup)?;
        let results = turn
            .iter()
            .filter(|(_, row)| matches!(row.kind, RecordKind::ToolResult | RecordKind::Error));
        let mut rows: Vec<i64> = results.map(|(row, _)| *row).take(RESULTS_MAX).collect();
        rows.sort_unstable();
        lookup.candidate_rows(&rows)
    })
}

/// Returns a text without the sentences that share a run of words with a tool result.
fn drop_copied_sentences(text: &str, results: &[CandidateRow]) -> String {
    let sentences = text.lines().flat_map(|line| {
        let sentences = utterance::sentences(line).enumerate();
        sentences.map(|(at, sentence)| (at == 0, sentence, shingles(sentence)))
    });
    let sentences: Vec<(bool, &str, Vec<u64>)> = sentences.collect();
    // The text is short and the results are long, so only the text's shingles are kept in memory.
    let wanted = sentences.iter().flat_map(|(_, _, shingles)| shingles);
    let wanted: HashSet<u64> = wanted.copied().collect();
    let mut copied: HashSet<u64> = HashSet::new();
    for result in results.iter().filter(|_| !wanted.is_empty()) {
        let read = &result.text[..result.text.floor_char_boundary(RESULT_BYTES_MAX)];
        for_each_shingle(read, |hash| {
            if wanted.contains(&hash) {
                copied.insert(hash);
            }
        });
    }
    let mut own = String::new();
    for (opens_line, sentence, shingles) in &sentences {
        if shingles.iter().any(|hash| copied.contains(hash)) {
            continue;
        }
        if !own.is_empty() {
            own.push(if *opens_line { '\n' } else { ' ' });
        }
        own += sentence.trim();
    }
    own
}

fn shingles(text: &str) -> Vec<u64> {
    let mut all = Vec::new();
    for_each_shingle(text, |hash| all.push(hash));
    all
}

/// Calls `visit` with the hash of each run of [`SHINGLE_WORDS`] words, in lower case and without
/// punctuation. A path is one word, so naming a file copies nothing. A letter of a script without
/// spaces is a word by itself.
fn for_each_shingle(text: &str, mut visit: impl FnMut(u64)) {
    let mut words: [u64; SHINGLE_WORDS] = [0; SHINGLE_WORDS];
    let mut count = 0;
    let mut end_word = |word: u64| {
        words.rotate_left(1);
        words[SHINGLE_WORDS - 1] = word;
        count += 1;
        if count >= SHINGLE_WORDS {
            visit(words.iter().fold(HASH_START, |hash, word| mix(hash, *word)));
        }
    };
    let mut word = None;
    for c in text.chars().flat_map(char::to_lowercase) {
        let is_unspaced = matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
        if c.is_alphanumeric() && !is_unspaced {
            word = Some(mix(word.unwrap_or(HASH_START), u64::from(c)));
        } else if is_unspaced || c.is_whitespace() {
            if let Some(word) = word.take() {
                end_word(word);
            }
            if is_unspaced {
                end_word(mix(HASH_START, u64::from(c)));
            }
        }
    }
    if let Some(word) = word {
        end_word(word);
    }
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Mixes a value into a hash. A collision only hides a line that was not copied, so speed counts
/// more than resistance to attacks.
const fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shingles_are_runs_of_words() {
        let shared = |a: &str, b: &str| {
            let b = shingles(b);
            shingles(a).iter().any(|hash| b.contains(hash))
        };
        assert!(shared(
            "Run the Tests with nextest!",
            "please run the tests with nextest now"
        ));
        assert!(!shared(
            "run the tests with nextest",
            "run the tests, with cargo nextest"
        ));
        assert!(!shared("four words are few", "four words are few"));
        assert!(shared("数据库迁移", "我的数据库迁移了"));
        assert!(shingles("").is_empty());
    }
}
