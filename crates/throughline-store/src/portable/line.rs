//! The format: one object a line, which says what it is under `memory`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::{Kind, SessionKind, Trust};
use serde::{Deserialize, Serialize};

use super::own::{CallLine, InjectionLine, SummaryLine};

/// Counts up when a reader of an older format would misunderstand a newer file.
pub const FORMAT: u32 = 1;

/// A line. Workspaces and sessions come before what belongs to them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "memory", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a line is written or taken in before the next one is read"
)]
pub(super) enum Line {
    /// The first line.
    Export {
        format: u32,
    },
    Workspace(WorkspaceLine),
    Session(SessionLine),
    Source(SourceLine),
    Record(RecordLine),
    Usage(UsageLine),
    Log(LogLine),
    Eviction(EvictionLine),
    Digest(DigestLine),
    Summary(SummaryLine),
    Fact(FactLine),
    Call(CallLine),
    Injection(InjectionLine),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkspaceLine {
    pub key: String,
    pub roots: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SessionLine {
    pub id: String,
    pub flavor: String,
    pub kind: SessionKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default)]
    pub title_rank: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// A log that a session was read from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SourceLine {
    pub session: String,
    pub path: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordLine {
    /// Of the record's text when it was first stored; a later look may have found a secret in it.
    pub id: String,
    pub session: String,
    pub message: String,
    pub line: u64,
    pub ordinal: u32,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub trust: Trust,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The record's log has lost it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    pub content: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UsageLine {
    pub key: String,
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub usage: memory::Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A piece of an agent's own log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LogLine {
    pub flavor: String,
    pub path: String,
    pub offset: u64,
    /// How much of the log it covers; its own text differs where secrets were.
    pub size: u64,
    /// 0 for the log as it was last read, 1 and more for what it was before it lost records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier: u32,
    pub text: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What was evicted of a session.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EvictionLine {
    pub session: String,
    pub at: Timestamp,
    pub pass: String,
    pub records: u64,
    pub prompts: u64,
    pub tool_calls: u64,
    pub errors: u64,
    pub lost: u64,
    /// The beginnings of the records' ids, in hexadecimal digits.
    pub ids: String,
    /// The records may come back when their log is read again. Exports of earlier versions do not
    /// say so.
    #[serde(default)]
    pub reread: Option<bool>,
}

impl EvictionLine {
    /// Says whether the records may come back: earlier versions evicted by age in a store that had
    /// room.
    pub fn may_return(&self) -> bool {
        self.reread.unwrap_or(self.pass == "age")
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DigestLine {
    pub session: String,
    pub made: Timestamp,
    pub digest: memory::Digest,
    /// Of the records that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<memory::Digest>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FactLine {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    pub kind: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    pub trust: Trust,
    #[serde(default)]
    pub pinned: bool,
    pub made: Timestamp,
    pub seen: Timestamp,
    pub times: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded: Option<String>,
    /// Records and the sessions they are of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<(String, String)>,
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads any even number of hexadecimal digits.
pub(super) fn many_bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
        .collect()
}

pub(super) fn bytes(hex: &str) -> Option<[u8; 16]> {
    hex.parse::<memory::RecordId>()
        .ok()
        .map(|id| *id.as_bytes())
}
