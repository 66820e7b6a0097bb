//! Finds Antigravity's transcripts.

use std::path::{Path, PathBuf};

use crate::AgentEnv;
use crate::flavor::names::file_name;

/// The names under which versions write the same transcript, the most complete first.
const TRANSCRIPTS: &[&str] = &["transcript_full.jsonl", "transcript.jsonl", "overview.txt"];
const PROGRAMS: &[&str] = &["antigravity", "antigravity-cli", "antigravity-ide"];

pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.home.join(".gemini");
    PROGRAMS
        .iter()
        .map(|program| home.join(program).join("brain"))
        .collect()
}

pub(crate) fn is_transcript(path: &Path) -> bool {
    let file = file_name(path);
    let folder = path.parent().map_or("", file_name);
    let in_logs = folder == "logs" && conversation(path).is_some();
    let copied = folder == "antigravity" && file.ends_with(".jsonl");
    in_logs && TRANSCRIPTS.contains(&file) || copied
}

pub(crate) fn recognises(head: &str) -> bool {
    head.contains("\"step_index\"")
        && head.contains("\"created_at\"")
        && head.contains("\"source\"")
}

/// The conversation that the path of a transcript names.
#[derive(Clone, Debug, Default)]
pub(crate) struct AntigravityLocation {
    pub session: String,
    /// A more complete transcript of the same conversation is in the same folder.
    pub superseded: bool,
}

impl AntigravityLocation {
    pub(crate) fn of(path: &Path) -> Self {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let better = TRANSCRIPTS
            .iter()
            .take_while(|&&transcript| transcript != file_name(path));
        let is_known = TRANSCRIPTS.contains(&file_name(path));
        Self {
            session: conversation(path).map_or_else(|| stem.into_owned(), str::to_owned),
            superseded: is_known
                && better
                    .into_iter()
                    .any(|other| path.with_file_name(other).exists()),
        }
    }
}

/// Returns the name of the conversation's folder, the one above `.system_generated/logs`.
fn conversation(path: &Path) -> Option<&str> {
    let generated = path.parent()?.parent()?;
    (file_name(generated) == ".system_generated").then(|| generated.parent().map_or("", file_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_are_claimed_and_others_are_not() {
        let logs = "/h/.gemini/antigravity-cli/brain/7f3c/.system_generated/logs";
        for file in TRANSCRIPTS {
            assert!(is_transcript(&Path::new(logs).join(file)), "{file}");
        }
        assert!(is_transcript(Path::new(
            "/copies/antigravity/cli_small.jsonl"
        )));
        for path in [
            "/h/.gemini/antigravity-cli/brain/7f3c/task.md",
            "/h/.gemini/antigravity-cli/brain/7f3c/.system_generated/messages/1.json",
            "/h/src/logs/transcript.jsonl",
        ] {
            assert!(!is_transcript(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_full_transcript_stands_for_the_other() {
        let home = tempfile::tempdir().unwrap();
        let logs = home.path().join("7f3c/.system_generated/logs");
        std::fs::create_dir_all(&logs).unwrap();
        let cut = logs.join("transcript.jsonl");
        assert!(!AntigravityLocation::of(&cut).superseded);
        assert_eq!(AntigravityLocation::of(&cut).session, "7f3c");
        let full = logs.join("transcript_full.jsonl");
        std::fs::write(&full, "").unwrap();
        assert!(
            AntigravityLocation::of(&cut).superseded && !AntigravityLocation::of(&full).superseded
        );
    }
}
