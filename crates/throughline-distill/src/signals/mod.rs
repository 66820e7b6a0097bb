//! Collects the signals of a session while its digest is built.
//!
//! [`SignalBuilder`] receives the calls and results that the digest pairs. [`diagnostics`] names
//! what failed commands report, [`refusals`] recognizes refusals, [`programs`] says what a command
//! runs, and [`missing`] finds stale instructions. Unlike a digest, the list of signals has no
//! short caps: what recurs across sessions is often rare in each of them.

pub mod diagnostics;
mod missing;
mod programs;
mod refusals;

use std::collections::BTreeMap;

use memory::fingerprint::{error_line, normalized_line};
use memory::{RecordId, Signal, SignalKind};

use self::missing::InstructionText;
pub(crate) use self::programs::program_key;

/// A session has at most this many signals; later names are not counted.
const SIGNALS_MAX: usize = 2_000;
const TEXT_CHARS: usize = 240;
/// A problem that the session never overcame costs at most this much: the agent went on with
/// something else, and the log does not say when.
const UNRESOLVED_MS_MAX: u64 = 10 * 60 * 1000;
const UNRESOLVED_TOKENS_MAX: u64 = 20_000;
/// Prose and code have about four bytes per token; signals need no better estimate.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// How far a session has come: its active time and the size of its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SignalClock {
    pub(crate) active_ms: u64,
    pub(crate) text_bytes: u64,
}

/// A finished call, as far as signals need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinishedCall<'a> {
    pub(crate) tool: &'a str,
    /// The first line of the command, for a shell.
    pub(crate) command: Option<&'a str>,
    /// The path of the file, relative to the working folder.
    pub(crate) path: Option<&'a str>,
    /// A call that reads changes nothing, so it cannot repair anything.
    pub(crate) only_reads: bool,
    pub(crate) record: Option<RecordId>,
    pub(crate) result: &'a str,
}

#[derive(Debug)]
struct OpenSignal {
    signal: Signal,
    /// The command that must succeed before the problem counts as overcome, and its first failure.
    open: Option<(String, SignalClock)>,
}

/// A command that failed, and what happened since.
#[derive(Debug, Default)]
struct FailedCommand {
    name: String,
    /// The last command since then that could have repaired it.
    repair: Option<String>,
    /// A file changed since then, so the repair was more than a command.
    edited: bool,
}

/// Collects the signals of one session.
#[derive(Debug, Default)]
pub(crate) struct SignalBuilder {
    signals: BTreeMap<(SignalKind, String), OpenSignal>,
    failed_commands: BTreeMap<String, FailedCommand>,
    instructions: InstructionText,
}

impl SignalBuilder {
    /// Counts an event that needs nothing to be overcome.
    pub(crate) fn add_event(
        &mut self,
        kind: SignalKind,
        name: &str,
        record: Option<RecordId>,
        text: &str,
    ) -> Option<&mut Signal> {
        self.entry(kind, name, record, text)
            .map(|known| &mut known.signal)
    }

    fn entry(
        &mut self,
        kind: SignalKind,
        name: &str,
        record: Option<RecordId>,
        text: &str,
    ) -> Option<&mut OpenSignal> {
        let full = self.signals.len() >= SIGNALS_MAX;
        let key = (kind, name.to_owned());
        if full && !self.signals.contains_key(&key) {
            return None;
        }
        let known = self.signals.entry(key).or_insert_with(|| OpenSignal {
            signal: Signal {
                times: 0,
                text: crate::digest::shorten(text, TEXT_CHARS),
                first_record: record,
                ..Signal::new(kind, name)
            },
            open: None,
        });
        known.signal.times += 1;
        Some(known)
    }

    /// Notes which tool or program a call runs.
    pub(crate) fn add_call(&mut self, tool: &str, command: Option<&str>) {
        self.add_event(SignalKind::Mix, &format!("tool/{tool}"), None, "");
        for program in programs::programs(command.unwrap_or_default()) {
            self.add_event(SignalKind::Mix, &format!("run/{program}"), None, "");
        }
    }

    /// Notes that a file changed.
    pub(crate) fn add_change(&mut self, path: &str) {
        let file = path.rsplit('/').next().unwrap_or(path);
        let ending = file.rsplit_once('.').map_or("none", |(_, ending)| ending);
        self.add_event(SignalKind::Mix, &format!("edit/{ending}"), None, "");
        for failed in self.failed_commands.values_mut() {
            failed.edited = true;
        }
    }

    /// Notes a text that may be an instruction file.
    pub(crate) fn add_text(&mut self, path: Option<&str>, text: &str) {
        self.instructions.add(path, text);
    }

    /// Notes that the user contradicted the agent.
    pub(crate) fn add_correction(&mut self, prompt: &str, record: RecordId) {
        let first = prompt.lines().find(|line| !line.trim().is_empty());
        let name = normalized_line(&crate::digest::shorten(first.unwrap_or_default(), 90));
        self.add_event(SignalKind::Correction, &name, Some(record), prompt);
    }

