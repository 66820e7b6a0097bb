//! Reads a log line by line: assigns each record to its session and dispatches it by its type.

use std::collections::VecDeque;

use memory::{Flavor, IdChain, Message, MessageId, Origin, Role, SessionId, SessionKind};
use serde::de::Error;
use serde::{Deserialize, Serialize};

use super::discover::LogOwner;
use super::pinned_lines::PinnedLines;
use super::queue::PromptQueue;
use super::session_tracker::{RecordSession, SessionTracker, fingerprint};
use super::usage::LastUsage;
use super::wire::{self, Record};
use crate::adapter::{load_state, save_state};
use crate::calls::OpenCalls;
use crate::json;
use crate::{InputLine, LogReader, ParseOutput, ResumePoint, lines};

/// How many records may lie between a summary and the last message it covers.
const LEAVES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct ClaudeLogReader {
    owner: LogOwner,
    pub state: ClaudeReaderState,
    pub pins: PinnedLines,
    last_line: u64,
}

/// The state that the next reader of the log needs. It is stored, so it holds ids and names but no
/// conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ClaudeReaderState {
    pub calls: OpenCalls,
    /// Stored states have this under the name `facts`.
    #[serde(rename = "facts")]
    pub sessions: SessionTracker,
    pub queue: PromptQueue,
    pub usage: LastUsage,
    /// The log was written by a version that records attachments.
    pub attachments: bool,
    /// A person has just refused a call.
    pub refused: bool,
    /// The last main session that a record named.
    session: Option<String>,
    chain: IdChain,
    /// Fingerprints of the last records, by which a summary of this conversation is recognised.
    leaves: VecDeque<u32>,
}

/// Returns the session id of a subagent.
pub(crate) fn subagent_session(session: &str, agent: &str) -> String {
    format!("{session}/agent-{agent}")
}

impl ClaudeLogReader {
    pub(crate) fn new(owner: LogOwner, state: Option<&str>) -> Self {
        Self {
            owner,
            state: load_state(state),
            pins: PinnedLines::default(),
            last_line: 0,
        }
    }

    fn read_record(
        &mut self,
        record: &Record<'_>,
        message: wire::Message<'_>,
        line: InputLine<'_>,
        out: &mut ParseOutput,
    ) {
        if let Some(session) = record.session_id.get()
            && self.state.session.as_deref() != Some(session)
        {
            self.state.session = Some(session.to_owned());
        }
        match record.kind.get().unwrap_or("") {
            "user" => self.read_user(record, message, line, out),
            "assistant" => self.read_assistant(record, message, line, out),
            "system" => self.read_system(record, line, out),
            "attachment" => self.read_attachment(record, line, out),
            "queue-operation" => self.read_queue_operation(record, line, out),
            "summary" | "custom-title" | "ai-title" | "last-prompt" => self.read_title(record, out),
            kind if IGNORED_KINDS.contains(&kind) || kind.starts_with("api-request") => {}
            kind => out.count_unknown(kind),
        }
    }

    /// Returns the session a record belongs to.
    pub(crate) fn session_of(&self, record: &Record<'_>) -> RecordSession {
        let main = self.main_session(record);
        if !record.is_sidechain.0 && !self.owner.is_subagent {
            return RecordSession {
                session: SessionId::of(Flavor::Claude, main),
                parent: None,
                kind: is_automated(record).then_some(SessionKind::Automated),
            };
        }
        let native = match record.agent_id.get().or(self.owner.agent.as_deref()) {
            Some(agent) => subagent_session(main, agent),
            // Version 1.0.x wrote subagents into the log of their session and gave them no id.
            None => format!("{main}/sidechain"),
        };
        RecordSession {
            session: SessionId::of(Flavor::Claude, &native),
            parent: Some(SessionId::of(Flavor::Claude, main)),
            kind: Some(SessionKind::Subagent),
        }
    }

    fn main_session<'a>(&'a self, record: &'a Record<'_>) -> &'a str {
        let named = record.session_id.get().or(self.state.session.as_deref());
        named.unwrap_or(&self.owner.session)
    }

    /// Returns a record's message without blocks.
    pub(crate) fn new_message(
        &mut self,
        record: &Record<'_>,
        place: &RecordSession,
        line: InputLine<'_>,
        (role, origin): (Role, Origin),
    ) -> Message {
        let id = match record.uuid.get() {
            Some(uuid) => {
                self.remember_leaf(uuid);
                MessageId::new(uuid)
            }
            None => {
                let raw = record.message.or(record.content).or(record.attachment);
                let body = raw.map_or("", |raw| raw.get());
                self.chain_id(&[record.kind.get().unwrap_or(""), body])
            }
        };
        let mut message = Message::new(id, place.session.clone(), role, origin);
        message.at = record.timestamp.0;
        message.cwd = record.cwd.get().map(str::to_owned);
        message.branch = record.git_branch.get().map(str::to_owned);
        message.line = line.number;
        message
    }

    pub(crate) fn chain_id(&mut self, parts: &[&str]) -> MessageId {
        self.state.chain.link(parts)
    }

    fn remember_leaf(&mut self, uuid: &str) {
        // Versions that write attachments write no summaries.
        if self.state.attachments {
            self.state.leaves.clear();
            return;
        }
        if self.state.leaves.len() == LEAVES_MAX {
            self.state.leaves.pop_front();
        }
        self.state.leaves.push_back(fingerprint(uuid));
    }

    pub(crate) fn has_leaf(&self, uuid: &str) -> bool {
        self.state.leaves.contains(&fingerprint(uuid))
    }
}

impl LogReader for ClaudeLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        self.last_line = line.number;
        if wire::is_ignored_line(line.text) {
            return;
        }
        lines::for_each_object(line, out, |object, out| {
            let record: Record<'_> = serde_json::from_str(object)?;
            if record.kind.get().is_none() {
                return Err(serde_json::Error::custom("a record has a type"));
            }
            let spoken = record.kind.is("user") || record.kind.is("assistant");
            let message = match record.message.filter(|_| spoken) {
                Some(message) => serde_json::from_str(message.get())?,
                None => wire::Message::default(),
            };
            self.read_record(&record, message, line, out);
            Ok(())
        });
    }

    fn finish(&mut self, settled: bool, out: &mut ParseOutput) {
        if settled {
            self.pins.clear();
        }
        self.state.sessions.emit_times(out);
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        self.pins.resume_point(self.last_line)
    }
}

/// Emits a message unless it has no blocks.
pub(crate) fn push_message(message: Message, out: &mut ParseOutput) {
    if !message.blocks.is_empty() {
        out.push(message);
    }
}

/// Says whether a program drives the session. The desktop application uses the SDK too, but says
/// that a person is the origin.
fn is_automated(record: &Record<'_>) -> bool {
    let entrypoint = record.entrypoint.get().unwrap_or("sdk-");
    entrypoint.starts_with("sdk-")
        && (record.entrypoint.get().is_some() || record.prompt_source.is("sdk"))
        && !json::parse_or_default::<wire::Origin<'_>>(record.origin)
            .kind
            .is("human")
}

/// Types of records that are not part of the conversation: settings, snapshots, copies,
/// bookkeeping.
const IGNORED_KINDS: &[&str] = &[
    "agent-name", "atis-latch", "bridge-session", "cost-state", "file-history-snapshot",
    "frame-link", "mode", "permission-mode", "pr-link", "progress", "relocated", "result",
    "started", "tools-used", "worktree-state",
];
