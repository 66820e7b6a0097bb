//! A store that is told whole sessions, and prompts that are sent to it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it, and a test that cannot go on should fail"
)]

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use memory::{
    Block, CallId, FactKind, FileModification, Flavor, Message, MessageId, Origin, Role, SessionId,
    SessionPatch, ToolResult, ToolUse, Trust, Workspace,
};
use store::{IncomingEntries, NewFact};
use testkit::store::{TestStore, append};
use throughline_recall::{
    PromptRequest, RecallAnswer, RecallConfig, RecallEnv, RecallOutcome, find_prompt_hits, recall,
};

/// One event of a session.
#[derive(Clone, Debug)]
pub enum Said<'a> {
    User(&'a str),
    Agent(&'a str),
    Thinking(&'a str),
    /// A tool, its input, what it returned.
    Tool(&'a str, &'a str, &'a str),
    /// A file that was edited, and the change.
    Edit(&'a str, &'a str),
}

pub struct Sessions {
    pub store: TestStore,
    lines: Cell<u64>,
}

pub fn now() -> Timestamp {
    "2026-11-16T09:00:00Z".parse().unwrap()
}

pub fn workspace(name: &str) -> Workspace {
    Workspace {
        key: format!("example.com/{name}"),
        root: format!("/src/{name}"),
    }
}

impl Sessions {
    pub fn new() -> Self {
        Self {
            store: TestStore::empty(),
            lines: Cell::new(0),
        }
    }

    /// Stores a session that took place some days ago.
    pub fn session(&self, name: &str, place: &str, days_ago: i64, events: &[Said<'_>]) {
        let id = SessionId::of(Flavor::Claude, name);
        let start = now() - SignedDuration::from_hours(24 * days_ago);
        let mut patch = SessionPatch::new(id.clone(), Flavor::Claude);
        let mut records = Vec::new();
        for event in events {
            for (origin, block) in blocks(event, self.lines.get()) {
                let line = self.lines.get() + 1;
                self.lines.set(line);
                let name = MessageId::new(format!("{name}/{line}"));
                let mut message = Message::new(name, id.clone(), Role::User, origin);
                message.blocks = vec![block];
                message.line = line;
                let at = start + SignedDuration::from_secs(i64::try_from(line).unwrap());
                message.at = Some(at);
                patch.include_time(at);
                records.extend(memory::record::project_records(message));
            }
        }
        append(
            &self.store,
            IncomingEntries {
                records,
                sessions: vec![(patch, Some(workspace(place)))],
                usage: Vec::new(),
            },
        );
    }

    pub fn fact(&self, place: &str, kind: FactKind, trust: Trust, text: &str) {
        let fact = NewFact {
            workspace: Some(workspace(place)),
            kind,
            text: text.to_owned(),
            tags: Vec::new(),
            trust,
            pinned: false,
            at: now() - SignedDuration::from_hours(24 * 21),
            sources: Vec::new(),
        };
        self.store.remember(fact).unwrap();
    }

    /// Sends a prompt from a new session.
    pub fn prompt(&self, place: &str, prompt: &str) -> RecallOutcome {
        let occasion = PromptRequest {
            prompt: prompt.to_owned(),
            session: Some(SessionId::of(Flavor::Claude, "present")),
            workspace: Some(workspace(place).key),
            ..PromptRequest::default()
        };
        let world = RecallEnv {
            now: now(),
            fence_word: "c0ffee1234",
            changed_since: &|_, _| false,
        };
        let config = RecallConfig::default();
        recall(&self.store, &occasion, &config, &world, find_prompt_hits).unwrap()
    }

    /// Returns what a prompt is given, or nothing.
    pub fn given(&self, place: &str, prompt: &str) -> String {
        match self.prompt(place, prompt).answer {
            RecallAnswer::Inject(pack) => pack.text,
            RecallAnswer::Abstain(_) => String::new(),
        }
    }
}

fn blocks(event: &Said<'_>, line: u64) -> Vec<(Origin, Block)> {
    let call = CallId::new(format!("call-{line}"));
    let of = |tool: &str, input: &str, path: Option<&str>, result: ToolResult| {
        let used = ToolUse {
            call: call.clone(),
            tool: tool.to_owned(),
            input: input.to_owned(),
            path: path.map(str::to_owned),
        };
        let result = ToolResult {
            call: Some(call.clone()),
            tool: Some(tool.to_owned()),
            path: path.map(str::to_owned),
            ..result
        };
        vec![
            (Origin::Model, Block::ToolUse(used)),
            (Origin::Tool, Block::ToolResult(result)),
        ]
    };
    match event {
        Said::User(text) => vec![(Origin::Human, Block::Text((*text).to_owned()))],
        Said::Agent(text) => vec![(Origin::Model, Block::Text((*text).to_owned()))],
        Said::Thinking(text) => vec![(Origin::Model, Block::Thinking((*text).to_owned()))],
        Said::Tool(tool, input, output) => {
            let result = ToolResult {
                content: (*output).to_owned(),
                ..ToolResult::default()
            };
            of(tool, input, None, result)
        }
        Said::Edit(path, diff) => {
            let result = ToolResult {
                content: "The file was updated.".to_owned(),
                changes: vec![FileModification {
                    path: (*path).to_owned(),
                    diff: (*diff).to_owned(),
                }],
                ..ToolResult::default()
            };
            of("Edit", "{}", Some(path), result)
        }
    }
}
