//! Records stay when their source shrinks, is rotated, rewritten, rewound or removed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{LONG_AFTER, Machine, WHILE_WRITING, prompt};
use memory::{Flavor, SessionId};
use proptest::prelude::*;
use store::{SessionFilter, Store, StoredRecord};

fn claude_session() -> SessionId {
    SessionId::of(Flavor::Claude, "s")
}

/// Returns the texts of a session's records in order. "(lost)" follows those that their source no
/// longer holds.
fn shown(machine: &Machine, session: &SessionId) -> Vec<String> {
    let show = |record: StoredRecord| {
        let mark = if record.in_source { "" } else { " (lost)" };
        record.content + mark
    };
    machine.records(session).into_iter().map(show).collect()
}

/// Writes prompts with these texts, which are also their ids.
fn write_prompts(path: &Path, texts: &[&str]) {
    let lines = texts.iter().map(|text| prompt("s", text, text));
    fs::write(path, lines.collect::<String>()).unwrap();
}

#[test]
fn a_truncated_log_loses_no_records() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    write_prompts(&path, &["one", "two", "three", "four"]);
    machine.sweep_at(LONG_AFTER);
    let ids = |machine: &Machine| -> Vec<_> {
        let records = machine.records(&claude_session());
        records.into_iter().map(|record| record.id).collect()
    };
    let before = ids(&machine);
    write_prompts(&path, &["one", "two"]);
    let sweep = machine.sweep_at(LONG_AFTER);
    assert_eq!((sweep.records, sweep.no_longer_in_source), (0, 2));
    let expected = ["one", "two", "three (lost)", "four (lost)"];
    assert_eq!(shown(&machine, &claude_session()), expected);
    assert_eq!([machine.finds("two"), machine.finds("four")], [1, 1]);
    // Another sweep of the same file changes nothing.
    assert_eq!(machine.sweep_at(LONG_AFTER).no_longer_in_source, 0);
    // A prompt that is appended again is the same record, and its source holds it again.
    write_prompts(&path, &["one", "two", "three"]);
    assert_eq!(machine.sweep_at(LONG_AFTER).records, 0);
    let expected = ["one", "two", "three", "four (lost)"];
    assert_eq!(shown(&machine, &claude_session()), expected);
    assert_eq!(ids(&machine), before);
}

#[test]
fn a_rewound_conversation_continues_after_what_it_lost() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    write_prompts(&path, &["one", "two", "three", "four"]);
    machine.sweep_at(LONG_AFTER);
    write_prompts(&path, &["one", "other"]);
    machine.sweep_at(LONG_AFTER);
    write_prompts(&path, &["one", "other", "next"]);
    assert_eq!(
        machine.sweep_at(LONG_AFTER).read_bytes,
        prompt("s", "next", "next").len() as u64
    );
    let expected = [
        "one", "two (lost)", "three (lost)", "four (lost)", "other", "next",
    ];
    assert_eq!(shown(&machine, &claude_session()), expected);
    // When the log holds everything again, its order decides.
    let all = ["one", "two", "three", "other", "next", "four"];
    write_prompts(&path, &all);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(shown(&machine, &claude_session()), all);
}

#[test]
fn an_emptied_or_removed_log_loses_no_records() {
    let machine = Machine::new();
    let (emptied, removed) = (machine.claude_log("a.jsonl"), machine.claude_log("b.jsonl"));
    fs::write(&emptied, prompt("s", "u1", "alpha")).unwrap();
    fs::write(&removed, prompt("t", "u2", "beta")).unwrap();
    machine.sweep_at(LONG_AFTER);
    fs::write(&emptied, "").unwrap();
    fs::remove_file(&removed).unwrap();
    let sweep = machine.sweep_at(LONG_AFTER);
    assert_eq!((sweep.no_longer_in_source, sweep.gone), (1, 1));
    assert_eq!([machine.finds("alpha"), machine.finds("beta")], [1, 1]);
    let other = SessionId::of(Flavor::Claude, "t");
    assert_eq!(shown(&machine, &claude_session()), ["alpha (lost)"]);
    assert_eq!(shown(&machine, &other), ["beta (lost)"]);
    fs::write(&emptied, prompt("s", "u1", "alpha")).unwrap();
    let regrown = prompt("t", "u2", "beta") + &prompt("t", "u3", "delta");
    fs::write(&removed, regrown).unwrap();
    assert_eq!(machine.sweep_at(LONG_AFTER).records, 1);
    assert_eq!(shown(&machine, &claude_session()), ["alpha"]);
    assert_eq!(shown(&machine, &other), ["beta", "delta"]);
}

