//! Tool calls, their results and the changes they made.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use memory::digest::{DigestStep, Retry, SeenError, StepKind, ToolCount, lower_trust, span_ms};
use memory::fingerprint::{error_line, fingerprint};
use memory::{RecordKind, SignalKind, command};
use store::StoredRecord;

use super::{COMMAND_CHARS, DISTINCT_MAX, DigestBuilder, StepKindName};
use crate::digest::call_kind::{self, CallKind};
use crate::digest::outcome::SessionEnd;
use crate::digest::shorten;
use crate::signals::{BYTES_PER_TOKEN, FinishedCall, program_key};

const ERROR_CHARS: usize = 160;
/// A call that seems to take longer counts as this long: its result was late for another reason.
const CALL_MS_MAX: u64 = 15 * 60 * 1000;

/// A call without a result so far.
#[derive(Debug)]
pub(super) struct PendingCall {
    tool: String,
    does: CallKind,
    signature: u64,
    /// A hash of the tool and the file or command. A later success with the same subject overcomes
    /// an error.
    subject: u64,
    step: Option<usize>,
    at: Option<Timestamp>,
    is_reread: bool,
    is_commit: bool,
    path: Option<String>,
    /// The first line of the command, for a shell.
    command: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Succeeded,
    Failed,
}

#[derive(Debug)]
pub(super) struct SeenFailure {
    pub(super) seen: SeenError,
    subject: Option<u64>,
}

impl DigestBuilder {
    pub(super) fn add_call(&mut self, record: &StoredRecord) {
        let tool = record.tool.clone().unwrap_or_else(|| "a tool".to_owned());
        let command = command::parse_call(&record.content);
        let command = command.as_deref().map(call_kind::first_line);
        let does = call_kind::call_kind(&tool, command);
        let path = record.path.as_deref().map(|path| self.relative_path(path));
        let what = command.map(|command| shorten(command, COMMAND_CHARS));
        let signature = hash(&(&tool, &record.content));
        let subject = hash(&(&tool, path.as_ref().or(what.as_ref())));
        self.overhead.calls += 1;
        self.count_tool(&tool);
        lower_trust(&mut self.trust.done, record.trust);
        self.note_retry(
            signature,
            what.as_ref().or(path.as_ref()).unwrap_or(&tool),
            record,
        );
        self.signals.add_call(&tool, command);
        if does == CallKind::Change
            && let Some(path) = &path
        {
            self.signals.add_change(path);
        }
        let is_reread = does == CallKind::Read && self.reads.contains_key(&signature);
        if does == CallKind::Read {
            self.looks += 1;
            if self.reads.len() < DISTINCT_MAX {
                self.reads.insert(signature, path.clone());
            }
        }
        let step = self.count_call(does, what.as_deref(), path.as_deref(), record);
        self.last = SessionEnd::Call(tool.clone());
        let open = PendingCall {
            tool,
            does,
            signature,
            subject,
            step,
            at: record.at,
            is_reread,
            is_commit: command.is_some_and(|c| c.contains("git commit") || c.contains("git push")),
            path,
            command: command.map(str::to_owned),
        };
        if self.open.len() < DISTINCT_MAX {
            self.open.insert(call_key(record), open);
        }
    }

    /// Counts a call as a step of the digest, if its kind is listed there.
    fn count_call(
        &mut self,
        does: CallKind,
        command: Option<&str>,
        path: Option<&str>,
        record: &StoredRecord,
    ) -> Option<usize> {
        match (does, command, path) {
            (CallKind::Change, _, Some(path)) => self.count_step(StepKind::Changed, path),
            (CallKind::Test, Some(command), _) => self.count_step(StepKind::Tested, command),
            (CallKind::Run | CallKind::Install, Some(command), _) => {
                self.count_step(StepKind::Ran, command)
            }
            (CallKind::Delegate, _, _) => {
                let task = record.content.lines().find_map(|line| {
                    line.strip_prefix("description: ")
                        .or(line.strip_prefix("prompt: "))
                });
                self.count_step(
                    StepKind::Delegated,
                    &shorten(task.unwrap_or("a task"), COMMAND_CHARS),
                )
            }
            _ => None,
        }
    }

