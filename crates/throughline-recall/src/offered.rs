//! Records that may have to do with a prompt.
//!
//! This is the seam to search: [`recall`](crate::recall::recall) takes any function that gives
//! [`Candidates`] for an occasion; [`find`] is the one over [`search`].

use jiff::Timestamp;
use memory::words::Words;
use memory::{Kind, RecordId, SessionId, Trust};
use store::{Detail, Lookup, Query, Store};

use crate::answers;
use crate::ask::Ask;
use crate::echo;
use crate::gate;
use crate::occasion::Occasion;
use crate::rules::{self, PromptTopics};
use crate::search::{Ranked, RankedHit, search};
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
const KINDS: &[Kind] = &[
    Kind::Prompt,
    Kind::Assistant,
    Kind::ToolResult,
    Kind::Error,
    Kind::Artifact,
    Kind::Summary,
];

/// What a search found, best first.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub hits: Vec<Candidate>,
    /// How sure it is, from 0 to 1, that the best hit is about the prompt.
    pub confidence: f64,
    /// What the confidence was made of, for measuring.
    pub gate: gate::Features,
}

/// A record that may be shown.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: RecordId,
    pub kind: Kind,
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
    pub points: f64,
    /// How sure the search would be, from 0 to 1, if this were its best hit.
    pub confidence: f64,
    /// How sure the search is that `asked` is what the prompt asks.
    pub unit_confidence: Option<f64>,
    /// The question that this answers.
    pub asked: Option<String>,
    /// It is shown beside its answer.
    pub is_answered: bool,
    /// It is a rule of the user, and a name or several words tie it to the prompt.
    pub is_tied: bool,
    /// The record's row, and its session's number in the marks; where it is in the store.
    pub position: (i64, u32),
}

