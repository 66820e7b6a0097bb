//! The search itself: ask, find candidates, read the best, rank them, and say how sure that is.

use std::collections::HashMap;

use jiff::Timestamp;
use memory::RecordId;
use serde::Serialize;
use store::{Hit, Lookup, MatchLevel, Query, Result, Store};

use crate::answers::{self, AnsweredQuestion};
use crate::ask::{ParsedQuestion, RecallQuery};
use crate::candidates::{self, CandidateSet, TermSet};
use crate::gate::{self, Verdict};
use crate::meaning::EmbeddingTable;
use crate::passages::PassageReader;
use crate::rank::{self, ScorePart, ScoredRecord};
use crate::sessions::{self, RankedSession, ScoredSession};
use crate::wishes::PreferenceCues;

/// Candidates whose texts are read.
const READ_MAX: usize = 200;
/// Candidates that are weighed at a glance and may be listed behind those.
const CANDIDATES_SCORED_MAX: usize = 1000;
/// Sessions that are named.
const SESSIONS_MAX: usize = 50;
/// Hits of which it is known how sure the search would be without those before them.
const RATED_MAX: usize = 40;
/// Prompts with this share of the question's words may be repetitions, of which a few are read.
const REPEATED_SHARE: f64 = 0.6;
const REPEATED_MAX: usize = 4;
/// Terms of the index looked at for a word that is not in it.
const SPELLINGS_MAX: usize = 5000;

/// What was found, the best first.
#[derive(Clone, Debug, Serialize)]
pub struct RankedHits {
    /// How far the question had to be stretched.
    pub rung: MatchLevel,
    /// How sure it is, between 0 and 1, that the hits have to do with the question.
    pub confidence: f64,
    /// What to do with them when nobody asked.
    pub verdict: Verdict,
    pub hits: Vec<RankedHit>,
    pub sessions: Vec<RankedSession>,
    /// How many sessions can only be found by their titles and digests.
    pub digest_only_sessions: u64,
    /// What the confidence was made of.
    #[serde(skip)]
    pub gate: gate::GateFeatures,
}

/// A record that was found, and why.
#[derive(Clone, Debug, Serialize)]
pub struct RankedHit {
    #[serde(flatten)]
    pub hit: Hit,
    pub rung: MatchLevel,
    pub trust: memory::Trust,
    /// May hold what is not for everybody.
    pub sensitive: bool,
    #[serde(skip)]
    pub tags: Vec<String>,
    /// The whole of it.
    #[serde(skip)]
    pub text: String,
    /// What the score is made of, the weightiest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ScorePart>,
    #[serde(skip)]
    pub features: rank::RecordFeatures,
    /// The question that this answers, to be shown beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AnsweredQuestion>,
    /// The hit that answers this question, and shows it.
    #[serde(skip)]
    pub answered_by: Option<RecordId>,
    /// How sure the search would be if this were its best hit.
    #[serde(skip)]
    pub confidence: f64,
    /// How sure the search is that `asked` is the question asked now.
    #[serde(skip)]
    pub answer_confidence: Option<f64>,
    /// The record's row, and its session's number in the marks.
    #[serde(skip)]
    pub position: (i64, u32),
}

/// Finds what a question is about. Any text is a valid question.
pub fn search(store: &Store, ask: &RecallQuery, now: Timestamp) -> Result<RankedHits> {
    let mut question = ParsedQuestion::parse(&ask.query.text, now);
    if question.terms.is_empty() {
        return Ok(RankedHits::nothing(MatchLevel::NoWords));
    }
    store.lookup(|lookup| {
        let Some(scope) = lookup.scope(&ask.query)? else {
            return Ok(RankedHits::nothing(MatchLevel::Related));
        };
        let digest_only_sessions = if ask.query.accepts_digests() {
            lookup.digest_only_sessions(&ask.query)?
        } else {
            0
        };
        let weighed = CANDIDATES_SCORED_MAX.max(ask.query.limit);
        let mut found =
            candidates::find_candidates(lookup, &ask.query, &scope, &question, weighed)?;
        let mut is_fuzzy = false;
        if found.rows.is_empty() && correct_spelling(lookup, &mut question, &found)? {
            is_fuzzy = true;
            found = candidates::find_candidates(lookup, &ask.query, &scope, &question, weighed)?;
        }
        let ranked = rank_candidates(lookup, ask, &question, &found, is_fuzzy)?;
        Ok(RankedHits {
            digest_only_sessions,
            ..ranked
        })
    })
}

impl RankedHits {
    fn nothing(rung: MatchLevel) -> Self {
        Self {
            rung,
            confidence: 0.0,
            verdict: Verdict::Abstain,
            hits: Vec::new(),
            sessions: Vec::new(),
            digest_only_sessions: 0,
            gate: [0.0; gate::COUNT],
        }
    }
}

