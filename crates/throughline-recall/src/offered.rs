//! Records that may have to do with a prompt.
//!
//! This is the seam to search: [`recall`](crate::recall::recall) takes any function that gives
//! [`Candidates`] for an occasion; [`find`] is the one over [`search`].

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{RecordId, RecordKind, SessionId, Trust};
use store::{CandidateRow, Lookup, Query, Store};

use crate::answers;
use crate::ask::RecallQuery;
use crate::echo;
use crate::gate;
use crate::occasion::PromptRequest;
use crate::rules::{self, PromptTopics};
use crate::search::{RankedHit, RankedHits, search};
use crate::turns;

/// How many records are looked at closely.
const CANDIDATES_MAX: usize = 12;
/// How many texts are read: a prompt does not wait for more.
const READ_MAX: usize = 32;
/// A record no longer than this is shown whole.
const WHOLE_BYTES_MAX: usize = 600;
/// Questions among them, which are only there to be explained.
const QUESTIONS_MAX: usize = 3;
/// Reports of the same trouble that are followed, and the hits they are looked for among.
const REPORTS_MAX: usize = 2;
const REPORTED_AMONG: usize = 5;
/// Turns that are looked through for the rule that was laid down in them.
const TURNS_MAX: usize = 6;

/// Kinds of records that tell something to somebody who was not there.
const KINDS: &[RecordKind] = &[
    RecordKind::Prompt,
    RecordKind::Assistant,
    RecordKind::ToolResult,
    RecordKind::Error,
    RecordKind::Artifact,
    RecordKind::Summary,
];

/// What a search found, best first.
#[derive(Clone, Debug, Default)]
pub struct PromptHits {
    pub hits: Vec<PromptHit>,
    /// How sure it is, from 0 to 1, that the best hit is about the prompt.
    pub confidence: f64,
    /// What the confidence was made of, for measuring.
    pub gate: gate::GateFeatures,
}

/// A record that may be shown.
#[derive(Clone, Debug)]
pub struct PromptHit {
    pub id: RecordId,
    pub kind: RecordKind,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub at: Option<Timestamp>,
    pub trust: Trust,
    pub tags: Vec<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    /// The part that would be shown.
    pub text: String,
    pub copy: bool,
    /// The search's score, good for comparing hits of one workspace only.
    pub score: f64,
    /// How sure the search would be, from 0 to 1, if this were its best hit.
    pub confidence: f64,
    /// How sure the search is that `asked` is what the prompt asks.
    pub answer_confidence: Option<f64>,
    /// The question that this answers.
    pub asked: Option<String>,
    /// It is shown beside its answer.
    pub is_answered: bool,
    /// It is a rule of the user, and a name or several words tie it to the prompt.
    pub governs_prompt: bool,
    /// The record's row, and its session's number in the marks; where it is in the store.
    pub position: (i64, u32),
}

/// Finds candidates by [`search`], in the workspaces of the occasion.
pub fn find_prompt_hits(
    store: &Store,
    occasion: &PromptRequest,
    now: Timestamp,
) -> store::Result<PromptHits> {
    let topics = PromptTopics::of(&occasion.prompt);
    let query = StemmedText::parse(&occasion.prompt);
    let mut all = PromptHits::default();
    for workspace in occasion.workspaces() {
        let mut ranked = search(
            store,
            &RecallQuery {
                query: Query {
                    text: occasion.prompt.clone(),
                    kinds: KINDS.to_vec(),
                    workspace_key: Some(workspace.clone()),
                    // Questions asked before may be most of what is found.
                    limit: READ_MAX,
                    ..Query::default()
                },
                home_workspace: Some(workspace),
                exclude_session: occasion.session.clone(),
                read_max: Some(READ_MAX),
            },
            now,
        )?;
        // The search takes a part of a workspace's name; here it must be the whole.
        let is_allowed =
            |hit: &RankedHit| occasion.may_show_workspace(hit.hit.workspace.as_deref());
        ranked.hits.retain(is_allowed);
        if ranked.confidence > all.confidence {
            (all.confidence, all.gate) = (ranked.confidence, ranked.gate);
        }
        let rules = find_turn_rules(store, &topics, &ranked)?;
        let causes = if echo::reports_problem(&occasion.prompt) {
            find_reported_causes(store, &query, &ranked)?
        } else {
            Vec::new()
        };
        let mut questions = 0;
        let hits = ranked.hits.into_iter().filter(|hit| {
            let is_question =
                hit.hit.kind == RecordKind::Prompt && echo::is_bare_question(&hit.text);
            questions += usize::from(is_question);
            !is_question || questions <= QUESTIONS_MAX
        });
        let hits = hits.take(CANDIDATES_MAX);
        let mut hits: Vec<PromptHit> = hits.map(|hit| prompt_hit(hit, &topics)).collect();
        for rule in rules {
            match hits.iter_mut().find(|hit| hit.id == rule.id) {
                Some(known) => known.governs_prompt = true,
                None => hits.push(rule),
            }
        }
        for (report, cause) in causes {
            if let Some(report) = hits.iter_mut().find(|hit| hit.id == report) {
                report.is_answered = true;
            }
            match hits.iter_mut().find(|hit| hit.id == cause.id) {
                Some(known) => {
                    let sure = known.answer_confidence.unwrap_or(0.0);
                    let sure = sure.max(cause.answer_confidence.unwrap_or(0.0));
                    known.answer_confidence = Some(sure);
                    known.asked = known.asked.take().or(cause.asked);
                }
                None => hits.push(cause),
            }
        }
        all.hits.extend(hits);
    }
    Ok(all)
}

