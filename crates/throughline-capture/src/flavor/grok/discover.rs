//! Finds Grok's sessions.

use std::fs;
use std::path::{Path, PathBuf};

use super::summary;
use crate::flavor::names::{file_name, is_uuid, percent_decode};
use crate::{AgentEnv, SourceFormat};

/// Returns the folder of all sessions.
pub(crate) fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    let home = env.folder_or_home("GROK_HOME", ".grok");
    vec![home.join("sessions")]
}

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrokFile {
    Updates,
    Chat,
    Summary,
    /// A session's record of a subagent it started.
    Subagent,
}

impl GrokFile {
    /// Returns the kind of the file at `path`, if it is one of a session's.
    ///
    /// Only the end of the path counts, so a root may be Grok's home, its `sessions`, or any folder
    /// that session directories were copied to.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let session = path.parent()?;
        match path.file_name()?.to_str()? {
            "updates.jsonl" => Some(Self::Updates),
            // Collections of logs flatten the folders into the name.
            name if name.ends_with("__updates.jsonl") => Some(Self::Updates),
            "chat_history.jsonl" => Some(Self::Chat),
            // Many programs write a file of this name.
            "summary.json" if is_session(session) => Some(Self::Summary),
            "meta.json" if file_name(session.parent()?) == "subagents" => Some(Self::Subagent),
            _ => None,
        }
    }

    /// Returns the kind of a file that is known to be Grok's, whatever its name.
    pub(crate) fn named(path: &Path, format: SourceFormat) -> Self {
        let name = file_name(path);
        if name.ends_with("chat_history.jsonl") {
            Self::Chat
        } else if name.ends_with("summary.json") {
            Self::Summary
        } else if name.ends_with("meta.json") {
            Self::Subagent
        } else if format == SourceFormat::Document {
            Self::Chat
        } else {
            Self::Updates
        }
    }

    pub(crate) fn format(self) -> SourceFormat {
        match self {
            Self::Updates => SourceFormat::Lines,
            // The history is rewritten when the session is compacted or rewound.
            Self::Chat | Self::Summary | Self::Subagent => SourceFormat::Document,
        }
    }
}

/// Says whether a text starts like one of these files.
pub(crate) fn recognises(head: &str) -> bool {
    let has = |key: &str| head.contains(key);
    let update = has("\"sessionUpdate\"") && has("\"sessionId\"");
    let chat = head.starts_with(r#"{"type":"system","content":""#) && !has("\"uuid\"");
    let summary = has("\"session_summary\"") && has("\"num_chat_messages\"");
    update || chat || summary
}

/// The session that the path of a file names.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrokLocation {
    /// The session's id is the name of its directory.
    pub session: String,
    pub cwd: Option<String>,
    /// The log is in the same directory and contains everything that the other files do.
    pub has_log: bool,
    /// Another session started this one with a tool call, so a model wrote its prompts.
    pub is_subagent: bool,
}

impl GrokLocation {
    pub(crate) fn of(path: &Path) -> Self {
        let Some(directory) = path.parent() else {
            return Self::default();
        };
        Self {
            session: file_name(directory).to_owned(),
            cwd: directory.parent().and_then(decode_cwd),
            has_log: directory.join("updates.jsonl").exists(),
            is_subagent: fs::read_to_string(directory.join("summary.json"))
                .is_ok_and(|summary| summary::is_subagent(&summary)),
        }
    }
}

/// Returns the working directory of a folder of sessions: its decoded name or, where that would be
/// too long for a name, the content of its `.cwd` file.
fn decode_cwd(folder: &Path) -> Option<String> {
    percent_decode_name(file_name(folder))
        .filter(|path| is_absolute(path))
        .or_else(|| {
            let path = fs::read_to_string(folder.join(".cwd")).ok()?;
            Some(path.trim().to_owned()).filter(|path| is_absolute(path))
        })
}

fn is_absolute(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\'])
}

fn percent_decode_name(name: &str) -> Option<String> {
    String::from_utf8(percent_decode(name)).ok()
}

/// Says whether a directory is a session's, by its own name or by that of its parent, because users
/// may choose session ids.
fn is_session(directory: &Path) -> bool {
    is_uuid(file_name(directory)) || directory.parent().is_some_and(is_workspace)
}

fn is_workspace(folder: &Path) -> bool {
    let encoded = percent_decode_name(file_name(folder)).is_some_and(|path| is_absolute(&path));
    encoded
        || folder
            .parent()
            .is_some_and(|parent| file_name(parent) == "sessions")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e07c-e626-7793-85aa-32c25c5d307e";

    #[track_caller]
    fn check(path: &str, file: Option<GrokFile>) {
        assert_eq!(GrokFile::at(Path::new(path)), file, "{path}");
    }

    #[test]
    fn files_of_a_session_are_claimed_below_any_root() {
        for session in [
            format!("/h/.grok/sessions/%2Fp/{ID}"),
            "/h/.grok/sessions/%2Fp/chosen-by-hand".to_owned(),
            "/h/.grok/sessions/long-name-0123456789abcdef/mine".to_owned(),
            format!("/copies/{ID}"),
        ] {
            check(&format!("{session}/updates.jsonl"), Some(GrokFile::Updates));
            check(
                &format!("{session}/chat_history.jsonl"),
                Some(GrokFile::Chat),
            );
            check(&format!("{session}/summary.json"), Some(GrokFile::Summary));
            check(
                &format!("{session}/subagents/{ID}/meta.json"),
                Some(GrokFile::Subagent),
            );
        }
    }

    #[test]
    fn other_files_are_left_alone() {
        for path in [
            "/h/.grok/grok.db",
            "/h/.grok/sessions/session_search.sqlite",
            "/h/.grok/worktrees/app/reports/summary.json",
            "/h/.grok/worktrees/app/meta.json",
        ] {
            check(path, None);
        }
        for file in [
            "events.jsonl",
            "signals.json",
            "usage.json",
            "rewind_points.jsonl",
            "summary.json.lock",
            "summary.json.9f3e.tmp",
            "compaction_checkpoints/3a6c.json",
        ] {
            check(&format!("/h/.grok/sessions/%2Fp/{ID}/{file}"), None);
        }
    }

    #[test]
    fn a_moved_home_is_followed() {
        let mut env = AgentEnv {
            home: "/h".into(),
            ..AgentEnv::default()
        };
        assert_eq!(roots(&env), [PathBuf::from("/h/.grok/sessions")]);
        env.variables.insert("GROK_HOME".into(), "/g".into());
        assert_eq!(roots(&env), [PathBuf::from("/g/sessions")]);
    }

    #[test]
    fn folders_are_named_by_their_working_directory() {
        let cwd = |folder: &str| decode_cwd(Path::new(folder));
        assert_eq!(
            cwd("%2Fhome%2Fdev%2Fproj").as_deref(),
            Some("/home/dev/proj")
        );
        assert_eq!(cwd("C%3A%5Csrc").as_deref(), Some("C:\\src"));
        assert_eq!(cwd("%2Ft%C3%A9l%C3%A9%25").as_deref(), Some("/télé%"));
        assert_eq!(cwd("long-name-0123456789abcdef"), None);
    }

    #[test]
    fn a_long_working_directory_is_in_a_file() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".cwd"), "/very/long\n").unwrap();
        assert_eq!(decode_cwd(home.path()).as_deref(), Some("/very/long"));
    }
}