fn rank_candidates(
    lookup: &Lookup<'_>,
    ask: &RecallQuery,
    question: &ParsedQuestion,
    found: &CandidateSet,
    is_fuzzy: bool,
) -> Result<RankedHits> {
    let mut reader = PassageReader::new(question, EmbeddingTable::load());
    let read = read_candidates(lookup, ask, question, found, &mut reader)?;
    let mut ranked = rank::score_records(question, found, read, ask.home_workspace.as_deref());
    rank::apply_pins_and_usefulness(lookup, &mut ranked)?;
    let gate = rate_hits(&ask.query.text, question, found, &mut ranked);
    // A session is weighed by what was asked in it too, so this comes before questions move back.
    let sessions = sessions::rank_sessions(&ranked, found);
    answers::promote_answers(lookup, ask, question, &mut reader, &mut ranked)?;
    let confidence = best_confidence(&ranked);
    let sessions = load_session_names(lookup, &sessions)?;
    let wanted: TermSet = question
        .terms
        .iter()
        .enumerate()
        .filter(|(_, term)| term.is_topical())
        .fold(0, |bits, (at, _)| bits | 1 << at);
    let rung = |read: &ScoredRecord| {
        if is_fuzzy {
            MatchLevel::Fuzzy
        } else if wanted & !(read.text_match.exact | read.candidate.speaker) == 0 {
            MatchLevel::Exact
        } else if wanted & !read.matched_terms() == 0 {
            MatchLevel::Forms
        } else {
            MatchLevel::Related
        }
    };
    let words: Vec<String> = question
        .terms
        .iter()
        .map(|term| term.folded.clone())
        .collect();
    let hits: Vec<_> = ranked
        .into_iter()
        .take(ask.query.limit)
        .map(|read| {
            let tags = &read.detail.tags;
            RankedHit {
                hit: store::search::build_hit(&read.detail, read.score, &words),
                rung: rung(&read),
                trust: read.detail.trust,
                sensitive: tags.iter().any(|tag| tag == "sensitive"),
                parts: read.score_parts(),
                features: read.features,
                confidence: read.confidence,
                answer_confidence: read.answer_confidence,
                answered_by: read.answered_by,
                position: (read.candidate.row, read.candidate.mark.session),
                asked: read.answered_question,
                tags: read.detail.tags,
                text: read.detail.text,
            }
        })
        .collect();
    Ok(RankedHits {
        rung: hits
            .iter()
            .map(|hit| hit.rung)
            .min()
            .unwrap_or(MatchLevel::Related),
        confidence,
        verdict: gate::verdict(confidence),
        hits,
        sessions,
        digest_only_sessions: 0,
        gate,
    })
}

fn read_candidates(
    lookup: &Lookup<'_>,
    ask: &RecallQuery,
    question: &ParsedQuestion,
    found: &CandidateSet,
    reader: &mut PassageReader<'_>,
) -> Result<Vec<ScoredRecord>> {
    let read_max = ask.read_max.unwrap_or(READ_MAX).max(ask.query.limit);
    let best = limit_repeated_prompts(found, read_max);
    let mut order: Vec<&candidates::Candidate> = best.clone();
    let is_new = |wish: &&candidates::Candidate| best.iter().all(|known| known.row != wish.row);
    order.extend(found.preference_prompts.iter().filter(is_new));
    // Neighbours lie in the same blocks: read in the order of rows, each block is opened once.
    order.sort_unstable_by_key(|candidate| candidate.row);
    let rows: Vec<i64> = order.iter().map(|candidate| candidate.row).collect();
    let details = lookup.candidate_rows(&rows)?;
    let depths = count_records_before(lookup, &order)?;
    let mut read = Vec::with_capacity(details.len());
    let mut order = order.into_iter().zip(depths);
    for detail in details {
        let Some((candidate, depth)) = order.find(|(known, _)| known.row == detail.row) else {
            break;
        };
        if ask.exclude_session.as_ref() == Some(&detail.session) {
            continue;
        }
        if detail.digest_only && !ask.query.accepts_digests() {
            continue;
        }
        if !candidate.matches_any() && !PreferenceCues::detect(&detail.text).any() {
            continue;
        }
        let reading = reader.match_text(&detail.text);
        if !question
            .required_phrases
            .iter()
            .all(|phrase| contains_phrase(&detail.text, phrase))
        {
            continue;
        }
        read.push(ScoredRecord::new(candidate.clone(), detail, reading, depth));
    }
    Ok(read)
}

