//! Asks questions of a store of real logs and measures where the records that answer them rank.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use memory::RecordId;
use recall::{RankedHits, RecallQuery};
use serde::{Deserialize, Serialize};
use store::{Query, Store};

use crate::prompts;

/// The hits that a search of the command line shows.
const SHOWN_HITS: usize = 20;
/// The hits that the weights are fitted to.
const FITTED_HITS: usize = 200;
/// A question counts as answerable if an answer is among this many best hits: a prompt is never
/// given more records than that.
const INJECTED_MAX: usize = 8;
/// The hits of a missed question that are listed.
const LISTED_MAX: usize = 3;

/// One line of the file of questions.
#[derive(Debug, Deserialize)]
struct LogQuestion {
    id: String,
    /// A part of the key or root of the workspaces that the question is about.
    repo: String,
    /// The weights were fitted to the questions of the part `fit`, not to those of `held-out`.
    part: String,
    kind: String,
    /// How the answer was chosen: from the ends of turns, or from records picked at random.
    origin: String,
    question: String,
    /// The records that answer the question. Without any, no record does.
    answers: Vec<RecordId>,
}

/// The ranks of the best answers, 0 for the first hit.
#[derive(Debug, Default)]
struct AnswerRanks(Vec<Option<usize>>);

impl AnswerRanks {
    fn percent_within(&self, count: usize) -> f64 {
        let ranks = self.0.iter().flatten();
        let within = ranks.filter(|rank| **rank < count).count();
        percent(within, self.0.len())
    }

    fn reciprocal_mean(&self) -> f64 {
        let ranks = self.0.iter().flatten();
        let sum: f64 = ranks.map(|rank| 1.0 / (*rank as f64 + 1.0)).sum();
        100.0 * sum / self.0.len().max(1) as f64
    }
}

/// What happens when questions are sent as prompts.
#[derive(Debug, Default)]
struct PromptCounts {
    sent: usize,
    answered: usize,
    shown_answer: usize,
    /// The prompts that were given something else, by what became of the answer.
    without_answer: BTreeMap<&'static str, usize>,
}

/// The features of a question's hits, from which weights are fitted.
#[derive(Serialize)]
struct QuestionFeatures<'a> {
    qid: &'a str,
    ns: &'a str,
    part: &'a str,
    category: &'a str,
    query: &'a str,
    gold: Vec<String>,
    ids: Vec<String>,
    of: Vec<&'a str>,
    features: Vec<Vec<f64>>,
    sessions: Vec<&'a str>,
    session_features: Vec<Vec<f64>>,
    gate: Vec<f64>,
    confidence: f64,
    injects: bool,
    shown: Vec<String>,
}

/// How to ask, and where to write more than the tables.
#[derive(Debug, Default)]
pub(crate) struct AnswerOptions<'a> {
    /// Asks for so many words of each question instead of the question.
    pub(crate) keywords: Option<usize>,
    /// Lists the questions whose answer is not among the first three.
    pub(crate) lists_misses: bool,
    /// Writes the features of all hits to this file.
    pub(crate) features: Option<&'a Path>,
}

/// Asks the questions of a file and returns the report.
pub(crate) fn run(
    store: &Store,
    questions: &Path,
    options: &AnswerOptions<'_>,
    now: Timestamp,
) -> anyhow::Result<String> {
    let mut features = options.features.map(create).transpose()?;
    let mut ranks: BTreeMap<String, AnswerRanks> = BTreeMap::new();
    let mut prompts: BTreeMap<String, PromptCounts> = BTreeMap::new();
    let mut misses = String::new();
    for mut question in read_questions(questions)? {
        if let Some(count) = options.keywords {
            question.question = longest_words(&question.question, count);
        }
        let ranked = search(store, &question, features.is_some(), now)?;
        let answers: HashSet<RecordId> = question.answers.iter().copied().collect();
        let mut found = ranked.hits.iter();
        let rank = found.position(|hit| answers.contains(&hit.hit.id));
        let workspace = ranked.hits.iter().find_map(|hit| hit.hit.workspace.clone());
        let reaction = prompts::send_log_prompt(store, workspace, &question.question, now)?;
        let is_hard_negative = answers.is_empty();
        if !is_hard_negative {
            for group in [
                question.part.clone(),
                format!("{}: {}", question.part, question.repo),
                format!("kind: {}", question.kind),
                format!("from {}", question.origin),
                "all".to_owned(),
            ] {
                ranks.entry(group).or_default().0.push(rank);
            }
            if options.lists_misses && rank.is_none_or(|rank| rank >= 3) {
                misses += &describe_miss(&question, &ranked, rank);
            }
        }
        if is_hard_negative || rank.is_some_and(|rank| rank < INJECTED_MAX) {
            let kind = if is_hard_negative {
                "cannot be answered"
            } else {
                "can be answered"
            };
            let counts = prompts
                .entry(format!("{}: {kind}", question.part))
                .or_default();
            counts.sent += 1;
            counts.answered += usize::from(reaction.injects);
            let is_answer = |id: &RecordId| reaction.injects && answers.contains(id);
            let is_shown = reaction.shown.iter().any(is_answer);
            counts.shown_answer += usize::from(is_shown);
            if !is_shown && !is_hard_negative {
                let mut rejected = reaction.rejected.iter();
                let answer = rejected.find(|(id, _)| answers.contains(id));
                let silent = if reaction.injects {
                    "it was not among the hits for the prompt"
                } else {
                    "the prompt got nothing"
                };
                let reason = answer.map_or(silent, |(_, reason)| reason.reason());
                *counts.without_answer.entry(reason).or_default() += 1;
            }
        }
        if let Some(file) = &mut features {
            let row = question_features(&question, &ranked, &reaction);
            serde_json::to_writer(&mut *file, &row)?;
            file.write_all(b"\n")?;
        }
    }
    Ok(format_report(&ranks, &prompts) + &misses)
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::new(file))
}

