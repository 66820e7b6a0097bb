//! Fits the weights by which statements of the user are recognized.
//!
//! The program reads the labelled sentences in `src/facts/testdata/`, leaves out one part of
//! `statements.tsv` after the other to measure how well the weights generalize, fits the weights
//! to all parts, measures them on `heldout.tsv`, and prints the figures. With `--write` it replaces
//! `src/facts/stated/weights.tsv`, with `--quick` it leaves out no part, and with `--errors` it
//! prints the sentences of `statements.tsv` that are judged wrongly when their part is left out. It
//! never prints sentences of the held-out set.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for the terminal that cannot go on should fail"
)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use throughline_distill::facts::stated::classifier::{
    FeatureWeights, KINDS, KindWeights, PROBABILITY_MIN, classify, parse_weights,
};
use throughline_distill::facts::stated::{is_momentary, sentence_features};

/// A feature of fewer sentences is not fitted.
const SENTENCES_MIN: usize = 2;
const ROUNDS: usize = 150;
const RATE: f64 = 0.5;
/// The strength of the regularization. It is divided by how much more frequent a feature is in
/// statements than elsewhere, so that features that are common in both stay near zero.
const REGULARIZATION: f64 = 2.0;
/// Features with smaller weights are left out.
const WEIGHT_MIN: f64 = 0.04;
/// The classes of the fit: no statement, and the kinds.
const CLASSES: usize = KINDS.len() + 1;

/// A labelled sentence.
struct LabelledSentence {
    part: String,
    class: usize,
    text: String,
    features: Vec<String>,
}

fn main() {
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/facts");
    let sentences = read_sentences(&facts.join("testdata/statements.tsv"));
    let heldout = read_sentences(&facts.join("testdata/heldout.tsv"));
    let has_flag = |name: &str| std::env::args().any(|argument| argument == name);
    let mut parts: Vec<_> = sentences.iter().map(|sentence| &sentence.part).collect();
    parts.dedup();

    let mut judged = Vec::new();
    if has_flag("--quick") {
        parts.clear();
    }
    for part in &parts {
        let rest = sentences.iter().filter(|sentence| sentence.part != **part);
        let weights = fit(&rest.collect::<Vec<_>>());
        let own = sentences.iter().filter(|sentence| sentence.part == **part);
        let own: Vec<_> = own.map(|sentence| judge(sentence, &weights)).collect();
        println!("{part:30} {}", figures(&own, PROBABILITY_MIN));
        judged.extend(own);
    }
    let thresholds: &[f64] = if judged.is_empty() {
        &[]
    } else {
        &[0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9]
    };
    for &probability in thresholds {
        println!(
            "one part left out, from {probability:.2}: {}",
            figures(&judged, probability)
        );
    }
    if has_flag("--errors") {
        print_errors(&mut judged);
    }
    let table = write_weights(&fit(&sentences.iter().collect::<Vec<_>>()));
    let weights = parse_weights(&table);
    let judged: Vec<_> = heldout
        .iter()
        .map(|sentence| judge(sentence, &weights))
        .collect();
    println!("held out: {}", figures(&judged, PROBABILITY_MIN));
    println!("{} features, {} kB", weights.len(), table.len() >> 10);
    if has_flag("--write") {
        fs::write(facts.join("stated/weights.tsv"), table).expect("weights.tsv can be written");
    }
}

fn read_sentences(path: &Path) -> Vec<LabelledSentence> {
    let mut part = String::new();
    let mut sentences = Vec::new();
    for line in fs::read_to_string(path)
        .expect("the labelled sentences exist")
        .lines()
    {
        if let Some(name) = line.strip_prefix("# part: ") {
            name.clone_into(&mut part);
        }
        let Some((label, text)) = line.split_once('\t') else {
            continue;
        };
        let kind = KINDS.iter().position(|kind| kind.name() == label);
        // Most corrections repeat a preference; their kind is known by their first words.
        let class = match (label, kind) {
            ("-", _) => 0,
            ("correction", _) => 1,
            (_, kind) => 1 + kind.expect("the label is a kind of fact"),
        };
        sentences.push(LabelledSentence {
            part: part.clone(),
            class,
            text: text.to_owned(),
            features: sentence_features(text),
        });
    }
    sentences
}

/// A sentence, whether it is a statement, and the probability that the weights give it.
struct JudgedSentence<'a> {
    text: &'a str,
    is_statement: bool,
    probability: f64,
}

fn judge<'a>(sentence: &'a LabelledSentence, weights: &FeatureWeights) -> JudgedSentence<'a> {
    let probability = classify(&sentence.features, weights).0;
    JudgedSentence {
        text: &sentence.text,
        is_statement: sentence.class > 0,
        probability: if is_momentary(&sentence.text) {
            0.0
        } else {
            probability
        },
    }
}