/// Returns the best candidates. Of a prompt that was repeated word for word a few come in their
/// place, and the others behind everything else.
///
/// A question that was asked in fifty sessions would otherwise be all that is read. Unread, prompts
/// that hold most of the question, the same words of it, and are equally long count as the same
/// prompt. They may be different ones, so none is left out while there is room.
fn limit_repeated_prompts(found: &CandidateSet, max: usize) -> Vec<&candidates::Candidate> {
    let sum: f64 = found.idf.iter().sum();
    let holds_most = |bits: TermSet| {
        let held = found.idf.iter().enumerate();
        let held = held.filter(|(at, _)| bits >> at & 1 == 1);
        held.map(|(_, idf)| idf).sum::<f64>() >= REPEATED_SHARE * sum
    };
    let mut seen: HashMap<(TermSet, u32), usize> = HashMap::new();
    let mut best = Vec::with_capacity(max.min(found.rows.len()));
    let mut repeated = Vec::new();
    for candidate in &found.rows {
        if best.len() == max {
            break;
        }
        let is_prompt = candidate.mark.kind == memory::RecordKind::Prompt;
        if is_prompt && holds_most(candidate.matched) {
            let times = seen
                .entry((candidate.matched, candidate.mark.size_bytes))
                .or_default();
            *times += 1;
            if *times > REPEATED_MAX {
                repeated.push(candidate);
                continue;
            }
        }
        best.push(candidate);
    }
    let room = max - best.len();
    best.extend(repeated.into_iter().take(room));
    best
}

/// Returns how many records of its session come just before each, two at most.
fn count_records_before(
    lookup: &Lookup<'_>,
    order: &[&candidates::Candidate],
) -> Result<Vec<usize>> {
    let before = |by: i64| -> Vec<i64> { order.iter().map(|known| known.row - by).collect() };
    let one = lookup.attributes(&before(1))?;
    let two = lookup.attributes(&before(2))?;
    let depth = |((known, one), two): ((&&candidates::Candidate, &Option<_>), &Option<_>)| {
        let is_same = |mark: &Option<store::RowAttributes>| {
            mark.as_ref()
                .is_some_and(|mark| mark.session == known.mark.session)
        };
        match (is_same(one), is_same(two)) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        }
    };
    Ok(order.iter().zip(&one).zip(&two).map(depth).collect())
}

/// Says whether the words of a phrase stand in a text one after the other.
fn contains_phrase(text: &str, phrase: &[String]) -> bool {
    let words = crate::ask::folded_words(text);
    words.windows(phrase.len()).any(|window| window == phrase)
}

fn load_session_names(
    lookup: &Lookup<'_>,
    sessions: &[ScoredSession],
) -> Result<Vec<RankedSession>> {
    let best = &sessions[..sessions.len().min(SESSIONS_MAX)];
    let numbers: Vec<u32> = best.iter().map(|weighed| weighed.session).collect();
    let names = lookup.session_names(&numbers)?;
    let named = names.into_iter().zip(best);
    Ok(named
        .map(|((id, title), weighed)| RankedSession {
            id,
            title,
            score: weighed.score,
            features: weighed.features,
        })
        .collect())
}

/// Sets of the best hits how sure the search would be if each were the best, and returns what
/// that was made of for the one that is.
fn rate_hits(
    text: &str,
    question: &ParsedQuestion,
    found: &CandidateSet,
    ranked: &mut [ScoredRecord],
) -> gate::GateFeatures {
    let mut best = [0.0; gate::COUNT];
    for at in 0..ranked.len().min(RATED_MAX) {
        let features = gate_features(text, question, found, &ranked[at..]);
        ranked[at].confidence = gate::confidence(&features);
        if at == 0 {
            best = features;
        }
    }
    best
}

/// Returns how sure the search is of the best hit that may be an answer.
fn best_confidence(ranked: &[ScoredRecord]) -> f64 {
    let rated = &ranked[..ranked.len().min(RATED_MAX)];
    let stated = rated.iter().find(|read| !read.is_question());
    let best = stated.or(rated.first());
    let own = best.map_or(0.0, |read| read.confidence);
    let units = rated.iter().filter_map(|read| read.answer_confidence);
    units.fold(own, f64::max)
}

