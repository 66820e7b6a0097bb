//! Finds text that already says the same.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::similarity::{jaccard, shingles};

/// Text this similar is a duplicate.
const DUPLICATE: f64 = 0.8;
/// Text this similar is shown beside the guidance.
pub(super) const SIMILAR: f64 = 0.5;

/// A text to compare with: a catalog entry, or a file without our blocks.
#[derive(Clone, Debug)]
pub struct BloatText {
    pub source: String,
    pub text: String,
}

/// A text that already says the same, or nearly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BloatFinding {
    pub source: String,
    pub similarity: f64,
    /// It is a duplicate, so the guidance must not be added.
    pub duplicate: bool,
    /// The configuration of a linter enforces the rule.
    pub enforced: bool,
    pub text: String,
}

/// Returns the texts that are similar to the guidance, the most similar first. The reason after
/// "because" does not count: its figures differ.
pub fn find_bloat(guidance: &str, texts: &[BloatText]) -> Vec<BloatFinding> {
    let wanted = shingles(without_reason(guidance));
    let mut found: Vec<BloatFinding> = texts
        .iter()
        .flat_map(|text| {
            let parts = statements(&text.text).into_iter();
            parts.map(move |part| (text, part))
        })
        .filter(|(_, part)| !names_something_else(guidance, part))
        .filter_map(|(text, part)| {
            let similarity = jaccard(&wanted, &shingles(without_reason(&part)));
            (similarity >= SIMILAR).then(|| BloatFinding {
                source: text.source.clone(),
                similarity,
                duplicate: similarity >= DUPLICATE,
                enforced: false,
                text: part,
            })
        })
        .collect();
    found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    found.dedup_by(|a, b| a.source == b.source && a.similarity == b.similarity);
    found
}

/// Says whether both texts quote names and none of them is the same. Templates for two rules of a
/// linter differ only in the name of the rule, and are about different things.
fn names_something_else(one: &str, other: &str) -> bool {
    let quoted = |text: &str| -> BTreeSet<String> {
        let parts = without_reason(text).split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let (one, other) = (quoted(one), quoted(other));
    !one.is_empty() && !other.is_empty() && one.is_disjoint(&other)
}

/// Returns the list items and paragraphs of a text, and their sentences if there are several. A
/// statement may run over several lines.
fn statements(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim) {
        let starts = line.starts_with(['-', '*', '#', '+', '|', '>']);
        match parts.last_mut().filter(|_| is_open && !starts) {
            Some(part) if !line.is_empty() => {
                part.push(' ');
                part.push_str(line);
            }
            _ if !line.is_empty() => parts.push(line.to_owned()),
            _ => {}
        }
        is_open = !line.is_empty();
    }
    let sentences: Vec<String> = parts
        .iter()
        .filter(|part| part.contains(". "))
        .flat_map(|part| part.split_inclusive(". "))
        .map(|sentence| sentence.trim().to_owned())
        .collect();
    parts.extend(sentences);
    parts
}

fn without_reason(text: &str) -> &str {
    let text = text.trim_start_matches(['-', '*', ' ']);
    text.rfind(", because ").map_or(text, |at| &text[..at])
}
