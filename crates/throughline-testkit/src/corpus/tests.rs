use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::*;

/// Writes a corpus and returns what was made and every file, by path.
fn make(options: &Options) -> (Stats, BTreeMap<String, String>) {
    let directory = tempfile::tempdir().unwrap();
    let stats = write(options, directory.path()).unwrap();
    let mut files = BTreeMap::new();
    let mut open = vec![PathBuf::from(directory.path())];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let name = path.strip_prefix(directory.path()).unwrap();
        let name = name.to_string_lossy().replace('\\', "/");
        files.insert(name, fs::read_to_string(&path).unwrap());
    }
    (stats, files)
}

fn small(sessions: usize) -> Options {
    Options {
        sessions,
        ..Options::default()
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn same_seed_same_bytes() {
    let (stats, files) = make(&small(5));
    let (stats_again, files_again) = make(&small(5));
    assert_eq!(stats, stats_again);
    assert_eq!(files, files_again);
    let other = Options {
        seed: 2,
        ..small(5)
    };
    assert_ne!(files, make(&other).1);
}

#[test]
fn larger_corpus_begins_with_the_smaller() {
    let (_, small_files) = make(&small(4));
    let (_, files) = make(&small(9));
    for (path, text) in small_files {
        assert_eq!(files.get(&path), Some(&text), "{path}");
    }
}

#[test]
fn every_line_is_an_object_and_sizes_are_plausible() {
    let (stats, files) = make(&small(70));
    let mut count = 0;
    for (path, text) in &files {
        for line in lines(text) {
            assert!(line.is_object(), "{path}");
            count += u64::from(path.ends_with(".jsonl"));
        }
    }
    assert_eq!(count, stats.lines);
    assert_eq!(files.len() as u64, stats.files);
    assert_eq!(
        files.values().map(|text| text.len() as u64).sum::<u64>(),
        stats.bytes
    );
    let (lines, bytes) = (stats.lines / stats.sessions, stats.bytes / stats.sessions);
    assert!((60..180).contains(&lines), "{lines} lines a session");
    assert!(
        (50_000..220_000).contains(&bytes),
        "{bytes} bytes a session"
    );
}

#[test]
fn claude_responses_span_lines_that_share_id_and_usage() {
    let options = Options {
        agents: vec![Agent::Claude],
        ..small(5)
    };
    let mut usages: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (path, text) in make(&options).1 {
        assert!(
            path.starts_with(".claude/projects/-home-dev-work-"),
            "{path}"
        );
        for line in lines(&text) {
            if let Some(id) = line["message"]["id"].as_str() {
                let usage = line["message"]["usage"].clone();
                usages.entry(id.to_owned()).or_default().push(usage);
            }
        }
    }
    let split = usages.values().filter(|lines| lines.len() > 1).count();
    assert!(split * 3 > usages.len(), "{split} of {}", usages.len());
    for lines in usages.values() {
        assert!(lines.iter().all(|usage| usage == &lines[0]));
    }
}

#[test]
fn codex_totals_add_up() {
    let options = Options {
        agents: vec![Agent::Codex],
        ..small(5)
    };
    for (path, text) in make(&options).1 {
        let mut sum = 0;
        for line in lines(&text) {
            let info = &line["payload"]["info"];
            if let Some(total) = info["total_token_usage"]["total_tokens"].as_u64() {
                sum += info["last_token_usage"]["total_tokens"].as_u64().unwrap();
                assert_eq!(total, sum, "{path}");
            }
        }
        assert!(sum > 0, "{path}");
    }
}

#[test]
fn manifest_names_every_line_with_a_planted_secret() {
    let options = Options {
        secret_rate: 0.1,
        ..small(14)
    };
    let (stats, files) = make(&options);
    let planted = lines(&files[MANIFEST]);
    assert_eq!(planted.len() as u64, stats.planted);
    assert!(planted.len() > 20);
    for entry in &planted {
        let text = &files[entry["file"].as_str().unwrap()];
        let line = text
            .lines()
            .nth(entry["line"].as_u64().unwrap() as usize - 1)
            .unwrap();
        assert!(line.contains(entry["value"].as_str().unwrap()), "{entry}");
    }
    // Nothing stands anywhere that the manifest does not name.
    let named: BTreeSet<(&str, &str)> = planted
        .iter()
        .map(|entry| {
            (
                entry["file"].as_str().unwrap(),
                entry["value"].as_str().unwrap(),
            )
        })
        .collect();
    for (path, text) in files.iter().filter(|(path, _)| path.as_str() != MANIFEST) {
        for (_, value) in &named {
            let lines = text.lines().filter(|line| line.contains(value)).count();
            let listed = planted
                .iter()
                .filter(|entry| entry["file"] == path.as_str() && entry["value"] == *value)
                .count();
            assert_eq!(lines, listed, "{path} {value}");
        }
    }
}

#[test]
fn secrets_in_prompts_change_nothing_else() {
    let plain = Options {
        lines: Some(400),
        ..small(3)
    };
    let with_secrets = Options {
        prompts_per_secret: 10,
        ..plain.clone()
    };
    let (_, plain) = make(&plain);
    let (stats, files) = make(&with_secrets);
    assert!(stats.planted >= 6, "{}", stats.planted);
    for (path, text) in plain.iter().filter(|(path, _)| path.ends_with(".jsonl")) {
        assert!(text.lines().count() >= 400, "{path}");
        let changed = text.lines().zip(files[path].lines());
        let changed = changed.filter(|(before, after)| before != after).count();
        assert!(changed > 0 && changed < 100, "{path}: {changed}");
    }
}

/// The lengths are those of real logs, which decide what ingest costs.
#[test]
fn texts_have_the_lengths_of_real_logs() {
    let options = Options {
        agents: vec![Agent::Claude],
        ..small(60)
    };
    let (mut prompts, mut answers, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for text in make(&options).1.values() {
        for line in lines(text) {
            let content = &line["message"]["content"];
            if let (Some("user"), Some(text)) = (line["type"].as_str(), content.as_str()) {
                prompts.push(text.len());
            }
            for block in content.as_array().into_iter().flatten() {
                if let Some(text) = block["content"].as_str() {
                    results.push(text.len());
                }
                if let (Some("end_turn"), Some(text)) = (
                    line["message"]["stop_reason"].as_str(),
                    block["text"].as_str(),
                ) {
                    answers.push(text.len());
                }
            }
        }
    }
    let share = |lengths: &[usize], range: std::ops::Range<usize>| {
        let inside = lengths.iter().filter(|length| range.contains(length));
        inside.count() as f64 / lengths.len() as f64
    };
    assert!(share(&prompts, 30..501) > 0.9, "{prompts:?}");
    assert!(share(&prompts, 501..usize::MAX) > 0.0);
    assert!(share(&answers, 150..3001) > 0.95, "{answers:?}");
    let (short, long) = (share(&results, 0..1000), share(&results, 5000..usize::MAX));
    assert!((0.4..0.75).contains(&short), "{short}");
    assert!((0.03..0.2).contains(&long), "{long}");
    assert!(share(&results, 20_000..usize::MAX) > 0.0);
}
