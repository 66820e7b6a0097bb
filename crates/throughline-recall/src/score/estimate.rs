//! Chooses the candidates whose texts are read, by estimates of how these texts match the query.
//!
//! Reading a text is most of the cost of a search: it is decompressed, split into words and
//! compared word by word. The index already knows which terms a record holds, its kind, its size
//! and its session. So candidates are first scored with a match that is estimated from these, by
//! the same features and weights as texts that were read, and the best are read up to a budget of
//! bytes. Nothing is stored for this, and a change of the weights changes both scores alike.

use memory::{RecordId, SessionId, Trust};
use store::{CandidateRow, Presence};

use super::passages::{Passage, READ_BYTES_MAX, TextMatch};
use super::{ScoredRecord, score_records};
use crate::query::{ParsedQuestion, TERMS_MAX};
use crate::retrieve::exchanges::ExchangeRole;
use crate::retrieve::{Candidate, CandidateSet, TermSet, term_indices};

/// The bytes of text that are read for one query. Chats of short messages stay below it, so all
/// their candidates are read; of the logs of tools it allows about fifty texts. With 250 kB,
/// answers in real logs and evidence in chats ranked the same; with 100 kB, long chats lost some.
/// Smaller budgets for keyword searches were tried too: `docs/SEARCH-RESULTS.md` has the table.
const READ_BUDGET_BYTES: u64 = 150_000;
/// What looking a record up costs, in bytes that could be read in that time.
const ROW_BYTES: u32 = 600;

/// The bytes of an average word with the space after it.
const WORD_BYTES: u32 = 6;
/// The words of an average passage.
const PASSAGE_WORDS: u32 = 55;
/// How fast the terms of a text spread over its passages: the best of `n` passages is taken to hold
/// the share `n^-SPREAD` of them.
const SPREAD: f64 = 0.3;
/// The similarity to expect of the most similar of ten words to a term that does not occur, and
/// what it gains with the logarithm of the number of words.
const SIMILARITY_BASE: f64 = 0.25;
const SIMILARITY_GAIN: f64 = 0.05;
/// Texts of more words are taken to name a time or a number.
const TIME_WORDS_MIN: u32 = 20;

/// A candidate and its place in its session.
#[derive(Clone, Debug)]
pub(crate) struct PlacedCandidate<'a> {
    pub candidate: &'a Candidate,
    /// How many records of the session come right before it, counted up to two.
    pub records_before: usize,
    pub exchange: ExchangeRole,
}

/// Returns the candidates to read, in their given order: all where the budget allows, otherwise
/// those whose estimated scores are the highest. At least `min` are returned.
pub(crate) fn choose_candidates<'a>(
    question: &ParsedQuestion,
    candidates: &CandidateSet,
    pool: Vec<PlacedCandidate<'a>>,
    chat_share: f64,
    min: usize,
) -> Vec<PlacedCandidate<'a>> {
    let bytes: u64 = pool.iter().map(|placed| read_cost(placed.candidate)).sum();
    if pool.len() <= min || bytes <= READ_BUDGET_BYTES {
        return pool;
    }
    let estimate = |placed: &PlacedCandidate<'_>| {
        let candidate = placed.candidate;
        let text_match = estimate_match(question, &candidates.idf, candidate);
        let row = unread_row(candidate);
        ScoredRecord {
            exchange: placed.exchange,
            ..ScoredRecord::new(candidate.clone(), row, text_match, placed.records_before)
        }
    };
    let estimates = pool.iter().map(estimate).collect();
    let ranked = score_records(question, candidates, estimates, chat_share, None);
    let mut spent = 0;
    let best = ranked.iter().enumerate().take_while(|(at, record)| {
        spent += read_cost(&record.candidate);
        *at < min || spent <= READ_BUDGET_BYTES
    });
    let mut chosen: Vec<i64> = best.map(|(_, record)| record.candidate.row).collect();
    chosen.sort_unstable();
    let is_chosen =
        |placed: &PlacedCandidate<'_>| chosen.binary_search(&placed.candidate.row).is_ok();
    pool.into_iter().filter(is_chosen).collect()
}

fn read_cost(candidate: &Candidate) -> u64 {
    let read_max = u32::try_from(READ_BYTES_MAX).unwrap_or(u32::MAX);
    u64::from(candidate.attributes.size_bytes.min(read_max) + ROW_BYTES)
}

/// Returns a record of which only the kind is known.
fn unread_row(candidate: &Candidate) -> CandidateRow {
    CandidateRow {
        row: candidate.row,
        id: RecordId::from_bytes([0; 16]),
        kind: candidate.attributes.kind,
        trust: Trust::Model,
        at: None,
        session: SessionId::new(String::new()),
        title: None,
        workspace: None,
        tool: None,
        path: None,
        speaker: (candidate.speaker != 0).then(String::new),
        tags: Vec::new(),
        metadata: None,
        submitted_id: None,
        presence: Presence::InSource,
        text: String::new(),
        digest_only: false,
    }
}

