//! Finds Cursor's conversations.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use store::foreign::ForeignDatabase;

use crate::flavor::database_cache::DatabaseCache;
use crate::flavor::names::{file_name, path_of_uri};
use crate::{AgentEnv, SourceFormat};

/// How many folders are tried for a project's name, which does not determine its folder.
const FOLDERS_TRIED_MAX: usize = 2000;

pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let editor = env.config_folders().into_iter().flat_map(|config| {
        let user = config.join("Cursor/User");
        [user.join("globalStorage"), user.join("workspaceStorage")]
    });
    editor.chain([env.home.join(".cursor/projects")]).collect()
}

pub(crate) fn claim(path: &Path) -> Option<SourceFormat> {
    let name = path.file_name()?.to_str()?;
    if name == "state.vscdb" {
        return Some(SourceFormat::Database);
    }
    let is_transcript = path.iter().any(|folder| folder == "agent-transcripts");
    (is_transcript && name.ends_with(".jsonl") && !is_in_database(path))
        .then_some(SourceFormat::Lines)
}

pub(crate) fn recognises(head: &str) -> bool {
    head.starts_with("SQLite format 3")
        || (head.starts_with("{\"role\":") && head.contains("\"message\":{\"content\":["))
}

/// The session that the path of a transcript names.
#[derive(Clone, Debug, Default)]
pub(crate) struct CursorLocation {
    pub session: String,
    pub parent: Option<String>,
    pub cwd: Option<String>,
}

impl CursorLocation {
    pub(crate) fn of(path: &Path) -> Self {
        let session = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let folder = path.parent();
        let parent = folder
            .filter(|folder| folder.ends_with("subagents"))
            .and_then(Path::parent);
        let project = path
            .ancestors()
            .find(|folder| folder.ends_with("agent-transcripts"))
            .and_then(Path::parent);
        Self {
            session,
            parent: parent.map(|parent| file_name(parent).to_owned()),
            cwd: project.and_then(|project| decode_folder_name(Path::new("/"), file_name(project))),
        }
    }
}

/// Returns the folder below `base` whose path is `encoded` when everything but letters and digits
/// is replaced by `-`.
fn decode_folder_name(base: &Path, encoded: &str) -> Option<String> {
    fn search(base: &Path, rest: &str, tried: &mut usize) -> Option<PathBuf> {
        if rest.is_empty() {
            return Some(base.to_owned());
        }
        for entry in fs::read_dir(base).ok()?.flatten() {
            *tried += 1;
            if *tried > FOLDERS_TRIED_MAX {
                return None;
            }
            let file = entry.file_name();
            let called: String = file
                .to_string_lossy()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .collect();
            let Some(after) = rest.strip_prefix(called.as_str()) else {
                continue;
            };
            let after = match after.strip_prefix('-') {
                Some(after) => after,
                None if after.is_empty() => after,
                None => continue,
            };
            if entry.path().is_dir()
                && let Some(found) = search(&entry.path(), after, tried)
            {
                return Some(found);
            }
        }
        None
    }
    let encoded = encoded.trim_start_matches('-');
    if encoded.is_empty() {
        return None;
    }
    search(base, encoded, &mut 0).map(|found| found.to_string_lossy().into_owned())
}

/// Returns the folder that a workspace's database belongs to.
pub(crate) fn workspace_folder(database: &Path) -> Option<String> {
    let text = fs::read_to_string(database.with_file_name("workspace.json")).ok()?;
    let workspace: serde_json::Value = serde_json::from_str(&text).ok()?;
    let folder = workspace.get("folder")?.as_str()?;
    folder.starts_with("file://").then(|| path_of_uri(folder))
}

/// The ids of the conversations in the database that was opened last.
static CONVERSATIONS_CACHE: DatabaseCache<BTreeSet<String>> = DatabaseCache::new();

/// Says whether the editor's database contains the conversation of a transcript. The database has
/// times, results and tokens that the transcript lacks.
fn is_in_database(transcript: &Path) -> bool {
    let home = transcript
        .ancestors()
        .find(|folder| folder.ends_with(".cursor"));
    let Some(home) = home.and_then(Path::parent) else {
        return false;
    };
    let session = transcript
        .file_stem()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let databases = [".config", "Library/Application Support", "AppData/Roaming"].map(|config| {
        home.join(config)
            .join("Cursor/User/globalStorage/state.vscdb")
    });
    databases
        .into_iter()
        .any(|path| has_conversation(path, session))
}

fn has_conversation(path: PathBuf, session: &str) -> bool {
    let load = |database: &ForeignDatabase| {
        let mut ids = BTreeSet::new();
        let sql = "SELECT substr(key, 14) FROM cursorDiskKV \
                   WHERE key >= 'composerData:' AND key < 'composerData;'";
        if let Err(error) =
            database.each_row(sql, &[], |row| ids.extend(row.text(0).map(str::to_owned)))
        {
            tracing::debug!(%error, "Cursor's database cannot be read for its conversations");
        }
        ids
    };
    CONVERSATIONS_CACHE.query(path, load, |ids| ids.contains(session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let check = |path: &str, format| assert_eq!(claim(Path::new(path)), format, "{path}");
        check(
            "/c/Cursor/User/globalStorage/state.vscdb",
            Some(SourceFormat::Database),
        );
        check(
            "/h/.cursor/projects/p/agent-transcripts/a/a.jsonl",
            Some(SourceFormat::Lines),
        );
        check(
            "/h/.cursor/projects/p/agent-transcripts/a.jsonl",
            Some(SourceFormat::Lines),
        );
        check("/h/.cursor/projects/p/agent-transcripts/a.txt", None);
        check("/c/Cursor/User/globalStorage/state.vscdb.backup", None);
        check("/h/.cursor/projects/p/mcps/tools.jsonl", None);
    }

    #[test]
    fn a_folder_is_found_by_its_lossy_name() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("src/my-app.v2");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(base.path().join("src/my")).unwrap();
        let found = decode_folder_name(base.path(), "src-my-app-v2");
        assert_eq!(found.as_deref(), folder.to_str());
        assert_eq!(decode_folder_name(base.path(), "src-gone"), None);
    }

    #[test]
    fn a_workspace_names_its_folder() {
        let base = tempfile::tempdir().unwrap();
        let check = |json: &str, folder: Option<&str>| {
            fs::write(base.path().join("workspace.json"), json).unwrap();
            let found = workspace_folder(&base.path().join("state.vscdb"));
            assert_eq!(found.as_deref(), folder);
        };
        check(
            r#"{"folder":"file:///home/dev/my%20app"}"#,
            Some("/home/dev/my app"),
        );
        check(
            r#"{"folder":"file:///c%3A/Users/dev"}"#,
            Some("c:/Users/dev"),
        );
        check(r#"{"workspace":"file:///x.code-workspace"}"#, None);
    }
}
