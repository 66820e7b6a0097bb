//! Corrects the spelling of terms that the index does not hold.

use std::cmp::Reverse;

use store::{Lookup, Result};

use super::ParsedQuestion;

/// Shorter terms have too many neighbours to be corrected.
const TERM_BYTES_MIN: usize = 4;
/// Terms shorter than this are corrected by one edit, longer ones by up to two.
const TWO_EDITS_BYTES_MIN: usize = 7;
/// Terms of the index that one prefix offers as corrections.
const SPELLINGS_MAX: usize = 5000;
/// The same for the rarer mistakes in the first two letters.
const SWAPPED_SPELLINGS_MAX: usize = SPELLINGS_MAX / 4;

/// Replaces each term that no row holds (its document frequency in `df` is 0) by the nearest term
/// of the index. Returns whether any was replaced.
pub(crate) fn correct_spelling(
    lookup: &Lookup<'_>,
    question: &mut ParsedQuestion,
    df: &[u64],
) -> Result<bool> {
    let mut changed = false;
    for (term, df) in question.terms.iter_mut().zip(df) {
        if *df > 0 || term.term.len() < TERM_BYTES_MIN {
            continue;
        }
        let edits_max = if term.term.len() < TWO_EDITS_BYTES_MIN {
            1
        } else {
            2
        };
        let nearest = similar_terms(lookup, &term.term)?
            .into_iter()
            .filter_map(|(known, rows)| {
                let edits = spelling_distance(&term.term, &known);
                (edits <= edits_max).then_some((edits, Reverse(rows), known))
            })
            .min();
        if let Some((_, _, known)) = nearest {
            term.folded.clone_from(&known);
            term.term = known;
            changed = true;
        }
    }
    Ok(changed)
}

/// Returns terms of the index that begin like a term, or would if one of its first two letters were
/// missing or both were swapped.
fn similar_terms(lookup: &Lookup<'_>, term: &str) -> Result<Vec<(String, u64)>> {
    let mut letters = term.chars();
    let (Some(first), Some(second)) = (letters.next(), letters.next()) else {
        return Ok(Vec::new());
    };
    let mut terms = lookup.terms_with_prefix(&format!("{first}{second}"), SPELLINGS_MAX)?;
    if let Some(third) = letters.next() {
        for prefix in [format!("{first}{third}"), format!("{second}{first}")] {
            terms.extend(lookup.terms_with_prefix(&prefix, SWAPPED_SPELLINGS_MAX)?);
        }
    }
    Ok(terms)
}

/// Counts the edits between a misspelt word and a stem. The stemmer does not recognise a misspelt
/// ending, so an ending of up to four letters counts as one edit.
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

/// Returns the optimal string alignment distance: letters to insert, delete, replace, or swap with
/// the next. Words whose lengths differ by more than two are not compared.
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