/// Finds candidates by [`search`], in the workspaces of the occasion.
pub fn find(store: &Store, occasion: &Occasion, now: Timestamp) -> store::Result<Candidates> {
    let topics = PromptTopics::of(&occasion.prompt);
    let query = Words::of(&occasion.prompt);
    let mut all = Candidates::default();
    for workspace in occasion.workspaces() {
        let mut ranked = search(
            store,
            &Ask {
                query: Query {
                    text: occasion.prompt.clone(),
                    kinds: KINDS.to_vec(),
                    workspace_key: Some(workspace.clone()),
                    // Questions asked before may be most of what is found.
                    limit: READ_MAX,
                    ..Query::default()
                },
                here: Some(workspace),
                not_from: occasion.session.clone(),
                read_max: Some(READ_MAX),
            },
            now,
        )?;
        // The search takes a part of a workspace's name; here it must be the whole.
        let is_allowed = |hit: &RankedHit| occasion.allows(hit.hit.workspace.as_deref());
        ranked.hits.retain(is_allowed);
        if ranked.confidence > all.confidence {
            (all.confidence, all.gate) = (ranked.confidence, ranked.gate);
        }
        let rules = rules_of_turns(store, &topics, &ranked)?;
        let causes = if echo::reports_trouble(&occasion.prompt) {
            causes_of_reports(store, &query, &ranked)?
        } else {
            Vec::new()
        };
        let mut questions = 0;
        let hits = ranked.hits.into_iter().filter(|hit| {
            let is_question = hit.hit.kind == Kind::Prompt && echo::asks(&hit.text);
            questions += usize::from(is_question);
            !is_question || questions <= QUESTIONS_MAX
        });
        let hits = hits.take(CANDIDATES_MAX);
        let mut hits: Vec<Candidate> = hits.map(|hit| candidate(hit, &topics)).collect();
        for rule in rules {
            match hits.iter_mut().find(|hit| hit.id == rule.id) {
                Some(known) => known.is_tied = true,
                None => hits.push(rule),
            }
        }
        for (report, cause) in causes {
            if let Some(report) = hits.iter_mut().find(|hit| hit.id == report) {
                report.is_answered = true;
            }
            match hits.iter_mut().find(|hit| hit.id == cause.id) {
                Some(known) => {
                    let sure = known.unit_confidence.unwrap_or(0.0);
                    let sure = sure.max(cause.unit_confidence.unwrap_or(0.0));
                    known.unit_confidence = Some(sure);
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
fn causes_of_reports(
    store: &Store,
    query: &Words,
    ranked: &Ranked,
) -> store::Result<Vec<(RecordId, Candidate)>> {
    let is_report = |hit: &&RankedHit| {
        hit.hit.kind == Kind::Prompt
            && hit.answered_by.is_none()
            && hit.trust == Trust::User
            && !rules::is_rule(hit.hit.kind, hit.trust, &hit.text)
            && !echo::asks(&hit.text)
            && echo::is_same_matter(query, &Words::of(&hit.text))
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
            let cause = Candidate {
                unit_confidence: Some(report.confidence.max(answers::SAME_CONFIDENCE)),
                asked: Some(report.text.clone()),
                is_tied: false,
                ..stored_candidate(cause, report)
            };
            causes.push((report.hit.id, cause));
        }
        Ok(causes)
    })
}

/// Returns the rules that were laid down in turns which touched a file or an identifier that the
/// prompt names, or in the prompt right after such a turn: people correct what they have just seen.
fn rules_of_turns(
    store: &Store,
    topics: &PromptTopics,
    ranked: &Ranked,
) -> store::Result<Vec<Candidate>> {
    if topics.files.is_empty() {
        return Ok(Vec::new());
    }
    let is_named = |hit: &&RankedHit| {
        topics.name_file(hit.hit.path.as_deref()) || topics.share_name_with(&hit.text)
    };
    let named: Vec<&RankedHit> = ranked.hits.iter().filter(is_named).collect();
    store.lookup(|lookup| {
        let mut rules: Vec<Candidate> = Vec::new();
        let mut prompts: Vec<i64> = Vec::new();
        for hit in named {
            if prompts.len() >= TURNS_MAX {
                break;
            }
            let text = Words::of(&hit.text);
            for prompt in prompts_around(lookup, hit.position)? {
                let is_known = prompts.contains(&prompt.row);
                let is_rule = rules::is_rule(prompt.kind, prompt.trust, &prompt.text);
                let touches = topics.share_words_with(&text, &Words::of(&prompt.text));
                if !is_known && is_rule && touches {
                    prompts.push(prompt.row);
                    rules.push(stored_candidate(prompt, hit));
                }
            }
        }
        Ok(rules)
    })
}

/// Returns the prompt of a record's turn and the one that follows the turn.
fn prompts_around(lookup: &Lookup<'_>, (row, session): (i64, u32)) -> store::Result<Vec<Detail>> {
    let is_prompt = |(_, mark): &&(i64, store::Mark)| mark.kind == Kind::Prompt;
    let before = turns::before(lookup, row, session)?;
    let after = turns::following(lookup, row, session)?;
    let own = before.last().filter(is_prompt);
    let next = after.iter().find(is_prompt);
    let rows: Vec<i64> = own.into_iter().chain(next).map(|(row, _)| *row).collect();
    lookup.details(&rows)
}

/// Makes a candidate of a record that a hit of the same session led to.
fn stored_candidate(detail: Detail, hit: &RankedHit) -> Candidate {
    Candidate {
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
        points: f64::NEG_INFINITY,
        confidence: 0.0,
        unit_confidence: None,
        asked: None,
        is_answered: false,
        is_tied: true,
        position: (detail.row, hit.position.1),
    }
}

fn candidate(found: RankedHit, topics: &PromptTopics) -> Candidate {
    let hit = found.hit;
    let is_tied =
        rules::is_rule(hit.kind, found.trust, &found.text) && topics.are_governed_by(&found.text);
    let text = if found.text.len() <= WHOLE_BYTES_MAX {
        found.text
    } else {
        hit.snippet.text
    };
    Candidate {
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
        points: hit.score,
        confidence: found.confidence,
        unit_confidence: found.unit_confidence,
        asked: found.asked.map(|asked| asked.text),
        is_answered: found.answered_by.is_some(),
        is_tied,
        position: found.position,
    }
}
