//! The export format: one JSON object per line, whose kind is in the member `memory`.

use jiff::Timestamp;
use memory::session::{TOKENS_MAX, clamp_cost};
use memory::{FactKind, RecordKind, SessionKind, Trust};
use serde::{Deserialize, Serialize};

pub(super) use crate::hex::{decode as decode_hex, encode as encode_hex};

use super::derived::{CallLine, InjectionLine, MarksLine, SummaryLine};

/// Incremented when a reader of the old format would misunderstand a newer file.
pub const EXPORT_FORMAT: u32 = 1;

/// A line. Workspaces and sessions come before what belongs to them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "memory", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a line is written or taken in before the next one is read"
)]
pub(super) enum ExportLine {
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
    Marks(MarksLine),
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
    /// The hash of the record's text when it was first stored. A later scan may have redacted it.
    pub id: String,
    pub session: String,
    pub message: String,
    pub line: u64,
    pub ordinal: u32,
    #[serde(rename = "type")]
    pub kind: RecordKind,
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
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
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

/// The counts of a session whose records were evicted.
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
    pub(crate) fn may_return(&self) -> bool {
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<memory::Signal>,
    /// Of the records that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_signals: Vec<memory::Signal>,
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

/// The largest number of records, calls or uses that an imported line may state.
const COUNT_MAX: u64 = 1 << 32;
/// The largest position and size in a log that an imported line may state.
const LOG_BYTES_MAX: u64 = 1 << 40;

impl ExportLine {
    /// Returns whether a line makes a claim that is trusted only from this store itself.
    pub(crate) fn is_signed(&self) -> bool {
        matches!(
            self,
            Self::Record(_) | Self::Digest(_) | Self::Summary(_) | Self::Fact(_)
        )
    }

    /// Removes the claims that a line of another store makes in the user's name. Returns whether
    /// there was one.
    pub(crate) fn lower_trust(&mut self) -> bool {
        match self {
            Self::Record(line) => std::mem::replace(&mut line.trust, Trust::Tool) != Trust::Tool,
            Self::Fact(line) => {
                let is_guidance = [FactKind::Preference, FactKind::Correction]
                    .iter()
                    .any(|kind| kind.name() == line.kind);
                let is_claim = line.trust != Trust::Tool || line.pinned || is_guidance;
                if is_guidance {
                    FactKind::Note.name().clone_into(&mut line.kind);
                }
                line.pinned = false;
                line.trust = Trust::Tool;
                is_claim
            }
            Self::Digest(line) => {
                let before = line.digest.trust;
                line.digest.trust = before.lowered_to(Trust::Tool);
                if let Some(base) = &mut line.base {
                    base.trust = base.trust.lowered_to(Trust::Tool);
                }
                line.digest.trust != before
            }
            _ => false,
        }
    }

    /// Limits the numbers of a line to what the store can hold and add up. Returns whether one was
    /// out of range. Usage is limited where all usage is, in the sanitizer.
    pub(crate) fn clamp(&mut self) -> bool {
        let mut clamp = Clamp::default();
        match self {
            Self::Record(line) => clamp.limit(&mut line.line, LOG_BYTES_MAX),
            Self::Log(line) => {
                clamp.limit(&mut line.offset, LOG_BYTES_MAX);
                clamp.limit(&mut line.size, LOG_BYTES_MAX);
            }
            Self::Eviction(line) => {
                for count in [
                    &mut line.records, &mut line.prompts, &mut line.tool_calls, &mut line.errors,
                    &mut line.lost,
                ] {
                    clamp.limit(count, COUNT_MAX);
                }
            }
            Self::Summary(line) => {
                for count in [&mut line.version, &mut line.tokens, &mut line.tool_calls] {
                    clamp.limit(count, COUNT_MAX);
                }
            }
            Self::Fact(line) => clamp.limit(&mut line.times, COUNT_MAX),
            Self::Call(line) => {
                for count in [
                    &mut line.input, &mut line.output, &mut line.cache_read, &mut line.cache_write,
                ] {
                    clamp.limit(count, TOKENS_MAX);
                }
                let usd = line.usd.map(clamp_cost);
                clamp.is_out_of_range |= usd != line.usd;
                line.usd = usd;
            }
            Self::Injection(line) => {
                clamp.limit(&mut line.tokens, COUNT_MAX);
                clamp.limit_flag(&mut line.looked);
                line.verdict
                    .iter_mut()
                    .for_each(|verdict| clamp.limit_flag(verdict));
                for item in &mut line.items {
                    clamp.limit(&mut item.tokens, COUNT_MAX);
                    item.used.iter_mut().for_each(|used| clamp.limit_flag(used));
                }
            }
            Self::Export { .. }
            | Self::Workspace(_)
            | Self::Session(_)
            | Self::Source(_)
            | Self::Usage(_)
            | Self::Marks(_)
            | Self::Digest(_) => {}
        }
        clamp.is_out_of_range
    }
}

/// Limits numbers and remembers whether one was out of range.
#[derive(Default)]
struct Clamp {
    is_out_of_range: bool,
}

impl Clamp {
    fn limit(&mut self, number: &mut u64, max: u64) {
        self.is_out_of_range |= *number > max;
        *number = (*number).min(max);
    }

    /// Limits a number that says yes, no or against.
    fn limit_flag(&mut self, number: &mut i64) {
        let limited = (*number).clamp(-1, FLAG_MAX);
        self.is_out_of_range |= limited != *number;
        *number = limited;
    }
}

/// The largest value of a small state number in an imported line.
const FLAG_MAX: i64 = 1 << 16;

pub(super) fn bytes(hex: &str) -> Option<[u8; 16]> {
    hex.parse::<memory::RecordId>()
        .ok()
        .map(|id| *id.as_bytes())
}
