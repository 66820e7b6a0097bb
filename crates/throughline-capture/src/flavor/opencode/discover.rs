//! Finds opencode's sessions.

use std::path::{Path, PathBuf};

use store::foreign::ForeignDatabase;

use crate::flavor::database_cache::DatabaseCache;
use crate::{AgentEnv, SourceFormat};

/// Returns opencode's folders; it uses the XDG data folder on every system.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let data = env
        .folder_or_home("XDG_DATA_HOME", ".local/share")
        .join("opencode");
    let named = env
        .folder_variable("OPENCODE_DB")
        .map(|database| data.join(database));
    std::iter::once(data).chain(named).collect()
}

/// Returns the working directory of a session from its own file, since the files of messages and
/// parts do not contain it.
pub(crate) fn session_folder(path: &Path, session: &str) -> Option<String> {
    let mut above = path.ancestors();
    let storage = above.find(|folder| folder.file_name().is_some_and(|name| name == "storage"))?;
    let projects = std::fs::read_dir(storage.join("session")).ok()?;
    projects.flatten().find_map(|project| {
        let file = project.path().join(format!("{session}.json"));
        let text = std::fs::read_to_string(file).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        value.get("directory")?.as_str().map(str::to_owned)
    })
}

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpencodeFile {
    Database,
    Session,
    Message,
    Part,
    Export,
}

impl OpencodeFile {
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let names: Vec<_> = path.iter().filter_map(|name| name.to_str()).collect();
        let (file, folders) = names.split_last()?;
        if file.starts_with("opencode") && file.ends_with(".db") {
            return Some(Self::Database);
        }
        if !file.ends_with(".json") {
            return None;
        }
        let stored = folders.iter().rposition(|name| *name == "storage");
        match stored.map(|at| &folders[at + 1..]) {
            Some(["session", "message", _] | ["message", _]) => Some(Self::Message),
            Some(["session", "part", ..] | ["part", ..]) => Some(Self::Part),
            Some(["session", _]) => Some(Self::Session),
            Some(_) => None,
            None => file.starts_with("ses_").then_some(Self::Export),
        }
    }

    pub(crate) fn format(self) -> SourceFormat {
        match self {
            Self::Database => SourceFormat::Database,
            Self::Session | Self::Message | Self::Part | Self::Export => SourceFormat::Document,
        }
    }
}

/// Says whether a file was migrated to the database: opencode leaves the old files behind.
pub(crate) fn is_migrated(path: &Path) -> bool {
    let storage = path
        .ancestors()
        .filter(|folder| folder.ends_with("storage"))
        .last();
    let data = storage.and_then(|storage| {
        // The first releases had a folder for each project: `project/<name>/storage`.
        let parent = storage.parent()?;
        let project = parent.parent().filter(|folder| folder.ends_with("project"));
        project.map_or(Some(parent), Path::parent)
    });
    data.is_some_and(|data| has_sessions(data.join("opencode.db")))
}

/// Whether the database that was opened last has sessions.
static SESSIONS_CACHE: DatabaseCache<bool> = DatabaseCache::new();

fn has_sessions(path: PathBuf) -> bool {
    let load = |database: &ForeignDatabase| database.has_table("session");
    SESSIONS_CACHE.query(path, load, |has_sessions| *has_sessions)
}

/// Says whether a text starts like one of these files.
pub(crate) fn recognises(head: &str) -> bool {
    let has = |key: &str| head.contains(key);
    let export = is_export(head);
    let stored = has("\"sessionID\"") && (has("\"role\"") || has("\"messageID\""));
    head.starts_with("SQLite format 3") || export || stored || has("\"projectID\"")
}

/// Says whether the head of a file is that of a session written by `opencode export`.
pub(crate) fn is_export(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && head.contains("\"info\"")
        && head.contains("\"projectID\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, file: Option<OpencodeFile>) {
        assert_eq!(OpencodeFile::at(Path::new(path)), file, "{path}");
    }

    #[test]
    fn every_layout_is_known() {
        check("/d/opencode/opencode.db", Some(OpencodeFile::Database));
        check("/d/opencode/opencode-dev.db", Some(OpencodeFile::Database));
        check(
            "/d/opencode/storage/session/p1/ses_1.json",
            Some(OpencodeFile::Session),
        );
        check(
            "/d/opencode/storage/message/ses_1/msg_1.json",
            Some(OpencodeFile::Message),
        );
        check(
            "/d/opencode/storage/part/msg_1/prt_1.json",
            Some(OpencodeFile::Part),
        );
        check(
            "/d/opencode/project/x/storage/session/info/ses_1.json",
            Some(OpencodeFile::Session),
        );
        check(
            "/d/opencode/project/x/storage/session/message/ses_1/msg_1.json",
            Some(OpencodeFile::Message),
        );
        check(
            "/d/opencode/project/x/storage/session/part/s/m/prt_1.json",
            Some(OpencodeFile::Part),
        );
        check(
            "/copies/ses_277daa810ffePOBsdfS6gm8uA2.json",
            Some(OpencodeFile::Export),
        );
    }

    #[test]
    fn other_files_are_left_alone() {
        check("/d/opencode/auth.json", None);
        check("/d/opencode/opencode.db-wal", None);
        check("/d/opencode/storage/session_diff/ses_1.json", None);
        check("/d/opencode/storage/todo/ses_1.json", None);
        check("/d/opencode/storage/project/p1.json", None);
        check("/d/opencode/log/2026.log", None);
        check("/d/notes.json", None);
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env), [PathBuf::from("/h/.local/share/opencode")]);
        env.variables.insert("XDG_DATA_HOME".into(), "/x".into());
        env.variables
            .insert("OPENCODE_DB".into(), "opencode-mine.db".into());
        assert_eq!(
            roots(&env),
            [
                PathBuf::from("/x/opencode"),
                PathBuf::from("/x/opencode/opencode-mine.db")
            ]
        );
    }
}
