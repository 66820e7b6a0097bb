//! Finds the records that may have to do with a prompt.
//!
//! [`find_prompt_hits`] is the search of [`recall`](crate::recall()), which takes it as a function:
//! a caller without time passes one that finds nothing.

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{RecordId, RecordKind, Trust};
use store::{CandidateRow, Lookup, Query, Store};

use super::excerpt::{EXCERPT_BYTES_MAX, best_excerpt};
use super::request::PromptRequest;
use super::rules::{self, PromptTopics};
use crate::gate::GateFeatures;
use crate::query::{RecallQuery, utterance};
use crate::retrieve::turns::{RowPosition, is_prompt};
use crate::score::answers::{self, AnsweredQuestion};
use crate::search::{RankedHit, RankedHits, search};

/// Hits of a workspace that are considered.
const HITS_MAX: usize = 12;
/// Texts that are read. A prompt waits for them, and 32 are enough for the gate.
const READ_MAX: usize = 32;
/// Bare questions among the hits. They are never shown, only listed in the explanation.
const QUESTIONS_MAX: usize = 3;
/// Reports of the same problem whose causes are looked for, and the best hits among which such a
/// report must be.
const REPORTS_MAX: usize = 2;
const REPORTED_AMONG: usize = 5;
/// Rules that are taken from turns.
const TURN_RULES_MAX: usize = 6;

/// Kinds of records that make sense outside their session.
const KINDS: &[RecordKind] = &[
    RecordKind::Prompt,
    RecordKind::Assistant,
    RecordKind::ToolResult,
    RecordKind::Error,
    RecordKind::Artifact,
    RecordKind::Summary,
];

/// The hits for a prompt, the best of each workspace first.
#[derive(Clone, Debug, Default)]
pub struct PromptHits {
    pub hits: Vec<RankedHit>,
    /// The confidence, between 0 and 1, that the best hit has to do with the prompt.
    pub confidence: f64,
    pub gate: GateFeatures,
}

/// Searches the workspaces of a request for its prompt.
pub fn find_prompt_hits(
    store: &Store,
    request: &PromptRequest,
    now: Timestamp,
) -> store::Result<PromptHits> {
    let topics = PromptTopics::of(&request.prompt);
    let words = StemmedText::parse(&request.prompt);
    let reports_problem = utterance::reports_problem(&request.prompt);
    let mut all = PromptHits::default();
    for workspace in request.workspaces() {
        let query = RecallQuery {
            query: Query {
                text: request.prompt.clone(),
                kinds: KINDS.to_vec(),
                workspace_key: Some(workspace.clone()),
                // More than are shown: questions asked before may be most of the hits.
                limit: READ_MAX,
                ..Query::default()
            },
            home_workspace: Some(workspace),
            exclude_session: request.session.clone(),
            read_max: Some(READ_MAX),
            plain_snippets: true,
            ..RecallQuery::default()
        };
        let mut ranked = search(store, &query, now)?;
        ranked
            .hits
            .retain(|hit| request.may_show_workspace(hit.hit.workspace.as_deref()));
        if ranked.confidence > all.confidence {
            (all.confidence, all.gate) = (ranked.confidence, ranked.gate);
        }
        let rules = find_turn_rules(store, &topics, &ranked)?;
        let causes = if reports_problem {
            find_reported_causes(store, &words, &ranked)?
        } else {
            Vec::new()
        };
        let mut hits = best_hits(ranked, &topics, &words);
        for rule in rules {
            match hits.iter_mut().find(|hit| hit.hit.id == rule.hit.id) {
                Some(known) => known.governs_prompt = true,
                None => hits.push(rule),
            }
        }
        for (report, cause) in causes {
            add_cause(&mut hits, report, cause);
        }
        all.hits.extend(hits);
    }
    Ok(all)
}

/// Returns the best hits, with long texts replaced by excerpts.
fn best_hits(ranked: RankedHits, topics: &PromptTopics, words: &StemmedText) -> Vec<RankedHit> {
    let mut questions = 0;
    let hits = ranked.hits.into_iter().filter(|hit| {
        let is_question =
            hit.hit.kind == RecordKind::Prompt && utterance::is_bare_question(&hit.text);
        questions += usize::from(is_question);
        !is_question || questions <= QUESTIONS_MAX
    });
    hits.take(HITS_MAX)
        .map(|mut hit| {
            hit.governs_prompt = rules::is_rule(hit.hit.kind, hit.trust, &hit.text)
                && topics.are_governed_by(&hit.text);
            if hit.text.len() > EXCERPT_BYTES_MAX {
                hit.text = best_excerpt(&hit.text, words);
            }
            hit
        })
        .collect()
}

