//! Sessions: one conversation of one agent in one workspace.

use std::ops::AddAssign;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Flavor, Outcome, SessionId};

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    pub id: SessionId,
    pub flavor: Flavor,
    pub kind: SessionKind,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    pub parent: Option<SessionId>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub records: u64,
    pub prompts: u64,
    pub tool_calls: u64,
    pub errors: u64,
    pub usage: Usage,
    /// Cost in US dollars if the log states it. `None` means unknown, not zero.
    pub cost_usd: Option<f64>,
    /// The path of its log, and whether that file no longer exists.
    pub source: Option<String>,
    pub source_gone: bool,
    /// The outcome from the digest, once there is one.
    pub outcome: Option<Outcome>,
    /// The number of evicted records, which only the digest still describes.
    pub evicted: u64,
    /// The number of stored records that its logs no longer contain.
    pub detached: u64,
    #[serde(flatten)]
    pub marks: SessionMarks,
}

impl Session {
    /// Returns the name that the user gave the session, or else its title.
    pub fn name_or_title(&self) -> Option<&str> {
        self.marks.name.as_deref().or(self.title.as_deref())
    }
}

/// What the user says about a session. Logs do not change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionMarks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub starred: bool,
    /// An archived session is left out of lists.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

named_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SessionKind {
        #[default]
        Main = "main",
        /// Started by another session's tool call.
        Subagent = "subagent",
        /// Started by a program: a headless run, a schedule.
        Automated = "automated",
    }
}

/// The properties of a session that one log entry reveals. Patches merge in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPatch {
    pub id: SessionId,
    pub flavor: Flavor,
    pub kind: Option<SessionKind>,
    pub title: Option<Title>,
    pub cwd: Option<String>,
    /// The URL of the repository's remote, if the log names it.
    pub remote: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    pub parent: Option<SessionId>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The modification time of the log. It dates a session whose log has no timestamps.
    pub file_time: Option<Timestamp>,
}

impl SessionPatch {
    pub fn new(id: SessionId, flavor: Flavor) -> Self {
        Self {
            id,
            flavor,
            kind: None,
            title: None,
            cwd: None,
            remote: None,
            branch: None,
            model: None,
            version: None,
            parent: None,
            started: None,
            ended: None,
            file_time: None,
        }
    }

    #[must_use]
    pub fn with_title(mut self, text: impl Into<String>, rank: TitleRank) -> Self {
        self.title = Some(Title::new(text, rank));
        self
    }

    #[must_use]
    pub fn with_model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    #[must_use]
    pub fn with_cwd(mut self, cwd: Option<String>) -> Self {
        self.cwd = cwd;
        self
    }

    /// Merges a later patch of the same session. Known values stay, except that better titles and
    /// later branches, models and versions win and the time range widens.
    pub fn merge(&mut self, later: Self) {
        // A subagent's log may also look automated, but the link to its parent is more specific.
        if self.kind != Some(SessionKind::Subagent) {
            self.kind = later.kind.or(self.kind);
        }
        if let Some(title) = later.title
            && self
                .title
                .as_ref()
                .is_none_or(|known| match title.rank.yields_to_equal() {
                    true => title.rank > known.rank,
                    false => title.rank >= known.rank,
                })
        {
            self.title = Some(title);
        }
        self.cwd = self.cwd.take().or(later.cwd);
        self.remote = self.remote.take().or(later.remote);
        self.branch = later.branch.or(self.branch.take());
        self.model = later.model.or(self.model.take());
        self.version = later.version.or(self.version.take());
        self.parent = self.parent.take().or(later.parent);
        self.started = earliest(self.started, later.started);
        self.ended = self.ended.max(later.ended);
        self.file_time = self.file_time.max(later.file_time);
    }

    /// Widens the time range of the session to include `at`.
    pub fn include_time(&mut self, at: Timestamp) {
        self.started = earliest(self.started, Some(at));
        self.ended = self.ended.max(Some(at));
    }
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The title of a session, with the rank of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    pub text: String,
    pub rank: TitleRank,
}

impl Title {
    pub fn new(text: impl Into<String>, rank: TitleRank) -> Self {
        let text = text.into();
        Self { text, rank }
    }
}

/// The source of a title, worst first. A later title of equal rank wins, except for the first two
/// ranks, which never replace another prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleRank {
    /// A prompt that does not describe the session: "hello", "go on".
    SmallTalk,
    /// The first descriptive prompt of this read. An earlier read may have found a better one.
    LaterPrompt,
    /// The first prompt. Adapters report it once, because a later one must not replace it.
    FirstPrompt,
    /// The last prompt, written only by earlier versions.
    LastPrompt,
    /// The agent's own summary of the conversation.
    Summary,
    /// A title that a model generated.
    Generated,
    /// A title that the user chose.
    Custom,
}

