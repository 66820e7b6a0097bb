//! The stage that looks for patterns, and reading what it found.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use store::{PatternRow, SessionSignals, Store};

use super::{DetectOptions, InstructionFile, PatternCandidate, detect, sound_groups};
use crate::LearnSettings;
use crate::distribute::{load_registry, observe, registry_path, save_registry};

/// The instruction files of a repository.
#[rustfmt::skip]
const INSTRUCTION_FILES: &[&str] = &[
    "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md",
    ".github/copilot-instructions.md", ".cursorrules",
];
/// The folders whose files are instructions.
const RULE_FOLDERS: &[&str] = &[
    ".claude/rules", ".grok/rules", ".cursor/rules", ".github/instructions",
];
/// At most this many files of a folder are read.
const RULE_FILES_MAX: usize = 100;
/// At most this many repositories are looked at.
const WORKSPACES_MAX: usize = 1_000;
/// A larger file is not an instruction file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Detects patterns, and notes which of the distributed ones have become active.
pub fn run_stage(store: &Store, settings: &LearnSettings, now: Timestamp) -> store::Result<()> {
    let sessions = store.session_signals(None)?;
    store_candidates(store, &detect_all(store, &sessions)?, settings, now)?;
    let path = registry_path(store);
    // A damaged registry is reported by the commands that need it; the stage leaves it alone.
    if let Ok(mut registry) = load_registry(&path)
        && !registry.patterns.is_empty()
    {
        observe(&mut registry, &sound_groups(&sessions), now);
        save_registry(&path, &registry).ok();
    }
    Ok(())
}

/// Detects patterns in all sessions of the store, and returns those that occur in at least
/// `min_frequency` sessions. What is stored does not depend on that number.
pub fn detect_patterns(
    store: &Store,
    settings: &LearnSettings,
    min_frequency: u64,
    now: Timestamp,
) -> store::Result<Vec<PatternCandidate>> {
    let mut candidates = detect_all(store, &store.session_signals(None)?)?;
    store_candidates(store, &candidates, settings, now)?;
    candidates.retain(|candidate| candidate.reaches(min_frequency));
    Ok(candidates)
}

/// Detects everything that occurs at all, and stores nothing.
pub(crate) fn detect_all(
    store: &Store,
    sessions: &[SessionSignals],
) -> store::Result<Vec<PatternCandidate>> {
    let options = DetectOptions {
        min_frequency: 1,
        instruction_files: instruction_files(store)?,
    };
    Ok(detect(sessions, &options))
}

/// Stores the candidates that a person may be asked about.
fn store_candidates(
    store: &Store,
    candidates: &[PatternCandidate],
    settings: &LearnSettings,
    now: Timestamp,
) -> store::Result<()> {
    let rows = candidates
        .iter()
        .filter(|candidate| candidate.reaches(settings.gate.min_sessions))
        .map(|candidate| PatternRow {
            id: candidate.id.clone(),
            kind: candidate.kind.name().to_owned(),
            name: candidate.name.clone(),
            data: serde_json::to_string(candidate).unwrap_or_default(),
            sessions: candidate.session_ids.clone(),
        });
    store.put_patterns(rows.collect(), now)
}

fn instruction_files(store: &Store) -> store::Result<Vec<InstructionFile>> {
    let mut found = Vec::new();
    for workspace in store.workspaces_matching("", WORKSPACES_MAX)? {
        let texts = instruction_texts(Path::new(&workspace.root)).into_iter();
        found.extend(texts.map(|(path, text)| InstructionFile {
            workspace: workspace.key.clone(),
            path,
            text,
        }));
    }
    Ok(found)
}

/// Returns the instruction files of a repository with their texts.
pub fn instruction_texts(root: &Path) -> Vec<(String, String)> {
    let mut paths: Vec<String> = INSTRUCTION_FILES
        .iter()
        .map(|&path| path.to_owned())
        .collect();
    for folder in RULE_FOLDERS {
        let files = fs::read_dir(root.join(folder))
            .into_iter()
            .flatten()
            .flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut rules: Vec<String> = names
            .filter(|name| name.ends_with(".md") || name.ends_with(".mdc"))
            .map(|name| format!("{folder}/{name}"))
            .collect();
        rules.sort_unstable();
        rules.truncate(RULE_FILES_MAX);
        paths.extend(rules);
    }
    let text = |path: String| {
        let text = read_instructions(&root.join(&path))?;
        Some((path, text))
    };
    paths.into_iter().filter_map(text).collect()
}

/// Reads an instruction file. One that cannot be read has nothing to compare with.
pub fn read_instructions(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    (size <= FILE_BYTES_MAX).then(|| fs::read_to_string(path).ok())?
}

/// Returns the candidates that the last run stored, in the order of [`detect`].
pub fn stored_candidates(store: &Store) -> store::Result<Vec<PatternCandidate>> {
    let rows = store.patterns()?;
    let parsed = rows
        .iter()
        .filter_map(|json| serde_json::from_str(json).ok());
    let mut candidates: Vec<PatternCandidate> = parsed.collect();
    candidates.sort_by(super::by_importance);
    Ok(candidates)
}
