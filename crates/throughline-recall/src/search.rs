//! The search: parses the query, finds candidates, reads and ranks the best, rates the result.

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{RecordId, Trust};
use serde::Serialize;
use store::{CandidateRow, Hit, Lookup, MatchLevel, Result, Store};

use crate::gate::GateFeatures;
use crate::query::spelling::correct_spelling;
use crate::query::{ParsedQuestion, QuestionTerm, RecallQuery};
use crate::retrieve::turns::RowPosition;
use crate::retrieve::{CandidateSet, TermSet, find_candidates};
use crate::score::answers::{self, AnsweredQuestion};
use crate::score::embedding::EmbeddingTable;
use crate::score::features::RecordFeatures;
use crate::score::passages::PassageReader;
use crate::score::reading::{self, ReadRecords};
use crate::score::sessions::{self, RankedSession};
use crate::score::{self, ScorePart, ScoredRecord};

/// Candidates that the first pass keeps.
const CANDIDATES_SCORED_MAX: usize = 1000;
/// Hits whose confidence is computed.
const RATED_MAX: usize = 40;
/// The tag of records that may contain a secret.
pub(crate) const SENSITIVE_TAG: &str = "sensitive";

/// The hits of a query, the best first.
#[derive(Clone, Debug, Serialize)]
pub struct RankedHits {
    /// How literally the best-matching hit matches.
    pub rung: MatchLevel,
    /// The confidence, between 0 and 1, that the hits have to do with the query.
    pub confidence: f64,
    pub hits: Vec<RankedHit>,
    /// Empty unless [`RecallQuery::rank_sessions`] is set.
    pub sessions: Vec<RankedSession>,
    /// How many sessions can only be found by their titles and digests.
    pub digest_only_sessions: u64,
    #[serde(skip)]
    pub gate: GateFeatures,
}

/// A record that was found.
#[derive(Clone, Debug, Serialize)]
pub struct RankedHit {
    #[serde(flatten)]
    pub hit: Hit,
    pub rung: MatchLevel,
    pub trust: Trust,
    /// The record may contain a secret.
    pub sensitive: bool,
    /// The text of the record. Hits for a prompt have their snippet here if the text is long.
    #[serde(skip)]
    pub text: String,
    /// The parts of the score, the largest first. Empty unless [`RecallQuery::explain`] is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ScorePart>,
    /// `None` unless [`RecallQuery::explain`] is set.
    #[serde(skip)]
    pub features: Option<Box<RecordFeatures>>,
    /// The question that this record answers, to be shown with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AnsweredQuestion>,
    /// The hit that answers this question and shows it.
    #[serde(skip)]
    pub answered_by: Option<RecordId>,
    /// The confidence of the search if this were its best hit.
    #[serde(skip)]
    pub confidence: f64,
    /// The confidence that `asked` is the question asked now.
    #[serde(skip)]
    pub(crate) answer_confidence: Option<f64>,
    /// The record is a rule of the user that applies to the prompt.
    #[serde(skip)]
    pub(crate) governs_prompt: bool,
    #[serde(skip)]
    pub(crate) position: RowPosition,
}

impl RankedHit {
    /// Returns a hit for a record that was not ranked. Its score is below every other.
    pub(crate) fn unranked(row: CandidateRow, session: u32) -> Self {
        Self {
            hit: store::search::build_hit(&row, f64::NEG_INFINITY, &[]),
            rung: MatchLevel::Related,
            trust: row.trust,
            sensitive: is_sensitive(&row),
            parts: Vec::new(),
            features: None,
            asked: None,
            answered_by: None,
            confidence: 0.0,
            answer_confidence: None,
            governs_prompt: false,
            position: RowPosition {
                row: row.row,
                session,
            },
            text: row.text,
        }
    }
}

fn is_sensitive(row: &CandidateRow) -> bool {
    row.tags.iter().any(|tag| tag == SENSITIVE_TAG)
}

/// Finds the records that a query is about. Any text is a valid query.
pub fn search(store: &Store, query: &RecallQuery, now: Timestamp) -> Result<RankedHits> {
    let parse = if query.typing {
        ParsedQuestion::parse_typing
    } else {
        ParsedQuestion::parse
    };
    let mut question = parse(&query.query.text, now);
    if question.terms.is_empty() {
        return Ok(RankedHits::empty(MatchLevel::NoWords));
    }
    store.lookup(|lookup| {
        let Some(scope) = lookup.scope(&query.query)? else {
            return Ok(RankedHits::empty(MatchLevel::Related));
        };
        let digest_only_sessions = if query.query.accepts_digests() {
            lookup.digest_only_sessions(&query.query)?
        } else {
            0
        };
        let max = CANDIDATES_SCORED_MAX.max(query.query.limit);
        let find = |question: &ParsedQuestion| {
            find_candidates(lookup, &query.query, &scope, question, max)
        };
        let mut candidates = find(&question)?;
        let mut is_corrected = false;
        if candidates.rows.is_empty() && correct_spelling(lookup, &mut question, &candidates.df)? {
            is_corrected = true;
            candidates = find(&question)?;
        }
        let ranked = rank_candidates(lookup, query, &question, &candidates, is_corrected)?;
        Ok(RankedHits {
            digest_only_sessions,
            ..ranked
        })
    })
}

