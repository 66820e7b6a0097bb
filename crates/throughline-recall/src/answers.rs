//! A question beside its answer: the last words of the agent's turn stand in for the question.
//!
//! A stored question matches the same question better than any answer does. It is moved behind
//! the answer that the agent gave it, and the answer carries it along to be shown with it.

use memory::words::StemmedText;
use memory::{RecordId, RecordKind};
use serde::Serialize;
use store::{CandidateRow, Lookup, Result};

use crate::ask::{ParsedQuestion, RecallQuery};
use crate::candidates::Candidate;
use crate::echo;
use crate::passages::PassageReader;
use crate::rank::{self, ECHO_PENALTY, ScoredRecord};
use crate::turns;

/// Hits among which questions and calls of memory tools are looked for.
const HITS_MAX: usize = 40;
/// Questions whose turns are read.
const QUESTIONS_MAX: usize = 8;
/// Agent texts at the end of a turn of which the last one that says something is the answer.
const ENDINGS_MAX: usize = 4;
/// Shell results whose commands are read.
const SHELL_RESULTS_MAX: usize = 10;
/// Records before a shell result that may be its call.
const CALL_ROWS: i64 = 3;
/// Two questions that share this much of their words are the same one.
const SAME_OVERLAP: f64 = 0.8;
/// How sure it is at least that the answer to the same question answers it again.
pub const SAME_QUESTION_CONFIDENCE: f64 = 0.6;
/// Agent texts behind a report of trouble that are read for its cause.
const CAUSES_MAX: usize = 10;
/// How far thoughts and announcements stay behind the best hit that states something.
const ANNOUNCEMENT_PENALTY: f64 = -4.0;
/// Keeps an answer in front of its question, and in front of equals.
const ANSWER_LEAD: f64 = 0.01;

/// Parts of the names of tools that run shell commands.
const SHELL_TOOL_NAMES: &[&str] = &["bash", "shell", "exec", "terminal", "command"];
/// Words by which an agent says what the trouble was.
const CAUSE_WORDS: &[&str] = &[
    "because", "cause", "caused", "causes", "culprit", "fix", "fixed", "missing", "problem",
    "reason", "root", "since", "so", "was", "were", "wrong",
];
/// How an agent says that it found no answer.
const NO_ANSWER_PHRASES: &[&str] = &[
    "i don't know",
    "i do not know",
    "i couldn't find",
    "i could not find",
    "i can't find",
    "i cannot find",
    "i have no information",
    "there is no information",
    "nothing in memory",
    "no record of",
    "not sure",
];

/// The question that a record answers.
#[derive(Clone, Debug, Serialize)]
pub struct AnsweredQuestion {
    pub id: RecordId,
    pub text: String,
}

/// Puts the answers of found questions in front of them, and calls of memory tools behind.
pub fn promote_answers(
    lookup: &Lookup<'_>,
    ask: &RecallQuery,
    question: &ParsedQuestion,
    reader: &mut PassageReader<'_>,
    read: &mut Vec<ScoredRecord>,
) -> Result<()> {
    demote_memory_output(lookup, read)?;
    let query = StemmedText::parse(&ask.query.text);
    let asked = group_questions(read);
    let stated = read.iter().take(HITS_MAX).filter(|read| is_statement(read));
    let best_stated = stated.map(|read| read.score).reduce(f64::max);
    demote_announcements(read, best_stated);
    let may_pair = may_pair(ask, question);
    let is_question = echo::has_question(&ask.query.text);
    let reports = echo::reports_problem(&ask.query.text);
    let mut answers: Vec<Option<(RecordId, f64)>> = Vec::with_capacity(asked.len());
    for found in asked {
        let at = found.at;
        let restates = echo::restates_query(&query, &found.words);
        let is_same = echo::is_same_topic(&query, &found.words);
        // The answer to the latest of several equal questions stands for all of them.
        let twin_answer = found.same_as.and_then(|twin| answers[twin]);
        if let Some((answer, score)) = twin_answer {
            place_behind_answer(&mut read[at], answer, score);
            answers.push(twin_answer);
            continue;
        }
        // A question about something else states, by what it asks, what its author works on.
        let is_latest = found.same_as.is_none() && found.may_be_read;
        let answer = if is_latest && may_pair && (restates || is_same) {
            find_answer(lookup, &read[at])?
        } else {
            None
        };
        let answer = answer.map(|(candidate, detail)| {
            let reading = reader.match_text(&detail.text);
            ScoredRecord::new(candidate, detail, reading, 1)
        });
        // Somebody who looks for a word wants what holds it, not what was replied to it.
        match answer.filter(|answer| is_question || answer.matched_terms() != 0) {
            Some(answer) => {
                let target = best_stated.map_or(read[at].score, |best| best.min(read[at].score));
                let raised = promote_answer(read, at, answer, target, reports && is_same);
                answers.push(Some(raised));
                continue;
            }
            None if restates => {
                let score = read[at].score + ECHO_PENALTY;
                let behind = best_stated.map_or(score, |best| score.min(best + ECHO_PENALTY));
                let points = behind - read[at].score;
                read[at].adjust("echo", 1.0, points);
            }
            None => {}
        }
        answers.push(None);
    }
    rank::sort_by_score(read);
    Ok(())
}