#[test]
fn a_moved_log_is_the_same_log() {
    let machine = Machine::new();
    let (before, after) = (
        machine.claude_log("a.jsonl"),
        machine.claude_log("moved.jsonl"),
    );
    fs::write(&before, prompt("s", "u1", "alpha")).unwrap();
    machine.sweep_at(LONG_AFTER);
    fs::rename(&before, &after).unwrap();
    let sweep = machine.sweep_at(LONG_AFTER);
    assert_eq!((sweep.records, sweep.gone), (0, 1));
    assert_eq!(shown(&machine, &claude_session()), ["alpha"]);
    // The record belongs to the moved log: when that is rewritten, its source has lost the record.
    let omega = "omega, longer than what was there before";
    fs::write(&after, prompt("s", "u5", omega)).unwrap();
    machine.sweep_at(LONG_AFTER);
    assert_eq!(shown(&machine, &claude_session()), ["alpha (lost)", omega]);
}

/// A log exists as two files; what one of them loses, the other still holds.
#[test]
fn a_record_that_another_file_holds_is_in_its_source() {
    let machine = Machine::new();
    let (first, second) = (machine.claude_log("a.jsonl"), machine.claude_log("b.jsonl"));
    write_prompts(&first, &["one", "two"]);
    write_prompts(&second, &["one", "two"]);
    machine.sweep_at(LONG_AFTER);
    write_prompts(&second, &["one"]);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(shown(&machine, &claude_session()), ["one", "two"]);
    fs::remove_file(&first).unwrap();
    machine.sweep_at(LONG_AFTER);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(shown(&machine, &claude_session()), ["one", "two (lost)"]);
}

#[test]
fn a_document_that_loses_messages_keeps_them() {
    let machine = Machine::new();
    let folder = machine.logs().join("gemini/tmp/p/chats");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("session-2026-05-01T10-00-aaaa0001.json");
    let write = |texts: &[&str]| {
        let message = |text: &&str| {
            serde_json::json!({
                "id": format!("id-{}", &text[..3]), "timestamp": "2026-05-01T10:00:00.000Z",
                "type": "user", "content": text,
            })
        };
        let document = serde_json::json!({
            "sessionId": "g", "projectHash": "p", "startTime": "2026-05-01T10:00:00.000Z",
            "lastUpdated": "2026-05-01T10:00:00.000Z",
            "messages": texts.iter().map(message).collect::<Vec<_>>(),
        });
        fs::write(&path, document.to_string()).unwrap();
    };
    let session = SessionId::of(Flavor::Gemini, "g");
    write(&["one", "two", "thr"]);
    machine.sweep_at(LONG_AFTER);
    // A message that has grown is the same message, not a second one.
    write(&["one", "two", "three is longer now"]);
    machine.sweep_at(LONG_AFTER);
    let grown = ["one", "two", "three is longer now"];
    assert_eq!(shown(&machine, &session), grown);
    write(&["one", "fou"]);
    machine.sweep_at(LONG_AFTER);
    write(&["one", "four"]);
    machine.sweep_at(LONG_AFTER);
    let expected = ["one", "two (lost)", "three is longer now (lost)", "four"];
    assert_eq!(shown(&machine, &session), expected);
    write(&[]);
    machine.sweep_at(LONG_AFTER);
    let lost = shown(&machine, &session);
    assert!(lost.iter().all(|text| text.ends_with("(lost)")), "{lost:?}");
    assert_eq!(lost.len(), 4);
}