    fn count_step(&mut self, kind: StepKind, what: &str) -> Option<usize> {
        let key = (kind_name(kind), what.to_owned());
        let at = match self.step_at.get(&key) {
            Some(at) => *at,
            None if self.steps.len() >= DISTINCT_MAX => return None,
            None => {
                self.steps.push(DigestStep {
                    kind,
                    what: what.to_owned(),
                    times: 0,
                    failed: 0,
                    exit: None,
                });
                self.step_at.insert(key, self.steps.len() - 1);
                self.steps.len() - 1
            }
        };
        self.steps[at].times += 1;
        Some(at)
    }

    fn note_retry(&mut self, signature: u64, what: &str, record: &StoredRecord) {
        if self.ended.get(&signature) != Some(&CallEnd::Failed) {
            return;
        }
        let name = program_key(what);
        self.signals
            .add_event(SignalKind::Retry, &name, Some(record.id), what);
        if let Some(retry) = self.retries.iter_mut().find(|retry| retry.what == what) {
            retry.times += 1;
        } else if self.retries.len() < DISTINCT_MAX {
            self.retries.push(Retry {
                what: what.to_owned(),
                times: 1,
            });
        }
    }

    fn count_tool(&mut self, tool: &str) {
        if let Some(known) = self.tools.iter_mut().find(|known| known.tool == tool) {
            known.calls += 1;
        } else if self.tools.len() < DISTINCT_MAX {
            self.tools.push(ToolCount {
                tool: tool.to_owned(),
                calls: 1,
                failed: 0,
            });
        }
    }

    pub(super) fn add_result(&mut self, record: &StoredRecord) {
        let open = self.open.remove(&call_key(record));
        let Some(open) = open else {
            if record.kind == RecordKind::Error {
                self.note_failure(record, None);
                let tool = record.tool.as_deref().unwrap_or("the agent");
                let call = FinishedCall {
                    tool,
                    command: None,
                    path: None,
                    only_reads: false,
                    record: Some(record.id),
                    result: &record.content,
                };
                self.signals.add_failure(&call, self.progress());
                self.last = match &record.tool {
                    Some(tool) => SessionEnd::Result {
                        tool: tool.clone(),
                        failed: true,
                    },
                    None => SessionEnd::Error(shorten(&error_line(&record.content), ERROR_CHARS)),
                };
            }
            return;
        };
        let exit = exit_code(record);
        let failed = has_failed(record, &open, exit);
        if let Some(step) = open.step.and_then(|at| self.steps.get_mut(at)) {
            if step.kind != StepKind::Changed {
                step.exit = exit.or(step.exit);
            }
            step.failed += u64::from(failed);
        }
        let call = FinishedCall {
            tool: &open.tool,
            command: open.command.as_deref(),
            path: open.path.as_deref(),
            only_reads: open.does == CallKind::Read,
            record: Some(record.id),
            result: &record.content,
        };
        if failed {
            self.signals.add_failure(&call, self.progress());
            self.note_failure(record, Some(&open));
        } else {
            self.signals.add_success(&call, self.progress());
            self.signals.add_text(open.path.as_deref(), &record.content);
            self.note_success(&open);
        }
        if open.does == CallKind::Test {
            self.tests = Some(!failed);
        }
        self.committed |= open.is_commit && !failed;
        self.count_overhead(record, &open, failed);
        let ended = if failed {
            CallEnd::Failed
        } else {
            CallEnd::Succeeded
        };
        if self.ended.len() < DISTINCT_MAX {
            self.ended.insert(open.signature, ended);
        }
        self.last = SessionEnd::Result {
            tool: open.tool,
            failed,
        };
    }

    fn note_success(&mut self, open: &PendingCall) {
        for failure in &mut self.errors {
            failure.seen.overcome |= failure.subject == Some(open.subject);
        }
        if open.does == CallKind::Change {
            // A failed run says nothing about what was changed after it.
            self.tests = self.tests.filter(|passed| *passed);
            let path = open.path.as_ref();
            self.reads
                .retain(|_, read| read.is_some() && read.as_ref() != path);
        } else if open.does != CallKind::Read {
            // A command may have changed any file.
            self.reads.clear();
        }
    }

