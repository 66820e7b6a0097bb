//! Moves answers in front of the questions that they answer.
//!
//! A stored question matches the same question better than any answer does. So the last text of
//! the agent in that turn takes its place, and carries the question along to be shown with it.

use std::cmp::Reverse;

use memory::words::StemmedText;
use memory::{RecordId, RecordKind};
use serde::Serialize;
use store::{CandidateRow, Lookup, Result};

use super::passages::PassageReader;
use super::{ECHO_PENALTY, ScoredRecord, sort_by_score};
use crate::query::{ParsedQuestion, RecallQuery, utterance};
use crate::retrieve::Candidate;
use crate::retrieve::turns::{RowPosition, is_prompt};

/// Hits among which questions, announcements and calls of memory tools are moved.
const HITS_MAX: usize = 40;
/// Questions whose turns are read.
const QUESTIONS_MAX: usize = 8;
/// Texts at the end of a turn that are tried as the answer.
const ENDINGS_MAX: usize = 4;
/// How far into a text an agent says that it found no answer.
const NO_ANSWER_BYTES: usize = 120;
/// Shell results whose commands are read.
const SHELL_RESULTS_MAX: usize = 10;
/// Rows before a shell result among which its call is looked for.
const CALL_ROWS: i64 = 3;
/// Two questions that share this much of their words are the same question.
const SAME_OVERLAP: f64 = 0.8;
/// The least confidence that the answer to the same question answers it again.
pub(crate) const SAME_QUESTION_CONFIDENCE: f64 = 0.6;
/// Texts after a report of a problem that are searched for its cause.
const CAUSES_MAX: usize = 10;
/// How far thoughts and announcements stay behind the best statement; as far as an echo.
const ANNOUNCEMENT_PENALTY: f64 = ECHO_PENALTY;
/// The points by which an answer leads its question. The score only has to differ.
const ANSWER_LEAD: f64 = 0.01;

/// Parts of the names of tools that run shell commands.
const SHELL_TOOL_NAMES: &[&str] = &["bash", "shell", "exec", "terminal", "command"];
/// Words by which an agent names the cause of a problem.
const CAUSE_WORDS: &[&str] = &[
    "because", "cause", "caused", "causes", "culprit", "fix", "fixed", "missing", "problem",
    "reason", "root", "since", "so", "was", "were", "wrong",
];
/// Phrases by which an agent says that it found no answer.
const NO_ANSWER_PHRASES: &[&str] = &[
    "i don't know", "i do not know", "i couldn't find", "i could not find", "i can't find",
    "i cannot find", "i have no information", "there is no information", "nothing in memory",
    "no record of", "not sure",
];

/// The question that a record answers.
#[derive(Clone, Debug, Serialize)]
pub struct AnsweredQuestion {
    pub id: RecordId,
    pub text: String,
}

/// Moves the answers of questions in front of them; moves calls of memory tools and announcements
/// behind the best statement.
pub(crate) fn promote_answers(
    lookup: &Lookup<'_>,
    query: &RecallQuery,
    question: &ParsedQuestion,
    reader: &mut PassageReader<'_>,
    records: &mut Vec<ScoredRecord>,
) -> Result<()> {
    demote_memory_output(lookup, records)?;
    let text = &query.query.text;
    let words = StemmedText::parse(text);
    let questions = group_questions(records, &words);
    let top = records.iter().take(HITS_MAX);
    let statements = top.filter(|record| is_statement(record));
    let best_statement = statements.map(|record| record.score).reduce(f64::max);
    demote_announcements(records);
    let may_add_answers = may_add_answers(query, question);
    let is_question = utterance::has_question(text);
    let reports_problem = utterance::reports_problem(text);
    let mut answers: Vec<Option<(RecordId, f64)>> = Vec::with_capacity(questions.len());
    for hit in questions {
        let restates = utterance::restates_query(&words, &hit.words);
        let is_same = utterance::is_same_topic(&words, &hit.words);
        let record = &mut records[hit.at];
        // The answer to the latest of several equal questions stands for all of them.
        let shared_answer = hit.same_as.and_then(|latest| answers[latest]);
        if let Some((answer, score)) = shared_answer {
            place_behind_answer(record, answer, score);
            answers.push(shared_answer);
            continue;
        }
        // A question on another topic is a hit in its own right: it shows what its author did.
        let is_answerable = hit.same_as.is_none() && hit.may_be_read && (restates || is_same);
        let answer = if is_answerable && may_add_answers {
            find_answer(lookup, reader, record)?
        } else {
            None
        };
        // A search for keywords wants the records that hold them, not the replies to these.
        let answer = answer.filter(|answer| is_question || answer.matched_terms() != 0);
        answers.push(match answer {
            Some(answer) => {
                let target = best_statement.map_or(record.score, |best| best.min(record.score));
                // A task that is given again has the outcome of the first time.
                let is_repeated = hit.words.overlap(&words) >= SAME_OVERLAP;
                let is_same_problem = is_repeated || (reports_problem && is_same);
                Some(promote_answer(
                    records, hit.at, answer, target, is_same_problem,
                ))
            }
            None if restates => {
                let score = record.score + ECHO_PENALTY;
                let behind = best_statement.map_or(score, |best| score.min(best + ECHO_PENALTY));
                record.mark_as_echo(behind - record.score);
                None
            }
            None => None,
        });
    }
    sort_by_score(records);
    Ok(())
}

