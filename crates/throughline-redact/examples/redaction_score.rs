//! Scores the redactor.
//!
//! `redaction_score SET.jsonl [--show N]` reads labelled lines (`text`, `is_secret`, `spans` in
//! characters, `tags`) and prints strict recall, false-positive rate, precision, collateral, recall
//! per tag and speed. `redaction_score --logs FILE… [--show N]` takes text without secrets and
//! prints false marks per MB, MB/s and the time of 2 KB records.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use serde::Deserialize;
use throughline_redact::{Confidence, Redactor, personal_data};

#[derive(Deserialize)]
struct Labelled {
    #[serde(default)]
    id: String,
    text: String,
    is_secret: bool,
    #[serde(default)]
    spans: Vec<(usize, usize)>,
    #[serde(default)]
    tags: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    let (mut show, mut logs) = (0, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--show" => show = args.next().and_then(|n| n.parse().ok()).unwrap_or(20),
            "--logs" => logs = true,
            _ => files.push(arg),
        }
    }
    let redactor = Redactor::new([7; 32]);
    if logs {
        println!("{}", score_logs(&redactor, &files, show)?);
    } else {
        for file in files {
            println!(
                "{}",
                score_set(&redactor, &std::fs::read_to_string(file)?, show)?
            );
        }
    }
    Ok(())
}

fn score_set(redactor: &Redactor, set: &str, show: usize) -> serde_json::Result<String> {
    let rows: Vec<Labelled> = set
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let started = Instant::now();
    let cleaned: Vec<String> = rows
        .iter()
        .map(|row| redactor.clean(&row.text).into_owned().into_string())
        .collect();
    let took = started.elapsed();
    let mut tags: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut hits, mut positives, mut changed, mut negatives) = (0, 0, 0, 0);
    let (mut lost, mut kept) = (0, 0);
    let mut notes = Vec::new();
    for (row, out) in rows.iter().zip(&cleaned) {
        let soft = row.tags.iter().any(|tag| tag == "soft");
        if !row.is_secret {
            if !soft {
                negatives += 1;
                changed += usize::from(*out != row.text);
                if *out != row.text {
                    notes.push(format!("changed {}: {out:.160?}", row.id));
                }
            }
            continue;
        }
        positives += 1;
        let chars: Vec<char> = row.text.chars().collect();
        let hit = !row
            .spans
            .iter()
            .any(|&(start, end)| leaks(&chars[start..end], out));
        hits += usize::from(hit);
        if !hit {
            notes.push(format!("missed {}: {:.160?}", row.id, row.text));
        }
        let (gone, all) = collateral(&chars, &row.spans, out);
        lost += gone;
        kept += all;
        let untagged = ["(untagged)".to_owned()];
        let named = if row.tags.is_empty() {
            &untagged[..]
        } else {
            &row.tags[..]
        };
        for tag in named {
            let count = tags.entry(tag.clone()).or_insert((0, 0));
            *count = (count.0 + usize::from(hit), count.1 + 1);
        }
    }
    let bytes: usize = rows.iter().map(|row| row.text.len()).sum();
    let mut report = format!(
        "positives {positives}, recall {:.4}; negatives {negatives}, changed {:.4}; \
         precision {:.4}; collateral {:.4}; {:.0} MB/s\n",
        share(hits, positives),
        share(changed, negatives),
        share(hits, hits + changed),
        share(lost, kept),
        bytes as f64 / 1e6 / took.as_secs_f64(),
    );
    for (tag, (hits, all)) in tags {
        report.push_str(&format!("  {tag}: {:.3} ({all})\n", share(hits, all)));
    }
    for note in notes.iter().take(show) {
        report.push_str(&format!("  {note}\n"));
    }
    Ok(report)
}

/// True when a run of 40 % of the secret (6 to 20 characters) is left anywhere in the output.
fn leaks(secret: &[char], out: &str) -> bool {
    let run = (secret.len() * 2).div_ceil(5).clamp(6, 20);
    if secret.len() <= run {
        return out.contains(&secret.iter().collect::<String>());
    }
    let out: Vec<char> = out.chars().collect();
    let runs: HashSet<&[char]> = out.windows(run).collect();
    secret.windows(run).any(|piece| runs.contains(piece))
}

