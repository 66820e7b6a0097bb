//! The compact, permanent account of one session.
//!
//! A digest outlives the records it was made from, so it must stand on its own: what the user
//! asked, what the agent did, how the session ended. Every list is capped and counts the items
//! that were left out. The trust of each part follows from its source records: see
//! [`DigestTrust`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fingerprint::ErrorFingerprint;
use crate::{Trust, Usage};

/// The version of the digest algorithm. Digests of an older version are rebuilt as long as their
/// records still exist. Signals are made with the digest, so a new [`signal::VERSION`] needs a new
/// version here too.
///
/// [`signal::VERSION`]: crate::signal::VERSION
pub const VERSION: u32 = 4;

/// A digest keeps this many prompts from the start of the session …
pub const FIRST_PROMPTS_MAX: usize = 2;
/// … and this many from its end.
pub const LAST_PROMPTS_MAX: usize = 4;
pub const STEPS_MAX: usize = 24;
pub const ERRORS_MAX: usize = 6;
pub const RETRIES_MAX: usize = 5;
pub const CORRECTIONS_MAX: usize = 4;
pub const TOOLS_MAX: usize = 12;
pub const REASONS_MAX: usize = 4;

/// What a session was about and how it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Digest {
    pub version: u32,
    pub outcome: Outcome,
    /// The observations that led to `outcome`.
    pub reasons: Vec<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Time from the first record to the last.
    pub wall_ms: u64,
    /// `wall_ms` without long pauses.
    pub active_ms: u64,
    pub records: u64,
    pub prompts: u64,
    /// The first and the last prompts, shortened.
    pub asked: CappedList<String>,
    /// The agent's last message, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The steps, in the order of their first occurrence.
    pub done: CappedList<DigestStep>,
    /// The number of calls and commands that only read.
    pub looks: u64,
    pub errors: CappedList<SeenError>,
    /// Calls that were repeated after a failure.
    pub retries: CappedList<Retry>,
    /// Prompts in which the user contradicted the agent.
    pub corrections: CappedList<String>,
    pub tools: CappedList<ToolCount>,
    pub overhead: Overhead,
    pub usage: Usage,
    /// Cost in US dollars, from the log or from the price list. `None` means unknown, not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub trust: DigestTrust,
}

/// A list with a maximum length, and the number of items beyond it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CappedList<T> {
    pub items: Vec<T>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

impl<T> Default for CappedList<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            more: 0,
        }
    }
}

impl<T> CappedList<T> {
    /// Keeps the first `max` items and counts the others.
    pub fn keep_first(mut items: Vec<T>, max: usize) -> Self {
        let more = items.len().saturating_sub(max) as u64;
        items.truncate(max);
        Self { items, more }
    }

    fn join(&mut self, later: Self, max: usize) {
        self.items.extend(later.items);
        self.more += later.more + self.items.len().saturating_sub(max) as u64;
        self.items.truncate(max);
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

named_enum! {
    /// How a session ended.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Outcome {
        Succeeded = "succeeded",
        /// The session ended before the work was finished.
        Abandoned = "abandoned",
        Failed = "failed",
        #[default]
        Unclear = "unclear",
    }
}

/// One distinct action of a session, with the number of times it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestStep {
    pub kind: StepKind,
    /// The file or the command.
    pub what: String,
    pub times: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// The exit code of the last run, if the log has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// A file was created or changed.
    Changed,
    /// A command ran.
    Ran,
    /// Tests ran.
    Tested,
    /// A subagent received a task.
    Delegated,
}

/// All errors of a session that share a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenError {
    pub name: ErrorFingerprint,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub times: u64,
    /// The same action succeeded later.
    pub overcome: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub what: String,
    pub times: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCount {
    pub tool: String,
    pub calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
}

/// Calls that cost time without moving the work forward. Each call counts once, under the first
/// category that matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// The number of all calls, for comparison.
    pub calls: u64,
    pub failed: u64,
    /// Package installations and downloads.
    pub installs: u64,
    /// Sleeps and polls.
    pub waits: u64,
    /// Repeated reads of a file that did not change in between.
    pub rereads: u64,
    /// Calls that the user refused or interrupted.
    pub denials: u64,
    /// Time spent in overhead calls, and in all calls.
    pub ms: u64,
    pub calls_ms: u64,
    /// Text that overhead calls added to the conversation, and all text of the session.
    pub text_bytes: u64,
    pub all_text_bytes: u64,
}