#[test]
fn earlier_versions_of_a_log_stay_until_it_is_complete_again() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    let all = ["one", "two", "three", "four"];
    write_prompts(&path, &all);
    let whole = fs::read_to_string(&path).unwrap();
    machine.sweep_at(LONG_AFTER);
    let versions = |machine: &Machine| {
        let mut versions: BTreeMap<u64, String> = BTreeMap::new();
        let store = Store::open(&machine.home()).unwrap();
        store
            .each_log_piece(&claude_session(), |piece| {
                *versions.entry(piece.earlier).or_default() += piece.text;
            })
            .unwrap();
        versions.into_values().collect::<Vec<_>>()
    };
    write_prompts(&path, &all[..2]);
    let part = fs::read_to_string(&path).unwrap();
    machine.sweep_at(LONG_AFTER);
    assert_eq!(versions(&machine), [part, whole.clone()]);
    for _ in 0..20 {
        write_prompts(&path, &["another", "story"]);
        machine.sweep_at(LONG_AFTER);
        write_prompts(&path, &all[..3]);
        machine.sweep_at(LONG_AFTER);
    }
    let kept = versions(&machine);
    assert!(kept.len() <= 9, "{}", kept.len());
    assert!(kept.contains(&whole));
    write_prompts(&path, &["one", "two", "three", "four", "another", "story"]);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(versions(&machine), [fs::read_to_string(&path).unwrap()]);
}

/// The transcripts of Cursor hold no times.
#[test]
fn a_log_without_times_is_dated_by_its_file() {
    let machine = Machine::new();
    let folder = machine.logs().join(".cursor/projects/p/agent-transcripts");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("3f0c2f0e-0000-4000-8000-000000000001.jsonl");
    let line = |role: &str, text: &str| {
        let message = serde_json::json!({"content": [{"type": "text", "text": text}]});
        serde_json::json!({"role": role, "message": message}).to_string() + "\n"
    };
    let mut text = line("user", "what does the quuxifier do");
    text += &line("assistant", "it turns things around");
    fs::write(&path, &text).unwrap();
    let date = |seconds: u64| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(at).unwrap();
    };
    let times = || {
        let all = SessionFilter {
            all_kinds: true,
            limit: 9,
            ..SessionFilter::default()
        };
        let store = Store::open(&machine.home()).unwrap();
        let sessions = store.sessions(&all).unwrap();
        assert_eq!(sessions.len(), 1);
        let seconds = |at: Option<jiff::Timestamp>| at.unwrap().as_second();
        (seconds(sessions[0].started), seconds(sessions[0].ended))
    };
    date(1_790_000_000);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(machine.finds("quuxifier"), 1);
    assert_eq!(times(), (1_790_000_000, 1_790_000_000));
    fs::write(&path, text + &line("user", "thank you")).unwrap();
    date(1_790_000_600);
    machine.sweep_at(LONG_AFTER);
    assert_eq!(times(), (1_790_000_000, 1_790_000_600));
}

/// A log of one session, whose entries are lines with texts of their own.
#[derive(Clone, Copy, Debug)]
enum Agent {
    /// Its entries have ids.
    Claude,
    /// Its entries have none; their ids are derived from the entries before them.
    Codex,
}

const CODEX_ID: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

impl Agent {
    fn session(self) -> SessionId {
        match self {
            Self::Claude => claude_session(),
            Self::Codex => SessionId::of(Flavor::Codex, CODEX_ID),
        }
    }

