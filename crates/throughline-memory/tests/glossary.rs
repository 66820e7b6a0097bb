//! Checks `docs/GLOSSARY.md`: one row per word, sorted, and every public type of this crate listed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its input must fail"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A row of the table: the word, its meaning and the code.
struct Row {
    word: String,
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/GLOSSARY.md")).unwrap();
    let cells = text.lines().filter_map(|line| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let mut cells = line.split(" | ").map(str::to_owned);
        let row = (cells.next()?, cells.next()?, cells.next()?);
        Some(row)
    });
    // The first two lines are the header.
    let rows = cells.skip(2).map(|(word, _, code)| Row { word, code });
    rows.collect()
}

/// Returns the names that follow `pub struct`, `pub enum` or `pub trait` at the start of a line,
/// and those of ids and named enums, which macros declare.
fn public_types(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(public_types(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let declared = ["pub struct ", "pub enum ", "pub trait "]
                .iter()
                .find_map(|keyword| line.strip_prefix(keyword))
                .or_else(|| line.strip_prefix("    pub enum "));
            let id = line.trim();
            let is_id = id.ends_with("Id") && id.chars().all(char::is_alphanumeric);
            let name = declared.or_else(|| is_id.then_some(id));
            let end = |c: char| !c.is_alphanumeric();
            names.extend(
                name.and_then(|name| name.split(end).next())
                    .map(str::to_owned),
            );
        }
    }
    names
}

#[test]
fn every_word_is_defined_once() {
    let mut words = BTreeSet::new();
    for row in rows() {
        for word in row.word.split(", ") {
            assert!(words.insert(word.to_lowercase()), "defined twice: {word}");
        }
    }
    assert!(!words.is_empty(), "the glossary has no rows");
}

#[test]
fn rows_are_sorted() {
    let words: Vec<_> = rows().into_iter().map(|row| row.word).collect();
    for pair in words.windows(2) {
        assert!(
            pair[0].to_lowercase() < pair[1].to_lowercase(),
            "{:?} must come after {:?}",
            pair[0],
            pair[1]
        );
    }
}

#[test]
fn every_public_type_is_listed() {
    let codes: Vec<_> = rows().into_iter().map(|row| row.code).collect();
    let is_listed = |name: &str| {
        let codes = codes.iter().flat_map(|code| code.split(", "));
        codes.map(|code| code.trim_matches('`')).any(|path| {
            let parts: Vec<_> = path.split("::").collect();
            parts.first() == Some(&"memory") && parts.contains(&name)
        })
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let types = public_types(&folder);
    assert!(types.contains("Record"), "no public types found");
    let missing: Vec<_> = types.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "not in docs/GLOSSARY.md: {missing:?}");
}
