//! Builds a digest record by record. Prompts and answers are handled here, tool calls in [`calls`],
//! and [`finish`] assembles the result.

mod calls;
mod finish;

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use memory::digest::{
    DigestStep, DigestTrust, FIRST_PROMPTS_MAX, LAST_PROMPTS_MAX, Overhead, Retry, ToolCount,
    lower_trust, span_ms,
};
use memory::{RecordKind, Session};
use store::StoredRecord;

use self::calls::{CallEnd, PendingCall, SeenFailure};
use super::answer::{AnswerReport, answer_report};
use super::mood::{PromptMood, prompt_mood};
use super::outcome::SessionEnd;
use super::shorten;
use crate::signals::{SignalBuilder, SignalClock};

const PROMPT_CHARS: usize = 240;
const SAID_CHARS: usize = 240;
const COMMAND_CHARS: usize = 100;
const PATH_CHARS: usize = 90;
const CORRECTION_CHARS: usize = 120;
/// A longer pause counts as this long, because the user was away.
const PAUSE_MS_MAX: u64 = 5 * 60 * 1000;
/// The maximum number of distinct steps, errors and calls that are tracked.
const DISTINCT_MAX: usize = 5_000;

/// Collects the digest of a session.
#[derive(Debug, Default)]
pub struct DigestBuilder {
    cwd: Option<String>,
    records: u64,
    prompts: u64,
    first_asked: Vec<String>,
    last_asked: VecDeque<String>,
    said: Option<String>,
    report: AnswerReport,
    mood: Option<PromptMood>,
    steps: Vec<DigestStep>,
    step_at: HashMap<(StepKindName, String), usize>,
    looks: u64,
    errors: Vec<SeenFailure>,
    retries: Vec<Retry>,
    corrections: Vec<String>,
    tools: Vec<ToolCount>,
    overhead: Overhead,
    trust: DigestTrust,
    open: HashMap<String, PendingCall>,
    /// How the last call with each signature ended.
    ended: HashMap<u64, CallEnd>,
    /// The files that were read, by the signature of the call.
    reads: HashMap<u64, Option<String>>,
    tests: Option<bool>,
    committed: bool,
    last: SessionEnd,
    last_at: Option<Timestamp>,
    started: Option<Timestamp>,
    active_ms: u64,
    signals: SignalBuilder,
}

type StepKindName = &'static str;

impl DigestBuilder {
    pub fn new(session: &Session) -> Self {
        Self {
            cwd: session.cwd.clone(),
            ..Self::default()
        }
    }

    /// Adds the next record of the log. A duplicate that a fork or a resume made is skipped: it
    /// belongs to the original session.
    pub fn add_record(&mut self, record: &StoredRecord) {
        if record.copy {
            return;
        }
        self.records += 1;
        self.overhead.all_text_bytes += record.content.len() as u64;
        self.add_time(record.at);
        match record.kind {
            RecordKind::Prompt => self.add_prompt(record),
            RecordKind::Assistant => self.add_answer(record),
            RecordKind::ToolUse => self.add_call(record),
            RecordKind::ToolResult | RecordKind::Error => self.add_result(record),
            RecordKind::Artifact => self.add_artifact(record),
            RecordKind::Approval => self.add_approval(record),
            RecordKind::Thinking | RecordKind::Summary => {}
        }
    }

    fn add_time(&mut self, at: Option<Timestamp>) {
        self.started = self.started.or(at);
        self.active_ms += span_ms(self.last_at, at).min(PAUSE_MS_MAX);
        self.last_at = self.last_at.max(at);
    }

    fn add_prompt(&mut self, record: &StoredRecord) {
        let text = shorten(&record.content, PROMPT_CHARS);
        // Claude Code logs the end of a background task as a message of the user.
        if text.is_empty() || record.content.starts_with("{\"task_id\"") {
            return;
        }
        self.signals.add_text(None, &record.content);
        lower_trust(&mut self.trust.asked, record.trust);
        self.prompts += 1;
        let mood = if self.prompts == 1 {
            PromptMood::Neutral
        } else {
            prompt_mood(&record.content)
        };
        if mood == PromptMood::Correction {
            self.corrections
                .push(shorten(&record.content, CORRECTION_CHARS));
            self.signals.add_correction(&record.content, record.id);
        }
        self.mood = Some(mood);
        if self.first_asked.len() < FIRST_PROMPTS_MAX {
            self.first_asked.push(text);
        } else {
            self.last_asked.push_back(text);
            if self.last_asked.len() > LAST_PROMPTS_MAX {
                self.last_asked.pop_front();
            }
        }
        self.last = SessionEnd::Prompt;
    }

    fn add_answer(&mut self, record: &StoredRecord) {
        lower_trust(&mut self.trust.said, record.trust);
        let said = shorten(&record.content, SAID_CHARS);
        self.report = answer_report(&record.content);
        self.said = Some(said);
        self.last = SessionEnd::Answer;
    }

    fn add_approval(&mut self, record: &StoredRecord) {
        let text = record.content.to_lowercase();
        let refused = [
            "refused", "denied", "rejected", "declined", "interrupted", "cancel",
        ];
        if refused.iter().any(|word| text.starts_with(word)) {
            self.overhead.denials += 1;
            self.last = SessionEnd::Interrupted;
            let what = record.tool.as_deref().unwrap_or("the turn");
            self.signals
                .add_rejection(what, Some(record.id), &record.content);
        }
    }

    fn progress(&self) -> SignalClock {
        SignalClock {
            active_ms: self.active_ms,
            text_bytes: self.overhead.all_text_bytes,
        }
    }

    /// Returns a path relative to the working folder of the session, shortened.
    fn relative_path(&self, path: &str) -> String {
        let inside = self
            .cwd
            .as_deref()
            .and_then(|cwd| path.strip_prefix(cwd))
            .and_then(|rest| rest.strip_prefix('/'));
        let path = inside.unwrap_or(path);
        let over = path.chars().count().saturating_sub(PATH_CHARS);
        if over == 0 {
            return path.to_owned();
        }
        // The end of the path names the file, so the start is cut.
        std::iter::once('…')
            .chain(path.chars().skip(over + 1))
            .collect()
    }
}