/// Characters outside the secrets that were lost, and all characters outside the secrets.
fn collateral(chars: &[char], spans: &[(usize, usize)], out: &str) -> (usize, usize) {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let mut segments = Vec::new();
    let mut from = 0;
    for (start, end) in spans {
        segments.push(&chars[from.min(start)..start]);
        from = end;
    }
    segments.push(&chars[from..]);
    let (mut lost, mut all, mut at) = (0, 0, 0);
    for segment in segments.into_iter().filter(|segment| !segment.is_empty()) {
        all += segment.len();
        let text: String = segment.iter().collect();
        if let Some(found) = out[at..].find(&text) {
            at += found + text.len();
            continue;
        }
        let holds = |piece: &[char]| out[at..].contains(&piece.iter().collect::<String>());
        let head = (0..=segment.len())
            .rev()
            .find(|&len| holds(&segment[..len]))
            .unwrap_or(0);
        let rest = &segment[head..];
        let tail = (0..=rest.len())
            .rev()
            .find(|&len| holds(&rest[rest.len() - len..]))
            .unwrap_or(0);
        lost += rest.len() - tail;
    }
    (lost, all)
}

fn score_logs(redactor: &Redactor, files: &[String], show: usize) -> std::io::Result<String> {
    let mut marks = Vec::new();
    let (mut bytes, mut took) = (0, Duration::ZERO);
    let (mut possible, mut times) = (0, Vec::new());
    let (mut all, mut tagged, mut personal_took) = (0, 0, Duration::ZERO);
    let mut personal: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        // Records as a log has them; other files in pieces of the size of a tool result.
        let records: Vec<&str> = if file.ends_with(".jsonl") {
            text.lines().collect()
        } else {
            pieces(&text, 16 << 10)
        };
        let started = Instant::now();
        for record in &records {
            std::hint::black_box(redactor.clean(record));
        }
        took += started.elapsed();
        bytes += text.len();
        let started = Instant::now();
        for record in &records {
            let kinds = personal_data(record, None);
            tagged += usize::from(!kinds.is_empty());
            for kind in kinds {
                *personal.entry(kind.name()).or_default() += 1;
            }
        }
        personal_took += started.elapsed();
        all += records.len();
        for record in &records {
            for finding in redactor.findings(record) {
                if finding.tier == Confidence::Possible {
                    possible += 1;
                    continue;
                }
                let from = (0..=finding.start.saturating_sub(60))
                    .rev()
                    .find(|&at| record.is_char_boundary(at));
                let before = &record[from.unwrap_or(0)..finding.start];
                marks.push(format!(
                    "{file}: {before:?} [{}] {:?}",
                    finding.rule,
                    &record[finding.start..finding.end]
                ));
            }
        }
        for piece in pieces(&text, 2 << 10) {
            let started = Instant::now();
            std::hint::black_box(redactor.clean(piece));
            times.push(started.elapsed());
        }
    }
    times.sort_unstable();
    let at = |share: f64| {
        times
            .get((times.len() as f64 * share) as usize)
            .copied()
            .unwrap_or_default()
    };
    let mb = bytes as f64 / 1e6;
    let mut report = format!(
        "{mb:.2} MB, {} marks ({:.2} per MB), {possible} possible; {:.0} MB/s; \
         2 KB record p50 {:?} p99 {:?}\n",
        marks.len(),
        marks.len() as f64 / mb,
        mb / took.as_secs_f64(),
        at(0.5),
        at(0.99),
    );
    report.push_str(&format!(
        "{all} records, {tagged} with personal data ({:.4}); {:.0} MB/s; {personal:?}\n",
        share(tagged, all),
        mb / personal_took.as_secs_f64(),
    ));
    for mark in marks.iter().take(show) {
        report.push_str(&format!("  {mark:.400}\n"));
    }
    Ok(report)
}

fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = size.min(rest.len());
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
