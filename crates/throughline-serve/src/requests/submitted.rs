//! Records that a program submits itself, for conversations that no agent logs.
//!
//! They pass the same redaction as records from logs. A program may name its records; those without
//! a name get one from content, time and session, so a request that is sent again stores nothing
//! twice either way.

use std::path::Path;

use jiff::Timestamp;
use memory::{
    Flavor, MessageId, Record, RecordEnvironment, RecordId, RecordKind, SessionId, SessionPatch,
    Trust, Workspace, fence,
};
use serde_json::{Map, Value};
use store::{Batch, BatchOrigin, Cursor, IncomingEntries, ParseIssues, ReadPhase, Store};

use super::{RequestError, require_absolute};
use crate::ServeSettings;

/// A record as a program submits it.
#[derive(Clone, Debug)]
pub struct SubmittedRecord {
    pub session: String,
    pub kind: RecordKind,
    pub content: String,
    pub at: Option<Timestamp>,
    /// The program's own id for the record; submitting it again stores nothing new, even with
    /// another text.
    pub key: Option<String>,
    /// The folder that the session works in.
    pub folder: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
}

/// The result of submitting a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmitResult {
    pub id: RecordId,
    /// The record was stored before, or was forgotten and stays so.
    pub known: bool,
}

const TAGS_MAX: usize = 32;
const NAME_CHARS_MAX: usize = 200;
const METADATA_BYTES_MAX: usize = 64 << 10;
/// Sessions that begin with a name, of which one may have exactly this name. The shortest are
/// compared first.
const SAME_NAME_MAX: usize = 20;

/// Stores records; on return they are on disk. If one belongs to a workspace that is not captured,
/// none is stored.
pub fn store_submitted(
    store: &Store,
    settings: &ServeSettings,
    submitted: Vec<SubmittedRecord>,
    now: Timestamp,
) -> Result<Vec<SubmitResult>, RequestError> {
    let pending = submitted
        .into_iter()
        .map(|submitted| build_batch(store, settings, submitted, now))
        .collect::<Result<Vec<_>, RequestError>>()?;
    let pending: Vec<_> = pending
        .into_iter()
        .map(|(id, batch)| (id, batch.map(|batch| store.append(batch))))
        .collect();
    // The flush keeps this request from waiting for a larger batch.
    store.flush()?;
    let mut results = Vec::new();
    for (id, ticket) in pending {
        let known = match ticket {
            Some(ticket) => ticket.wait()?.records == 0,
            None => true,
        };
        results.push(SubmitResult { id, known });
    }
    Ok(results)
}

/// Returns the id of a record, and the batch that stores it unless it is stored.
fn build_batch(
    store: &Store,
    settings: &ServeSettings,
    submitted: SubmittedRecord,
    now: Timestamp,
) -> Result<(RecordId, Option<Batch>), RequestError> {
    validate(&submitted)?;
    let (session, flavor) = resolve_session(store, &submitted.session)?;
    let workspace = submitted
        .folder
        .as_deref()
        .map(|folder| workspace_of_folder(settings, folder));
    let known = match &workspace {
        Some(workspace) => Some(workspace.clone()),
        None => store.session_folder(&session)?.map(|(folder, key)| {
            let root = workspace_of_folder(settings, &folder).root;
            Workspace { key, root }
        }),
    };
    require_captured(settings, known.as_ref())?;
    if let Some(key) = &submitted.key
        && let Some(stored) = store.submitted_record(key)?
    {
        return Ok((stored, None));
    }
    let at = submitted.at.unwrap_or(now);
    let path = format!("given:{session}");
    let mut patch = SessionPatch::new(session.clone(), flavor);
    patch.cwd.clone_from(&submitted.folder);
    patch.include_time(at);
    let incoming = IncomingEntries {
        records: vec![build_record(
            store,
            settings,
            submitted,
            session,
            known.as_ref(),
            at,
        )],
        sessions: vec![(patch, workspace)],
        usage: Vec::new(),
    };
    let mut sanitizer = store.sanitizer();
    let cleaned = sanitizer.clean(incoming);
    let id = cleaned.ids[0];
    let origin = BatchOrigin {
        flavor,
        path: Path::new(&path),
        cursor: Cursor {
            key: source_key(&path),
            complete: true,
            // No file exists that a sweep could report as missing.
            gone: true,
            ..Cursor::default()
        },
        phase: ReadPhase::Appended,
        issues: ParseIssues::default(),
        log: None,
    };
    Ok((id, Some(Batch::new(&mut sanitizer, cleaned, origin))))
}

fn workspace_of_folder(settings: &ServeSettings, folder: &str) -> Workspace {
    settings
        .scope
        .resolve_alias(capture::git::workspace_of(Path::new(folder)))
}

/// Rejects a workspace that the configuration excludes from capture.
pub fn require_captured(
    settings: &ServeSettings,
    workspace: Option<&Workspace>,
) -> Result<(), RequestError> {
    match workspace {
        Some(workspace) if !settings.scope.allows(workspace) => Err(RequestError::not_allowed(
            format!("the workspace {} is not captured", workspace.root),
            "change `allow` or `deny` under [capture] in the configuration to capture it",
        )),
        _ => Ok(()),
    }
}

