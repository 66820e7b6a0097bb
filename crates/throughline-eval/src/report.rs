//! Asks the questions of each folder and formats the results as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use crate::corpus::{self, CorpusRow, EvalQuestion, EvalStore};
use crate::measures::{Means, percentile};
use crate::print_progress;
use crate::prompts::{PromptReaction, everyday_prompts, send_prompt};

/// How many hits are asked for.
const DEPTH: usize = 200;
/// Rows per batch.
const BATCH_ROWS: usize = 500;
/// A question counts as answerable if its evidence is among this many best hits: a prompt is never
/// given more records than that.
const INJECTED_MAX: usize = 8;
/// At most this many questions of each other set, and of a set itself, are sent as prompts.
const FOREIGN_MAX: usize = 120;
const OWN_MAX: usize = 240;
const MEASURES: [&str; 6] = [
    "recall@5", "recall@10", "recall@20", "hit@1", "mrr", "ndcg@10",
];

/// The results of one folder.
#[derive(Debug, Default)]
struct SetResults {
    name: String,
    records: Means,
    sessions: Means,
    latencies_ms: Vec<f64>,
    /// Reactions to the questions whose evidence is among the best hits.
    answerable: Vec<PromptReaction>,
    /// The number of those questions that are given evidence.
    shown_evidence: usize,
}

/// Loads each folder's corpus, asks its questions and those of the other folders, and returns the
/// report.
pub(crate) fn run(folders: &[PathBuf], home: &Path, now: Timestamp) -> anyhow::Result<String> {
    let mut sets = Vec::new();
    for folder in folders {
        let name = folder
            .file_name()
            .map_or("?".into(), |name| name.to_string_lossy().into_owned());
        let mut eval_store = EvalStore::open(&home.join(&name))?;
        let (rows, seconds) = load_corpus(&mut eval_store, folder)?;
        print_progress(&format!("{name}: {rows} records in {seconds:.1} s"))?;
        let mut questions = Vec::new();
        corpus::read_jsonl(folder, "queries", |question: EvalQuestion| {
            questions.push(question);
            Ok(())
        })?;
        sets.push((name, eval_store, questions));
    }
    let mut answers = Vec::new();
    for (name, eval_store, questions) in &sets {
        print_progress(&format!("{name}: {} questions", questions.len()))?;
        answers.push(answer_questions(name, eval_store, questions, now)?);
    }
    let unrelated = send_unrelated(&sets, now)?;
    Ok(format_report(&mut answers, &unrelated))
}

fn load_corpus(eval_store: &mut EvalStore, folder: &Path) -> anyhow::Result<(usize, f64)> {
    let start = Instant::now();
    let mut count = 0;
    let mut rows: Vec<CorpusRow> = Vec::new();
    corpus::read_jsonl(folder, "corpus", |row: CorpusRow| {
        count += 1;
        // A batch holds rows of one namespace, as a log belongs to one workspace.
        if rows.len() == BATCH_ROWS || rows.last().is_some_and(|last| last.ns != row.ns) {
            eval_store.ingest(std::mem::take(&mut rows))?;
        }
        rows.push(row);
        Ok(())
    })?;
    eval_store.ingest(rows)?;
    eval_store.flush()?;
    Ok((count, start.elapsed().as_secs_f64()))
}

fn answer_questions(
    name: &str,
    eval_store: &EvalStore,
    questions: &[EvalQuestion],
    now: Timestamp,
) -> anyhow::Result<SetResults> {
    let mut answers = SetResults {
        name: name.to_owned(),
        ..SetResults::default()
    };
    let indexes: Vec<usize> = (0..questions.len()).collect();
    let sent: BTreeSet<&usize> = sample(&indexes, OWN_MAX).collect();
    for (index, question) in questions.iter().enumerate() {
        if question.gold.is_empty() && question.gold_sessions.is_empty() {
            continue;
        }
        let start = Instant::now();
        let asof = question.asof.as_deref();
        let ranked = eval_store.search(&question.ns, &question.query, asof, DEPTH, now)?;
        answers
            .latencies_ms
            .push(start.elapsed().as_secs_f64() * 1000.0);
        let ids: Vec<&str> = ranked
            .hits
            .iter()
            .filter_map(|hit| eval_store.corpus_id(hit.hit.id))
            .collect();
        let sessions: Vec<&str> = ranked
            .sessions
            .iter()
            .map(|session| session.id.native())
            .collect();
        let top: Vec<&str> = ranked
            .hits
            .iter()
            .map(|hit| hit.hit.session.native())
            .collect();
        let is_answerable = if question.gold.is_empty() {
            contains_gold(&top, &question.gold_sessions)
        } else {
            answers.records.add(&ids, &question.gold);
            contains_gold(&ids, &question.gold)
        };
        if !question.gold_sessions.is_empty() {
            answers.sessions.add(&sessions, &question.gold_sessions);
        }
        if is_answerable && sent.contains(&index) {
            let reaction = send_prompt(eval_store, &question.ns, &question.query, now)?;
            answers.shown_evidence += usize::from(shows_evidence(&reaction, question, &ids, &top));
            answers.answerable.push(reaction);
        }
    }
    Ok(answers)
}