/// Returns whether a hit may be an answer: it is neither a question nor a passing remark.
fn is_statement(record: &ScoredRecord) -> bool {
    let row = &record.row;
    match row.kind {
        RecordKind::Thinking | RecordKind::ToolUse => false,
        RecordKind::Assistant => row.speaker.is_some() || !utterance::is_announcement(&row.text),
        RecordKind::Prompt => !record.is_question(),
        _ => !record.is_echo(),
    }
}

/// Moves thoughts, announcements and echoes behind the best statement of a person and behind the
/// best of anything else.
fn demote_announcements(records: &mut [ScoredRecord]) {
    let best = |is_person: bool| {
        let top = records
            .iter()
            .take(HITS_MAX)
            .filter(|hit| is_statement(hit));
        let said = top.filter(|hit| (hit.row.kind == RecordKind::Prompt) == is_person);
        said.map(|record| record.score).reduce(f64::max)
    };
    let Some(best) = [best(true), best(false)]
        .into_iter()
        .flatten()
        .reduce(f64::min)
    else {
        return;
    };
    let target = best + ANNOUNCEMENT_PENALTY;
    for record in records.iter_mut().take(HITS_MAX) {
        let kind = record.row.kind;
        let is_talk = matches!(kind, RecordKind::Thinking | RecordKind::Assistant);
        let is_passing = (is_talk && !is_statement(record)) || record.is_echo();
        if is_passing && record.score > target {
            record.adjust("announcement", 1.0, target - record.score);
        }
    }
}

/// Returns whether answers may be added that the query did not find: not where it selects single
/// records by filters that an answer may not meet.
fn may_add_answers(query: &RecallQuery, question: &ParsedQuestion) -> bool {
    let query = &query.query;
    let selects_by_time = query.since.is_some() || query.until.is_some();
    let selects = selects_by_time || query.tool.is_some() || query.path.is_some();
    let wants_answers = query.kinds.is_empty() || query.kinds.contains(&RecordKind::Assistant);
    let is_plain = question.required_phrases.is_empty() && question.words.excluded.is_empty();
    wants_answers && is_plain && !selects
}

/// A question among the hits.
struct QuestionHit {
    /// The index among the hits.
    at: usize,
    words: StemmedText,
    /// The index of a later question that asks the same.
    same_as: Option<usize>,
    /// The question is among the few whose turns are read.
    may_be_read: bool,
}

/// Returns the questions among the hits and the prompts that say what the query says, the latest
/// first: the latest answer to a question is the one that may still hold.
fn group_questions(records: &[ScoredRecord], query: &StemmedText) -> Vec<QuestionHit> {
    let repeats_query = |record: &ScoredRecord| {
        record.row.kind == RecordKind::Prompt
            && record.row.speaker.is_none()
            && StemmedText::parse(&record.row.text).overlap(query) >= SAME_OVERLAP
    };
    let mut questions: Vec<usize> = (0..records.len().min(HITS_MAX))
        .filter(|at| records[*at].is_question() || repeats_query(&records[*at]))
        .collect();
    questions.sort_by_key(|at| Reverse(records[*at].candidate.row));
    let mut hits: Vec<QuestionHit> = Vec::new();
    let mut distinct = 0;
    for at in questions {
        let words = StemmedText::parse(&records[at].row.text);
        let is_same = |other: &QuestionHit| other.words.overlap(&words) >= SAME_OVERLAP;
        let same_as = hits.iter().position(is_same);
        distinct += usize::from(same_as.is_none());
        hits.push(QuestionHit {
            at,
            words,
            same_as,
            may_be_read: distinct <= QUESTIONS_MAX,
        });
    }
    hits
}

/// Returns the last text of a question's turn that answers something.
fn find_answer(
    lookup: &Lookup<'_>,
    reader: &mut PassageReader<'_>,
    question: &ScoredRecord,
) -> Result<Option<ScoredRecord>> {
    let turn = question.position().turn_after(lookup)?;
    let texts = turn.into_iter().rev();
    let texts = texts.filter(|(_, found)| found.kind == RecordKind::Assistant);
    for (number, attributes) in texts.take(ENDINGS_MAX) {
        let mut rows = lookup.candidate_rows(&[number])?.into_iter();
        if let Some(row) = rows.find(|row| is_substantive(&row.text)) {
            let text_match = reader.match_text(&row.text);
            let candidate = Candidate::new(number, attributes);
            return Ok(Some(ScoredRecord::new(candidate, row, text_match, 1)));
        }
    }
    Ok(None)
}

