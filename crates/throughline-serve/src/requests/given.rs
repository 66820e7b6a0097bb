//! Records that a program gives us itself, for conversations that no log tells of.
//!
//! They pass the same door as what is read from logs. The id is made of what is said, when and where, so a
//! request that is sent again does not store twice.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use memory::{
    Context, Flavor, Kind, MessageId, Record, RecordId, SessionId, SessionPatch, Trust, Workspace,
    fence,
};
use store::{Batch, Cursor, From, Incoming, Oddities, Reading, Store};

use super::Refused;
use crate::Settings;

/// A record as it is given.
#[derive(Clone, Debug)]
pub struct Given {
    pub session: String,
    pub kind: Kind,
    pub content: String,
    pub at: Option<Timestamp>,
    /// The giver's own name for it: given again, it is the same record.
    pub key: Option<String>,
    /// The folder that the session works in.
    pub folder: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub tags: Vec<String>,
    pub metadata: BTreeMap<String, String>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub id: RecordId,
    /// It was there already, or was forgotten and stays so.
    pub known: bool,
}

const TAGS_MAX: usize = 32;
const NAME_CHARS_MAX: usize = 200;

/// Stores records; on return they are on disk. All are of sessions we may capture, or none is stored.
pub fn keep(
    store: &Store,
    settings: &Settings,
    given: Vec<Given>,
    now: Timestamp,
) -> Result<Vec<Kept>, Refused> {
    let mut tickets = Vec::new();
    let batches = given
        .into_iter()
        .map(|given| batch(store, settings, given, now))
        .collect::<Result<Vec<_>, Refused>>()?;
    for (id, batch) in batches {
        tickets.push((id, store.append(batch)));
    }
    // Whoever waits does not wait for more of its kind to come.
    store.flush()?;
    let mut kept = Vec::new();
    for (id, ticket) in tickets {
        let known = ticket.wait()?.records == 0;
        kept.push(Kept { id, known });
    }
    Ok(kept)
}

fn batch(
    store: &Store,
    settings: &Settings,
    given: Given,
    now: Timestamp,
) -> Result<(RecordId, Batch), Refused> {
    check(&given)?;
    let (session, flavor) = session_of(store, &given.session)?;
    let workspace = given
        .folder
        .as_deref()
        .map(|folder| workspace_at(settings, folder));
    let known = match &workspace {
        Some(workspace) => Some(workspace.clone()),
        None => store.session_folder(&session)?.map(|(folder, key)| {
            let root = workspace_at(settings, &folder).root;
            Workspace { key, root }
        }),
    };
    check_workspace(settings, known.as_ref())?;
    let at = given.at.unwrap_or(now);
    let path = format!("given:{session}");
    let mut patch = SessionPatch::new(session.clone(), flavor);
    patch.cwd.clone_from(&given.folder);
    patch.touch(at);
    let incoming = Incoming {
        records: vec![record(store, settings, given, session, known.as_ref(), at)],
        sessions: vec![(patch, workspace)],
        usage: Vec::new(),
    };
    let mut door = store.door();
    let cleaned = door.clean(incoming);
    let id = cleaned.ids[0];
    let from = From {
        flavor,
        path: Path::new(&path),
        cursor: Cursor {
            key: key_of(&path),
            settled: true,
            // There is no file that a sweep could miss.
            gone: true,
            ..Cursor::default()
        },
        reading: Reading::Continued,
        odd: Oddities::default(),
        log: None,
    };
    Ok((id, Batch::new(&mut door, cleaned, from)))
}

fn workspace_at(settings: &Settings, folder: &str) -> Workspace {
    settings
        .scope
        .alias(capture::git::workspace_of(Path::new(folder)))
}

/// Refuses what belongs to a workspace that the configuration does not let us capture.
pub fn check_workspace(settings: &Settings, workspace: Option<&Workspace>) -> Result<(), Refused> {
    match workspace {
        Some(workspace) if !settings.scope.allows(workspace) => Err(Refused::not_allowed(
            format!("the workspace {} is not captured", workspace.root),
            "change `allow` or `deny` under [capture] in the configuration to capture it",
        )),
        _ => Ok(()),
    }
}

fn check(given: &Given) -> Result<(), Refused> {
    if given.content.trim().is_empty() {
        return Err(Refused::invalid(
            "the record has no text",
            "put it into `content`",
        ));
    }
    let folder = given.folder.as_deref().map(Path::new);
    if folder.is_some_and(|folder| !folder.is_absolute()) {
        return Err(Refused::invalid(
            "the folder is no whole path",
            "give it from the root on",
        ));
    }
    let names = [Some(&given.session), given.key.as_ref()];
    let is_long = |name: &&String| name.chars().count() > NAME_CHARS_MAX;
    if names.iter().flatten().any(is_long) {
        return Err(Refused::invalid(
            format!("`session_id` and `key` have at most {NAME_CHARS_MAX} characters"),
            "give shorter names",
        ));
    }
    if given.tags.len() > TAGS_MAX || given.metadata.len() > TAGS_MAX {
        return Err(Refused::invalid(
            format!("a record has at most {TAGS_MAX} tags and as many metadata"),
            "leave some out",
        ));
    }
    Ok(())
}

