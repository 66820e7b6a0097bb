//! Stores for tests: sessions written down as text, and one way to append records.
//!
//! ```text
//! session s1 in /src/shop            starts a session in a folder
//! u make the totals round once       a prompt
//! a I look at the totals first.      an answer
//! a use Bash cargo test              a call; a shell's input is its command
//! t result 3 passed                  the result of the last call
//! t failed error[E0308]: …           the same, of a call that failed
//! t edit /src/shop/src/totals.rs     the result of an edit
//! ```
//!
//! The entries of a script are a minute apart, from [`START`] on.

use std::ops::Deref;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use memory::record::project_records;
use memory::{
    Block, CallId, FileModification, Flavor, Message, MessageId, Origin, RecordId, Role, SessionId,
    SessionPatch, ToolResult, ToolUse, Workspace,
};
use store::{Batch, BatchOrigin, Cursor, IncomingEntries, ParseIssues, ReadPhase, Store};

/// When a script begins: 2026-01-05, 08:00 UTC.
pub const START: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// A store in a folder of its own, which goes with it.
#[derive(Debug)]
pub struct TestStore {
    // The store is declared first: it must close before its folder is removed.
    store: Store,
    _folder: tempfile::TempDir,
}

impl TestStore {
    /// Opens an empty store.
    ///
    /// # Panics
    ///
    /// When no folder can be made or the store does not open.
    #[expect(clippy::expect_used, reason = "a test that cannot go on should fail")]
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        Self {
            store,
            _folder: folder,
        }
    }
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Returns a store that holds the sessions of a script.
///
/// # Panics
///
/// When the script has a line that is not in the list above, or the store fails.
pub fn store(script: &str) -> TestStore {
    let test_store = TestStore::empty();
    append(&test_store, sessions(script));
    test_store
}

/// Appends the sessions of a script; entries that the store has already stay as they are.
///
/// # Panics
///
/// When the script has a line that is not in the list above, or the store fails.
pub fn append_script(store: &Store, script: &str) -> Vec<RecordId> {
    append(store, sessions(script))
}

/// Appends records as a sweep does, waits until they are on disk, and returns their ids.
///
/// # Panics
///
/// When the store does not take them.
pub fn append(store: &Store, incoming: IncomingEntries) -> Vec<RecordId> {
    append_from(store, incoming, origin(Path::new("/logs/a.jsonl")))
}

/// Appends records that were read from a given source.
///
/// # Panics
///
/// When the store does not take them.
#[expect(clippy::expect_used, reason = "a test that cannot go on should fail")]
pub fn append_from(
    store: &Store,
    incoming: IncomingEntries,
    from: BatchOrigin<'_>,
) -> Vec<RecordId> {
    let mut sanitizer = store.sanitizer();
    let cleaned = sanitizer.clean(incoming);
    let ids = cleaned.ids.clone();
    let ticket = store.append(Batch::new(&mut sanitizer, cleaned, from));
    store.flush().expect("the batch to be flushed");
    ticket.wait().expect("the batch to be written");
    ids
}

/// Returns the origin of a batch that goes on reading the log at `path`.
pub fn origin(path: &Path) -> BatchOrigin<'_> {
    BatchOrigin {
        flavor: Flavor::Claude,
        path,
        cursor: Cursor {
            key: [1; 16],
            ..Cursor::default()
        },
        phase: ReadPhase::Appended,
        issues: ParseIssues::default(),
        log: None,
    }
}

/// Returns the workspace whose repository is the folder `root`.
pub fn workspace(root: &str) -> Workspace {
    let name = root.rsplit('/').next().unwrap_or(root);
    Workspace {
        key: format!("example.com/{name}"),
        root: root.to_owned(),
    }
}

#[expect(clippy::panic, reason = "a test that cannot go on should fail")]
fn sessions(script: &str) -> IncomingEntries {
    let mut incoming = IncomingEntries::default();
    let mut calls = ScriptCalls::default();
    let lines = script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    for (number, line) in (0_u32..).zip(lines) {
        let (speaker, text) = line.split_once(' ').unwrap_or((line, ""));
        let text = text.trim();
        if speaker == "session" {
            let (name, root) = text.split_once(" in ").unwrap_or((text, "/src/shop"));
            let id = SessionId::of(Flavor::Claude, name);
            let patch = SessionPatch::new(id, Flavor::Claude);
            incoming.sessions.push((patch, Some(workspace(root))));
            continue;
        }
        let Some((patch, Some(workspace))) = incoming.sessions.last_mut() else {
            panic!("the script does not begin with a session: {line}");
        };
        let (origin, block) = match speaker {
            "u" => (Origin::Human, Block::Text(text.to_owned())),
            "a" => (Origin::Model, answer(text, &mut calls)),
            "t" => (Origin::Tool, Block::ToolResult(result(text, &calls))),
            _ => panic!("neither session, u, a nor t: {line}"),
        };
        let name = MessageId::new(format!("m{number}"));
        let mut message = Message::new(name, patch.id.clone(), Role::User, origin);
        let at = START + SignedDuration::from_mins(i64::from(number));
        patch.include_time(at);
        message.at = Some(at);
        message.line = u64::from(number);
        message.cwd = Some(workspace.root.clone());
        message.blocks = vec![block];
        incoming.records.extend(project_records(message));
    }
    incoming
}

/// The calls of a script so far. A result belongs to the last one.
#[derive(Default)]
struct ScriptCalls {
    count: u32,
    tool: Option<String>,
    path: Option<String>,
}

impl ScriptCalls {
    fn id(&self) -> CallId {
        CallId::new(format!("c{}", self.count))
    }
}

fn answer(text: &str, calls: &mut ScriptCalls) -> Block {
    let Some(call) = text.strip_prefix("use ") else {
        return Block::Text(text.to_owned());
    };
    let (tool, input) = call.split_once(' ').unwrap_or((call, ""));
    let (input, path) = match tool {
        "Bash" => (serde_json::json!({ "command": input }), None),
        _ => (serde_json::json!({ "path": input }), Some(input.to_owned())),
    };
    *calls = ScriptCalls {
        count: calls.count + 1,
        tool: Some(tool.to_owned()),
        path: path.clone(),
    };
    Block::ToolUse(ToolUse {
        call: calls.id(),
        tool: tool.to_owned(),
        input: input.to_string(),
        path,
    })
}

#[expect(clippy::panic, reason = "a test that cannot go on should fail")]
fn result(text: &str, calls: &ScriptCalls) -> ToolResult {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "result" | "failed" => ToolResult {
            call: Some(calls.id()),
            tool: calls.tool.clone().or(Some("Bash".to_owned())),
            path: calls.path.clone(),
            content: rest.to_owned(),
            is_error: word == "failed",
            exit_code: Some(i64::from(word == "failed")),
            ..ToolResult::default()
        },
        "edit" => ToolResult {
            tool: Some("Edit".to_owned()),
            path: Some(rest.to_owned()),
            content: "done".to_owned(),
            changes: vec![FileModification {
                path: rest.to_owned(),
                diff: "+x".to_owned(),
            }],
            ..ToolResult::default()
        },
        _ => panic!("neither result, failed nor edit: {text}"),
    }
}