/// Adds the cause of a reported problem, which takes the place of the report.
fn add_cause(hits: &mut Vec<RankedHit>, report: RecordId, cause: RankedHit) {
    let id = cause.hit.id;
    if let Some(report) = hits.iter_mut().find(|hit| hit.hit.id == report) {
        report.answered_by = Some(id);
    }
    match hits.iter_mut().find(|hit| hit.hit.id == id) {
        Some(known) => {
            let confidence = known.answer_confidence.unwrap_or(0.0);
            let confidence = confidence.max(cause.answer_confidence.unwrap_or(0.0));
            known.answer_confidence = Some(confidence);
            known.asked = known.asked.take().or(cause.asked);
        }
        None => hits.push(cause),
    }
}

/// Returns what was found out when the same problem was reported before, each with the id of the
/// report. The old report matches best, but a person who reports a problem again wants its cause.
fn find_reported_causes(
    store: &Store,
    words: &StemmedText,
    ranked: &RankedHits,
) -> store::Result<Vec<(RecordId, RankedHit)>> {
    let is_report = |hit: &&RankedHit| {
        hit.hit.kind == RecordKind::Prompt
            && hit.answered_by.is_none()
            && hit.trust == Trust::User
            && !rules::is_rule(hit.hit.kind, hit.trust, &hit.text)
            && !utterance::is_bare_question(&hit.text)
            && utterance::is_same_topic(words, &StemmedText::parse(&hit.text))
    };
    let best = ranked.hits.iter().take(REPORTED_AMONG);
    let reports: Vec<&RankedHit> = best.filter(is_report).take(REPORTS_MAX).collect();
    if reports.is_empty() {
        return Ok(Vec::new());
    }
    store.lookup(|lookup| {
        let mut causes = Vec::new();
        for report in reports {
            let Some(cause) = answers::find_cause(lookup, words, report.position)? else {
                continue;
            };
            let confidence = report.confidence.max(answers::SAME_QUESTION_CONFIDENCE);
            let cause = RankedHit {
                answer_confidence: Some(confidence),
                asked: Some(AnsweredQuestion {
                    id: report.hit.id,
                    text: report.text.clone(),
                }),
                ..RankedHit::unranked(cause, report.position.session)
            };
            causes.push((report.hit.id, cause));
        }
        Ok(causes)
    })
}

/// Returns the rules that were stated in a turn which touched a file or an identifier that the
/// prompt names, or in the prompt right after such a turn: people correct what they have just seen.
fn find_turn_rules(
    store: &Store,
    topics: &PromptTopics,
    ranked: &RankedHits,
) -> store::Result<Vec<RankedHit>> {
    if topics.files.is_empty() {
        return Ok(Vec::new());
    }
    let is_named = |hit: &&RankedHit| {
        topics.names_file(hit.hit.path.as_deref()) || topics.shares_name_with(&hit.text)
    };
    let named: Vec<&RankedHit> = ranked.hits.iter().filter(is_named).collect();
    store.lookup(|lookup| {
        let mut rules: Vec<RankedHit> = Vec::new();
        for hit in named {
            if rules.len() >= TURN_RULES_MAX {
                break;
            }
            let text = StemmedText::parse(&hit.text);
            for prompt in prompts_around(lookup, hit.position)? {
                let is_known = rules.iter().any(|rule| rule.position.row == prompt.row);
                let is_rule = rules::is_rule(prompt.kind, prompt.trust, &prompt.text);
                let words = StemmedText::parse(&prompt.text);
                if !is_known && is_rule && topics.shares_words_with(&text, &words) {
                    rules.push(RankedHit {
                        governs_prompt: true,
                        ..RankedHit::unranked(prompt, hit.position.session)
                    });
                }
            }
        }
        Ok(rules)
    })
}

/// Returns the prompt of a record's turn and the prompt that follows the turn.
fn prompts_around(lookup: &Lookup<'_>, position: RowPosition) -> store::Result<Vec<CandidateRow>> {
    let before = position.turn_before(lookup)?;
    let after = position.rows_after(lookup)?;
    let own = before.last().filter(|row| is_prompt(row));
    let next = after.iter().find(|row| is_prompt(row));
    let rows: Vec<i64> = own.into_iter().chain(next).map(|(row, _)| *row).collect();
    lookup.candidate_rows(&rows)
}
