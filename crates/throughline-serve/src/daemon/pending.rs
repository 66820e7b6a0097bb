//! What hooks left when no daemon ran: the logs to be read, one small file for each session.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The folder in ours where hooks leave it.
const FOLDER: &str = "pending";
/// Files that are looked at at once, and how much of each.
const FILES_MAX: usize = 1_000;
const FILE_BYTES_MAX: u64 = 64 << 10;

/// What was left.
#[derive(Debug, Default)]
pub struct Pending {
    pub files: Vec<PathBuf>,
    pub logs: BTreeSet<PathBuf>,
}

#[derive(Deserialize)]
struct Left {
    transcript_path: Option<PathBuf>,
}

/// Reads what was left. A file that says nothing is done with, too.
pub fn read(home: &Path) -> Pending {
    let mut pending = Pending::default();
    let Ok(folder) = fs::read_dir(home.join(FOLDER)) else {
        return pending;
    };
    for file in folder.flatten().take(FILES_MAX) {
        let path = file.path();
        let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        pending.logs.extend(log_in(&path));
        pending.files.push(path);
    }
    pending
}

fn log_in(path: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    let left: Left = serde_json::from_str(&text).ok()?;
    left.transcript_path.filter(|log| log.is_absolute())
}

impl Pending {
    /// Removes the files, now that their logs are read.
    pub fn done(self) {
        for file in self.files {
            if let Err(error) = fs::remove_file(&file) {
                tracing::warn!(file = %file.display(), %error, "cannot be removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hooks_left_names_logs_and_nonsense_names_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(read(home.path()).files.is_empty());
        let folder = home.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        let leave = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        leave(
            "a.json",
            r#"{"transcript_path":"/logs/a.jsonl","session_id":"a","event":"Stop"}"#,
        );
        leave("b.json", r#"{"transcript_path":"relative.jsonl"}"#);
        leave("c.json", "half a li");
        leave("d.tmp", r#"{"transcript_path":"/logs/d.jsonl"}"#);
        let pending = read(home.path());
        assert_eq!(
            pending.logs,
            BTreeSet::from([PathBuf::from("/logs/a.jsonl")])
        );
        assert_eq!(pending.files.len(), 3);
        pending.done();
        assert!(folder.join("d.tmp").exists() && read(home.path()).files.is_empty());
    }
}