/// Says whether a hit may be an answer: it is neither a question nor work that goes by.
fn is_statement(read: &ScoredRecord) -> bool {
    let goes_by = match read.detail.kind {
        RecordKind::Thinking | RecordKind::ToolUse => true,
        RecordKind::Assistant => {
            read.detail.speaker.is_none() && echo::is_announcement(&read.detail.text)
        }
        RecordKind::Prompt => read.is_question(),
        _ => read.is_memory_output(),
    };
    !goes_by
}

/// Puts thoughts, announcements and calls of memory tools behind the best hit that states
/// something.
fn demote_announcements(read: &mut [ScoredRecord], best_stated: Option<f64>) {
    let Some(best) = best_stated else { return };
    for read in read.iter_mut().take(HITS_MAX) {
        let is_talk = matches!(
            read.detail.kind,
            RecordKind::Thinking | RecordKind::Assistant
        );
        let target = best + ANNOUNCEMENT_PENALTY;
        let goes_by = (is_talk && !is_statement(read)) || read.is_memory_output();
        if goes_by && read.score > target {
            let points = target - read.score;
            read.adjust("chatter", 1.0, points);
        }
    }
}

/// Filters that choose single records would be broken by an answer that was not looked for.
fn may_pair(ask: &RecallQuery, question: &ParsedQuestion) -> bool {
    let query = &ask.query;
    let chooses = query.since.is_some() || query.until.is_some();
    let chooses = chooses || query.tool.is_some() || query.path.is_some();
    let wants = query.kinds.is_empty() || query.kinds.contains(&RecordKind::Assistant);
    let is_plain = question.required_phrases.is_empty() && question.words.excluded.is_empty();
    wants && is_plain && !chooses
}

/// A question among the hits.
struct QuestionHit {
    /// Its place among the hits.
    at: usize,
    words: StemmedText,
    /// The entry of a later question that asks the same.
    same_as: Option<usize>,
    /// It is among the few whose turns are read.
    may_be_read: bool,
}

/// Returns the questions among the hits, the latest first.
fn group_questions(read: &[ScoredRecord]) -> Vec<QuestionHit> {
    let mut asked: Vec<usize> = (0..read.len().min(HITS_MAX))
        .filter(|at| read[*at].is_question())
        .collect();
    // The latest answer to a question is the one that may still hold.
    asked.sort_by_key(|at| std::cmp::Reverse(read[*at].candidate.row));
    let mut all: Vec<QuestionHit> = Vec::new();
    let mut distinct = 0;
    for at in asked {
        let words = StemmedText::parse(&read[at].detail.text);
        let is_same = |other: &QuestionHit| other.words.overlap(&words) >= SAME_OVERLAP;
        let same_as = all.iter().position(is_same);
        distinct += usize::from(same_as.is_none());
        all.push(QuestionHit {
            at,
            words,
            same_as,
            may_be_read: distinct <= QUESTIONS_MAX,
        });
    }
    all
}

/// Returns the last text of a question's turn that says something, with its candidate.
fn find_answer(
    lookup: &Lookup<'_>,
    asked: &ScoredRecord,
) -> Result<Option<(Candidate, CandidateRow)>> {
    let turn = turns::turn_after(lookup, asked.candidate.row, asked.candidate.mark.session)?;
    let endings = turn.iter().rev();
    let endings = endings.filter(|(_, mark)| mark.kind == RecordKind::Assistant);
    for (row, mark) in endings.take(ENDINGS_MAX) {
        let answers = |detail: &CandidateRow| is_substantive(&detail.text);
        if let Some(detail) = lookup.candidate_rows(&[*row])?.pop().filter(answers) {
            return Ok(Some((Candidate::new(*row, *mark), detail)));
        }
    }
    Ok(None)
}