/// Returns what an agent found out about a problem that a person reported: the first text after the
/// report that names a cause and shares a word with the query, otherwise the last of its turn.
pub(crate) fn find_cause(
    lookup: &Lookup<'_>,
    query: &StemmedText,
    report: RowPosition,
) -> Result<Option<CandidateRow>> {
    let rows = report.rows_after(lookup)?;
    let turn_end = rows.iter().find(|row| is_prompt(row));
    let turn_end = turn_end.map_or(i64::MAX, |(row, _)| *row);
    let said = rows.iter();
    let said = said.filter(|(_, found)| found.kind == RecordKind::Assistant);
    let said: Vec<i64> = said.map(|(row, _)| *row).take(CAUSES_MAX).collect();
    let texts = lookup.candidate_rows(&said)?;
    let is_cause = |row: &&CandidateRow| {
        let words = StemmedText::parse(&row.text);
        let mut shared = words.stems.intersection(&query.stems);
        names_cause(&row.text)
            && shared.any(|stem| memory::words::weight(stem) >= 1.0)
            && is_substantive(&row.text)
    };
    let is_ending = |row: &&CandidateRow| row.row < turn_end && is_substantive(&row.text);
    let cause = texts.iter().find(is_cause);
    Ok(cause
        .or_else(|| texts.iter().rev().find(is_ending))
        .cloned())
}

fn names_cause(text: &str) -> bool {
    let mut words = utterance::plain_words(text).into_iter();
    words.any(|word| CAUSE_WORDS.contains(&word.as_str()))
}

/// Returns whether a text of an agent can be an answer.
fn is_substantive(text: &str) -> bool {
    let head = text[..text.floor_char_boundary(NO_ANSWER_BYTES)].to_lowercase();
    let gives_up = NO_ANSWER_PHRASES.iter().any(|phrase| head.contains(phrase));
    !text.trim().is_empty()
        && !gives_up
        && !utterance::is_announcement(text)
        && !utterance::is_bare_question(text)
}

/// Raises an answer to at least `target` points, moves its question right behind it, and returns
/// the id and the score of the answer.
fn promote_answer(
    records: &mut Vec<ScoredRecord>,
    question: usize,
    answer: ScoredRecord,
    target: f64,
    is_same_problem: bool,
) -> (RecordId, f64) {
    let answered = AnsweredQuestion {
        id: records[question].row.id,
        text: records[question].row.text.clone(),
    };
    let confidence = records[question].confidence;
    let id = answer.row.id;
    let known = records.iter().position(|record| record.row.id == id);
    let at = known.unwrap_or(records.len());
    if known.is_none() {
        records.push(answer);
    }
    let answer = &mut records[at];
    if known.is_none() || answer.score < target + ANSWER_LEAD {
        answer.adjust("answers_question", 1.0, target + ANSWER_LEAD - answer.score);
    }
    if is_same_problem {
        // The same question was asked before, so the confidence in it holds for its answer.
        let confidence = confidence.max(SAME_QUESTION_CONFIDENCE);
        answer.answer_confidence = Some(answer.answer_confidence.unwrap_or(0.0).max(confidence));
    }
    let score = answer.score;
    answer.answered_question.get_or_insert(answered);
    place_behind_answer(&mut records[question], id, score);
    (id, score)
}

fn place_behind_answer(question: &mut ScoredRecord, answer: RecordId, score: f64) {
    question.answered_by = Some(answer);
    if question.score > score - ANSWER_LEAD {
        question.mark_as_echo(score - ANSWER_LEAD - question.score);
    }
}

/// Marks shell results as echoes where the command queried this memory.
fn demote_memory_output(lookup: &Lookup<'_>, records: &mut [ScoredRecord]) -> Result<()> {
    let is_shell_result = |record: &&mut ScoredRecord| {
        let tool = record.row.tool.as_deref().unwrap_or_default();
        let tool = tool.to_lowercase();
        let is_shell = SHELL_TOOL_NAMES.iter().any(|name| tool.contains(name));
        record.row.kind == RecordKind::ToolResult && is_shell
    };
    let results = records.iter_mut().take(HITS_MAX).filter(is_shell_result);
    for record in results.take(SHELL_RESULTS_MAX) {
        let row = record.candidate.row;
        let before: Vec<i64> = ((row - CALL_ROWS).max(1)..row).collect();
        let queries_memory = |call: &CandidateRow| {
            call.session == record.row.session && utterance::is_memory_call(call)
        };
        if lookup.candidate_rows(&before)?.iter().any(queries_memory) {
            record.mark_as_echo(ECHO_PENALTY);
        }
    }
    Ok(())
}
