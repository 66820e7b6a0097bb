//! Reads the texts of the best candidates.

use std::collections::HashMap;

use memory::RecordKind;
use store::{Lookup, Result, RowAttributes};

use super::ScoredRecord;
use super::estimate::{PlacedCandidate, choose_candidates};
use super::passages::PassageReader;
use crate::query::preferences::PreferenceCues;
use crate::query::{ParsedQuestion, RecallQuery, folded_words};
use crate::retrieve::exchanges::{
    AttributeChunks, ExchangeRole, exchange_roles, missing_conclusions,
};
use crate::retrieve::{Candidate, CandidateSet, TermSet, term_indices};

/// Candidates whose texts may be read.
const READ_MAX: usize = 200;
/// The same while a query is being typed, when each key waits for its results.
const TYPING_READ_MAX: usize = 40;
/// Prompts that hold this share of the query's weight may be repetitions of one prompt, of which
/// only a few are read.
const REPEATED_SHARE: f64 = 0.6;
const REPEATED_MAX: usize = 4;

/// The records that were read, and what is known of the candidates that they were chosen from.
#[derive(Debug)]
pub(crate) struct ReadRecords {
    pub(crate) records: Vec<ScoredRecord>,
    /// The share of candidates that people or models said.
    pub(crate) chat_share: f64,
}

/// Reads the best candidates and matches their texts with the query.
pub(crate) fn read_candidates(
    lookup: &Lookup<'_>,
    query: &RecallQuery,
    question: &ParsedQuestion,
    candidates: &CandidateSet,
    reader: &mut PassageReader<'_>,
) -> Result<ReadRecords> {
    let read_max = if query.typing {
        TYPING_READ_MAX
    } else {
        query.read_max.unwrap_or(READ_MAX)
    };
    let read_max = read_max.max(query.query.limit);
    let mut order = limit_repeated_prompts(candidates, read_max);
    let best: Vec<i64> = order.iter().map(|candidate| candidate.row).collect();
    let prompts = candidates.preference_prompts.iter();
    order.extend(prompts.filter(|prompt| !best.contains(&prompt.row)));
    let mut attributes = AttributeChunks::new(lookup);
    let conclusions = if question.asks && !query.typing {
        missing_conclusions(&mut attributes, &candidates.rows, &order)?
    } else {
        Vec::new()
    };
    order.extend(&conclusions);
    // Consecutive rows share compressed blocks: read in order, each block is opened once.
    order.sort_unstable_by_key(|candidate| candidate.row);
    let records_before = count_records_before(lookup, &order)?;
    let roles = if question.asks && !query.typing {
        exchange_roles(&mut attributes, &candidates.rows, &order)?
    } else {
        vec![ExchangeRole::default(); order.len()]
    };
    let places = order.into_iter().zip(records_before).zip(roles);
    let mut order: Vec<_> = places
        .map(|((candidate, records_before), exchange)| PlacedCandidate {
            candidate,
            records_before,
            exchange,
        })
        .collect();
    // Those that are read are chosen by their kinds too, so they would tell of another corpus.
    let chat_share = chat_share(&order);
    // A session is ranked by many of its records, not only by those that rank high themselves.
    if !query.rank_sessions {
        order = choose_candidates(question, candidates, order, chat_share, query.query.limit);
    }
    let numbers: Vec<i64> = order.iter().map(|placed| placed.candidate.row).collect();
    let rows = lookup.candidate_rows(&numbers)?;
    let mut order = order.into_iter();
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let found = order.find(|placed| placed.candidate.row == row.row);
        let Some(placed) = found else {
            break;
        };
        let PlacedCandidate {
            candidate,
            records_before,
            exchange,
        } = placed;
        let is_excluded = query.exclude_session.as_ref() == Some(&row.session)
            || (row.digest_only && !query.query.accepts_digests())
            || (!candidate.matches_any()
                && exchange.asked == 0
                && !PreferenceCues::detect(&row.text).any());
        let holds = |phrase: &Vec<String>| contains_phrase(&row.text, phrase);
        if is_excluded || !question.required_phrases.iter().all(holds) {
            continue;
        }
        let text_match = reader.match_text(&row.text);
        records.push(ScoredRecord {
            exchange,
            ..ScoredRecord::new(candidate.clone(), row, text_match, records_before)
        });
    }
    Ok(ReadRecords {
        records,
        chat_share,
    })
}