/// Returns what an agent found out about trouble that a person reported: the first text behind
/// the report that names a cause and shares a word with it, else the last of its turn.
pub fn find_cause(
    lookup: &Lookup<'_>,
    query: &StemmedText,
    (row, session): (i64, u32),
) -> Result<Option<CandidateRow>> {
    let rows = turns::rows_after(lookup, row, session)?;
    let said = rows
        .iter()
        .filter(|(_, mark)| mark.kind == RecordKind::Assistant);
    let said: Vec<i64> = said.map(|(row, _)| *row).take(CAUSES_MAX).collect();
    let turn_end = rows
        .iter()
        .find(|(_, mark)| mark.kind == RecordKind::Prompt);
    let turn_end = turn_end.map_or(i64::MAX, |(row, _)| *row);
    let texts = lookup.candidate_rows(&said)?;
    let is_cause = |detail: &&CandidateRow| {
        let shared = StemmedText::parse(&detail.text);
        let mut shared = shared.stems.intersection(&query.stems);
        names_cause(&detail.text)
            && shared.any(|stem| memory::words::weight(stem) >= 1.0)
            && is_substantive(&detail.text)
    };
    let last = |detail: &&CandidateRow| detail.row < turn_end && is_substantive(&detail.text);
    let cause = texts.iter().find(is_cause);
    Ok(cause.or_else(|| texts.iter().rev().find(last)).cloned())
}

fn names_cause(text: &str) -> bool {
    let words = echo::plain_words(text);
    words
        .iter()
        .any(|word| CAUSE_WORDS.contains(&word.as_str()))
}

fn is_substantive(text: &str) -> bool {
    let head = text[..text.floor_char_boundary(120)].to_lowercase();
    let gives_up = NO_ANSWER_PHRASES.iter().any(|phrase| head.contains(phrase));
    !text.trim().is_empty()
        && !gives_up
        && !echo::is_announcement(text)
        && !echo::is_bare_question(text)
}

/// Lifts an answer to at least `target`, puts its question right behind it, and returns the answer's
/// id and score.
fn promote_answer(
    read: &mut Vec<ScoredRecord>,
    asked: usize,
    answer: ScoredRecord,
    target: f64,
    is_same: bool,
) -> (RecordId, f64) {
    let question = AnsweredQuestion {
        id: read[asked].detail.id,
        text: read[asked].detail.text.clone(),
    };
    let confidence = read[asked].confidence;
    let id = answer.detail.id;
    let known = read.iter().position(|read| read.detail.id == id);
    let at = known.unwrap_or(read.len());
    if known.is_none() {
        read.push(answer);
    }
    let answer = &mut read[at];
    if known.is_none() || answer.score < target + ANSWER_LEAD {
        answer.adjust("answers_question", 1.0, target + ANSWER_LEAD - answer.score);
    }
    if is_same {
        // The same was asked before, so what is known of the question is known of its answer.
        let confidence = confidence.max(SAME_QUESTION_CONFIDENCE);
        answer.answer_confidence = Some(answer.answer_confidence.unwrap_or(0.0).max(confidence));
    }
    let score = answer.score;
    answer.answered_question.get_or_insert(question);
    place_behind_answer(&mut read[asked], id, score);
    (id, score)
}

/// Puts a question right behind its answer.
fn place_behind_answer(asked: &mut ScoredRecord, answer: RecordId, score: f64) {
    asked.answered_by = Some(answer);
    if asked.score > score - ANSWER_LEAD {
        asked.adjust("echo", 1.0, score - ANSWER_LEAD - asked.score);
    }
}

/// Takes points from what the shell printed when an agent asked this memory there.
fn demote_memory_output(lookup: &Lookup<'_>, read: &mut [ScoredRecord]) -> Result<()> {
    let mut looked_up = 0;
    for read in read.iter_mut().take(HITS_MAX) {
        let tool = read.detail.tool.as_deref().unwrap_or_default();
        let tool = tool.to_lowercase();
        let is_shell = SHELL_TOOL_NAMES.iter().any(|name| tool.contains(name));
        if read.detail.kind != RecordKind::ToolResult || !is_shell || looked_up == SHELL_RESULTS_MAX
        {
            continue;
        }
        looked_up += 1;
        let row = read.candidate.row;
        let calls: Vec<i64> = ((row - CALL_ROWS).max(1)..row).collect();
        let calls = lookup.candidate_rows(&calls)?;
        let asks =
            |call: &CandidateRow| call.session == read.detail.session && echo::is_memory_call(call);
        if calls.iter().any(asks) {
            read.adjust("echo", 1.0, ECHO_PENALTY);
        }
    }
    Ok(())
}