/// Returns what was found out about the same trouble, with the prompt that reported it.
///
/// Whoever reports trouble again does not want the old report back, which matches best, but what
/// the trouble was.
fn find_reported_causes(
    store: &Store,
    query: &StemmedText,
    ranked: &RankedHits,
) -> store::Result<Vec<(RecordId, PromptHit)>> {
    let is_report = |hit: &&RankedHit| {
        hit.hit.kind == RecordKind::Prompt
            && hit.answered_by.is_none()
            && hit.trust == Trust::User
            && !rules::is_rule(hit.hit.kind, hit.trust, &hit.text)
            && !echo::is_bare_question(&hit.text)
            && echo::is_same_topic(query, &StemmedText::parse(&hit.text))
    };
    let best = ranked.hits.iter().take(REPORTED_AMONG);
    let reports: Vec<&RankedHit> = best.filter(is_report).take(REPORTS_MAX).collect();
    if reports.is_empty() {
        return Ok(Vec::new());
    }
    store.lookup(|lookup| {
        let mut causes = Vec::new();
        for report in reports {
            let Some(cause) = answers::find_cause(lookup, query, report.position)? else {
                continue;
            };
            let cause = PromptHit {
                answer_confidence: Some(report.confidence.max(answers::SAME_QUESTION_CONFIDENCE)),
                asked: Some(report.text.clone()),
                governs_prompt: false,
                ..stored_prompt_hit(cause, report)
            };
            causes.push((report.hit.id, cause));
        }
        Ok(causes)
    })
}

/// Returns the rules that were laid down in turns which touched a file or an identifier that the
/// prompt names, or in the prompt right after such a turn: people correct what they have just seen.
fn find_turn_rules(
    store: &Store,
    topics: &PromptTopics,
    ranked: &RankedHits,
) -> store::Result<Vec<PromptHit>> {
    if topics.files.is_empty() {
        return Ok(Vec::new());
    }
    let is_named = |hit: &&RankedHit| {
        topics.names_file(hit.hit.path.as_deref()) || topics.shares_name_with(&hit.text)
    };
    let named: Vec<&RankedHit> = ranked.hits.iter().filter(is_named).collect();
    store.lookup(|lookup| {
        let mut rules: Vec<PromptHit> = Vec::new();
        let mut prompts: Vec<i64> = Vec::new();
        for hit in named {
            if prompts.len() >= TURNS_MAX {
                break;
            }
            let text = StemmedText::parse(&hit.text);
            for prompt in prompts_around(lookup, hit.position)? {
                let is_known = prompts.contains(&prompt.row);
                let is_rule = rules::is_rule(prompt.kind, prompt.trust, &prompt.text);
                let touches = topics.shares_words_with(&text, &StemmedText::parse(&prompt.text));
                if !is_known && is_rule && touches {
                    prompts.push(prompt.row);
                    rules.push(stored_prompt_hit(prompt, hit));
                }
            }
        }
        Ok(rules)
    })
}

/// Returns the prompt of a record's turn and the one that follows the turn.
fn prompts_around(
    lookup: &Lookup<'_>,
    (row, session): (i64, u32),
) -> store::Result<Vec<CandidateRow>> {
    let is_prompt = |(_, mark): &&(i64, store::RowAttributes)| mark.kind == RecordKind::Prompt;
    let before = turns::turn_before(lookup, row, session)?;
    let after = turns::rows_after(lookup, row, session)?;
    let own = before.last().filter(is_prompt);
    let next = after.iter().find(is_prompt);
    let rows: Vec<i64> = own.into_iter().chain(next).map(|(row, _)| *row).collect();
    lookup.candidate_rows(&rows)
}

/// Makes a candidate of a record that a hit of the same session led to.
fn stored_prompt_hit(detail: CandidateRow, hit: &RankedHit) -> PromptHit {
    PromptHit {
        id: detail.id,
        kind: detail.kind,
        session: detail.session,
        title: detail.title,
        workspace: detail.workspace,
        at: detail.at,
        trust: detail.trust,
        tags: detail.tags,
        tool: detail.tool,
        path: detail.path,
        text: detail.text,
        copy: false,
        score: f64::NEG_INFINITY,
        confidence: 0.0,
        answer_confidence: None,
        asked: None,
        is_answered: false,
        governs_prompt: true,
        position: (detail.row, hit.position.1),
    }
}

fn prompt_hit(found: RankedHit, topics: &PromptTopics) -> PromptHit {
    let hit = found.hit;
    let is_tied =
        rules::is_rule(hit.kind, found.trust, &found.text) && topics.are_governed_by(&found.text);
    let text = if found.text.len() <= WHOLE_BYTES_MAX {
        found.text
    } else {
        hit.snippet.text
    };
    PromptHit {
        id: hit.id,
        kind: hit.kind,
        session: hit.session,
        title: hit.title,
        workspace: hit.workspace,
        at: hit.at,
        trust: found.trust,
        tags: found.tags,
        tool: hit.tool,
        path: hit.path,
        // Copies are not in the index.
        copy: false,
        text,
        score: hit.score,
        confidence: found.confidence,
        answer_confidence: found.answer_confidence,
        asked: found.asked.map(|asked| asked.text),
        is_answered: found.answered_by.is_some(),
        governs_prompt: is_tied,
        position: found.position,
    }
}