    fn path(self, machine: &Machine, folder: &str) -> PathBuf {
        let logs = machine.logs();
        let path = match self {
            Self::Claude => logs.join(format!("claude/-work-proj/{folder}.jsonl")),
            Self::Codex => logs.join(format!(
                "codex/{folder}/rollout-2026-02-02T10-00-00-{CODEX_ID}.jsonl"
            )),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn line(self, entry: usize) -> String {
        let text = format!("entry {entry} of the log");
        match self {
            Self::Claude => prompt("s", &format!("u{entry}"), &text),
            Self::Codex => {
                let item = serde_json::json!({"timestamp": "2026-02-02T10:00:00.000Z",
                    "type": "response_item", "payload": {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": text}]}});
                format!("{item}\n")
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Append(usize),
    /// Cuts the end off, and may leave half a line.
    Truncate(usize, bool),
    /// Cuts the beginning off.
    DropFirst(usize),
    Remove(usize),
    /// Replaces all entries by new ones.
    Rewrite(usize),
    /// Moves the file away and starts a new one.
    Rotate(usize),
    /// Restores the longest version of the log.
    Restore,
    Delete,
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (1..4_usize).prop_map(Change::Append),
        2 => (0..4_usize, any::<bool>()).prop_map(|(n, half)| Change::Truncate(n, half)),
        1 => (1..3_usize).prop_map(Change::DropFirst),
        1 => (0..6_usize).prop_map(Change::Remove),
        1 => (1..4_usize).prop_map(Change::Rewrite),
        1 => (0..3_usize).prop_map(Change::Rotate),
        2 => Just(Change::Restore),
        1 => Just(Change::Delete),
    ]
}

/// The files of a log, and what they should hold.
struct Model {
    agent: Agent,
    entries: Vec<usize>,
    rotated: Vec<usize>,
    longest: Vec<usize>,
    next: usize,
}

impl Model {
    fn fresh(&mut self, count: usize) -> Vec<usize> {
        self.next += count;
        (self.next - count..self.next).collect()
    }

    /// Changes the files as an agent, a user or a log rotation would.
    fn change(&mut self, machine: &Machine, change: &Change) {
        let path = self.agent.path(machine, "current");
        let mut half = None;
        match *change {
            Change::Append(count) => {
                let fresh = self.fresh(count);
                self.entries.extend(fresh);
            }
            Change::Truncate(count, leaves_half) => {
                self.entries.truncate(count);
                half = leaves_half.then(|| self.agent.line(9999)[..40].to_owned());
            }
            Change::DropFirst(count) => drop(self.entries.drain(..count.min(self.entries.len()))),
            Change::Remove(at) if at < self.entries.len() => drop(self.entries.remove(at)),
            Change::Remove(_) => {}
            Change::Rewrite(count) => self.entries = self.fresh(count),
            Change::Rotate(count) => {
                if path.exists() {
                    let aside = self.agent.path(machine, "aside");
                    fs::rename(&path, aside).unwrap();
                    self.rotated = std::mem::take(&mut self.entries);
                }
                self.entries = self.fresh(count);
            }
            Change::Restore => self.entries.clone_from(&self.longest),
            Change::Delete => {
                self.entries.clear();
                if path.exists() {
                    fs::remove_file(&path).unwrap();
                }
                return;
            }
        }
        if self.entries.len() > self.longest.len() {
            self.longest.clone_from(&self.entries);
        }
        let mut text: String = self.entries.iter().map(|e| self.agent.line(*e)).collect();
        text += half.as_deref().unwrap_or_default();
        fs::write(path, text).unwrap();
    }

    /// Returns every entry that ever was, and whether a file holds it now.
    fn expected(&self) -> BTreeMap<String, Vec<bool>> {
        let is_there = |entry: &usize| self.entries.contains(entry) || self.rotated.contains(entry);
        (0..self.next)
            .map(|entry| (format!("entry {entry} of the log"), vec![is_there(&entry)]))
            .collect()
    }
}

fn check_changes(agent: Agent, all: &[Change]) -> Result<(), TestCaseError> {
    let machine = Machine::new();
    let mut model = Model {
        agent,
        entries: Vec::new(),
        rotated: Vec::new(),
        longest: Vec::new(),
        next: 0,
    };
    for (step, change) in all.iter().enumerate() {
        model.change(&machine, change);
        machine.sweep_at(WHILE_WRITING);
        // Another file may hold what the removed one held; the next sweep reads it again.
        machine.sweep_at(WHILE_WRITING);
        let mut found: BTreeMap<String, Vec<bool>> = BTreeMap::new();
        for record in machine.records(&agent.session()) {
            found
                .entry(record.content)
                .or_default()
                .push(record.in_source);
        }
        prop_assert_eq!(
            &found,
            &model.expected(),
            "after step {} of {:?}",
            step,
            all
        );
        let dump = machine.dump();
        prop_assert!(
            dump.contains("0 without a record, 0 not indexed"),
            "{}",
            dump
        );
    }
    Ok(())
}

/// Each case sweeps many times, so the default number is small; `PROPTEST_CASES` raises it.
#[expect(clippy::disallowed_methods, reason = "the variable is proptest's own")]
fn config() -> ProptestConfig {
    let usual = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        usual
    } else {
        ProptestConfig { cases: 16, ..usual }
    }
}

proptest! {
    #![proptest_config(config())]

    /// However a log changes, every complete entry that a sweep has read is stored once, and marked
    /// by whether a file still holds it.
    #[test]
    fn any_change_of_a_log_keeps_every_entry_once(
        changes in prop::collection::vec(changes(), 1..8),
    ) {
        check_changes(Agent::Claude, &changes)?;
    }

    #[test]
    fn any_change_of_a_log_without_ids_keeps_every_entry_once(
        changes in prop::collection::vec(changes(), 1..8),
    ) {
        check_changes(Agent::Codex, &changes)?;
    }
}