impl RankedHits {
    fn empty(rung: MatchLevel) -> Self {
        Self {
            rung,
            confidence: 0.0,
            hits: Vec::new(),
            sessions: Vec::new(),
            digest_only_sessions: 0,
            gate: GateFeatures::default(),
        }
    }
}

fn rank_candidates(
    lookup: &Lookup<'_>,
    query: &RecallQuery,
    question: &ParsedQuestion,
    candidates: &CandidateSet,
    is_corrected: bool,
) -> Result<RankedHits> {
    // Words that mean the same cost as much as all else; a word that is being typed has no meaning.
    let embeddings = EmbeddingTable::load().filter(|_| !query.typing);
    let mut reader = PassageReader::new(question, embeddings);
    let ReadRecords {
        records,
        chat_share,
    } = reading::read_candidates(lookup, query, question, candidates, &mut reader)?;
    let home_workspace = query.home_workspace.as_deref();
    let mut ranked =
        score::score_records(question, candidates, records, chat_share, home_workspace);
    score::apply_pins_and_usefulness(lookup, &mut ranked)?;
    let gate = rate_hits(&query.query.text, question, candidates, &mut ranked);
    // Questions count for their session, so sessions are ranked before answers replace them.
    let sessions = if query.rank_sessions {
        sessions::rank_sessions(lookup, &ranked, candidates)?
    } else {
        Vec::new()
    };
    if !query.typing {
        answers::promote_answers(lookup, query, question, &mut reader, &mut ranked)?;
    }
    let confidence = best_confidence(&ranked);
    let terms = question.terms.iter().filter(|_| !query.plain_snippets);
    let words: Vec<String> = terms.map(QuestionTerm::highlight).collect();
    let hits: Vec<_> = ranked
        .into_iter()
        .take(query.query.limit)
        .map(|record| {
            let rung = match_level(question, &record, is_corrected);
            ranked_hit(record, rung, &words, query.explain)
        })
        .collect();
    let rung = hits.iter().map(|hit| hit.rung).min();
    Ok(RankedHits {
        confidence,
        hits,
        sessions,
        gate,
        ..RankedHits::empty(rung.unwrap_or(MatchLevel::Related))
    })
}

fn ranked_hit(
    record: ScoredRecord,
    rung: MatchLevel,
    words: &[String],
    explain: bool,
) -> RankedHit {
    RankedHit {
        hit: store::search::build_hit(&record.row, record.score, words),
        rung,
        trust: record.row.trust,
        sensitive: is_sensitive(&record.row),
        parts: if explain {
            record.score_parts()
        } else {
            Vec::new()
        },
        features: explain.then(|| Box::new(record.features)),
        confidence: record.confidence,
        answer_confidence: record.answer_confidence,
        answered_by: record.answered_by,
        governs_prompt: false,
        position: record.position(),
        asked: record.answered_question,
        text: record.row.text,
    }
}

/// Returns how literally a record matches the topical terms.
fn match_level(question: &ParsedQuestion, record: &ScoredRecord, is_corrected: bool) -> MatchLevel {
    let terms = question.terms.iter().enumerate();
    let topical = terms.filter(|(_, term)| term.is_topical());
    let wanted: TermSet = topical.fold(0, |set, (at, _)| set | 1 << at);
    if is_corrected {
        MatchLevel::Fuzzy
    } else if wanted & !(record.text_match.exact | record.candidate.speaker) == 0 {
        MatchLevel::Exact
    } else if wanted & !record.matched_terms() == 0 {
        MatchLevel::Forms
    } else {
        MatchLevel::Related
    }
}

/// Sets the confidence that the search would have if each of the best hits were its best, and
/// returns the features of the actual best.
fn rate_hits(
    text: &str,
    question: &ParsedQuestion,
    candidates: &CandidateSet,
    ranked: &mut [ScoredRecord],
) -> GateFeatures {
    let prompt_weight = StemmedText::parse(text).stem_weight();
    let mut best = GateFeatures::default();
    for at in 0..ranked.len().min(RATED_MAX) {
        let features = GateFeatures::compute(prompt_weight, question, candidates, &ranked[at..]);
        ranked[at].confidence = features.confidence();
        if at == 0 {
            best = features;
        }
    }
    best
}

/// Returns the confidence in the best hit that may be an answer.
fn best_confidence(ranked: &[ScoredRecord]) -> f64 {
    let rated = &ranked[..ranked.len().min(RATED_MAX)];
    let statement = rated.iter().find(|record| !record.is_question());
    let best = statement.or(rated.first());
    let own = best.map_or(0.0, |record| record.confidence);
    let answers = rated.iter().filter_map(|record| record.answer_confidence);
    answers.fold(own, f64::max)
}