    /// Notes that the user refused a call.
    pub(crate) fn add_rejection(&mut self, what: &str, record: Option<RecordId>, text: &str) {
        self.add_event(SignalKind::Reject, what, record, text);
    }

    /// Notes a call that failed.
    pub(crate) fn add_failure(&mut self, call: &FinishedCall<'_>, now: SignalClock) {
        let subject = subject(call);
        if refusals::is_user_rejection(call.result) {
            let what = call
                .command
                .map_or_else(|| call.tool.to_owned(), program_key);
            self.add_rejection(&what, call.record, call.result);
            return;
        }
        let names = failure_names(call);
        self.overcome(&subject, now, |key| !names.contains_key(key));
        for ((kind, name), line) in &names {
            let Some(known) = self.entry(*kind, name, call.record, line) else {
                continue;
            };
            known.signal.overcome = false;
            if known.open.is_none() {
                known.open = Some((subject.clone(), now));
            }
            if let Some(missing) = missing::missing_subject(name)
                && let Some(line) = self.instructions.line_about(missing)
            {
                let name = missing::instruction_name(name);
                self.add_event(SignalKind::Instruction, &name, call.record, &line);
            }
        }
        if call.command.is_some()
            && let Some((_, name)) = names.keys().next()
        {
            self.failed_commands.insert(
                subject,
                FailedCommand {
                    name: name.clone(),
                    ..FailedCommand::default()
                },
            );
        }
    }

    /// Notes a call that succeeded.
    pub(crate) fn add_success(&mut self, call: &FinishedCall<'_>, now: SignalClock) {
        let subject = subject(call);
        self.overcome(&subject, now, |_| true);
        let Some(command) = call.command else {
            return;
        };
        if let Some(failed) = self.failed_commands.remove(&subject)
            && let (Some(repair), false) = (failed.repair, failed.edited)
        {
            let name = format!("{} => {repair}", failed.name);
            let text = format!("`{subject}` succeeded after `{repair}`");
            self.add_event(SignalKind::Fixpair, &name, call.record, &text);
        }
        if !call.only_reads {
            let key = program_key(command);
            for failed in self.failed_commands.values_mut() {
                failed.repair = Some(key.clone());
            }
        }
    }

    /// Closes the signals that wait for a subject.
    fn overcome(
        &mut self,
        subject: &str,
        now: SignalClock,
        gone: impl Fn(&(SignalKind, String)) -> bool,
    ) {
        for (key, known) in &mut self.signals {
            if let Some((waits_for, since)) = &known.open
                && waits_for == subject
                && gone(key)
            {
                let (ms, tokens) = cost_between(*since, now);
                known.signal.ms += ms;
                known.signal.tokens += tokens;
                known.signal.overcome = true;
                known.open = None;
            }
        }
    }

    /// Returns the signals, in the order of their kinds and names.
    pub(crate) fn finish(self, end: SignalClock) -> Vec<Signal> {
        let closed = self.signals.into_values().map(|known| {
            let mut signal = known.signal;
            if let Some((_, since)) = known.open {
                let (ms, tokens) = cost_between(since, end);
                signal.ms += ms.min(UNRESOLVED_MS_MAX);
                signal.tokens += tokens.min(UNRESOLVED_TOKENS_MAX);
            }
            signal
        });
        closed.collect()
    }
}

fn cost_between(since: SignalClock, until: SignalClock) -> (u64, u64) {
    let bytes = until.text_bytes.saturating_sub(since.text_bytes);
    (
        until.active_ms.saturating_sub(since.active_ms),
        bytes / BYTES_PER_TOKEN,
    )
}

/// Returns what must succeed for a failure of this call to be overcome.
fn subject(call: &FinishedCall<'_>) -> String {
    match (call.command, call.path) {
        (Some(command), _) => program_key(command),
        (None, Some(path)) => format!("{} {path}", call.tool),
        (None, None) => call.tool.to_owned(),
    }
}

/// Returns the names of a failure, each with the line that reports it.
fn failure_names(call: &FinishedCall<'_>) -> BTreeMap<(SignalKind, String), String> {
    let mut names = BTreeMap::new();
    if let Some(family) = refusals::tool_refusal(call.result)
        && (call.command.is_none() || family.starts_with("edit-") || family == "invalid-patch")
    {
        let line = error_line(call.result);
        if let (missing::PATH_MISSING, Some(path)) = (family, call.path) {
            names.insert(
                (SignalKind::Tool, missing::missing_path_name(path)),
                line.clone(),
            );
        }
        names.insert((SignalKind::Tool, family.to_owned()), line);
        return names;
    }
    let kind = match call.command {
        Some(_) => SignalKind::Diag,
        None => SignalKind::Tool,
    };
    for found in diagnostics::diagnostics(call.result) {
        let name = match kind {
            SignalKind::Tool => format!("{}: {}", short_tool(call.tool), found.name),
            _ => found.name,
        };
        names.insert((kind, name), found.line);
    }
    names
}

/// Returns the name of a tool without the server that offers it.
fn short_tool(tool: &str) -> &str {
    tool.strip_prefix("mcp__").unwrap_or(tool)
}

#[cfg(test)]
mod tests;
