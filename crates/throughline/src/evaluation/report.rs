//! Runs the questions of folders and prints what came of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use crate::evaluation::corpus::{self, Library, Question, Row};
use crate::evaluation::measures::{Means, percentile};
use crate::evaluation::silence::EVERYDAY;
use crate::output::say;

/// How deep an order is looked at.
const DEPTH: usize = 200;
/// Rows handed in at once.
const BATCH_ROWS: usize = 500;
/// What a prompt may be given: evidence below that place is as good as not found.
const INJECTED_MAX: usize = 8;
const MEASURES: [&str; 6] = [
    "recall@5",
    "recall@10",
    "recall@20",
    "hit@1",
    "mrr",
    "ndcg@10",
];

/// The questions of one folder, answered.
#[derive(Debug, Default)]
struct Answers {
    name: String,
    records: Means,
    sessions: Means,
    took_ms: Vec<f64>,
    /// Confidence of questions whose evidence is among what a prompt is given.
    answered: Vec<f64>,
}

/// Loads each folder's corpus, asks its questions and the others', and returns the report.
pub fn run(folders: &[PathBuf], home: &Path, now: Timestamp) -> anyhow::Result<String> {
    let mut sets = Vec::new();
    for folder in folders {
        let name = folder
            .file_name()
            .map_or("?".into(), |name| name.to_string_lossy().into_owned());
        let mut library = Library::open(&home.join(&name))?;
        let (rows, seconds) = load(&mut library, folder)?;
        say(&format!("{name}: {rows} records in {seconds:.1} s"));
        let mut questions = Vec::new();
        corpus::read(folder, "queries", |question: Question| {
            questions.push(question);
            Ok(())
        })?;
        sets.push((name, library, questions));
    }
    let mut answers = Vec::new();
    for (name, library, questions) in &sets {
        answers.push(ask(name, library, questions, now)?);
    }
    let unrelated = unrelated(&sets, now)?;
    Ok(tables(&mut answers, &unrelated))
}

fn load(library: &mut Library, folder: &Path) -> anyhow::Result<(usize, f64)> {
    let start = Instant::now();
    let mut count = 0;
    let mut rows: Vec<Row> = Vec::new();
    corpus::read(folder, "corpus", |row: Row| {
        count += 1;
        // A batch holds rows of one namespace, as a log holds one workspace's.
        if rows.len() == BATCH_ROWS || rows.last().is_some_and(|last| last.ns != row.ns) {
            library.add(std::mem::take(&mut rows))?;
        }
        rows.push(row);
        Ok(())
    })?;
    library.add(rows)?;
    library.flush()?;
    Ok((count, start.elapsed().as_secs_f64()))
}

fn ask(
    name: &str,
    library: &Library,
    questions: &[Question],
    now: Timestamp,
) -> anyhow::Result<Answers> {
    let mut answers = Answers {
        name: name.to_owned(),
        ..Answers::default()
    };
    for question in questions {
        if question.gold.is_empty() && question.gold_sessions.is_empty() {
            continue;
        }
        let start = Instant::now();
        let ranked = library.ask(&question.ns, &question.query, DEPTH, now)?;
        answers.took_ms.push(start.elapsed().as_secs_f64() * 1000.0);
        let ids: Vec<&str> = ranked
            .hits
            .iter()
            .filter_map(|hit| library.name(hit.hit.id))
            .collect();
        let sessions: Vec<&str> = ranked
            .sessions
            .iter()
            .map(|session| session.id.native())
            .collect();
        let mut is_answered = false;
        if !question.gold.is_empty() {
            answers.records.add(&ids, &question.gold);
            is_answered |= among(&ids, &question.gold);
        } else {
            let top: Vec<&str> = ranked
                .hits
                .iter()
                .map(|hit| hit.hit.session.native())
                .collect();
            is_answered |= among(&top, &question.gold_sessions);
        }
        if !question.gold_sessions.is_empty() {
            answers.sessions.add(&sessions, &question.gold_sessions);
        }
        if is_answered {
            answers.answered.push(ranked.confidence);
        }
    }
    Ok(answers)
}