/// Returns whether evidence is among the injected records.
fn shows_evidence(
    reaction: &PromptReaction,
    question: &EvalQuestion,
    ids: &[&str],
    sessions: &[&str],
) -> bool {
    reaction.injects
        && reaction.shown.iter().any(|shown| {
            if !question.gold.is_empty() {
                return question.gold.contains(shown);
            }
            let rank = ids.iter().position(|id| id == shown);
            rank.is_some_and(|rank| {
                question
                    .gold_sessions
                    .iter()
                    .any(|gold| gold == sessions[rank])
            })
        })
}

fn contains_gold(found: &[&str], gold: &[String]) -> bool {
    found
        .iter()
        .take(INJECTED_MAX)
        .any(|id| gold.iter().any(|gold| gold == id))
}

/// Sends each corpus the questions of the others, and everyday prompts that need nothing from
/// memory.
fn send_unrelated(
    sets: &[(String, EvalStore, Vec<EvalQuestion>)],
    now: Timestamp,
) -> anyhow::Result<BTreeMap<String, Vec<PromptReaction>>> {
    let mut reactions: BTreeMap<String, Vec<PromptReaction>> = BTreeMap::new();
    for (name, eval_store, questions) in sets {
        let mut namespaces: Vec<&str> = questions.iter().map(|q| q.ns.as_str()).collect();
        namespaces.dedup();
        let mut namespaces = namespaces.iter().cycle();
        print_progress(&format!("{name}: unrelated prompts"))?;
        let mut send = |text: &str| {
            let ns = namespaces.next().copied().unwrap_or_default();
            send_prompt(eval_store, ns, text, now)
        };
        // Sets of one family cover the same topics.
        let others = sets
            .iter()
            .filter(|set| set_family(&set.0) != set_family(name));
        for (other, _, foreign) in others {
            let list = reactions.entry(format!("{other} in {name}")).or_default();
            for question in sample(foreign, FOREIGN_MAX) {
                list.push(send(&question.query)?);
            }
        }
        let list = reactions.entry(format!("everyday in {name}")).or_default();
        for text in everyday_prompts() {
            list.push(send(text)?);
        }
    }
    Ok(reactions)
}

/// Returns at most `max` items, evenly spread over the list, so that every run uses the same ones.
fn sample<T>(all: &[T], max: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(max).max(1))
}

fn set_family(name: &str) -> &str {
    name.split_once('-').map_or(name, |(family, _)| family)
}

fn format_report(
    answers: &mut [SetResults],
    unrelated: &BTreeMap<String, Vec<PromptReaction>>,
) -> String {
    let mut out = format_measures(answers);
    out += "\n| confidence from | answered of what could be \
            | unrelated prompts that get something |\n|---|---|---|\n";
    let positives: Vec<&PromptReaction> = answers.iter().flat_map(|a| &a.answerable).collect();
    let negatives: Vec<&PromptReaction> = unrelated.values().flatten().collect();
    for floor in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
        let mark = if (floor - recall::CONFIDENCE_MIN).abs() < 1e-9 {
            " (default)"
        } else {
            ""
        };
        let above = |reaction: &&PromptReaction| reaction.confidence >= floor;
        out += &format!(
            "| {floor:.1}{mark} | {:.1} % | {:.1} % |\n",
            percent_of(&positives, above),
            percent_of(&negatives, above)
        );
    }
    out += &format!(
        "\nSent as prompts: at most {OWN_MAX} of a set's own questions \
         and {FOREIGN_MAX} of each other set's.\n"
    );
    out += "\n| prompts | count | get something | are given evidence |\n|---|---|---|---|\n";
    let injects = |reaction: &&PromptReaction| reaction.injects;
    for answers in answers.iter() {
        let all: Vec<_> = answers.answerable.iter().collect();
        let given = 100.0 * answers.shown_evidence as f64 / all.len().max(1) as f64;
        out += &format!(
            "| {} | {} | {:.1} % | {given:.1} % |\n",
            answers.name,
            all.len(),
            percent_of(&all, injects)
        );
    }
    for (name, reactions) in unrelated {
        let all: Vec<_> = reactions.iter().collect();
        out += &format!(
            "| {name} | {} | {:.1} % | – |\n",
            all.len(),
            percent_of(&all, injects)
        );
    }
    out += &format!(
        "| all unrelated | {} | {:.1} % | – |\n",
        negatives.len(),
        percent_of(&negatives, injects)
    );
    out
}

fn percent_of(reactions: &[&PromptReaction], is: impl Fn(&&PromptReaction) -> bool) -> f64 {
    let count = reactions.iter().filter(|reaction| is(reaction)).count();
    100.0 * count as f64 / reactions.len().max(1) as f64
}

fn format_measures(answers: &mut [SetResults]) -> String {
    let mut out = format!(
        "| set | level | questions | {} | p50 ms | p95 ms |\n",
        MEASURES.join(" | ")
    );
    out += &"|---".repeat(MEASURES.len() + 5);
    out += "|\n";
    for answers in answers.iter_mut() {
        let (p50, p95) = (
            percentile(&mut answers.latencies_ms, 0.5),
            percentile(&mut answers.latencies_ms, 0.95),
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_whole_and_never_larger() {
        let all: Vec<usize> = (0..948).collect();
        let some: Vec<_> = sample(&all, 120).copied().collect();
        assert_eq!((some.len(), some[1], some[118]), (119, 8, 944));
        assert_eq!(sample(&all, 1000).count(), 948);
        assert_eq!(sample(&all[..0], 120).count(), 0);
    }
}