fn figures(judged: &[JudgedSentence<'_>], probability: f64) -> String {
    let count = |is_found: bool, is_statement: bool| {
        let hits = judged.iter().filter(|sentence| {
            (sentence.probability >= probability) == is_found
                && sentence.is_statement == is_statement
        });
        hits.count() as f64
    };
    let (found, invented, missed) = (count(true, true), count(true, false), count(false, true));
    format!(
        "{:4} sentences, precision {:.3}, recall {:.3}",
        judged.len(),
        found / (found + invented),
        found / (found + missed)
    )
}

fn print_errors(judged: &mut [JudgedSentence<'_>]) {
    judged.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    for sentence in judged {
        let is_found = sentence.probability >= PROBABILITY_MIN;
        if is_found != sentence.is_statement {
            let error = if is_found { "invented" } else { "missed" };
            println!("{error} {:.2}: {}", sentence.probability, sentence.text);
        }
    }
}

/// Fits a multinomial logistic regression by gradient descent with a rate per weight.
fn fit(sentences: &[&LabelledSentence]) -> FeatureWeights {
    // The order of the features must not differ between two runs, or the weights would.
    let mut counts: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    let mut totals = [0.0; 2];
    for sentence in sentences {
        let side = usize::from(sentence.class > 0);
        totals[side] += 1.0;
        for name in &sentence.features {
            counts.entry(name).or_default()[side] += 1.0;
        }
    }
    counts.retain(|_, [none, some]| *none + *some >= SENTENCES_MIN as f64);
    let names: Vec<&str> = counts.keys().copied().collect();
    let index: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, at))
        .collect();
    let share = |count: f64, side: usize| (count + 1.0) / (totals[side] + 2.0);
    let penalties: Vec<f64> = names
        .iter()
        .map(|name| {
            let [none, some] = counts[name];
            let ratio = (share(some, 1) / share(none, 0)).ln().abs();
            REGULARIZATION / (ratio + 0.05)
        })
        .collect();
    let rows: Vec<(usize, Vec<usize>)> = sentences
        .iter()
        .map(|sentence| {
            let known = sentence
                .features
                .iter()
                .filter_map(|name| index.get(name.as_str()).copied());
            (sentence.class, known.collect())
        })
        .collect();
    let weights = descend(&rows, &penalties);
    let relative =
        |row: &[f64; CLASSES]| -> KindWeights { std::array::from_fn(|at| row[at + 1] - row[0]) };
    let mut table: FeatureWeights = names
        .iter()
        .zip(&weights)
        .map(|(name, row)| ((*name).to_owned(), relative(row)))
        .collect();
    table.insert(String::new(), relative(&weights[names.len()]));
    table
}

/// Returns the weights of the features, and after them those of the bias.
fn descend(rows: &[(usize, Vec<usize>)], penalties: &[f64]) -> Vec<[f64; CLASSES]> {
    let bias = penalties.len();
    let mut weights = vec![[0.0; CLASSES]; bias + 1];
    let mut squares = vec![[1e-6; CLASSES]; bias + 1];
    for _ in 0..ROUNDS {
        let mut gradient = vec![[0.0; CLASSES]; bias + 1];
        for (class, features) in rows {
            let features = || features.iter().copied().chain([bias]);
            let mut odds = [0.0; CLASSES];
            for feature in features() {
                for (odd, weight) in odds.iter_mut().zip(&weights[feature]) {
                    *odd += weight;
                }
            }
            odds = odds.map(f64::exp);
            let total: f64 = odds.iter().sum();
            for feature in features() {
                for at in 0..CLASSES {
                    gradient[feature][at] += odds[at] / total - f64::from(u8::from(at == *class));
                }
            }
        }
        for feature in 0..=bias {
            let penalty = penalties.get(feature).copied().unwrap_or_default();
            for at in 0..CLASSES {
                let slope = gradient[feature][at] + penalty * weights[feature][at];
                squares[feature][at] += slope * slope;
                weights[feature][at] -= RATE * slope / squares[feature][at].sqrt();
            }
        }
    }
    weights
}

/// Returns the table of weights as text, sorted by name.
fn write_weights(weights: &FeatureWeights) -> String {
    let sorted: BTreeMap<_, _> = weights.iter().collect();
    let mut table = String::new();
    for (name, row) in sorted {
        if name.is_empty() || row.iter().any(|weight| weight.abs() >= WEIGHT_MIN) {
            let hundredths = row.map(|weight| (weight * 100.0).round());
            let _ = writeln!(
                table,
                "{name}\t{}\t{}\t{}",
                hundredths[0], hundredths[1], hundredths[2]
            );
        }
    }
    table
}