fn among(found: &[&str], gold: &[String]) -> bool {
    found
        .iter()
        .take(INJECTED_MAX)
        .any(|id| gold.iter().any(|gold| gold == id))
}

/// Asks each corpus what others' questions ask, and what people type every day.
fn unrelated(
    sets: &[(String, Library, Vec<Question>)],
    now: Timestamp,
) -> anyhow::Result<BTreeMap<String, Vec<f64>>> {
    let mut confidences: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (at, (name, library, questions)) in sets.iter().enumerate() {
        let mut places: Vec<&str> = questions
            .iter()
            .map(|question| question.ns.as_str())
            .collect();
        places.dedup();
        let mut place = places.iter().cycle();
        let mut ask = |text: &str| -> anyhow::Result<f64> {
            let ns = place.next().copied().unwrap_or_default();
            Ok(library.ask(ns, text, INJECTED_MAX, now)?.confidence)
        };
        for (_, (other, _, foreign)) in sets.iter().enumerate().filter(|(other, _)| *other != at) {
            // Sets of one family are about the same things.
            if family(other) == family(name) {
                continue;
            }
            let list = confidences.entry(format!("{other} in {name}")).or_default();
            for question in foreign {
                list.push(ask(&question.query)?);
            }
        }
        let list = confidences
            .entry(format!("everyday in {name}"))
            .or_default();
        for text in EVERYDAY {
            list.push(ask(text)?);
        }
    }
    Ok(confidences)
}

fn family(name: &str) -> &str {
    name.split_once('-').map_or(name, |(family, _)| family)
}

fn tables(answers: &mut [Answers], unrelated: &BTreeMap<String, Vec<f64>>) -> String {
    let mut out = String::new();
    let head = format!(
        "| set | level | questions | {} | p50 ms | p95 ms |\n",
        MEASURES.join(" | ")
    );
    out += &head;
    out += &"|---".repeat(MEASURES.len() + 5);
    out += "|\n";
    for answers in answers.iter_mut() {
        let (p50, p95) = (
            percentile(&mut answers.took_ms, 0.5),
            percentile(&mut answers.took_ms, 0.95),
        );
        for (level, means) in [("record", &answers.records), ("session", &answers.sessions)] {
            if means.count == 0 {
                continue;
            }
            let values: Vec<_> = MEASURES
                .iter()
                .map(|name| format!("{:.1}", means.percent(name)))
                .collect();
            out += &format!(
                "| {} | {level} | {} | {} | {p50:.1} | {p95:.1} |\n",
                answers.name,
                means.count,
                values.join(" | ")
            );
        }
    }
    out += "\n| confidence from | answered of what could be | unrelated prompts that get something |\n|---|---|---|\n";
    let positives: Vec<f64> = answers
        .iter()
        .flat_map(|a| a.answered.iter().copied())
        .collect();
    let negatives: Vec<f64> = unrelated.values().flatten().copied().collect();
    let above = |values: &[f64], floor: f64| {
        let count = values.iter().filter(|value| **value >= floor).count();
        100.0 * count as f64 / values.len().max(1) as f64
    };
    for floor in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
        let mark = if (floor - recall::gate::CONFIDENCE_MIN).abs() < 1e-9 {
            " (default)"
        } else {
            ""
        };
        out += &format!(
            "| {floor:.1}{mark} | {:.1} % | {:.1} % |\n",
            above(&positives, floor),
            above(&negatives, floor)
        );
    }
    out += "\n| prompts | count | pass the default gate |\n|---|---|---|\n";
    let gate = recall::gate::CONFIDENCE_MIN;
    for answers in answers.iter() {
        let (count, share) = (answers.answered.len(), above(&answers.answered, gate));
        out += &format!("| {} | {count} | {share:.1} % |\n", answers.name);
    }
    for (name, values) in unrelated {
        out += &format!(
            "| {name} | {} | {:.1} % |\n",
            values.len(),
            above(values, gate)
        );
    }
    out
}