fn read_questions(path: &Path) -> anyhow::Result<Vec<LogQuestion>> {
    let context = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(context)?;
    let mut questions = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.with_context(context)?;
        if !line.trim().is_empty() {
            questions.push(serde_json::from_str(&line).with_context(context)?);
        }
    }
    Ok(questions)
}

/// Returns the longest words of a question, the longest first. People search for such words, and
/// long words are mostly the ones that say what a question is about.
fn longest_words(question: &str, count: usize) -> String {
    let words = question.split_whitespace();
    let mut words: Vec<&str> = words
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| store::terms::is_content(&word.to_lowercase()))
        .collect();
    words.sort_by_key(|word| Reverse(word.len()));
    words.truncate(count);
    words.join(" ")
}

/// Searches as people do, or for all that the weights are fitted to.
fn search(
    store: &Store,
    question: &LogQuestion,
    for_fitting: bool,
    now: Timestamp,
) -> anyhow::Result<RankedHits> {
    let query = RecallQuery {
        query: Query {
            text: question.question.clone(),
            workspace: Some(question.repo.clone()),
            limit: if for_fitting { FITTED_HITS } else { SHOWN_HITS },
            ..Query::default()
        },
        explain: true,
        rank_sessions: for_fitting,
        ..RecallQuery::default()
    };
    Ok(recall::search(store, &query, now)?)
}

fn question_features<'a>(
    question: &'a LogQuestion,
    ranked: &'a RankedHits,
    reaction: &prompts::LogPromptReaction,
) -> QuestionFeatures<'a> {
    let values = |hit: &recall::RankedHit| {
        let features = hit.features.as_ref();
        features
            .map(|features| features.values().to_vec())
            .unwrap_or_default()
    };
    QuestionFeatures {
        qid: &question.id,
        ns: &question.repo,
        part: &question.part,
        category: &question.kind,
        query: &question.question,
        gold: question.answers.iter().map(ToString::to_string).collect(),
        ids: ranked
            .hits
            .iter()
            .map(|hit| hit.hit.id.to_string())
            .collect(),
        of: ranked
            .hits
            .iter()
            .map(|hit| hit.hit.session.as_str())
            .collect(),
        features: ranked.hits.iter().map(values).collect(),
        sessions: ranked
            .sessions
            .iter()
            .map(|session| session.id.as_str())
            .collect(),
        session_features: ranked
            .sessions
            .iter()
            .map(|session| session.features.values().to_vec())
            .collect(),
        gate: reaction.gate.values().to_vec(),
        confidence: reaction.confidence,
        injects: reaction.injects,
        shown: reaction.shown.iter().map(ToString::to_string).collect(),
    }
}

fn describe_miss(question: &LogQuestion, ranked: &RankedHits, rank: Option<usize>) -> String {
    let rank = rank.map_or("not found".to_owned(), |rank| format!("rank {}", rank + 1));
    let mut out = format!("\n{} ({rank}): {}\n", question.id, question.question);
    for hit in ranked.hits.iter().take(LISTED_MAX) {
        let snippet: String = hit.hit.snippet.text.chars().take(100).collect();
        let id = hit.hit.id.to_string();
        out += &format!("    {} {:?} {snippet}\n", &id[..8], hit.hit.kind);
    }
    out
}

fn format_report(
    ranks: &BTreeMap<String, AnswerRanks>,
    prompts: &BTreeMap<String, PromptCounts>,
) -> String {
    let mut out = "| questions | count | first | in three | in ten | MRR |\n\
                   | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for (group, ranks) in ranks {
        out += &format!(
            "| {group} | {} | {:.1} | {:.1} | {:.1} | {:.1} |\n",
            ranks.0.len(),
            ranks.percent_within(1),
            ranks.percent_within(3),
            ranks.percent_within(10),
            ranks.reciprocal_mean(),
        );
    }
    out += "\n| sent as prompts | count | get something | are given an answer |\n\
            | --- | --- | --- | --- |\n";
    for (group, counts) in prompts {
        out += &format!(
            "| {group} | {} | {:.1} | {:.1} |\n",
            counts.sent,
            percent(counts.answered, counts.sent),
            percent(counts.shown_answer, counts.sent),
        );
    }
    out += "\n| prompts that were not given the answer, because | count |\n| --- | --- |\n";
    for (group, counts) in prompts {
        for (reason, count) in &counts.without_answer {
            out += &format!("| {group}: {reason} | {count} |\n");
        }
    }
    out
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_the_longest_words_that_say_something() {
        let question = "why did the checkpoint view crash after the upgrade?";
        assert_eq!(longest_words(question, 2), "checkpoint upgrade");
        assert_eq!(longest_words("what was it?", 2), "");
    }

    #[test]
    fn ranks_are_summed_up() {
        let ranks = AnswerRanks(vec![Some(0), Some(3), None, Some(1)]);
        assert_eq!(ranks.percent_within(1), 25.0);
        assert_eq!(ranks.percent_within(3), 50.0);
        assert_eq!(ranks.percent_within(10), 75.0);
        assert!((ranks.reciprocal_mean() - 43.75).abs() < 1e-9);
    }
}