    fn note_failure(&mut self, record: &StoredRecord, open: Option<&PendingCall>) {
        lower_trust(&mut self.trust.errors, record.trust);
        let name = fingerprint(&record.content);
        let subject = open.map(|open| open.subject);
        if let Some(known) = record
            .tool
            .as_ref()
            .and_then(|tool| self.tools.iter_mut().find(|known| known.tool == *tool))
        {
            known.failed += 1;
        }
        if let Some(known) = self.errors.iter_mut().find(|known| known.seen.name == name) {
            known.seen.times += 1;
            known.seen.overcome = false;
            known.subject = subject;
        } else if self.errors.len() < DISTINCT_MAX {
            let line = error_line(&record.content);
            let silent =
                || exit_code(record).map_or_else(String::new, |code| format!("exit {code}"));
            let seen = SeenError {
                name,
                text: if line.is_empty() {
                    silent()
                } else {
                    shorten(&line, ERROR_CHARS)
                },
                tool: record.tool.clone(),
                times: 1,
                overcome: false,
            };
            self.errors.push(SeenFailure { seen, subject });
        }
    }

    fn count_overhead(&mut self, record: &StoredRecord, open: &PendingCall, failed: bool) {
        let overhead = &mut self.overhead;
        let took_ms = span_ms(open.at, record.at).min(CALL_MS_MAX);
        overhead.calls_ms += took_ms;
        let count = match open.does {
            _ if failed => &mut overhead.failed,
            CallKind::Install => &mut overhead.installs,
            CallKind::Wait => &mut overhead.waits,
            _ if open.is_reread => &mut overhead.rereads,
            _ => return,
        };
        *count += 1;
        overhead.ms += took_ms;
        overhead.text_bytes += record.content.len() as u64;
        let tokens = record.content.len() as u64 / BYTES_PER_TOKEN;
        // A tool that waits for a running command is how some agents run long commands, and a
        // repeated `git status` reads no file: neither is worth a signal.
        let command = open.command.as_deref().map(program_key);
        let (kind, name) = match (open.does, command, &open.path) {
            _ if failed => return,
            (CallKind::Install, Some(what), _) => (SignalKind::Overhead, format!("install/{what}")),
            (CallKind::Wait, Some(what), _) => (SignalKind::Overhead, format!("wait/{what}")),
            (CallKind::Read, _, Some(path)) => (SignalKind::Reread, path.clone()),
            _ => return,
        };
        let event = self.signals.add_event(kind, &name, Some(record.id), &name);
        if let Some(signal) = event {
            signal.ms += took_ms;
            signal.tokens += tokens;
        }
    }

    /// Counts a change that its call did not name: a patch of several files, or a change that only
    /// the log reports.
    pub(super) fn add_artifact(&mut self, record: &StoredRecord) {
        let Some(path) = record.path.as_deref().map(|path| self.relative_path(path)) else {
            return;
        };
        lower_trust(&mut self.trust.done, record.trust);
        let known = (kind_name(StepKind::Changed), path.clone());
        let by_call = self.step_at.contains_key(&known)
            && call_kind::call_kind(record.tool.as_deref().unwrap_or_default(), None)
                == CallKind::Change;
        if !by_call {
            self.count_step(StepKind::Changed, &path);
            self.signals.add_change(&path);
        }
        self.reads.retain(|_, read| read.as_ref() != Some(&path));
    }
}

const fn kind_name(kind: StepKind) -> StepKindName {
    match kind {
        StepKind::Changed => "changed",
        StepKind::Ran => "ran",
        StepKind::Tested => "tested",
        StepKind::Delegated => "delegated",
    }
}

/// Returns the key that joins a result to its call: the id of the call, or the tool if the log has
/// no ids.
fn call_key(record: &StoredRecord) -> String {
    let by_id = record.call.as_ref().map(|call| format!("#{call}"));
    by_id.unwrap_or_else(|| record.tool.clone().unwrap_or_default())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the exit code that a log reports, in a field or in the text.
fn exit_code(record: &StoredRecord) -> Option<i64> {
    let code = record
        .metadata
        .get("exit_code")
        .and_then(|code| code.as_str());
    if let Some(code) = code {
        return code.parse().ok();
    }
    let words = record.content.strip_prefix("Exit code ")?;
    words
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

fn has_failed(record: &StoredRecord, open: &PendingCall, exit: Option<i64>) -> bool {
    // A search without matches exits with 1, which is not a failure.
    if open.does == CallKind::Read && exit == Some(1) && record.content.len() < 80 {
        return false;
    }
    record.kind == RecordKind::Error
        || exit.is_some_and(|code| code != 0)
        || (open.does == CallKind::Test && call_kind::reports_test_failure(&record.content))
}