fn validate(submitted: &SubmittedRecord) -> Result<(), RequestError> {
    if submitted.content.trim().is_empty() {
        return Err(RequestError::invalid(
            "`content` is empty",
            "pass the record's text in `content`",
        ));
    }
    submitted
        .folder
        .as_deref()
        .map(require_absolute)
        .transpose()?;
    if submitted.session.trim().is_empty() {
        return Err(RequestError::invalid(
            "`session_id` is empty",
            "any name will do, for example \"default\"",
        ));
    }
    let names = [Some(&submitted.session), submitted.key.as_ref()];
    let is_long = |name: &&String| name.chars().count() > NAME_CHARS_MAX;
    if names.iter().flatten().any(is_long) {
        return Err(RequestError::invalid(
            format!("`session_id` and `key` may have at most {NAME_CHARS_MAX} characters"),
            "use shorter ids",
        ));
    }
    if submitted.tags.len() > TAGS_MAX {
        return Err(RequestError::invalid(
            format!("a record may have at most {TAGS_MAX} tags"),
            "remove some of them",
        ));
    }
    if serde_json::to_string(&submitted.metadata).is_ok_and(|json| json.len() > METADATA_BYTES_MAX)
    {
        return Err(RequestError::invalid(
            format!("`metadata` may have at most {METADATA_BYTES_MAX} bytes as JSON"),
            "put long text into `content`",
        ));
    }
    Ok(())
}

/// Returns the session with this name, stored or new, and its agent. A new name without an agent is
/// a session of the program that submits it.
fn resolve_session(store: &Store, name: &str) -> Result<(SessionId, Flavor), RequestError> {
    if let Some((agent, native)) = name.split_once(':')
        && !native.is_empty()
        && let Some(flavor) = Flavor::from_name(agent)
    {
        return Ok((SessionId::of(flavor, native), flavor));
    }
    let mut named = store.sessions_by_prefix(name, SAME_NAME_MAX)?;
    named.retain(|session| session.id.as_str() == name || session.id.native() == name);
    Ok(match named.into_iter().next() {
        Some(known) => (known.id, known.flavor),
        None => (SessionId::new(name), Flavor::Program),
    })
}

fn build_record(
    store: &Store,
    settings: &ServeSettings,
    submitted: SubmittedRecord,
    session: SessionId,
    workspace: Option<&Workspace>,
    at: Timestamp,
) -> Record {
    let root = workspace.map(|workspace| workspace.root.as_str());
    let text = fence::strip(&submitted.content);
    let content = settings
        .scope
        .keep_text(&text, submitted.path.as_deref(), root);
    let name = match &submitted.key {
        Some(key) => format!("{}{key}", MessageId::SUBMITTED_PREFIX),
        // Equal texts of the same moment are two records, also for tombstones, which know records
        // by this name.
        None => {
            let word = store.injection_name(&submitted.content, Some(&session), at);
            let prefix = MessageId::SUBMITTED_PREFIX;
            format!("{prefix}{}/{word}", at.as_nanosecond())
        }
    };
    Record {
        message: MessageId::new(name),
        ordinal: 0,
        at: Some(at),
        line: u64::try_from(at.as_millisecond()).unwrap_or(0),
        kind: submitted.kind,
        session,
        tool: submitted.tool,
        path: submitted.path,
        call: None,
        content,
        tags: submitted.tags,
        metadata: submitted.metadata,
        trust: trust_of_kind(submitted.kind),
        context: RecordEnvironment {
            cwd: submitted
                .folder
                .or_else(|| workspace.map(|w| w.root.clone())),
            ..RecordEnvironment::default()
        },
    }
}

/// Returns who wrote a kind of record, by the same rule as for logs.
const fn trust_of_kind(kind: RecordKind) -> Trust {
    match kind {
        RecordKind::Prompt | RecordKind::Approval => Trust::User,
        RecordKind::Assistant
        | RecordKind::Thinking
        | RecordKind::ToolUse
        | RecordKind::Artifact
        | RecordKind::Summary => Trust::Model,
        RecordKind::ToolResult | RecordKind::Error => Trust::Tool,
    }
}

/// Derives the key of the pseudo-source that holds a session's submitted records.
fn source_key(path: &str) -> [u8; 16] {
    let id = RecordId::from_parts("", path, 0, "given", &[0; 32]);
    *id.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(path: Option<&str>, folder: &str) -> SubmittedRecord {
        SubmittedRecord {
            session: "claude:s".into(),
            kind: RecordKind::ToolResult,
            content: "FOO=qzmarker7wvxk".into(),
            at: None,
            key: Some("k".into()),
            folder: Some(folder.into()),
            tool: Some("Read".into()),
            path: path.map(str::to_owned),
            tags: Vec::new(),
            metadata: Map::new(),
        }
    }

    #[track_caller]
    fn check(path: Option<&str>, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = "2026-11-16T09:00:00Z".parse().unwrap();
        let settings = ServeSettings::default();
        let given = vec![given(path, "/nowhere/proj")];
        let results = store_submitted(&store, &settings, given, now).unwrap();
        let record = store.read_record(results[0].id).unwrap().unwrap();
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
        let mut settings = ServeSettings::default();
        store_submitted(&store, &settings, vec![given(None, "/nowhere/proj")], now).unwrap();
        settings.scope.denied = vec!["/nowhere/proj".into()];
        let denied = store_submitted(&store, &settings, vec![given(None, "/nowhere/proj")], now);
        let said = denied.unwrap_err().to_string();
        assert!(said.contains("/nowhere/proj is not captured"), "{said}");
        // The session is stored, so its folder need not be given.
        let unnamed = SubmittedRecord {
            folder: None,
            ..given(None, "")
        };
        assert!(store_submitted(&store, &settings, vec![unnamed], now).is_err());
    }
}