/// Estimates how a text matches the query. Where a text may match or not, it is taken to match:
/// reading it will tell.
fn estimate_match(question: &ParsedQuestion, idf: &[f64], candidate: &Candidate) -> TextMatch {
    let words = candidate.attributes.size_bytes / WORD_BYTES + 1;
    let passage_count = words.div_ceil(PASSAGE_WORDS);
    let passage_words = words.min(PASSAGE_WORDS);
    let matched = candidate.matched;
    let best = best_passage_terms(matched, idf, passage_count);
    let mut passages = vec![passage_with(best, passage_words)];
    if passage_count > 1 {
        passages.push(passage_with(matched & !best, passage_words));
    }
    let may_name = words > TIME_WORDS_MIN;
    TextMatch {
        passages,
        matched,
        exact: matched,
        adjacent: best & best << 1,
        similarity: likely_similarity(matched, idf.len(), words),
        has_time: question.asks_for_time && may_name,
        has_number: question.asks_for_count && may_name,
        words,
        ..TextMatch::default()
    }
}

/// Returns the terms that the best passage is likely to hold: the rarest, and the fewer of the
/// others the more passages the text has.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value lies between 1 and the number of terms"
)]
fn best_passage_terms(matched: TermSet, idf: &[f64], passages: u32) -> TermSet {
    let share = f64::from(passages).powf(-SPREAD);
    let count = (f64::from(matched.count_ones()) * share).round().max(1.0) as usize;
    let mut terms: Vec<usize> = term_indices(matched).collect();
    terms.sort_by(|a, b| idf[*b].total_cmp(&idf[*a]));
    let rarest = terms.into_iter().take(count);
    rarest.fold(0, |set, at| set | 1 << at)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a similarity needs no precision"
)]
fn likely_similarity(matched: TermSet, terms: usize, words: u32) -> [f32; TERMS_MAX] {
    let likely = SIMILARITY_BASE + SIMILARITY_GAIN * (f64::from(words) / 10.0).ln_1p();
    std::array::from_fn(|at| {
        let is_missing = at < terms && matched >> at & 1 == 0;
        if is_missing { likely as f32 } else { 0.0 }
    })
}

fn passage_with(terms: TermSet, words: u32) -> Passage {
    let mut passage = Passage {
        words,
        ..Passage::default()
    };
    for at in term_indices(terms) {
        passage.counts[at] = 1;
    }
    passage
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use memory::RecordKind;
    use store::RowAttributes;

    use super::*;

    fn candidate(row: i64, matched: TermSet, size_bytes: u32) -> Candidate {
        let attributes = RowAttributes {
            session: u32::try_from(row).unwrap(),
            day: 0,
            kind: RecordKind::ToolResult,
            size_bytes,
        };
        Candidate {
            matched,
            ..Candidate::new(row, attributes)
        }
    }

    fn chosen(all: &[Candidate], min: usize) -> Vec<i64> {
        let question = ParsedQuestion::parse("parser newline crash", Timestamp::UNIX_EPOCH);
        let candidates = CandidateSet {
            idf: vec![3.0; question.terms.len()],
            ..CandidateSet::default()
        };
        let place = |candidate| PlacedCandidate {
            candidate,
            records_before: 1,
            exchange: ExchangeRole::default(),
        };
        let pool = all.iter().map(place).collect();
        let chosen = choose_candidates(&question, &candidates, pool, 0.5, min);
        chosen.iter().map(|placed| placed.candidate.row).collect()
    }

    #[test]
    fn short_texts_are_all_read() {
        let all: Vec<_> = (0..200).map(|row| candidate(row, 1, 100)).collect();
        assert_eq!(chosen(&all, 20).len(), 200);
    }

    #[test]
    fn of_long_texts_the_best_are_read_in_their_order() {
        let terms = |row: i64| if row % 10 == 7 { 0b111 } else { 0b1 };
        let all: Vec<_> = (0..200)
            .map(|row| candidate(row, terms(row), 5000))
            .collect();
        let chosen = chosen(&all, 20);
        assert!((20..60).contains(&chosen.len()), "{}", chosen.len());
        assert!(chosen.is_sorted());
        assert!((0..20).all(|nth| chosen.contains(&(10 * nth + 7))));
    }

    #[test]
    fn as_many_as_are_shown_are_read_whatever_they_cost() {
        let all: Vec<_> = (0..200).map(|row| candidate(row, 1, 12_000)).collect();
        assert_eq!(chosen(&all, 100).len(), 100);
    }

    #[test]
    fn the_best_passage_of_a_long_text_holds_its_rarest_terms() {
        let idf = [1.0, 5.0, 2.0, 4.0];
        assert_eq!(best_passage_terms(0b1111, &idf, 1), 0b1111);
        assert_eq!(best_passage_terms(0b1111, &idf, 16), 0b1010);
        assert_eq!(best_passage_terms(0, &idf, 16), 0);
    }
}