/// Returns the share of candidates that people or models said.
fn chat_share(candidates: &[PlacedCandidate<'_>]) -> f64 {
    let is_said = |placed: &&PlacedCandidate<'_>| {
        matches!(
            placed.candidate.attributes.kind,
            RecordKind::Prompt | RecordKind::Assistant
        )
    };
    let said = candidates.iter().filter(is_said).count();
    said as f64 / candidates.len().max(1) as f64
}

/// Returns the best `max` candidates. Of a prompt that was repeated word for word, a few keep their
/// rank and the others follow after everything else.
///
/// A question that was asked in fifty sessions would otherwise be all that is read. The texts are
/// not read yet, so prompts of one size that hold most of the query, and the same terms of it,
/// count as one prompt. They may differ, so none is left out while there is room.
fn limit_repeated_prompts(candidates: &CandidateSet, max: usize) -> Vec<&Candidate> {
    let idf = &candidates.idf;
    let sum: f64 = idf.iter().sum();
    let holds_most = |terms: TermSet| {
        let held: f64 = term_indices(terms).map(|at| idf[at]).sum();
        held >= REPEATED_SHARE * sum
    };
    let mut times: HashMap<(TermSet, u32), usize> = HashMap::new();
    let mut best = Vec::with_capacity(max.min(candidates.rows.len()));
    let mut repeated = Vec::new();
    for candidate in &candidates.rows {
        if best.len() == max {
            break;
        }
        let attributes = &candidate.attributes;
        if attributes.kind == RecordKind::Prompt && holds_most(candidate.matched) {
            let key = (candidate.matched, attributes.size_bytes);
            let times = times.entry(key).or_default();
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

/// Returns how many records of its session come right before each candidate, counted up to two.
fn count_records_before(lookup: &Lookup<'_>, order: &[&Candidate]) -> Result<Vec<usize>> {
    let rows_before = |distance: i64| {
        let rows: Vec<i64> = order.iter().map(|known| known.row - distance).collect();
        lookup.attributes(&rows)
    };
    let (first, second) = (rows_before(1)?, rows_before(2)?);
    let count = |((candidate, first), second): ((&&Candidate, &_), &_)| {
        let is_same = |before: &Option<RowAttributes>| {
            let session = candidate.attributes.session;
            before.as_ref().is_some_and(|row| row.session == session)
        };
        match (is_same(first), is_same(second)) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        }
    };
    Ok(order.iter().zip(&first).zip(&second).map(count).collect())
}

fn contains_phrase(text: &str, phrase: &[String]) -> bool {
    let words = folded_words(text);
    words.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_what_was_said() {
        let candidate = |(row, kind): (i64, &RecordKind)| {
            let attributes = RowAttributes {
                session: 1,
                day: 0,
                kind: *kind,
                size_bytes: 9000,
            };
            Candidate::new(row, attributes)
        };
        let kinds = [
            RecordKind::Prompt,
            RecordKind::Assistant,
            RecordKind::ToolUse,
            RecordKind::ToolResult,
            RecordKind::ToolResult,
        ];
        let candidates: Vec<_> = (1..).zip(&kinds).map(candidate).collect();
        let place = |candidate| PlacedCandidate {
            candidate,
            records_before: 1,
            exchange: ExchangeRole::default(),
        };
        let placed: Vec<_> = candidates.iter().map(place).collect();
        assert_eq!(chat_share(&placed), 0.4);
        assert_eq!(chat_share(&[]), 0.0);
    }
}