/// Returns the session that is meant, known or new, and whose it is.
fn session_of(store: &Store, name: &str) -> Result<(SessionId, Flavor), Refused> {
    if let Some((agent, native)) = name.split_once(':')
        && !native.is_empty()
        && let Some(flavor) = Flavor::from_name(agent)
    {
        return Ok((SessionId::of(flavor, native), flavor));
    }
    let mut named = store.sessions_named(name, 2)?;
    named.retain(|session| session.id.native() == name);
    match named.pop() {
        Some(known) => Ok((known.id, known.flavor)),
        None => Err(Refused::invalid(
            format!("no session is called {name:?}"),
            "name a new session as AGENT:ID, such as claude:5f2b",
        )),
    }
}

fn record(
    store: &Store,
    settings: &Settings,
    given: Given,
    session: SessionId,
    workspace: Option<&Workspace>,
    at: Timestamp,
) -> Record {
    let root = workspace.map(|workspace| workspace.root.as_str());
    let text = fence::strip(&given.content);
    let content = settings.scope.keep_text(&text, given.path.as_deref(), root);
    let name = match &given.key {
        Some(key) => format!("given/{key}"),
        // Two things said at once are two, also for tombstones, which know them by this name.
        None => {
            let word = store.injection_name(&given.content, Some(&session), at);
            format!("given/{}/{word}", at.as_nanosecond())
        }
    };
    Record {
        message: MessageId::new(name),
        ordinal: 0,
        at: Some(at),
        line: u64::try_from(at.as_millisecond()).unwrap_or(0),
        kind: given.kind,
        session,
        tool: given.tool,
        path: given.path,
        call: None,
        content,
        tags: given.tags,
        metadata: given.metadata,
        trust: trust(given.kind),
        context: Context {
            cwd: given.folder.or_else(|| workspace.map(|w| w.root.clone())),
            ..Context::default()
        },
    }
}

/// Whose word a kind of record is, as in logs.
const fn trust(kind: Kind) -> Trust {
    match kind {
        Kind::Prompt | Kind::Approval => Trust::User,
        Kind::Assistant | Kind::Thinking | Kind::ToolUse | Kind::Artifact | Kind::Summary => {
            Trust::Model
        }
        Kind::ToolResult | Kind::Error => Trust::Tool,
    }
}

/// Names the source of what is given for a session.
fn key_of(path: &str) -> [u8; 16] {
    let id = RecordId::of("", path, 0, "given", &[0; 32]);
    *id.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(path: Option<&str>, folder: &str) -> Given {
        Given {
            session: "claude:s".into(),
            kind: Kind::ToolResult,
            content: "FOO=qzmarker7wvxk".into(),
            at: None,
            key: Some("k".into()),
            folder: Some(folder.into()),
            tool: Some("Read".into()),
            path: path.map(str::to_owned),
            tags: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    #[track_caller]
    fn check(path: Option<&str>, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = "2026-11-16T09:00:00Z".parse().unwrap();
        let settings = Settings::default();
        let given = vec![given(path, "/nowhere/proj")];
        let kept = keep(&store, &settings, given, now).unwrap();
        let record = store.record(kept[0].id).unwrap().unwrap();
        assert_eq!(record.content, expected);
    }

    #[test]
    fn the_text_of_a_withheld_file_is_not_kept() {
        let never = "[not kept: a file that holds credentials, 17 bytes]";
        check(Some("/nowhere/proj/.env"), never);
        check(Some(".env"), never);
        let outside = "[not kept: a file outside the workspace, 17 bytes]";
        check(Some("/nowhere/other/a.txt"), outside);
        check(Some("../other/a.txt"), outside);
        check(Some("src/a.txt"), "FOO=qzmarker7wvxk");
        check(None, "FOO=qzmarker7wvxk");
    }

    #[test]
    fn a_denied_workspace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = "2026-11-16T09:00:00Z".parse().unwrap();
        let mut settings = Settings::default();
        keep(&store, &settings, vec![given(None, "/nowhere/proj")], now).unwrap();
        settings.scope.denied = vec!["/nowhere/proj".into()];
        let denied = keep(&store, &settings, vec![given(None, "/nowhere/proj")], now);
        let said = denied.unwrap_err().to_string();
        assert!(said.contains("/nowhere/proj is not captured"), "{said}");
        // The session is known, so its folder need not be named.
        let unnamed = Given {
            folder: None,
            ..given(None, "")
        };
        assert!(keep(&store, &settings, vec![unnamed], now).is_err());
    }
}