impl Overhead {
    /// Returns the number of overhead calls.
    pub const fn total(&self) -> u64 {
        self.failed + self.installs + self.waits + self.rereads
    }

    /// Returns the percentage of calls that were overhead.
    pub const fn percent(&self) -> u64 {
        percent_of(self.total(), self.calls)
    }

    pub const fn time_percent(&self) -> u64 {
        percent_of(self.ms, self.calls_ms)
    }

    pub const fn text_percent(&self) -> u64 {
        percent_of(self.text_bytes, self.all_text_bytes)
    }

    fn join(&mut self, later: Self) {
        self.calls += later.calls;
        self.failed += later.failed;
        self.installs += later.installs;
        self.waits += later.waits;
        self.rereads += later.rereads;
        self.denials += later.denials;
        self.ms += later.ms;
        self.calls_ms += later.calls_ms;
        self.text_bytes += later.text_bytes;
        self.all_text_bytes += later.all_text_bytes;
    }
}

const fn percent_of(part: u64, whole: u64) -> u64 {
    match (100 * part).checked_div(whole) {
        Some(percent) => percent,
        None => 0,
    }
}

/// The trust of each part of a digest: the lowest trust among the records it was made from, `None`
/// for a part without records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DigestTrust {
    pub asked: Option<Trust>,
    pub said: Option<Trust>,
    pub done: Option<Trust>,
    pub errors: Option<Trust>,
}

impl DigestTrust {
    /// Returns the parts with their trust capped at `trust`.
    #[must_use]
    pub fn lowered_to(self, trust: Trust) -> Self {
        let lower = |part: Option<Trust>| part.map(|known| known.min(trust));
        Self {
            asked: lower(self.asked),
            said: lower(self.said),
            done: lower(self.done),
            errors: lower(self.errors),
        }
    }

    /// Returns the trust of the digest as a whole.
    pub fn lowest(&self) -> Trust {
        [self.asked, self.said, self.done, self.errors]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Trust::Tool)
    }

    fn join(&mut self, later: Self) {
        let lower = |a: Option<Trust>, b: Option<Trust>| a.into_iter().chain(b).min();
        self.asked = lower(self.asked, later.asked);
        self.said = lower(self.said, later.said);
        self.done = lower(self.done, later.done);
        self.errors = lower(self.errors, later.errors);
    }
}

/// Lowers the trust of a part to the trust of one more source.
pub fn lower_trust(part: &mut Option<Trust>, trust: Trust) {
    *part = Some(part.map_or(trust, |known| known.min(trust)));
}

impl Digest {
    /// Appends the digest of a later part of the session. This is needed when a session continues
    /// after its earlier records were evicted.
    pub fn append(mut self, later: Self) -> Self {
        self.version = self.version.min(later.version);
        self.outcome = later.outcome;
        self.reasons = later.reasons;
        self.started = [self.started, later.started].into_iter().flatten().min();
        self.ended = self.ended.max(later.ended);
        self.wall_ms = span_ms(self.started, self.ended).max(self.wall_ms);
        self.active_ms += later.active_ms;
        self.records += later.records;
        self.prompts += later.prompts;
        self.asked = first_and_last_prompts(
            self.asked
                .items
                .into_iter()
                .chain(later.asked.items)
                .collect(),
            self.asked.more + later.asked.more,
        );
        self.said = later.said.or(self.said);
        join_steps(&mut self.done, later.done);
        self.looks += later.looks;
        join_errors(&mut self.errors, later.errors);
        self.retries.join(later.retries, RETRIES_MAX);
        self.corrections.join(later.corrections, CORRECTIONS_MAX);
        join_tools(&mut self.tools, later.tools);
        self.overhead.join(later.overhead);
        // Usage rows outlive the records, so the later digest already covers the whole session.
        self.usage = later.usage;
        self.cost_usd = later.cost_usd.or(self.cost_usd);
        self.trust.join(later.trust);
        self
    }

    /// Calls `each` with every text that was taken from records.
    pub fn for_each_text(&mut self, mut each: impl FnMut(&mut String)) {
        self.reasons.iter_mut().for_each(&mut each);
        self.asked.items.iter_mut().for_each(&mut each);
        self.said.iter_mut().for_each(&mut each);
        self.done
            .items
            .iter_mut()
            .for_each(|step| each(&mut step.what));
        for error in &mut self.errors.items {
            each(&mut error.text);
            error.tool.iter_mut().for_each(&mut each);
        }
        self.retries
            .items
            .iter_mut()
            .for_each(|retry| each(&mut retry.what));
        self.corrections.items.iter_mut().for_each(&mut each);
        self.tools
            .items
            .iter_mut()
            .for_each(|tool| each(&mut tool.tool));
    }
}