impl TitleRank {
    /// Returns the number that is stored.
    pub const fn number(self) -> u8 {
        match self {
            Self::SmallTalk => 0,
            Self::LaterPrompt | Self::FirstPrompt => 1,
            Self::LastPrompt => 2,
            Self::Summary => 3,
            Self::Generated => 4,
            Self::Custom => 5,
        }
    }

    /// Says whether a title of this rank does not replace one of equal rank.
    pub const fn yields_to_equal(self) -> bool {
        matches!(self, Self::SmallTalk | Self::LaterPrompt)
    }
}

/// The largest token count that is stored for one response. Up to this limit, counts are exact in a
/// database column, in a floating-point sum and in a JSON number.
pub const TOKENS_MAX: u64 = 1 << 53;
/// The largest cost in US dollars that is stored for one response.
pub const COST_USD_MAX: f64 = 1e9;

/// Tokens as providers bill them. `input` excludes tokens read from or written to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Included in `output`.
    pub reasoning: u64,
}

impl Usage {
    /// Returns the number of all tokens that the model read and wrote.
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Returns the usage with every count capped at [`TOKENS_MAX`].
    #[must_use]
    pub fn clamped(self) -> Self {
        Self {
            input: self.input.min(TOKENS_MAX),
            output: self.output.min(TOKENS_MAX),
            cache_read: self.cache_read.min(TOKENS_MAX),
            cache_write: self.cache_write.min(TOKENS_MAX),
            reasoning: self.reasoning.min(TOKENS_MAX),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.reasoning, other.reasoning);
    }
}

/// The usage of one API response. The key is the same wherever the log repeats the response: in the
/// lines of a split message, or in a resumed copy of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageEntry {
    pub session: SessionId,
    pub key: String,
    pub at: Option<Timestamp>,
    pub model: Option<String>,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

impl UsageEntry {
    /// Clamps the counts and the cost to the range that can be stored and summed. Returns whether a
    /// value was out of range.
    pub fn clamp(&mut self) -> bool {
        let usage = self.usage.clamped();
        let cost = self.cost_usd.map(clamp_cost);
        let is_odd = usage != self.usage || cost != self.cost_usd;
        (self.usage, self.cost_usd) = (usage, cost);
        is_odd
    }
}

/// Returns a cost that can be summed: finite, not negative, at most [`COST_USD_MAX`].
pub fn clamp_cost(usd: f64) -> f64 {
    if usd.is_nan() {
        0.0
    } else {
        usd.clamp(0.0, COST_USD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch() -> SessionPatch {
        SessionPatch::new(SessionId::of(Flavor::Claude, "s"), Flavor::Claude)
    }

    fn titled(text: &str, rank: TitleRank) -> SessionPatch {
        SessionPatch {
            title: Some(Title {
                text: text.into(),
                rank,
            }),
            ..patch()
        }
    }

    #[test]
    fn better_title_wins_whatever_the_order() {
        let (custom, prompt) = (
            titled("custom", TitleRank::Custom),
            titled("prompt", TitleRank::FirstPrompt),
        );
        for (first, second) in [(&custom, &prompt), (&prompt, &custom)] {
            let mut merged = first.clone();
            merged.merge(second.clone());
            assert_eq!(
                merged.title.map(|title| title.text).as_deref(),
                Some("custom")
            );
        }
    }

    #[test]
    fn counts_saturate() {
        let most = Usage {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: 1,
            cache_write: u64::MAX,
            reasoning: 7,
        };
        let mut sum = most;
        sum += most;
        assert_eq!((sum.total(), sum.reasoning), (u64::MAX, 14));
        let mut entry = UsageEntry {
            session: SessionId::of(Flavor::Claude, "s"),
            key: String::new(),
            at: None,
            model: None,
            usage: most,
            cost_usd: Some(f64::INFINITY),
        };
        assert!(entry.clamp());
        assert_eq!(entry.usage.input, TOKENS_MAX);
        assert_eq!((entry.usage.cache_read, entry.usage.reasoning), (1, 7));
        assert_eq!(entry.cost_usd, Some(COST_USD_MAX));
        assert!(!entry.clamp(), "a clamped entry is in range");
    }

    #[test]
    fn times_widen() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut merged = SessionPatch {
            started: at(20),
            ended: at(20),
            ..patch()
        };
        merged.merge(SessionPatch {
            started: at(10),
            ended: at(30),
            ..patch()
        });
        assert_eq!((merged.started, merged.ended), (at(10), at(30)));
    }
}