fn gate_features(
    text: &str,
    question: &ParsedQuestion,
    found: &CandidateSet,
    ranked: &[ScoredRecord],
) -> gate::GateFeatures {
    let Some(best) = ranked.first() else {
        return [0.0; gate::COUNT];
    };
    let top = &ranked[..ranked.len().min(8)];
    let of = rank::place_of;
    let max = |name: &str| {
        let at = of(name);
        top.iter().map(|read| read.features[at]).fold(0.0, f64::max)
    };
    let tail = ranked
        .get(20.min(ranked.len() - 1))
        .map_or(0.0, |read| read.lexical);
    let session = best.candidate.mark.session;
    let agreeing = top
        .iter()
        .filter(|read| read.candidate.mark.session == session)
        .count();
    let idf_max = found.idf.iter().copied().fold(0.0, f64::max);
    let own = best.matched_terms();
    let matched = |(at, idf): (usize, &f64)| if own >> at & 1 == 1 { *idf } else { 0.0 };
    let rarest = found
        .idf
        .iter()
        .enumerate()
        .map(matched)
        .fold(0.0, f64::max);
    let matched: f64 = found.idf.iter().enumerate().map(matched).sum();
    let talking = ranked
        .iter()
        .filter(|read| {
            matches!(
                read.detail.kind,
                memory::RecordKind::Prompt | memory::RecordKind::Assistant
            )
        })
        .count();
    [
        max("words_share"),
        max("coverage"),
        max("coverage_near"),
        max("exact"),
        max("together"),
        max("meaning_raw"),
        max("alike"),
        best.features[of("coverage")],
        (best.lexical - tail) / best.lexical.max(1e-9),
        agreeing as f64 / top.len() as f64,
        (question.terms.len() as f64).ln(),
        idf_max / 10.0,
        rarest / 10.0,
        matched / 20.0,
        memory::words::StemmedText::parse(text)
            .stem_weight()
            .ln_1p(),
        found.df.iter().filter(|df| **df == 0).count() as f64 / found.df.len().max(1) as f64,
        f64::from(u8::from(best.candidate.speaker != 0)),
        best.features[of("meaning_raw")],
        talking as f64 / ranked.len() as f64,
        best.features[of("together")],
    ]
}

/// Replaces words that the index does not know by those it knows that are spelt nearly so.
fn correct_spelling(
    lookup: &Lookup<'_>,
    question: &mut ParsedQuestion,
    found: &CandidateSet,
) -> Result<bool> {
    let mut changed = false;
    for (term, df) in question.terms.iter_mut().zip(&found.df) {
        if *df > 0 || term.term.len() < 4 {
            continue;
        }
        let Some(first) = term.term.chars().next() else {
            continue;
        };
        let prefix: String = term.term.chars().take(2).collect();
        let mut near = lookup.terms_with_prefix(&prefix, SPELLINGS_MAX)?;
        near.extend(terms_with_other_second_letter(lookup, &term.term, first)?);
        let edits_max = if term.term.len() < 7 { 1 } else { 2 };
        let best = near
            .into_iter()
            .filter_map(|(known, rows)| {
                let edits = spelling_distance(&term.term, &known);
                (edits <= edits_max).then_some((edits, std::cmp::Reverse(rows), known))
            })
            .min();
        if let Some((_, _, known)) = best {
            term.folded.clone_from(&known);
            term.term = known;
            changed = true;
        }
    }
    Ok(changed)
}

/// Returns terms for a word whose second letter may be wrong.
fn terms_with_other_second_letter(
    lookup: &Lookup<'_>,
    term: &str,
    first: char,
) -> Result<Vec<(String, u64)>> {
    let Some(third) = term.chars().nth(2) else {
        return Ok(Vec::new());
    };
    let mut near = lookup.terms_with_prefix(&format!("{first}{third}"), SPELLINGS_MAX / 4)?;
    if let Some(second) = term.chars().nth(1) {
        near.extend(lookup.terms_with_prefix(&format!("{second}{first}"), SPELLINGS_MAX / 4)?);
    }
    Ok(near)
}

/// Counts the edits between a misspelt word and a stem; a misspelt ending was not stemmed away.
fn spelling_distance(word: &str, stem: &str) -> usize {
    let ending = word.len().saturating_sub(stem.len());
    let whole = edit_distance(word, stem);
    match word.get(..stem.len()) {
        Some(head) if stem.len() >= 5 && (1..=4).contains(&ending) => {
            whole.min(edit_distance(head, stem).saturating_add(1))
        }
        _ => whole,
    }
}

/// Counts the letters to add, take away, change or swap.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

impl From<&str> for RecallQuery {
    fn from(text: &str) -> Self {
        Self {
            query: Query {
                text: text.to_owned(),
                limit: 20,
                ..Query::default()
            },
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edit_distance("parser", "parser"), 0);
        assert_eq!(edit_distance("praser", "parser"), 1);
        assert_eq!(edit_distance("migartion", "migration"), 1);
        assert_eq!(edit_distance("cat", "catalog"), usize::MAX);
        assert_eq!(spelling_distance("migratoin", "migrat"), 1);
    }
}