/// Keeps the first and the last prompts of a list, and counts those between.
pub fn first_and_last_prompts(mut items: Vec<String>, more: u64) -> CappedList<String> {
    let max = FIRST_PROMPTS_MAX + LAST_PROMPTS_MAX;
    if items.len() <= max {
        return CappedList { items, more };
    }
    let left_out = items.len() - max;
    items.drain(FIRST_PROMPTS_MAX..FIRST_PROMPTS_MAX + left_out);
    CappedList {
        items,
        more: more + left_out as u64,
    }
}

pub fn span_ms(from: Option<Timestamp>, to: Option<Timestamp>) -> u64 {
    let span = from
        .zip(to)
        .map(|(from, to)| to.as_millisecond() - from.as_millisecond());
    span.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)
}

fn join_steps(steps: &mut CappedList<DigestStep>, later: CappedList<DigestStep>) {
    steps.more += later.more;
    for step in later.items {
        let same = |known: &&mut DigestStep| known.kind == step.kind && known.what == step.what;
        if let Some(known) = steps.items.iter_mut().find(same) {
            known.times += step.times;
            known.failed += step.failed;
            known.exit = step.exit.or(known.exit);
        } else if steps.items.len() < STEPS_MAX {
            steps.items.push(step);
        } else {
            steps.more += 1;
        }
    }
}

fn join_errors(errors: &mut CappedList<SeenError>, later: CappedList<SeenError>) {
    errors.more += later.more;
    for error in later.items {
        if let Some(known) = errors
            .items
            .iter_mut()
            .find(|known| known.name == error.name)
        {
            known.times += error.times;
            known.overcome = error.overcome;
        } else if errors.items.len() < ERRORS_MAX {
            errors.items.push(error);
        } else {
            errors.more += 1;
        }
    }
}

fn join_tools(tools: &mut CappedList<ToolCount>, later: CappedList<ToolCount>) {
    tools.more += later.more;
    for tool in later.items {
        if let Some(known) = tools.items.iter_mut().find(|known| known.tool == tool.tool) {
            known.calls += tool.calls;
            known.failed += tool.failed;
        } else if tools.items.len() < TOOLS_MAX {
            tools.items.push(tool);
        } else {
            tools.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_prompts_stay() {
        let asked = first_and_last_prompts((0..9).map(|n| n.to_string()).collect(), 1);
        assert_eq!(asked.items, ["0", "1", "5", "6", "7", "8"]);
        assert_eq!(asked.more, 4);
    }

    #[test]
    fn a_digest_of_another_version_is_read() {
        let json = r#"{"version":0,"outcome":"failed","later_field":{"x":1}}"#;
        let digest: Digest = serde_json::from_str(json).unwrap();
        assert_eq!((digest.version, digest.outcome), (0, Outcome::Failed));
    }

    #[test]
    fn what_comes_later_is_added() {
        let step = |what: &str, times| DigestStep {
            kind: StepKind::Ran,
            what: what.to_owned(),
            times,
            failed: 0,
            exit: None,
        };
        let part = |what: &str, outcome| Digest {
            outcome,
            prompts: 1,
            done: CappedList::keep_first(vec![step(what, 2)], STEPS_MAX),
            asked: CappedList::keep_first(vec![what.to_owned()], 6),
            ..Digest::default()
        };
        let whole = part("make", Outcome::Failed).append(part("make", Outcome::Succeeded));
        assert_eq!(whole.done.items, [step("make", 4)]);
        assert_eq!((whole.prompts, whole.outcome), (2, Outcome::Succeeded));
        let many = (0..40).fold(Digest::default(), |all, n| {
            all.append(part(&n.to_string(), Outcome::Unclear))
        });
        assert_eq!(many.done.items.len() as u64 + many.done.more, 40);
        assert_eq!(many.asked.items.len() as u64 + many.asked.more, 40);
    }

    #[test]
    fn the_lowest_trust_counts() {
        let mut part = None;
        lower_trust(&mut part, Trust::User);
        lower_trust(&mut part, Trust::Model);
        lower_trust(&mut part, Trust::User);
        assert_eq!(part, Some(Trust::Model));
        let trust = DigestTrust {
            asked: Some(Trust::User),
            errors: Some(Trust::Tool),
            ..DigestTrust::default()
        };
        assert_eq!(trust.lowest(), Trust::Tool);
    }
}
